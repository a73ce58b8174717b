"""Start-up of the monitor: from exec to the first paint, to the first one by Textual, and to the first rates."""

from __future__ import annotations

import statistics

from tests.benchmark.monitor.monitors import NOISEWATCH
from tests.benchmark.monitor.terminal import in_a_terminal

_PAINT = rb"noisewatch"
_MACHINE = rb" CPUs"  # missing in the first picture; keys work from now on
_RATES = rb" (STABLE|UNSTABLE|UNKNOWN) "


def print_start(runs: int) -> None:
    """Print medians of several starts."""
    paints, machines, rates = [], [], []
    for _ in range(runs):
        with in_a_terminal(NOISEWATCH, 80, 24) as terminal:
            paints.append(terminal.seconds_to(_PAINT))
            machines.append(terminal.seconds_to(_MACHINE))
            rates.append(terminal.seconds_to(_RATES))
    print(f"\nfrom exec to the first paint: {_median(paints)}")
    print(f"from exec to the name of the machine: {_median(machines)}")
    print(f"from exec to the first rates: {_median(rates)}")


def _median(seconds: list[float | None]) -> str:
    values = [value for value in seconds if value is not None]
    if not values:
        return "never"
    late = f", {len(seconds) - len(values)} never" if len(values) < len(seconds) else ""
    return f"median {statistics.median(values):.2f} s, from {min(values):.2f} to {max(values):.2f}{late}"
