"""The interval between a written machine's two moments."""

from __future__ import annotations

from noisewatch.model.interval import Interval, interval_between
from noisewatch.sources.snapshot import Wish, read_snapshot
from noisewatch.sources.tasks import TaskReader
from tests.quiet_machine import ANSWERS, quiet_files
from tests.written import Files, WrittenMachine


def interval_of(before: Files, after: Files, **options: object) -> Interval:
    """The quiet machine with other files at either moment."""
    machine = WrittenMachine(
        quiet_files() | dict(before),
        quiet_files(3.0) | dict(after),
        answers=ANSWERS,
        **options,  # type: ignore[arg-type]  # passed through
    )
    task_reader = TaskReader()
    first = read_snapshot(machine, Wish(), task_reader)
    machine.advance()
    return interval_between(first, read_snapshot(machine, Wish(), task_reader, first))
