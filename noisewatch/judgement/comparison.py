"""Compare two sides, which are what two files contain about machines: their facts, findings and figures.

What both sides have is compared, the rest is named. Blocking are: a blocking check that fails, or is unknown, on one
side only; and a figure that differs by more than chance and by at least the change that counts. Unknown is never equal:
what only one side has decides nothing, and is reported.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from typing import NamedTuple

from noisewatch.cpus import CpuSet
from noisewatch.judgement.terms import Severity, Status
from noisewatch.model.distributions import SIGNIFICANCE
from noisewatch.model.estimate import Estimate, Ratio, ratio_of
from noisewatch.model.history.facts import FactClass, FactDifference, Facts, differences, known_alone
from noisewatch.model.history.figures import OF_THE_SLOWEST, TRAITS, Figure, FigureTraits, Nature
from noisewatch.records import dataclass


class SideKind(StrEnum):
    """The kind of a file, by its contents."""

    VERDICT = "verdict"
    CALIBRATION = "calibration"
    RECORDING = "recording"
    RUN = "run"


class Effect(StrEnum):
    """The effect of a finding on the decision whether a benchmark may start."""

    BLOCKS = "blocks"
    OPEN = "open"  # nobody knows whether it would
    UNASKED = "not asked"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class FindingState:
    """The answer of a check, as far as it is compared. `said` and `reason` are for people."""

    status: Status
    severity: Severity
    said: str
    reason: str | None
    answered_by: str | None  # the check that measured what is unknown

    @property
    def effect(self) -> Effect:
        """The effect on whether a benchmark may start: only blocking checks have one, and not if they warn."""
        if self.severity != Severity.BLOCKING:
            return Effect.NONE
        if self.status == Status.UNKNOWN:
            return Effect.NONE if self.answered_by is not None else Effect.OPEN
        effects = {Status.FAIL: Effect.BLOCKS, Status.IGNORED: Effect.UNASKED}
        return effects.get(self.status, Effect.NONE)


class Condition(StrEnum):
    """The condition of a calibration: on which CPUs, or in parallel with what. The value follows the figure's name."""

    ALONE = ""  # on the target CPUs
    UNDER_LOAD = " under load"
    AGAINST = " (--against)"  # on the CPUs that the target's were compared with

    def names_of(self, figures: Iterable[Figure]) -> frozenset[str]:
        """Return the names of these figures under the condition."""
        return frozenset(f"{figure}{self}" for figure in figures)


@dataclass(frozen=True, slots=True)
class MeasuredFigure:
    """A figure and its traits; `test` names the source of its chance. An `estimate` of None is unknown.

    `by_cpu` is empty for a figure that is known of all CPUs together only.
    """

    estimate: Estimate | None
    traits: FigureTraits
    test: str
    by_cpu: Mapping[int, Estimate] = field(default_factory=dict)
    condition: Condition = Condition.ALONE


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedSide:
    """The facts, findings and figures of one file.

    `findings` and `figures` are None, and `facts` are empty, where the file holds none at all. `measured_by` must be
    equal for speeds to be compared, `noise_of` for noise floors. `against` are the CPUs of the figures of that
    condition, `load` says what ran in parallel with those under load.
    """

    name: str
    kind: SideKind
    target: CpuSet | None
    facts: Facts
    findings: Mapping[str, FindingState] | None = None
    figures: Mapping[str, MeasuredFigure] | None = None
    profile: str | None = None
    measured_by: str | None = None
    noise_of: str | None = None
    against: CpuSet | None = None
    load: str | None = None
    commands: Mapping[str, str] | None = None  # of a run: by `a` and `b`
    remarks: tuple[str, ...] = ()  # what is doubtful in the file


_LARGE_SPEED, _LARGE_NOISE = 2.0, 100.0  # ratios
_SUSPECT = 1.5  # a ratio; on one busy virtual machine blind speeds strayed up to 1.41 in 21 pairs of calibrations


class ComparisonOutcome(StrEnum):
    """The outcome of a comparison, by what blocks."""

    SAME = "same"
    DIFFERENT = "different"
    UNKNOWN = "unknown"


EXIT_STATUS = {ComparisonOutcome.SAME: 0, ComparisonOutcome.DIFFERENT: 1, ComparisonOutcome.UNKNOWN: 3}


@dataclass(frozen=True, slots=True)
class FindingDifference:
    """A check with different answers; `blocks` if the difference changes whether a benchmark may start."""

    check_id: str
    before: FindingState
    after: FindingState

    @property
    def blocks(self) -> bool:
        """Whether the difference changes if a benchmark may start.

        A check not asked on one side is not a known difference.
        """
        effects = {self.before.effect, self.after.effect}
        return len(effects) > 1 and Effect.UNASKED not in effects

    @property
    def is_undecided(self) -> bool:
        """Whether a check that may block was asked on one side only."""
        effects = {self.before.effect, self.after.effect}
        return len(effects) > 1 and Effect.UNASKED in effects


@dataclass(frozen=True, slots=True)
class ComparedFigure:
    """A figure that both sides have: the mean of all CPUs, or the value of the one CPU on which it changed most."""

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
        """Whether the figure varies so much that not even a large change would have shown."""
        return self.least_shown > (_LARGE_NOISE if self.traits.nature == Nature.NOISE else _LARGE_SPEED)

    @property
    def is_suspect(self) -> bool:
        """Whether a speed is too noisy to prove its change, though it changed by more than noise usually does."""
        is_open_speed = not self.differs and self.traits.nature != Nature.NOISE
        return is_open_speed and abs(math.log(self.ratio.value)) >= math.log(_SUSPECT)

    @property
    def least_shown(self) -> float:
        """The smallest change that would have been detected, as a ratio above 1."""
        low, high = self.ratio.interval
        by_chance = math.sqrt(high / low) if math.isfinite(high) and low > 0 else math.inf
        return max(by_chance, math.exp(self.traits.least_change))


@dataclass(frozen=True, slots=True)
class KnownAlone:
    """The names of facts, checks and figures that only one side has."""

    facts: tuple[str, ...]
    checks: tuple[str, ...]  # of another version
    figures: tuple[str, ...]
    parts: tuple[str, ...]  # facts, checks or figures as a whole, or figures of a condition


@dataclass(frozen=True, slots=True, kw_only=True)
class SideComparison:
    """All differences between two sides; `figures` are all that were compared. Blocking `findings` come first."""

    before: ComparedSide
    after: ComparedSide
    facts: tuple[FactDifference, ...]
    findings: tuple[FindingDifference, ...]
    figures: tuple[ComparedFigure, ...]
    only_before: KnownAlone
    only_after: KnownAlone
    unknown_on_both: tuple[str, ...]  # blocking checks, and figures
    undecided: tuple[str, ...]  # what blocks, and is not known on both sides
    decided: int  # blocking checks that both sides answer
    significance: float  # of each figure's test
    by_cpu: int  # figures that were compared CPU by CPU too
    remarks: tuple[str, ...]

    @property
    def outcome(self) -> ComparisonOutcome:
        """The outcome of the comparison: `SAME` only if something that blocks was compared and nothing is undecided."""
        if self.blocking or self.different_figures:
            return ComparisonOutcome.DIFFERENT
        is_known = not self.undecided and bool(self.figures or self.decided)
        return ComparisonOutcome.SAME if is_known else ComparisonOutcome.UNKNOWN

    @property
    def exit_status(self) -> int:
        return EXIT_STATUS[self.outcome]

    @property
    def different_figures(self) -> tuple[ComparedFigure, ...]:
        """The figures that differ: speeds before noise, and the largest change first."""
        differing = [figure for figure in self.figures if figure.differs]
        return tuple(sorted(differing, key=_rank))

    @property
    def blind_figures(self) -> tuple[ComparedFigure, ...]:
        """The figures that are too noisy to prove a difference or its absence."""
        return tuple(figure for figure in self.figures if figure.is_blind and not figure.differs)

    @property
    def blocking(self) -> tuple[FindingDifference, ...]:
        return tuple(difference for difference in self.findings if difference.blocks)

    @property
    def are_other_machines(self) -> bool:
        """Whether the sides are different machines, as far as their files identify them."""
        return any(difference.of_class == FactClass.IDENTITY for difference in self.facts)


def _rank(figure: ComparedFigure) -> tuple[bool, float]:
    return figure.traits.nature == Nature.NOISE, -abs(math.log(figure.ratio.value))


_States = Mapping[str, FindingState]
_Figures = Mapping[str, MeasuredFigure]
_NOISE_WORD = "noise floors"
_NOISE_FLOORS = frozenset({Figure.NOISE_1MS, Figure.NOISE_10MS, Figure.NOISE_100MS})
_MACHINE_FIGURES = Condition.ALONE.names_of(figure for figure in Figure if figure not in OF_THE_SLOWEST)
_SPEEDS = frozenset(
    figure for figure, traits in TRAITS.items() if traits.nature != Nature.NOISE and figure not in OF_THE_SLOWEST
)
SPEEDS = "speeds"
_SORTS = ((SPEEDS, _SPEEDS), (_NOISE_WORD, _NOISE_FLOORS))
_TOO_NOISY = "too noisy to compare"


def compare_sides(before: ComparedSide, after: ComparedSide) -> SideComparison:
    """Return the differences of the second side from the first."""
    findings = [*_finding_differences(before.findings or {}, after.findings or {})]
    excluded, remarks = _not_comparable(before, after)
    compared = compare_figures(before.figures or {}, after.figures or {}, excluded)
    figures = compared.figures
    undecided = [*_undecided(before, after, findings, [each.name for each in figures], excluded)]
    only_before, only_after = _known_alone(before, after, excluded), _known_alone(after, before, excluded)
    return SideComparison(
        before=before,
        after=after,
        facts=differences(before.facts, after.facts),
        findings=tuple(
            sorted(
                findings,
                key=lambda difference: (not difference.blocks, not difference.is_undecided, difference.check_id),
            )
        ),
        figures=figures,
        only_before=only_before,
        only_after=only_after,
        unknown_on_both=(
            *_open_on_both(before.findings or {}, after.findings or {}),
            *_unmeasured_on_both(before.figures or {}, after.figures or {}),
        ),
        undecided=tuple(dict.fromkeys([*undecided, *too_noisy(figures)])),
        decided=_decided(before.findings or {}, after.findings or {}),
        significance=compared.significance,
        by_cpu=compared.by_cpu,
        remarks=(*before.remarks, *after.remarks, *remarks),
    )


def _finding_differences(before: _States, after: _States) -> Iterator[FindingDifference]:
    for check_id in before.keys() & after.keys():
        difference = FindingDifference(check_id, before[check_id], after[check_id])
        if difference.before.status != difference.after.status or difference.before.effect != difference.after.effect:
            yield difference


_UNANSWERED = frozenset({Effect.OPEN, Effect.UNASKED})


def _open_on_both(before: _States, after: _States) -> Iterator[str]:
    """Yield the blocking checks that neither side answers: whether they are equal is unknown."""
    for check_id in sorted(before.keys() & after.keys()):
        if before[check_id].effect in _UNANSWERED and after[check_id].effect in _UNANSWERED:
            yield check_id


def _unmeasured_on_both(before: _Figures, after: _Figures) -> Iterator[str]:
    for name, figure in before.items():
        if figure.estimate is None and name in after and after[name].estimate is None:
            yield name


def _decided(before: _States, after: _States) -> int:
    return sum(
        Severity.BLOCKING in (before[each].severity, after[each].severity)
        and not {before[each].effect, after[each].effect} & _UNANSWERED
        for each in before.keys() & after.keys()
    )


def _not_comparable(before: ComparedSide, after: ComparedSide) -> tuple[frozenset[str], tuple[str, ...]]:
    """Return the figures that measure something different on each side, and the reasons."""
    excluded: set[str] = set()
    remarks = []
    for figures, one, other, what in (
        (_SPEEDS, before.measured_by, after.measured_by, f"{SPEEDS} not compared: measured by the core"),
        (_NOISE_FLOORS, before.noise_of, after.noise_of, f"{_NOISE_WORD} not compared: of"),
    ):
        if one is not None and other is not None and one != other:
            excluded |= _of_any_condition(figures) & (before.figures or {}).keys() & (after.figures or {}).keys()
            remarks.append(f"{what} {one} before, {other} after")
    if before.load is not None and after.load is not None and before.load != after.load:
        remarks.append(f"another load: {before.load} before, {after.load} after")
    for command in (before.commands or {}).keys() & (after.commands or {}).keys():
        one, other = (before.commands or {})[command], (after.commands or {})[command]
        if one != other:
            remarks.append(f"other commands were run: {one} before, {other} after")
    if before.profile is not None and after.profile is not None and before.profile != after.profile:
        remarks.append(f"judged by the profile {before.profile} before, {after.profile} after")
    return frozenset(excluded), tuple(remarks)


def _of_any_condition(figures: frozenset[Figure]) -> frozenset[str]:
    return frozenset().union(*(condition.names_of(figures) for condition in Condition))


def _known_alone(side: ComparedSide, other: ComparedSide, excluded: frozenset[str]) -> KnownAlone:
    parts = [
        name
        for name, own, others in (
            ("facts", side.facts or None, other.facts or None),
            ("checks", side.findings, other.findings),
            ("figures", side.figures or None, other.figures or None),
        )
        if own is not None and others is None
    ]
    figures = {} if "figures" in parts else dict(side.figures or {})
    alone = [*_figures_alone(figures, other.figures or {}, excluded)]
    of_others = {figure.condition for figure in (other.figures or {}).values()}
    conditions = {figures[name].condition for name in alone} - of_others
    return KnownAlone(
        facts=() if "facts" in parts else known_alone(side.facts, other.facts),
        checks=() if "checks" in parts else tuple(sorted((side.findings or {}).keys() - (other.findings or {}).keys())),
        figures=tuple(name for name in alone if figures[name].condition not in conditions),
        parts=(*parts, *(f"figures{condition}" for condition in Condition if condition in conditions)),
    )


def _figures_alone(own: _Figures, others: _Figures, excluded: frozenset[str]) -> Iterator[str]:
    for name, figure in own.items():
        other = others.get(name)
        if figure.estimate is not None and name not in excluded and (other is None or other.estimate is None):
            yield name


def _undecided(
    before: ComparedSide,
    after: ComparedSide,
    findings: list[FindingDifference],
    compared: list[str],
    excluded: frozenset[str],
) -> Iterator[str]:
    """Yield blocking checks that one side or neither answers, and figures that one side lacks.

    Figures of a different kind on each side count too, but not for two runs: only the run time shows their purpose. A
    noise floor that was compared stands for those at other lengths: for which sample lengths a calibration can predict
    is not a property of the machine.
    """
    yield from (each.check_id for each in findings if each.is_undecided)
    if not _are_runs(before, after):
        yield from (f"{word}{condition}" for word, condition, names in _sorts() if names & excluded)
    yield from _undecided_on_both(before, after)
    floors = [condition.names_of(_NOISE_FLOORS) for condition in Condition]
    spared = frozenset().union(*(names for names in floors if names & {*compared}))
    for side, other in ((before, after), (after, before)):
        yield from _undecided_alone(side, other)
        for name in _figures_alone(side.figures or {}, other.figures or {}, excluded | spared):
            if name in (other.figures or {}):
                yield name


def _sorts() -> Iterator[tuple[str, Condition, frozenset[str]]]:
    """Yield the label for each sort of figures, with the names of these figures under each condition."""
    for condition in Condition:
        yield from ((word, condition, condition.names_of(figures)) for word, figures in _SORTS)


def _undecided_on_both(before: ComparedSide, after: ComparedSide) -> Iterator[str]:
    """Yield what both sides asked and neither knows: blocking checks, and kinds of figures without any measured."""
    own, others = before.findings or {}, after.findings or {}
    yield from (each for each in _open_on_both(own, others) if Effect.OPEN == own[each].effect == others[each].effect)
    unmeasured = {*_unmeasured_on_both(before.figures or {}, after.figures or {})}
    if _are_runs(before, after):
        yield from sorted(unmeasured - _MACHINE_FIGURES)
    else:
        readings = _of_any_condition(frozenset({Figure.CLOCK_READING}))
        yield from (f"{word}{condition}" for word, condition, names in _sorts() if names - readings <= unmeasured)


def _are_runs(before: ComparedSide, after: ComparedSide) -> bool:
    return before.kind == after.kind == SideKind.RUN


def _undecided_alone(side: ComparedSide, other: ComparedSide) -> Iterator[str]:
    """Yield what blocks and only this side's verdict contains: the other verdict may have been cut short."""
    if side.findings is None or other.findings is None:
        return
    if side.figures and other.figures is None:
        yield "figures"
    unasked = (Status.IGNORED, Status.NOT_APPLICABLE)
    for check_id in sorted(side.findings.keys() - other.findings.keys()):
        state = side.findings[check_id]
        if state.severity == Severity.BLOCKING and state.status not in unasked:
            yield check_id


class FigureComparison(NamedTuple):
    """All compared figures, tested at one significance; `by_cpu` counts those also compared CPU by CPU."""

    figures: tuple[ComparedFigure, ...]
    significance: float
    by_cpu: int


class _Pair(NamedTuple):
    name: str
    before: MeasuredFigure
    after: MeasuredFigure

    @property
    def cpus(self) -> Sequence[int]:
        """The CPUs that can be compared one by one; empty unless both sides have the same CPUs."""
        cpus = self.before.by_cpu.keys()
        return [*cpus] if cpus == self.after.by_cpu.keys() else []


def compare_figures(
    before: Mapping[str, MeasuredFigure], after: Mapping[str, MeasuredFigure], excluded: frozenset[str]
) -> FigureComparison:
    """Return the figures of both sides, tested: the mean of all CPUs, then the CPU whose figure changed differently.

    CPUs are compared one by one if both sides have the same ones. All tests share a significance of 5% (Bonferroni):
    each figure has its part, and each CPU its part of that, so that of twenty comparisons of equal sides at most one
    differs.
    """
    pairs = [
        _Pair(name, one, after[name])
        for name, one in before.items()
        if name in after and name not in excluded and one.estimate is not None and after[name].estimate is not None
    ]
    by_cpu = sum(bool(pair.cpus) for pair in pairs)
    significance = SIGNIFICANCE / max(len(pairs) + by_cpu, 1)
    figures = tuple(figure for pair in pairs for figure in _compared(pair, significance))
    return FigureComparison(figures, significance, by_cpu)


def too_noisy(figures: Sequence[ComparedFigure]) -> Iterator[str]:
    """Yield "speeds" where none could have shown a doubling; otherwise the figures that may have changed much."""
    for condition in Condition:
        of_condition = [figure for figure in figures if figure.condition == condition]
        speeds = [figure for figure in of_condition if _is_speed(figure)]
        if speeds and all(figure.is_blind for figure in speeds):
            yield f"{SPEEDS}{condition} ({_TOO_NOISY})"
        else:
            yield from (f"{figure.name} ({_TOO_NOISY})" for figure in of_condition if figure.is_suspect)


def _is_speed(figure: ComparedFigure) -> bool:
    """Return whether the figure is a speed of all CPUs together; reading the clock is not a measure of speed."""
    readings = figure.condition.names_of([Figure.CLOCK_READING])
    return figure.cpu is None and figure.traits.nature != Nature.NOISE and figure.name not in readings


def _compared(pair: _Pair, significance: float) -> Iterator[ComparedFigure]:
    if pair.before.estimate is None or pair.after.estimate is None:
        return
    ratio = ratio_of(pair.before.estimate, pair.after.estimate, significance)
    traits, test, condition = pair.before.traits, pair.before.test, pair.before.condition
    whole = ComparedFigure(pair.name, pair.before.estimate, pair.after.estimate, traits, test, ratio, condition)
    yield whole
    changed = [figure for figure in _by_cpu(pair, significance) if figure.differs or figure.is_suspect]
    apart = [figure for figure in changed if not _is_of_all(figure, whole)]
    if apart:
        yield max(apart, key=lambda figure: (figure.differs, abs(math.log(figure.ratio.value))))


def _by_cpu(pair: _Pair, significance: float) -> Iterator[ComparedFigure]:
    traits, test, condition = pair.before.traits, pair.before.test, pair.before.condition
    for cpu in pair.cpus:
        before, after = pair.before.by_cpu[cpu], pair.after.by_cpu[cpu]
        ratio = ratio_of(before, after, significance / len(pair.cpus))
        yield ComparedFigure(f"{pair.name} on CPU {cpu}", before, after, traits, test, ratio, condition, cpu)


def _is_of_all(figure: ComparedFigure, whole: ComparedFigure) -> bool:
    """Return whether the CPU changed as all CPUs together did, which is already reported."""
    is_reported = whole.differs or whole.is_suspect
    return is_reported and figure.ratio.interval.low <= whole.ratio.value <= figure.ratio.interval.high
