"""How soon the monitor is there: from exec to the first paint, to one that Textual draws, and to the first rates."""

from __future__ import annotations

import statistics

from tests.benchmark.monitor.monitors import NOISEWATCH
from tests.benchmark.monitor.terminal import in_a_terminal

_PAINT = rb"noisewatch"
_MACHINE = rb" CPUs"  # which the first picture does not know: by now keys do something
_RATES = rb" (STABLE|UNSTABLE|UNKNOWN) "


def print_start(runs: int) -> None:
    """Medians of several starts."""
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
    known = [each for each in seconds if each is not None]
    if not known:
        return "never"
    late = f", {len(seconds) - len(known)} never" if len(known) < len(seconds) else ""
    return f"median {statistics.median(known):.2f} s, from {min(known):.2f} to {max(known):.2f}{late}"
