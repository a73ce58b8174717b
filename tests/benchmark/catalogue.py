"""Prints what the whole catalogue costs: `python -m tests.benchmark.catalogue [COPIED_TREE …]`. Figures, no limits.

CPU time of this process, without the sample itself: all looks at the machine, the interval, the checks and the report.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable

from noisewatch.judgement.case import Case
from noisewatch.judgement.catalogue import CATALOGUE
from noisewatch.judgement.verdict import judge
from noisewatch.kernel.snapshot.snapshot import Snapshot, SnapshotOptions, read_snapshot
from noisewatch.kernel.tasks.threads import TaskReader
from noisewatch.machine import Machine
from noisewatch.machine.copied import CopiedTree
from noisewatch.machine.live import LiveMachine
from noisewatch.model.interval.interval import interval_between
from noisewatch.surfaces.reports.verdict.formats import RenderOptions
from noisewatch.surfaces.reports.verdict.text import render

_RUNS = 9
_SAMPLE_S = 0.5


def _cpu_ms(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return (time.process_time() - started) * 1e3


def _told(values: list[float]) -> str:
    return f"median {statistics.median(values):7.1f} ms, from {min(values):.1f} to {max(values):.1f}"


def host() -> None:
    """This host, as preflight looks at it."""
    looks, judged = [], []
    for _ in range(_RUNS):
        machine, task_reader = LiveMachine(), TaskReader(asks_all_affinities=True)
        seen: list[Snapshot] = []

        def look(
            machine: Machine = machine, task_reader: TaskReader = task_reader, seen: list[Snapshot] = seen
        ) -> None:
            seen.append(read_snapshot(machine, SnapshotOptions(), task_reader, seen[-1] if seen else None))

        first_ms = _cpu_ms(look) + _cpu_ms(look)
        time.sleep(_SAMPLE_S)
        looks.append(first_ms + _cpu_ms(look))
        case = Case(seen[-1], interval_between(seen[-2], seen[-1]))
        judged.append(_cpu_ms(lambda case=case: render(judge(case), RenderOptions(0, 0.0))))  # type: ignore[misc]  # bound now
    total = [one + other for one, other in zip(looks, judged, strict=True)]
    print(f"this host: three looks   {_told(looks)}")
    print(f"this host: {len(CATALOGUE)} checks     {_told(judged)}")
    print(f"this host: together      {_told(total)}")


def copied(root: str) -> None:
    """A copied tree, which is looked at once."""
    times = []
    for _ in range(3):
        machine, task_reader = CopiedTree(root), TaskReader(asks_all_affinities=True)

        def examine(machine: Machine = machine, task_reader: TaskReader = task_reader) -> None:
            render(judge(Case(read_snapshot(machine, SnapshotOptions(), task_reader))), RenderOptions(0, 0.0))

        times.append(_cpu_ms(examine))
    print(f"{root}: {_told(times)}")


def main() -> None:
    """The host, and the trees that are named."""
    host()
    for root in sys.argv[1:]:
        copied(root)


if __name__ == "__main__":
    main()
