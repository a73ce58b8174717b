"""Runs as lines of a frame: the sampler's side."""

from __future__ import annotations

from collections.abc import Mapping

from noisewatch.kernel.snapshot.snapshot import Snapshot
from noisewatch.kernel.tasks.run_status import RunStatus, ToldRepetition
from noisewatch.model.interval.interval import Interval
from noisewatch.operations.frame.runs import RepetitionLine, RunLine

_Told = tuple[ToldRepetition, ...]


class RunLines:
    """The lines of runs, each repetition in one frame only."""

    def __init__(self) -> None:
        self._told: dict[str, _Told] = {}

    def of(self, snapshot: Snapshot, interval: Interval | None) -> tuple[RunLine, ...]:
        """Return a line for each known run, with the repetitions that no earlier frame contained."""
        before, self._told = self._told, {}
        return tuple([self._line(run, before, interval) for run in snapshot.runs])

    def _line(self, run: RunStatus, before: Mapping[str, _Told], interval: Interval | None) -> RunLine:
        name = f"{run.owner.pid}.{run.owner.started_ticks}"
        known = set(before.get(name, ()))
        self._told[name] = run.repetitions
        shares = [(cpu, interval.command_share(cpu)) for cpu in sorted(run.cpus)] if interval is not None else []
        return RunLine(
            id=name,
            stage=str(run.stage),
            programs=run.programs,
            cpus=tuple(sorted(run.cpus)),
            number=run.number,
            wanted=run.wanted,
            since_ns=run.since_ns,
            counts=run.counts,
            share_by_cpu=tuple((cpu, round(share, 4)) for cpu, share in shares if share),
            repetitions=tuple(_repetition(each) for each in run.repetitions if each not in known),
        )


def _repetition(told: ToldRepetition) -> RepetitionLine:
    return RepetitionLine(
        number=told.number,
        last=told.last,
        command=told.command,
        began_ns=told.began_ns,
        ended_ns=told.ended_ns,
        outcome=told.outcome,
        said=told.said,
    )
