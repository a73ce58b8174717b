"""Area `history`: whether the machine is unchanged, as fast and as calm as in earlier calibrations.

The new calibration and the current facts are compared with what is usual in the earlier entries.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from noisewatch.cpus import CpuSet
from noisewatch.judgement.answer import Answer, not_applicable, unknown
from noisewatch.judgement.case import Calibrated, Case
from noisewatch.judgement.check import Check, check
from noisewatch.judgement.grading import MICROBENCHMARK, incomplete_reason, not_calibrated
from noisewatch.judgement.history.development import (
    Development,
    FigureMove,
    apart_words,
    attribution_words,
    development_of,
    difference_words,
    move_words,
)
from noisewatch.judgement.rules import STRICT
from noisewatch.judgement.terms import Area, Ground, Severity
from noisewatch.kernel.snapshot.snapshot import Snapshot
from noisewatch.model.history.entries import Entry, Past
from noisewatch.model.history.fact_table import OF_TARGET, facts_of
from noisewatch.model.history.facts import FactClass, Facts, differences, unknown_on_one_side
from noisewatch.model.history.figures import TRAITS, Figure, Nature
from noisewatch.model.history.shifts import LEAST_BEFORE
from noisewatch.model.history.thinning import Thinning

_AREA = Area.HISTORY
_NO_HISTORY = "no history is kept (--history remembers calibrations)"
_ENTRIES = "the earlier entries of the history, with the facts of the machine"
_ACCEPT = "If the change is to stay, `noisewatch history accept` makes the current machine the new baseline."
_LOOK = "Check what changed at that time"
_SPEEDS = (Nature.TIME, Nature.RATE)


@check(
    id="machine-changed",
    area=_AREA,
    question="Are the machine and its settings the same as in the earlier calibrations?",
    severity=Severity.WARNING,
    ground=Ground.RISK,
    reads=(_ENTRIES, "the current facts of the machine: hardware, firmware, kernel, settings and surroundings"),
    why=(
        "Results from before and after a new kernel, microcode or setting are not comparable: after such a change "
        "TechEmpower suspected its frameworks for weeks."
    ),
    remedy=f"Measure both sides of a comparison again, or revert the change. {_ACCEPT}",
    sources=("https://github.com/TechEmpower/FrameworkBenchmarks/issues/8397",),
    severity_in={STRICT: Severity.BLOCKING},
)
def machine_changed(case: Case) -> Answer:
    past = case.past
    if past is None or not past.is_kept:
        return not_applicable(_NO_HISTORY)
    if not past.usual:
        return not_applicable(_collecting_text(past, 0, 1))
    if past.doubt is not None:
        return unknown(past.doubt)
    entries = thin_evenly(past.usual)
    usual, now = usual_facts(entries, case.target), facts_of(case.snapshot)
    with_facts = sum(bool(entry.facts) for entry in entries)
    if not any(usual.values()):
        return unknown("the earlier entries contain no facts of the machine")
    changed = differences(usual, now)
    hidden = [name for name in unknown_on_one_side(usual, now) if any(named.get(name) for named in usual.values())]
    graded = case.graded(
        evidence={
            difference.name: {"class": difference.of_class, "usual": difference.before, "now": difference.after}
            for difference in changed
        }
    )
    if changed:
        return graded.fails("changed: " + "; ".join(difference_words(changed)))
    if hidden:
        return unknown(f"cannot tell whether these facts changed, because they are now unknown: {', '.join(hidden)}")
    if 2 * with_facts < len(entries):
        of_all = _count(len(entries), "earlier entry")
        return unknown(f"no known fact differs from {with_facts} of {of_all}; the others contain no facts")
    return case.graded().passes(f"no known fact differs from {_count(with_facts, 'earlier entry')}")


def _check_of_figures(
    natures: Collection[Nature], is_wrong: Callable[[FigureMove], bool], calm: str, **about: Any
) -> Check:
    """Create a check of the figures of these natures; it reports the moves for which `is_wrong` returns true."""
    return check(
        area=_AREA,
        severity=Severity.WARNING,
        ground=Ground.RISK,
        reads=(MICROBENCHMARK, _ENTRIES),
        asks_calibration=True,
        severity_in={STRICT: Severity.BLOCKING},
        **about,
    )(lambda case: _judge(case, natures, is_wrong, calm))


slower_than_usual = _check_of_figures(
    _SPEEDS,
    lambda move: move.nature == Nature.TIME,
    "as fast as usual",
    id="slower-than-usual",
    question="Are the target CPUs as fast as in the earlier calibrations?",
    why=(
        "A machine that became slower makes every later result look like a regression of the program. All other "
        "checks pass on a machine that is slow but steady."
    ),
    remedy=f"{_LOOK}; noisewatch history shows all changes. {_ACCEPT}",
    sources=("https://github.com/conbench/conbench/issues/1412",),
)
faster_than_usual = _check_of_figures(
    _SPEEDS,
    lambda move: move.nature == Nature.RATE,
    "no faster than usual",
    id="faster-than-usual",
    question="Are the target CPUs no faster than in the earlier calibrations?",
    why=(
        "If turbo was switched on or a limit was lifted, new results do not compare with earlier ones: a program "
        "seems to become faster, and later slower again."
    ),
    remedy=f"{_LOOK}; noisewatch history shows all changes. {_ACCEPT}",
    sources=("https://github.com/TechEmpower/FrameworkBenchmarks/issues/9450",),
)
noisier_than_usual = _check_of_figures(
    (Nature.NOISE,),
    lambda move: move.nature == Nature.NOISE and move.change > 0,
    "as calm as usual",
    id="noisier-than-usual",
    question="Are the target CPUs as calm as in the earlier calibrations?",
    why=(
        "Noise that has doubled may still be within the budget, but something new runs on these CPUs, and the "
        "smallest detectable change has grown."
    ),
    remedy=f"{_LOOK}, and see target-cpus-interrupted. {_ACCEPT}",
    sources=("https://docs.kernel.org/trace/osnoise-tracer.html",),
)


def _judge(case: Case, natures: Collection[Nature], is_wrong: Callable[[FigureMove], bool], calm: str) -> Answer:
    past, calibrated = case.past, case.calibrated
    if past is None or not past.is_kept:
        return not_applicable(_NO_HISTORY)
    if calibrated is None:
        return not_calibrated(case)
    development = development_until(calibrated, case.snapshot, past)
    if development is None:
        return unknown(incomplete_reason(calibrated) or calibrated.doubt or "the calibration gave no prediction")
    earlier = len(development.entries) - 1
    if earlier < LEAST_BEFORE:
        return not_applicable(_collecting_text(past, earlier, LEAST_BEFORE))
    if past.doubt is not None:
        return unknown(past.doubt)
    return _answer(case, development, natures, is_wrong, calm)


def _collecting_text(past: Past, count: int, needed: int) -> str:
    since = " since the machine was accepted" if past.accepted else ""
    return f"collecting: {count} of {needed} comparable entries{since}"


def _answer(
    case: Case, development: Development, natures: Collection[Nature], is_wrong: Callable[[FigureMove], bool], calm: str
) -> Answer:
    """Return the answer on the figures of these natures: a new level or a drift fails, a single difference warns.

    A few of the many figures often differ by chance in single entries. Such differences are information only, except
    in profile `strict`.
    """
    of_these = [figure for figure in Figure if TRAITS[figure].nature in natures]
    measured = development.entries[-1].figures
    judged = [figure for figure in of_these if figure in measured and figure not in development.unjudged]
    if not judged:
        return unknown(
            f"no value in this calibration, or fewer than {LEAST_BEFORE} earlier values: {', '.join(of_these)}"
        )
    departed = [move for move in (*development.departures, *development.drifts) if is_wrong(move)]
    apart = [move for move in development.apart if is_wrong(move) and move.figure in judged]
    modes = [str(alternation) for alternation in development.alternations if alternation.figure in judged]
    if departed:
        worst = _largest(departed)
        text = f"{move_words(worst, len(development.entries))}{_others(departed)}; {attribution_words(worst)}"
        return case.graded(evidence=_evidence(departed)).fails(text, measured=worst.change)
    if apart:
        worst = _largest(apart)
        text = f"{apart_words(worst)}{_others(apart)}; {attribution_words(worst)}"
        weight = None if case.rules.profile == STRICT else Severity.INFORMATION
        graded = case.graded(evidence=_evidence(apart), severity=weight)
        return graded.warns(text, measured=worst.change, reason=text)
    if missing := [figure for figure in of_these if _is_missing(development, figure)]:
        return unknown(
            f"{calm} as far as measured, but this calibration lacks figures of most earlier entries: "
            f"{', '.join(missing)}"
        )
    unjudged = [
        figure
        for figure in of_these
        if figure not in judged and any(figure in entry.figures for entry in development.entries)
    ]
    limits = [f"not judged: {', '.join(unjudged)}"] if unjudged else []
    by = f"{calm}, compared with {_count(len(development.entries) - 1, 'earlier entry')}"
    graded = case.graded(evidence={"bimodal": modes} if modes else {})
    return graded.passes("; ".join([calm if modes else by, *modes, *limits]))


def _is_missing(development: Development, figure: Figure) -> bool:
    """Return whether the figure is in most earlier entries and was not measured this time."""
    *earlier, newest = development.entries
    having = sum(figure in entry.figures for entry in earlier)
    return figure not in newest.figures and having >= LEAST_BEFORE and 2 * having > len(earlier)


def _largest(moves: Sequence[FigureMove]) -> FigureMove:
    """Return the largest move, in multiples of the smallest change of its figure that counts."""
    return max(moves, key=lambda move: abs(move.after.middle - move.before.middle) / TRAITS[move.figure].least_change)


def _others(moves: Sequence[FigureMove]) -> str:
    worst = _largest(moves)
    others = [str(move) for move in moves if move is not worst]
    return f"; also {', '.join(others)}" if others else ""


def _evidence(moves: Sequence[FigureMove]) -> dict[str, object]:
    return {
        move.figure: {
            "change_share": move.change,
            "entries": move.after.count,
            "changed": [str(change) for change in move.changed] if move.has_facts else None,
        }
        for move in moves
    }


def _count(number: int, what: str) -> str:
    return f"{number} {what if number == 1 else what.replace('entry', 'entries')}"


_NOW_S = 0.0  # placeholder for the time of the new entry, which is never shown


def development_until(calibrated: Calibrated, snapshot: Snapshot, past: Past) -> Development | None:
    """Return the development with the calibration as its newest entry, or None if the calibration gives no entry."""
    from noisewatch.judgement.history.measured import entry_of  # this import loads all of the noise prediction

    entry = entry_of(calibrated, snapshot, _NOW_S, None)
    return development_of((*past.like(entry), entry)) if entry is not None else None


def thin_evenly(entries: Sequence[Entry]) -> tuple[Entry, ...]:
    """Thin all entries, whatever their target CPUs, as one series, so equal periods have equal weight."""
    thinning: Thinning[int] = Thinning()
    for number in reversed(range(len(entries))):
        thinning.add(None, entries[number].at_s, entries[number].facts, number)
    return tuple(entries[number] for number in sorted(thinning.kept))


def usual_facts(entries: Sequence[Entry], cpus: CpuSet) -> Facts:
    """Return the most frequent value of each fact; among equally frequent values, the oldest.

    Only entries that contain the fact count. Entries with other target CPUs count too, except for facts of the target
    CPUs.
    """
    alike = [entry for entry in entries if entry.cpus == cpus]
    usual = {of_class: _usual(entry.facts.get(of_class, {}) for entry in entries) for of_class in FactClass}
    of_target = {of_class: _usual(entry.facts.get(of_class, {}) for entry in alike) for of_class in FactClass}
    return {
        of_class: {
            name: fact if name not in OF_TARGET else of_target[of_class].get(name) for name, fact in named.items()
        }
        for of_class, named in usual.items()
    }


def _usual(named: Iterable[Mapping[str, str | None]]) -> dict[str, str | None]:
    counts: dict[str, Counter[str]] = {}
    for facts in named:
        for name, value in facts.items():
            counts.setdefault(name, Counter()).update([] if value is None else [value])
    return {name: count.most_common(1)[0][0] if count else None for name, count in counts.items()}
