"""Compare the records of two machines, or of one machine at two times: their facts, findings and figures.

Items that both sides have are compared; the others are listed. A difference blocks if a blocking check fails or is
unknown on one side only, or if a figure differs by more than chance and by at least the change that counts. Unknown
values are never equal: a value of only one side is reported but decides nothing.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple

from msgspec import Struct

from noisewatch.judgement.record import Condition, Effect, FindingState, MachineRecord, MeasuredFigure, RecordKind
from noisewatch.judgement.terms import Severity, Status
from noisewatch.model.distributions import SIGNIFICANCE
from noisewatch.model.estimate import Estimate, Ratio, ratio_of
from noisewatch.model.history.facts import FactClass, FactDifference, differences, names_only_in
from noisewatch.model.history.figures import NOISE_NS, OF_THE_SLOWEST, TRAITS, Figure, FigureTraits, Nature

_LARGE_SPEED, _LARGE_NOISE = 2.0, 100.0  # ratios
_SUSPECT = 1.5  # a ratio; speeds too noisy to compare differed by up to 1.41 in 21 pairs on a busy virtual machine


class ComparisonOutcome(StrEnum):
    """The outcome of a comparison, which depends only on differences that block."""

    SAME = "same"
    DIFFERENT = "different"
    UNKNOWN = "unknown"


EXIT_STATUS = {ComparisonOutcome.SAME: 0, ComparisonOutcome.DIFFERENT: 1, ComparisonOutcome.UNKNOWN: 3}


_UNANSWERED = {Effect.OPEN, Effect.UNASKED}


class FindingDifference(Struct, frozen=True):
    """The findings of both sides for one check.

    `has_two_profiles` is true if both sides are judged by a known profile, and not by the same.
    """

    check_id: str
    before: FindingState
    after: FindingState
    has_two_profiles: bool = False

    @property
    def is_by_profile(self) -> bool:
        """Whether both sides observed the same, and only their profiles judge it differently."""
        before, after = self.before, self.after
        is_same = before.statement == after.statement != "" and before.measured == after.measured
        is_judged_otherwise = (before.status, before.severity) != (after.status, after.severity)
        return self.has_two_profiles and self.differs and is_same and is_judged_otherwise

    @property
    def effects(self) -> set[Effect]:
        return {self.before.effect, self.after.effect}

    @property
    def differs(self) -> bool:
        """Whether the answers differ."""
        return self.before.status != self.after.status or len(self.effects) > 1

    @property
    def blocks(self) -> bool:
        """Whether the check affects the start of a benchmark differently on each side.

        False if it was not asked on one side, because the difference is then unknown.
        """
        return len(self.effects) > 1 and Effect.UNASKED not in self.effects

    @property
    def is_undecided(self) -> bool:
        """Whether a check that may block was asked on one side only."""
        return len(self.effects) > 1 and Effect.UNASKED in self.effects

    @property
    def is_decided(self) -> bool:
        """Whether the check can block and both sides have answered it."""
        return Severity.BLOCKING in (self.before.severity, self.after.severity) and not self.effects & _UNANSWERED


class ComparedFigure(Struct, frozen=True):
    """A figure of both sides: the mean of all CPUs, or the value of the CPU on which it changed most."""

    name: str
    before: Estimate
    after: Estimate
    traits: FigureTraits
    test: str
    ratio: Ratio
    condition: Condition = Condition.ALONE
    cpu: int | None = None

    @property
    def differs(self) -> bool:
        """Whether the figure differs by more than chance explains, and by at least the change that counts."""
        return self.ratio.is_shown and abs(math.log(self.ratio.value)) >= self.traits.least_change

    @property
    def is_blind(self) -> bool:
        """Whether the figure is so noisy that not even a large change would have been detected."""
        return self.detectable_ratio > (_LARGE_NOISE if self.traits.nature == Nature.NOISE else _LARGE_SPEED)

    @property
    def is_suspect(self) -> bool:
        """Whether a speed changed by more than noise usually causes, but is too noisy to prove that it did."""
        is_open_speed = not self.differs and self.traits.nature != Nature.NOISE
        return is_open_speed and abs(math.log(self.ratio.value)) >= math.log(_SUSPECT)

    @property
    def detectable_ratio(self) -> float:
        """The smallest change that would have been detected, as a ratio above 1."""
        low, high = self.ratio.interval
        by_chance = math.sqrt(high / low) if math.isfinite(high) and low > 0 else math.inf
        return max(by_chance, math.exp(self.traits.least_change))


class OnlyOnOneSide(Struct, frozen=True):
    """The names of facts, checks and figures that only one side has."""

    facts: tuple[str, ...]
    checks: tuple[str, ...]  # usually the other version of noisewatch lacks these checks
    figures: tuple[str, ...]
    parts: tuple[str, ...]  # "facts", "checks" or "figures" if the other side lacks all of them (under a condition)


class SideComparison(Struct, frozen=True, kw_only=True):
    """All differences between two sides. `figures` contains all compared figures. Blocking `findings` come first."""

    before: MachineRecord
    after: MachineRecord
    facts: tuple[FactDifference, ...]
    findings: tuple[FindingDifference, ...]
    figures: tuple[ComparedFigure, ...]
    only_before: OnlyOnOneSide
    only_after: OnlyOnOneSide
    unknown_on_both: tuple[str, ...]  # checks and figures that neither side has answered or measured
    undecided: tuple[str, ...]  # blocking checks and figures that leave open whether the sides differ
    decided: int  # number of blocking checks that both sides answered
    significance: float  # the significance level of each test
    by_cpu: int  # number of figures that were also compared CPU by CPU
    remarks: tuple[str, ...]

    @property
    def outcome(self) -> ComparisonOutcome:
        """The outcome: `SAME` only if a blocking check or a figure was compared and none is undecided."""
        if self.blocking or self.different_figures:
            return ComparisonOutcome.DIFFERENT
        is_known = not self.undecided and bool(self.figures or self.decided)
        return ComparisonOutcome.SAME if is_known else ComparisonOutcome.UNKNOWN

    @property
    def exit_status(self) -> int:
        return EXIT_STATUS[self.outcome]

    @property
    def different_figures(self) -> tuple[ComparedFigure, ...]:
        """The figures that differ: speeds first, then noise, both sorted by the size of the change."""
        differing = [figure for figure in self.figures if figure.differs]
        return tuple(
            sorted(
                differing,
                key=lambda figure: (figure.traits.nature == Nature.NOISE, -abs(math.log(figure.ratio.value))),
            )
        )

    @property
    def blind_figures(self) -> tuple[ComparedFigure, ...]:
        """The figures that are too noisy to prove a difference or its absence."""
        return tuple(figure for figure in self.figures if figure.is_blind and not figure.differs)

    @property
    def blocking(self) -> tuple[FindingDifference, ...]:
        return tuple(difference for difference in self.findings if difference.blocks)

    @property
    def are_other_machines(self) -> bool:
        """Whether facts that identify a machine differ."""
        return any(difference.of_class == FactClass.IDENTITY for difference in self.facts)


_NOISE_WORD = "noise floors"
_NOISE_FLOORS = frozenset(NOISE_NS)
_MACHINE_FIGURES = Condition.ALONE.names_of(figure for figure in Figure if figure not in OF_THE_SLOWEST)
_SPEEDS = frozenset(
    figure for figure, traits in TRAITS.items() if traits.nature != Nature.NOISE and figure not in OF_THE_SLOWEST
)
SPEEDS = "speeds"
_SORTS = ((SPEEDS, _SPEEDS), (_NOISE_WORD, _NOISE_FLOORS))
_TOO_NOISY, _CHECKS = "too noisy to compare", "checks"


def compare_records(before: MachineRecord, after: MachineRecord) -> SideComparison:
    """Return the differences of the second record from the first."""
    findings = finding_differences(before, after)
    differing = [finding for finding in findings if finding.differs]
    unanswered = [finding for finding in findings if finding.effects <= _UNANSWERED]
    excluded, remarks = _not_comparable(before, after)
    compared = figure_differences(before, after, excluded)
    unmeasured = [
        name
        for name in before.figures
        if name in after.figures and before.estimate(name) is after.estimate(name) is None
    ]
    undecided = [
        *(finding.check_id for finding in differing if finding.is_undecided),
        *_undecided_sorts(before, after, excluded),
        *(finding.check_id for finding in unanswered if finding.effects == {Effect.OPEN}),
        *_undecided_figures(before, after, {*unmeasured}),
        *_undecided_alone(before, after, compared.figures, excluded),
        *_undecided_alone(after, before, compared.figures, excluded),
        *_too_noisy(compared.figures),
    ]
    return SideComparison(
        before=before,
        after=after,
        facts=differences(before.facts, after.facts),
        findings=tuple(sorted(differing, key=lambda finding: (not finding.blocks, not finding.is_undecided))),
        figures=compared.figures,
        only_before=_only_on(before, after, excluded),
        only_after=_only_on(after, before, excluded),
        unknown_on_both=(*(finding.check_id for finding in unanswered), *unmeasured),
        undecided=tuple(dict.fromkeys(undecided)),
        decided=sum(finding.is_decided for finding in findings),
        significance=compared.significance,
        by_cpu=compared.by_cpu,
        remarks=(*before.remarks, *after.remarks, *remarks),
    )


def finding_differences(before: MachineRecord, after: MachineRecord) -> list[FindingDifference]:
    """Return both findings of each check that both records contain."""
    has_two_profiles = None not in (before.profile, after.profile) and before.profile != after.profile
    return [
        FindingDifference(check_id, before.findings[check_id], after.findings[check_id], has_two_profiles)
        for check_id in sorted(before.findings.keys() & after.findings.keys())
    ]


def _not_comparable(before: MachineRecord, after: MachineRecord) -> tuple[frozenset[str], tuple[str, ...]]:
    """Return the names of figures that the sides measured differently, and remarks with the reasons."""
    excluded: set[str] = set()
    remarks = []
    for figures, left, right, what in (
        (_SPEEDS, before.measured_by, after.measured_by, f"{SPEEDS} not compared: measured by the core"),
        (_NOISE_FLOORS, before.noise_of, after.noise_of, f"{_NOISE_WORD} not compared: of"),
        ((), before.load, after.load, "another load:"),
        *(
            ((), command, after.commands.get(name), "other commands were run:")
            for name, command in before.commands.items()
        ),
        ((), before.profile, after.profile, "judged by the profile"),
    ):
        if left is not None and right is not None and left != right:
            excluded |= _of_any_condition(figures) & before.figures.keys() & after.figures.keys()
            remarks.append(f"{what} {left} before, {right} after")
    return frozenset(excluded), tuple(remarks)


def _of_any_condition(figures: Collection[Figure]) -> frozenset[str]:
    return frozenset().union(*(condition.names_of(figures) for condition in Condition))


def _only_on(side: MachineRecord, other: MachineRecord, excluded: frozenset[str]) -> OnlyOnOneSide:
    has_all_facts, has_all_figures = side.facts and not other.facts, side.figures and not other.figures
    has_all_checks = side.has_findings and not other.has_findings
    whole = (("facts", has_all_facts), ("checks", has_all_checks), ("figures", has_all_figures))
    alone = [] if has_all_figures else _figures_alone(side, other, excluded)
    conditions = {side.figures[name].condition for name in alone}
    conditions -= {figure.condition for figure in other.figures.values()}
    return OnlyOnOneSide(
        facts=() if has_all_facts else names_only_in(side.facts, other.facts),
        checks=() if has_all_checks else tuple(sorted(side.findings.keys() - other.findings.keys())),
        figures=tuple(name for name in alone if side.figures[name].condition not in conditions),
        parts=(
            *(part for part, is_whole in whole if is_whole),
            *(f"figures{condition}" for condition in Condition if condition in conditions),
        ),
    )


def _figures_alone(side: MachineRecord, other: MachineRecord, excluded: frozenset[str]) -> list[str]:
    return [
        name
        for name in side.figures
        if side.estimate(name) is not None and name not in excluded and other.estimate(name) is None
    ]


def _are_runs(before: MachineRecord, after: MachineRecord) -> bool:
    return before.kind == after.kind == RecordKind.RUN


def _figure_sorts() -> Iterator[tuple[str, frozenset[str]]]:
    """Yield the label and the figures' names of each sort (speeds, noise floors) under each condition."""
    for condition in Condition:
        yield from ((f"{word}{condition}", condition.names_of(figures)) for word, figures in _SORTS)


def _undecided_sorts(before: MachineRecord, after: MachineRecord, excluded: frozenset[str]) -> Iterator[str]:
    """Yield the sorts of figures that the sides measured differently; none for two runs, whose run times count."""
    if not _are_runs(before, after):
        yield from (label for label, names in _figure_sorts() if names & excluded)


def _undecided_figures(before: MachineRecord, after: MachineRecord, unmeasured: set[str]) -> Iterator[str]:
    """Yield the sorts of figures that neither side measured at all; for two runs, the run times that are missing."""
    if _are_runs(before, after):
        yield from sorted(unmeasured - _MACHINE_FIGURES)
    else:
        readings = _of_any_condition({Figure.CLOCK_READING})
        yield from (label for label, names in _figure_sorts() if names - readings <= unmeasured)


def _undecided_alone(
    side: MachineRecord, other: MachineRecord, compared: Sequence[ComparedFigure], excluded: frozenset[str]
) -> Iterator[str]:
    """Yield blocking checks that only this side contains, and figures that the other side could not measure.

    Calibrations and receipts have no checks, and another verdict may be incomplete: whether the checks differ is
    unknown then. If any noise floor was compared, floors at other sample lengths may be missing:
    the lengths that a calibration can predict are not a property of the machine.
    """
    if side.has_findings:
        asked = [
            check_id for check_id in sorted(side.findings.keys() - other.findings.keys()) if _can_block(side, check_id)
        ]
        if not other.has_findings:
            yield from [_CHECKS] if asked else []
        else:
            yield from ["figures"] if side.figures and not other.figures else []
            yield from asked
    floors = [condition.names_of(_NOISE_FLOORS) for condition in Condition]
    names_compared = {figure.name for figure in compared}
    spared = frozenset().union(*(names for names in floors if names & names_compared))
    yield from (name for name in _figures_alone(side, other, excluded | spared) if name in other.figures)


class _Figures(NamedTuple):
    """All compared figures, and the significance of each test. `by_cpu` is how many were also compared CPU by CPU."""

    figures: tuple[ComparedFigure, ...]
    significance: float
    by_cpu: int


def figure_differences(before: MachineRecord, after: MachineRecord, excluded: frozenset[str]) -> _Figures:
    """Compare each figure of both sides: the mean of all CPUs, and the largest change that it hides on a single CPU.

    The CPUs that both sides have are also compared one by one. All tests share a significance of 5% (Bonferroni): it
    is divided among the means and the sets of CPUs, and within a set among its CPUs. Equal machines thus seem to differ
    in at most one of twenty comparisons.
    """
    pairs = {
        name: (before.figures[name], after.figures[name])
        for name in before.figures
        if name not in excluded and before.estimate(name) is not None and after.estimate(name) is not None
    }
    common = {name: sorted(old.by_cpu.keys() & new.by_cpu.keys()) for name, (old, new) in pairs.items()}
    by_cpu = sum(bool(cpus) for cpus in common.values())
    significance = SIGNIFICANCE / max(len(pairs) + by_cpu, 1)
    figures = (
        figure for name, (old, new) in pairs.items() for figure in _compare(name, old, new, significance, common[name])
    )
    return _Figures(tuple(figures), significance, by_cpu)


def _too_noisy(figures: Sequence[ComparedFigure]) -> Iterator[str]:
    """Yield the figures that are too noisy under each condition: all speeds as one item, or each suspect figure."""
    for condition in Condition:
        of_condition = [figure for figure in figures if figure.condition == condition]
        speeds = [figure for figure in of_condition if _is_speed(figure)]
        if speeds and all(figure.is_blind for figure in speeds):
            yield f"{SPEEDS}{condition} ({_TOO_NOISY})"
        else:
            yield from (f"{figure.name} ({_TOO_NOISY})" for figure in of_condition if figure.is_suspect)


def _can_block(side: MachineRecord, check_id: str) -> bool:
    state = side.findings[check_id]
    return state.severity == Severity.BLOCKING and state.status not in (Status.IGNORED, Status.NOT_APPLICABLE)


def _is_speed(figure: ComparedFigure) -> bool:
    """Return whether the figure is a speed of all CPUs together; reading the clock is not a measure of speed."""
    readings = figure.condition.names_of([Figure.CLOCK_READING])
    return figure.cpu is None and figure.traits.nature != Nature.NOISE and figure.name not in readings


def _compare(
    name: str, before: MeasuredFigure, after: MeasuredFigure, significance: float, cpus: Collection[int]
) -> Iterator[ComparedFigure]:
    def figure(old: Estimate, new: Estimate, cpu: int | None = None) -> ComparedFigure:
        ratio = ratio_of(old, new, significance if cpu is None else significance / len(cpus))
        own_name = name if cpu is None else f"{name} on CPU {cpu}"
        return ComparedFigure(own_name, old, new, before.traits, before.test, ratio, before.condition, cpu)

    assert before.estimate is not None
    assert after.estimate is not None
    whole = figure(before.estimate, after.estimate)
    yield whole
    of_cpus = [figure(before.by_cpu[cpu], after.by_cpu[cpu], cpu) for cpu in cpus]
    changed = [of_cpu for of_cpu in of_cpus if of_cpu.differs or of_cpu.is_suspect]
    deviating = [of_cpu for of_cpu in changed if not _changed_like_all_cpus(of_cpu, whole)]
    if deviating:
        yield max(deviating, key=lambda of_cpu: (of_cpu.differs, abs(math.log(of_cpu.ratio.value))))


def _changed_like_all_cpus(figure: ComparedFigure, whole: ComparedFigure) -> bool:
    """Return whether the CPU changed like all CPUs together, whose change is reported already."""
    is_reported = whole.differs or whole.is_suspect
    return is_reported and figure.ratio.interval.low <= whole.ratio.value <= figure.ratio.interval.high
