"""The conclusion of a calibration: what can and cannot be measured on these CPUs, and what would help."""

from __future__ import annotations

import math

from msgspec import Struct

from noisewatch.cpus import name_cpus
from noisewatch.judgement.case import Calibrated
from noisewatch.judgement.checks.calibration.noise import undecided_reason
from noisewatch.judgement.grading import incomplete_reason
from noisewatch.judgement.noise.budget import ALONE, Budget, NoiseFloor
from noisewatch.judgement.noise.by_work import KINDS, FloorsByWork, floors_by_work_of, judge_by_work
from noisewatch.judgement.noise.dominance import QUOTA, dominating_cause, is_of_quota
from noisewatch.judgement.terms import Status
from noisewatch.kinds import Work
from noisewatch.surfaces.reports.calibration.gaps import GapsShown
from noisewatch.units import describe_chance, describe_ns, share_text

_LONGER = "calibrate longer (--duration)"
_NO_LONGER = 1.005  # ratio of times; a worst sample below it is not mentioned
_NOTHING = 1e-4  # a CV too small to show in a benchmark
_MOSTLY = 0.5  # share of the time in gaps: a cause with more is reported as the main cause


class Conclusion(Struct, frozen=True):
    """The conclusion of a calibration, with the status of the check of the noise floor.

    `sentence` is the main sentence. `worst` describes the worst single sample, and `helps` the cause of the noise or a
    remedy; both may be empty.
    """

    status: Status
    sentence: str
    worst: str = ""
    helps: str = ""

    @property
    def texts(self) -> tuple[str, ...]:
        """The whole conclusion as text, then shorter versions."""
        choices = ((self.sentence, self.worst, self.helps), (self.sentence, self.helps), (self.sentence,))
        return tuple(" ".join(filter(None, parts)) for parts in choices)


def conclusion_of(calibrated: Calibrated, gaps: GapsShown) -> Conclusion:
    """Return the conclusion for the budget's number and length of samples."""
    by_work = floors_by_work_of(calibrated) if calibrated.budget.work is None else None
    if by_work is not None:
        return _conclude_any_work(calibrated, by_work, gaps)
    floor = calibrated.floor
    if floor is None or calibrated.is_of_any_work:
        why = incomplete_reason(calibrated) or calibrated.doubt or f"too little was measured; {_LONGER}"
        return Conclusion(Status.UNKNOWN, f"Cannot tell what can be measured here: {why}.")
    status, judged = _judge(calibrated, floor)
    helps = " ".join(
        filter(None, (_what_helps(calibrated, floor, gaps, calibrated.budget.work), _longer_samples(calibrated)))
    )
    if floor.extrapolated:
        return Conclusion(
            status, _extrapolated_sentence(calibrated, floor, status), helps=helps if status == Status.FAIL else ""
        )
    return Conclusion(
        status, f"{_variation_clause(floor)}, {judged}: {_change_clause(floor)}.", _worst_sentence(floor), helps
    )


_SHARED = 2  # a ratio of CVs: kinds of work that differ by more, and beyond chance, have different causes of noise
_IN_BUDGET, _NEAR = "within the budget of {limit}, detectable change", "too close to the budget of {limit} to tell, CV"
_OVER, _SHORT = "over the budget of {limit}, CV", "too little was measured for samples of {length}"
_MISSING = "not measured, or too little"


def _conclude_any_work(calibrated: Calibrated, by_work: FloorsByWork, gaps: GapsShown) -> Conclusion:
    """Return the conclusion for all kinds of work: what can be measured, why the kinds differ, and what would help."""
    budget = by_work.budget
    limit, length = share_text(budget.max_cv), describe_ns(budget.at_ns)
    groups: dict[str, list[str]] = {words: [] for words in (_IN_BUDGET, _NEAR, _OVER, _SHORT, _MISSING)}
    for work in dict.fromkeys((*KINDS, *by_work.floor_by_work)):
        words = _words_for(by_work, work)
        groups[words].append(f"{work}{_floor_figure(by_work.floor_by_work.get(work), words)}")
    parts = [
        f"{words.format(limit=limit, length=length)}: {', '.join(kinds)}" for words, kinds in groups.items() if kinds
    ]
    summary = f"{budget.samples} samples of {length}, by kind of work: {'; '.join(parts)}"
    status, _ = judge_by_work(calibrated, by_work)
    doubt = incomplete_reason(calibrated) or calibrated.doubt
    helps = "" if status == Status.PASS else _difference(calibrated, by_work, gaps)
    return Conclusion(status, f"{summary}{f'; but {doubt}' if doubt is not None else ''}.", helps=helps)


def _words_for(by_work: FloorsByWork, work: Work) -> str:
    if by_work.cpus_above.get(work):
        return _OVER
    if work in by_work.within:
        return _IN_BUDGET
    floor = by_work.floor_by_work.get(work)
    if floor is None or work in by_work.too_little_on:
        return _MISSING
    return _SHORT if floor.extrapolated else _NEAR


def _floor_figure(floor: NoiseFloor | None, words: str) -> str:
    """Return the smallest detectable change of work within the budget, the CV of other work, or "" if it is unknown."""
    if floor is None or words in (_SHORT, _MISSING):
        return ""
    return f" {share_text(floor.smallest_change_share if words == _IN_BUDGET else floor.cv_expected)}"


def _difference(calibrated: Calibrated, by_work: FloorsByWork, gaps: GapsShown) -> str:
    """Return the remedy for interruptions that alone exceed the budget, or else the cause of the noise."""
    floors, alone = by_work.floor_by_work, by_work.alone
    margin = calibrated.drift.margin_at(by_work.budget.at_ns)
    if alone is not None and by_work.cpus_above[ALONE]:
        of_quota = any(is_of_quota(calibrated, figures) for figures in calibrated.complete if figures.cpu == alone.cpu)
        cause = f"the cause is {QUOTA.said}" if of_quota else "move other work off this CPU"
        share = share_text(alone.cv_expected)
        where = f"exceed the budget on CPU {alone.cpu} (CV {share})"
        return f"Interruptions alone {where}: {cause}.{_most_of_the_gaps(gaps)}"
    chain, dense = (floors.get(work) for work in (Work.LATENCY, Work.THROUGHPUT))
    if chain is not None and dense is not None and _differs(dense, chain, margin):
        return (
            "Throughput work is slowed, but latency work is not, so the cause shares the core: a busy sibling, for "
            "example, or another virtual machine. Choose another core (--cpus), or switch SMT off; --workload measures "
            "your own command."
        )
    of_memory = [work for work in (Work.CACHE, Work.MEMORY, Work.BANDWIDTH) if work in floors]
    slower = [work for work in of_memory if dense is not None and _differs(floors[work], dense, margin)]
    if slower:
        return (
            f"Work on {' and '.join(slower)} is slowed, but throughput work is not, so the cause shares the "
            "last-level cache or the memory. Move the cause to another cache or node."
        )
    return _what_helps(calibrated, floors[by_work.worst], gaps, by_work.worst)


def _differs(floor: NoiseFloor, other: NoiseFloor, margin: float) -> bool:
    """Return whether `floor` differs from `other` by more than chance, and so has another cause of noise.

    Both floors are from the same calibration, so the margin for drift between calibrations is taken out.
    """
    least = max(_SHARED * other.cv_expected, _NOTHING)
    return floor.cv_expected > least and floor.cv_low * margin > other.cv_expected


def _judge(calibrated: Calibrated, floor: NoiseFloor) -> tuple[Status, str]:
    """Judge the floor against the budget, as the check does; return the status and a clause."""
    limit = share_text(calibrated.budget.max_cv)
    above = calibrated.cpus_above_budget
    if above:
        return Status.FAIL, f"too much for the budget of {limit} on {name_cpus(above)}"
    reason = incomplete_reason(calibrated) or _undecided_reason(calibrated, floor, calibrated.budget)
    if reason is not None:
        return Status.UNKNOWN, f"but {reason}"
    return Status.PASS, f"within the budget of {limit}"


def _extrapolated_sentence(calibrated: Calibrated, floor: NoiseFloor, status: Status) -> str:
    """Return the conclusion for samples too long for this calibration, which can fail the budget but not pass it."""
    length = describe_ns(floor.sample_ns)
    if status == Status.FAIL:
        above, limit = name_cpus(calibrated.cpus_above_budget), share_text(calibrated.budget.max_cv)
        advice = f"{_LONGER} to learn which change can be detected"
        return f"Samples of {length} vary too much for the budget of {limit} on {above}; {advice}."
    why = incomplete_reason(calibrated) or f"too little was measured for samples of {length}"
    return f"Cannot tell what can be measured here: {why}; {_LONGER}."


def _variation_clause(floor: NoiseFloor) -> str:
    return (
        f"{floor.samples} samples of {describe_ns(floor.sample_ns)} vary by {share_text(floor.cv_expected)} "
        f"({share_text(floor.cv_low)} to {share_text(floor.cv_high)})"
    )


def _change_clause(floor: NoiseFloor) -> str:
    if not math.isfinite(floor.smallest_change_share):
        return "no change can be distinguished from noise"
    return f"a change below {share_text(floor.smallest_change_share)} is noise"


def _worst_sentence(floor: NoiseFloor) -> str:
    if floor.bounded and floor.max_inflation < _NO_LONGER:
        return ""
    times = f"{floor.max_inflation:.2f} times the median{'' if floor.bounded else ', or more'}"
    return f"A single sample may take {times}."


def _undecided_reason(calibrated: Calibrated, floor: NoiseFloor, budget: Budget) -> str | None:
    """Return briefly why the check cannot decide on the floor, or None if it can."""
    if undecided_reason(calibrated, "") is None:
        return None
    if calibrated.doubt is not None:
        return calibrated.doubt
    if calibrated.unpredicted:
        return f"too little was measured on {name_cpus(calibrated.unpredicted)}: {_LONGER}"
    if floor.chance is not None and floor.chance < budget.least_chance:
        least, limit = describe_chance(budget.least_chance), share_text(budget.max_cv)
        return (
            f"they stay within the budget of {limit} with a chance of only {describe_chance(floor.chance)} (at least "
            f"{least} needed)"
        )
    if floor.bounded:
        return f"the worst sample may take more than {budget.max_inflation:.2f} times the median"
    return f"the calibration is too short to bound the worst sample: {_LONGER}"


def _what_helps(calibrated: Calibrated, floor: NoiseFloor, gaps: GapsShown, work: Work | None) -> str:
    """Return the cause of most of the noise, and of most of the time in gaps if one cause dominates.

    The text is empty if there is hardly any noise.
    """
    if floor.cv_expected < _NOTHING:
        return ""
    return f"The noise is mostly {dominating_cause(calibrated, floor, work).said}.{_most_of_the_gaps(gaps)}"


def _most_of_the_gaps(gaps: GapsShown) -> str:
    """Return the cause of most of the time in gaps, or an empty text if no cause dominates."""
    if gaps.main_cause is None or gaps.main_cause[1] < _MOSTLY:
        return ""
    cause, part = gaps.main_cause
    return f" {part:.0%} of the time in gaps is {cause.name}{cause.cure}."


def _longer_samples(calibrated: Calibrated) -> str:
    """Return a sentence on the shortest samples that meet the budget; empty unless they are longer than requested."""
    budget = calibrated.budget
    meeting = [floor for floor in calibrated.floors if budget.is_met_by(floor)]
    if calibrated.floor in meeting or not meeting or meeting[0].sample_ns <= budget.at_ns:
        return ""
    return f"Samples of {describe_ns(meeting[0].sample_ns)} meet the budget."
