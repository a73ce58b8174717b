"""Print what the whole catalogue costs: `python -m tests.benchmark.catalogue [COPIED_TREE …]`. Figures, no limits.

CPU time of this process without the sample's sleep: all snapshots, the interval, the checks and the report.
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
    start_s = time.process_time()
    work()
    return (time.process_time() - start_s) * 1e3


def _describe(values: list[float]) -> str:
    return f"median {statistics.median(values):7.1f} ms, from {min(values):.1f} to {max(values):.1f}"


def host() -> None:
    """Print the cost on this host, with the snapshots of preflight."""
    snapshots_ms, checks_ms = [], []
    for _ in range(_RUNS):
        machine, task_reader = LiveMachine(), TaskReader(asks_all_affinities=True)
        snapshots: list[Snapshot] = []

        def take_snapshot(
            machine: Machine = machine, task_reader: TaskReader = task_reader, snapshots: list[Snapshot] = snapshots
        ) -> None:
            snapshots.append(
                read_snapshot(machine, SnapshotOptions(), task_reader, snapshots[-1] if snapshots else None)
            )

        first_ms = _cpu_ms(take_snapshot) + _cpu_ms(take_snapshot)
        time.sleep(_SAMPLE_S)
        snapshots_ms.append(first_ms + _cpu_ms(take_snapshot))
        case = Case(snapshots[-1], interval_between(snapshots[-2], snapshots[-1]))
        checks_ms.append(_cpu_ms(lambda case=case: render(judge(case), RenderOptions(0, 0.0))))  # type: ignore[misc]  # bound now
    total = [first + second for first, second in zip(snapshots_ms, checks_ms, strict=True)]
    print(f"this host: three looks   {_describe(snapshots_ms)}")
    print(f"this host: {len(CATALOGUE)} checks     {_describe(checks_ms)}")
    print(f"this host: together      {_describe(total)}")


def copied(root: str) -> None:
    """Print the cost of a copied tree, with its single snapshot."""
    times = []
    for _ in range(3):
        machine, task_reader = CopiedTree(root), TaskReader(asks_all_affinities=True)

        def examine(machine: Machine = machine, task_reader: TaskReader = task_reader) -> None:
            render(judge(Case(read_snapshot(machine, SnapshotOptions(), task_reader))), RenderOptions(0, 0.0))

        times.append(_cpu_ms(examine))
    print(f"{root}: {_describe(times)}")


def main() -> None:
    """Print the costs of the host and of the named trees."""
    host()
    for root in sys.argv[1:]:
        copied(root)


if __name__ == "__main__":
    main()
