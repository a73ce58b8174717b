"""Intervals of a written machine."""

from __future__ import annotations

from collections.abc import Sequence

from noisewatch.kernel.snapshot.snapshot import SnapshotOptions, read_snapshot
from noisewatch.kernel.tasks.run_status import QUESTION
from noisewatch.kernel.tasks.threads import TaskReader
from noisewatch.model.interval.interval import Interval, interval_between
from tests.written import Files, WrittenMachine
from tests.written.quiet_machine import ANSWERS, quiet_files


def interval_of(
    before: Files,
    after: Files,
    *,
    between: Sequence[Files] = (),
    asks_all: bool = False,
    runs: Sequence[str] = (),
    **options: object,
) -> Interval:
    """Return the interval of the quiet machine with other files at its moments, which are 3 s apart.

    `runs` are the statuses of the benchmark runs on the machine.
    """
    moments = [before, *between, after]
    machine = WrittenMachine(
        *(quiet_files(3.0 * number) | dict(files) for number, files in enumerate(moments)),
        answers={**ANSWERS, QUESTION: list(runs)},
        **options,  # type: ignore[arg-type]  # passed through
    )
    task_reader = TaskReader(asks_all_affinities=asks_all)
    snapshot_options = SnapshotOptions(asks_runs=list if runs else None)
    snapshots = [read_snapshot(machine, snapshot_options, task_reader)]
    while machine.has_next:
        machine.advance()
        snapshots.append(read_snapshot(machine, snapshot_options, task_reader, snapshots[-1]))
    first, *middle, last = snapshots
    return interval_between(first, last, middle)
