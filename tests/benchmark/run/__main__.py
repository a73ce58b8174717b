"""Print what `noisewatch run` detects and costs: `python -m tests.benchmark.run [PART …]`. Figures, no limits.

hogs (a hog in one repetition of ten, at each level of privilege; all levels need root); quiet (repetitions without a
deliberate disturbance); short (thousands of repetitions of a millisecond: time, memory, size); share (of the command's
time that the watch takes); own (CPU time of noisewatch by the duration of the command); costs (a repetition compared
with one of hyperfine, if installed). It needs a C compiler.
"""

from __future__ import annotations

import argparse
import os
import sys

from noisewatch.kinds import Tracer
from tests.benchmark.run.costs import print_costs, print_own, print_share
from tests.benchmark.run.hogs import print_hogs
from tests.benchmark.run.many import print_quiet, print_short
from tests.benchmark.run.work import FixedWork
from tests.plumbing.privileges import WITH_TRACEFS
from tests.truth.workloads import compiled_program


def main() -> None:
    """Print the requested parts, by default all, which takes some twenty minutes."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmark.run")
    parser.add_argument("part", nargs="*", metavar="PART", help="hogs, quiet, short, share, own, costs; all by default")
    parser.add_argument("--trials", type=int, default=20, help="of hogs, at each level (default 20)")
    parser.add_argument("--repetitions", type=int, default=500, help="of quiet (default 500)")
    parser.add_argument("--short", type=int, default=10_000, help="repetitions of short (default 10000)")
    parser.add_argument("--pairs", type=int, default=30, help="of share (default 30)")
    parser.add_argument("--tracer", help="passed on to run")
    parser.add_argument("--tracefs", action="store_true", help="with tracefs mounted for this program alone (root)")
    options = parser.parse_args()
    if options.tracefs:
        words = [word for word in sys.argv[1:] if word != "--tracefs"]
        os.execvp(WITH_TRACEFS[0], [*WITH_TRACEFS, sys.executable, "-m", "tests.benchmark.run", *words])
    run_options = ("--tracer", options.tracer) if options.tracer else ()
    with compiled_program() as program:
        work = FixedWork.of(program)
        parts = {
            "hogs": lambda: print_hogs(options.trials, run_options),
            "quiet": lambda: print_quiet(work, options.repetitions, run_options),
            "short": lambda: print_short(work, options.short, run_options),
            "share": lambda: print_share(work, options.pairs, run_options),
            "own": lambda: print_own(work, Tracer(options.tracer or Tracer.EVENTS)),
            "costs": lambda: print_costs(run_options),
        }
        unknown = set(options.part) - parts.keys()
        if unknown:
            parser.error(f"no part {', '.join(sorted(unknown))}: there are {', '.join(parts)}")
        for name in options.part or parts:
            parts[name]()


if __name__ == "__main__":
    main()
