"""What the checks of the kernel's settings have in common: one value, read from one file, and written back."""

from __future__ import annotations

from collections.abc import Callable

from noisewatch.errors import quoted
from noisewatch.judgement.case import Case
from noisewatch.judgement.declaration import Answer, not_applicable, unknown
from noisewatch.judgement.fixes.actions import Setting, Write
from noisewatch.judgement.fixes.fix import Fix, set_for_good
from noisewatch.judgement.terms import Status
from noisewatch.kernel.snapshot.knobs import Knob
from noisewatch.kernel.system.platform import NONE


def hardware_without(case: Case, what: str) -> Answer:
    """The answer where the kernel knows nothing of a part of the hardware: a guest's host may know it all the same."""
    if case.snapshot.platform.virtual == NONE:
        return not_applicable(f"this processor, or this kernel, has no {what}")
    return unknown(f"no {what} here, but {case.guest_words} does not see its host's")


def unread(case: Case, knob: Knob) -> Answer:
    """The answer where the knob has no value: this kernel has none, or nobody knows."""
    knobs = case.snapshot.settings.knobs
    if knob in knobs.absent:
        return hardware_without(case, knob) if knob.is_of_hardware else not_applicable(f"this kernel has no {knob}")
    text = knobs.text_by_path.get(knob)
    return unknown(case.why_unknown(knob) if text is None else f"{knob}: {quoted(text)} is not understood")


def turned(case: Case, knob: Knob, value: str | int) -> Fix:
    """Writes the knob; back again with what was read."""
    return set_for_good(Write((setting_of(case, knob, value),)))


def setting_of(case: Case, knob: Knob, value: str | int) -> Setting:
    """The value for the knob, beside the one that was read."""
    return Setting(knob, str(value), case.snapshot.settings.knobs.word(knob))


def judged_knob(
    case: Case,
    knob: Knob,
    is_quiet: Callable[[int], bool],
    said: str,
    quiet: int,
    status: Status = Status.FAIL,
) -> Answer:
    """A knob that is quiet, or not: then `said` names the fault, with a place for the value."""
    value = case.snapshot.settings.knobs.integer(knob)
    if value is None:
        return unread(case, knob)
    evidence = {knob.value: value}
    if is_quiet(value):
        return Answer(Status.PASS, f"{knob.rsplit('/', 1)[1]} is {value}", measured=value, evidence=evidence)
    return Answer(status, said.format(value=value), measured=value, evidence=evidence, fix=turned(case, knob, quiet))
