"""The report of one machine, and the differences between two of its reports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import NamedTuple

from noisewatch.judgement.terms import Outcome
from noisewatch.model.history.figures import Figure
from noisewatch.records import dataclass
from noisewatch.units import share_text

FLOOR_NS = 100_000_000  # the length of samples whose noise floor is shown: the one that budgets have by default
MachineKind = tuple[str, ...]
BOARD = "board"
_LASTING = (BOARD, "cpu model")  # what another machine under the same name has otherwise, and the same one never
_KIND = ("cpu model", "kernel", "virtual", "loops")  # what has to be alike for figures to be compared
_RANK = {Outcome.UNSTABLE: 0, Outcome.UNKNOWN: 1, Outcome.STABLE: 2}


@dataclass(frozen=True, slots=True)
class Floor:
    """The noise floor of samples of 100 ms, as CV."""

    low: float
    expected: float
    high: float


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a machine is not stable, or has a warning: the check, its text, and the culprit."""

    check: str
    said: str
    culprit: str | None

    def __str__(self) -> str:
        is_named = self.culprit is None or self.culprit.partition(" (pid ")[0] in self.said
        return f"{self.check}: {self.said}" + ("" if is_named else f" ({self.culprit})")


class SlowestCpu(NamedTuple):
    """The target CPU with the slowest value of a figure: in a mean of many CPUs it would not show."""

    cpu: int
    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The contents of one report file; a broken one, with a `trouble`, has only the host and the file's time.

    `at_s` is the report's own time. `written_s` is the modification time of the file: a report without a time is older.
    """

    host: str
    source: str
    written_s: float
    is_identified: bool = False  # whether it names its host itself, and not its file
    trouble: str | None = None
    outcome: Outcome = Outcome.UNKNOWN
    at_s: float | None = None
    reason: Reason | None = None
    open_checks: tuple[str, ...] = ()  # checks that fail or are unknown, and decide the verdict
    floor: Floor | None = None
    chance: float | None = None  # 0 to 1: of staying within the budget; older reports have none
    facts: Mapping[str, str | None]
    figures: Mapping[Figure, float]  # the mean of the target CPUs
    slowest: Mapping[Figure, SlowestCpu] = field(default_factory=dict)

    @property
    def latest_s(self) -> float:
        """The latest time (s) at which the report can have been made."""
        return self.written_s if self.at_s is None else self.at_s

    @property
    def kind(self) -> MachineKind | None:
        """The kind of the reported machine, or None if unknown."""
        known = [fact for name in _KIND if (fact := self.facts.get(name)) is not None]
        return tuple(known) if len(known) == len(_KIND) else None

    @property
    def folder(self) -> str:
        """The folder of the report's file."""
        return self.source.rpartition("/")[0]

    def counts_before(self, other: Report) -> bool:
        """Return whether this report takes precedence: the newer one, or at the same time the worse one."""
        return self._order < other._order

    @property
    def _order(self) -> tuple[float, int, str]:
        return -self.latest_s, rank_of(self.outcome), self.source


def rank_of(outcome: Outcome) -> int:
    """Return the sort key of an outcome, the worst first."""
    return _RANK[outcome]


def lasting_difference(one: Report, other: Report) -> str | None:
    """Return the name of a fact that shows two different machines, or None."""
    for name in _LASTING:
        facts = {one.facts.get(name), other.facts.get(name)}
        if None not in facts and len(facts) > 1:
            return name
    return None


def changes_between(before: Report, after: Report) -> Iterator[str]:
    """Yield the changes between two reports as text, the gravest first."""
    if before.outcome != after.outcome:
        yield f"was {before.outcome}"
    for word, these, those in (("new", after, before), ("settled", before, after)):
        checks = [check for check in these.open_checks if check not in those.open_checks]
        if checks:
            yield f"{word}: {', '.join(checks)}"
    if _is_apart(before.floor, after.floor) and before.floor is not None and after.floor is not None:
        yield f"noise floor {share_text(before.floor.expected)} → {share_text(after.floor.expected)}"
    for name in after.facts:
        old, new = before.facts.get(name), after.facts[name]
        if old is not None and new is not None and old != new:
            yield f"{name} {old} → {new}"


def _is_apart(one: Floor | None, other: Floor | None) -> bool:
    """Return whether the intervals of two floors do not overlap; smaller differences do not count as a change."""
    return one is not None and other is not None and (one.low > other.high or other.low > one.high)
