"""The part of a frame that is about checks: those that did not pass, by cause, and how all of them stand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from noisewatch.judgement.case import Case
from noisewatch.judgement.catalogue import CATALOGUE
from noisewatch.judgement.cause_words import steps_against, title_of
from noisewatch.judgement.causes import Cause, causes_of
from noisewatch.judgement.effect_words import effect_title
from noisewatch.judgement.finding_words import left_to_people, sentence
from noisewatch.judgement.fixes.fix import Fix
from noisewatch.judgement.programs import named_by
from noisewatch.judgement.remembered import Remembered
from noisewatch.judgement.terms import Gravity
from noisewatch.judgement.verdict import Finding, Verdict
from noisewatch.operations.frame.causes import CauseLine
from noisewatch.operations.frame.frame import FindingLine
from noisewatch.text import printable

_TELLING = frozenset(Gravity) - {Gravity.PASSED, Gravity.LEFT_OUT}
_LONGEST_SENTENCE = 400  # a frame is a line that crosses a pipe each second
_GRAVITIES = list(Gravity)
_PLACES = {gravity: str(place) for place, gravity in enumerate(_GRAVITIES)}


def told_of(verdict: Verdict | None, tells_all: bool = False, remembered: Remembered | None = None) -> dict[str, Any]:
    """The fields of a frame, by their names; nothing without a verdict. `tells_all`: of what passes, too.

    `remembered` is that with which the verdict was judged: of findings that are still the same ones it knows the words.
    """
    if verdict is None:
        return {}
    if remembered is None:
        remembered = Remembered()
        remembered.turn_to(verdict.case)
    judged = [(each, each.gravity(verdict.is_strict)) for each in verdict.findings]
    telling = tuple([each for each in judged if each[1] in _TELLING])
    said = remembered.get(
        "telling",
        lambda case: _telling(replace(verdict, case=case), telling),
        tuple([each for each, _ in telling]),
    )
    answers = {
        each.check.id: _short(sentence(each))
        for each, gravity in (judged if tells_all else ())
        if gravity not in _TELLING
    }
    gravities = _gravities({each.check.id: gravity for each, gravity in judged})
    return {**said, "answers": answers or None, "gravities": gravities}


def _telling(verdict: Verdict, telling: Iterable[tuple[Finding, Gravity]]) -> dict[str, Any]:
    """Those that did not pass, and what is behind them."""
    causes = causes_of(verdict)
    number_by_id = {each.check.id: number for number, cause in enumerate(causes, 1) for each in cause.findings}
    placed = [(_PLACES[gravity], number_by_id.get(each.check.id), each) for each, gravity in telling]
    placed.sort(key=lambda each: (each[0], each[1] or len(causes) + 1))
    return {
        "findings": tuple([_finding_line(each, _GRAVITIES[int(place)], number) for place, number, each in placed]),
        "causes": tuple(_cause_line(cause, verdict.case) for cause in causes),
    }


def _gravities(gravity_by_id: Mapping[str, Gravity]) -> str:
    """A digit for each check of the catalogue; what a monitor does not ask is left out."""
    return "".join(_PLACES[gravity_by_id.get(each.id, Gravity.LEFT_OUT)] for each in CATALOGUE)


def _finding_line(finding: Finding, gravity: Gravity, cause: int | None) -> FindingLine:
    fix = None if finding.answer.fix is None else _first_command(finding.answer.fix)
    return FindingLine(
        id=finding.check.id,
        status=finding.status,
        weight=finding.weight,
        gravity=gravity,
        said=_short(sentence(finding)),
        fix=fix,
        is_command=fix is not None and fix != left_to_people(finding.answer.fix),
        cause=cause,
    )


@lru_cache(maxsize=64)  # the same ones every second
def _first_command(fix: Fix) -> str | None:
    """Return the first command that there is; the others are not rendered, as nobody asks for them here."""
    command = fix.now or fix.undo or fix.persist or fix.undo_persist
    return printable(command) if command else None


def _short(said: str) -> str:
    return said if len(said) <= _LONGEST_SENTENCE else said[: _LONGEST_SENTENCE - 1] + "…"


def _cause_line(cause: Cause, case: Case) -> CauseLine:
    """Return what to do, and the title by effect; without one the lines of the findings say what is wrong."""
    title = effect_title(cause, case)
    said = title.text if title is not None else title_of(cause, case) if cause.way is not None else None
    return CauseLine(
        steps=tuple(steps_against(cause)),
        settles=tuple(each.check.id for each in cause.settles),
        said=None if said is None else _short(said),
        is_open=cause.way is not None,
        names=named_by(cause.fix, case),
    )
