"""Runs the side commands of a series: --prepare before each repetition, and --conclude after it.

They run on noisewatch's own CPUs, between repetitions: while they run, no counters of a repetition are open. A look at
the machine separates them from the repetitions, so their time and noise are in no verdict.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from noisewatch.errors import CannotStart
from noisewatch.judgement.run.reasons import failure_words
from noisewatch.machine.command.running import Commands
from noisewatch.machine.command.start import CommandPlan
from noisewatch.operations.run.judging import status_of
from noisewatch.operations.run.watch import RunWatch

SideOption = Literal["--prepare", "--conclude"]
PREPARE: SideOption = "--prepare"
CONCLUDE: SideOption = "--conclude"


class SideCommandResult(Struct, frozen=True):
    """A side command that failed or left processes running. `trouble` is None if it succeeded.

    `status` is the exit status of noisewatch if the failure ends the series. `has_started` is whether it could be
    executed.
    """

    option: SideOption
    number: int  # of the repetition
    is_warm_up: bool
    trouble: str | None
    status: int
    name_by_left_pid: Mapping[int, str | None]
    has_started: bool = True

    @property
    def name(self) -> str:
        """The side command in reports: `--prepare before run 3`."""
        kind = "warm-up" if self.is_warm_up else "run"
        return f"{self.option} {'before' if self.option == PREPARE else 'after'} {kind} {self.number}"


def run_side_command(
    option: SideOption, plan: CommandPlan, number: int, is_warm_up: bool, watch: RunWatch, commands: Commands
) -> SideCommandResult | None:
    """Run the side command; return its result if it failed or left processes running.

    A failure after a signal that asked noisewatch to end is not a failure of the side command.
    """
    trouble, status, left, has_started = None, 0, frozenset[int](), True
    try:
        end = commands.start(plan).wait()
    except CannotStart as error:
        trouble, status, has_started = str(error), error.status, False
    else:
        assert end is not None  # there is no time limit
        left = end.left_pids or left
        if status_of(end) != 0 and commands.asked_to_end is None:
            trouble, status = failure_words(status_of(end)), end.shell_status
    names = watch.set_apart(left)
    result = SideCommandResult(option, number, is_warm_up, trouble, status, names, has_started)
    return result if trouble or left else None
