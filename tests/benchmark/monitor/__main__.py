"""Print what the monitor costs: `python -m tests.benchmark.monitor [--quick]`. Figures, no limits: nothing can fail.

All monitors run alternately in one session, so that conditions are the same. Others are measured if installed
(`apt-get install htop btop s-tui glances`).
"""

from __future__ import annotations

import argparse

from tests.benchmark.monitor.costs import print_costs
from tests.benchmark.monitor.gaps import print_gaps
from tests.benchmark.monitor.start import print_start


def main() -> None:
    """Print the costs, the start-up times, and the noise on a target CPU."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmark.monitor")
    parser.add_argument(
        "--quick", action="store_true", help="two minutes instead of twenty: figures to the first digit"
    )
    is_quick = parser.parse_args().quick
    print_costs(rounds=1 if is_quick else 5, watched_s=4.0 if is_quick else 12.0)
    print_start(runs=3 if is_quick else 9)
    print_gaps(rounds=8 if is_quick else 150)


if __name__ == "__main__":
    main()
