"""The differences between two sides, and whether a difference blocks.

Blocking are: a blocking check that fails, or is unknown, on one side only; and a figure that differs by more than
chance and by at least the change that counts. Unknown is never equal: what only one side has decides nothing, and is
reported.
"""

from __future__ import annotations

import math
from enum import StrEnum

from noisewatch.judgement.comparison.side import ComparedSide, Condition, Effect, FindingState
from noisewatch.model.estimate import Estimate, Ratio
from noisewatch.model.history.facts import FactClass, FactDifference
from noisewatch.model.history.figures import FigureTraits, Nature
from noisewatch.records import dataclass

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
        found = [figure for figure in self.figures if figure.differs]
        return tuple(sorted(found, key=_rank))

    @property
    def blind_figures(self) -> tuple[ComparedFigure, ...]:
        """The figures that are too noisy to prove a difference or its absence."""
        return tuple(figure for figure in self.figures if figure.is_blind and not figure.differs)

    @property
    def blocking(self) -> tuple[FindingDifference, ...]:
        return tuple(each for each in self.findings if each.blocks)

    @property
    def are_other_machines(self) -> bool:
        """Whether the sides are different machines, as far as their files identify them."""
        return any(each.of_class == FactClass.IDENTITY for each in self.facts)


def _rank(figure: ComparedFigure) -> tuple[bool, float]:
    return figure.traits.nature == Nature.NOISE, -abs(math.log(figure.ratio.value))
