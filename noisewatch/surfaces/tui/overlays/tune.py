"""`noisewatch tune` and `restore` in the monitor: the list of changes; a second key makes or undoes the changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from msgspec import Struct
from msgspec.structs import replace

from noisewatch.cpus import cpu_list_argument
from noisewatch.operations.tuning.plan import TuningPlan, read_plan
from noisewatch.operations.tuning.tune import new_session, read_tuning, restore_host, tune_host
from noisewatch.program import as_root, is_root
from noisewatch.surfaces.drawing.text_row import Row
from noisewatch.surfaces.reports.tuning.text import text_of_plan, text_of_restoring, text_of_status, text_of_tuning
from noisewatch.surfaces.tui.overlays.overlay import (
    MachineAccess,
    Overlay,
    QuietListener,
    Show,
    wrap_lines,
)

_ONLY_THIS_HOST = "Only this host can be tuned. On the shown machine, `noisewatch tune` would make these changes.\n"


class TuningStep(Struct, frozen=True):
    """A list of changes or outcomes, and what the enter key does next, if anything: a verb and a function."""

    text: str
    verb: str = ""
    act: Callable[[], TuningStep] | None = None


@dataclass(slots=True)
class TuneOverlay(Overlay[TuningStep]):
    """The changes that tune would make, or the changes in effect; the enter key makes or undoes them."""

    title: ClassVar[str] = "tune for"
    no_result: ClassVar[str] = "Cannot tune: "
    pauses_sampler: ClassVar[bool] = False

    @property
    def costs_nothing(self) -> bool:
        return self.refusal is None  # the settings are read; nothing is measured or changed

    @property
    def has_next_step(self) -> bool:
        return self.result is not None and self.result.act is not None and self.failure is None

    @property
    def start_verb(self) -> str:
        return self.result.verb if self.result is not None else "lists the changes"

    def measure_once(self, access: MachineAccess, show: Show) -> TuningStep | str:
        """List the changes; if a list is shown, make or undo the changes."""
        if self.result is not None and self.result.act is not None:
            return self.result.act()
        if access.preflight_options is None:
            return "there is no machine"
        if self.origin is None and is_root():
            status = read_tuning()
            if status.changes:
                return TuningStep(text_of_status(status), "restores them", _restore)
            if status.loss is not None:
                return TuningStep(text_of_status(status))
        options = replace(access.preflight_options(), announced=frozenset(self.target))
        plan = read_plan(access.open(), options, QuietListener(self, show))
        text = text_of_plan(plan)
        if self.origin is not None:
            return TuningStep(_ONLY_THIS_HOST + text)
        if not plan.has_changes:
            return TuningStep(text)
        if not is_root():
            command = as_root(f"tune --cpus {cpu_list_argument(self.target)}", is_here=True)
            return TuningStep(f"needs root: {command}\n\n{text}")
        return TuningStep(text, "makes these changes", lambda: _tune(plan))

    def lines(self, width: int, height: int, in_unicode: bool) -> Sequence[str | Row]:
        if self.failure is not None or self.result is None:
            return self.message(width)
        return wrap_lines(self.result.text.splitlines(), width)

    def announcement(self) -> list[str]:
        return ["Reads the settings of this machine …"]


def _tune(plan: TuningPlan) -> TuningStep:
    outcomes = tune_host(plan, new_session(plan.verdict.case.target))
    return TuningStep(text_of_tuning(outcomes, "`noisewatch restore`, T again, or the next boot"))


def _restore() -> TuningStep:
    return TuningStep(text_of_restoring(restore_host()))
