"""Options of a run: the commands, the number of repetitions, and how they are watched."""

from __future__ import annotations

from dataclasses import field

from noisewatch.kinds import Tracer
from noisewatch.operations.machines import MachineOptions
from noisewatch.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """The options of a run.

    Commands are argument vectors; `against` is a second command, alternating with the first.
    """

    argv: tuple[str, ...]
    machine: MachineOptions = field(default_factory=MachineOptions)
    runs: int = 1  # of each command
    against: tuple[str, ...] | None = None
    is_aa: bool = False  # the command against itself
    wait_s: float = 0.0  # before each repetition, at most, until the target CPUs are quiet
    membind: str = "none"  # the only nodes with its memory: auto, those of the target CPUs; none, any; or a list
    spreads: bool = False  # each busy thread of the command is pinned to a target CPU of its own
    is_as_user: bool = False  # the command runs as the user who called sudo
    most_retries: int = 0  # repetitions on top, in place of disturbed ones
    min_undisturbed: float = 0.5  # a share of the runs: with fewer there is no result
    shows_output: bool = True
    stops_at_failure: bool = True  # a status other than 0 ends a series
    calibration_s: float = 0.0  # before the first repetition, and after the last
    tracer: Tracer = Tracer.NONE
    looks_often: bool = False  # within long repetitions too, of which parts are judged

    @property
    def is_series(self) -> bool:
        """Whether more than one repetition is requested."""
        return self.runs > 1 or len(self.commands) > 1

    @property
    def may_repeat(self) -> bool:
        """Whether more than one repetition may run."""
        return self.is_series or self.most_retries > 0

    @property
    def commands(self) -> tuple[tuple[str, ...], ...]:
        """The single command, or the two that alternate."""
        if self.is_aa:
            return self.argv, self.argv
        return (self.argv,) if self.against is None else (self.argv, self.against)
