"""One side of a comparison: what a file says of a machine, as far as another one may say it too."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from enum import StrEnum

from noisewatch.cpus import CpuSet
from noisewatch.judgement.terms import Severity, Status
from noisewatch.model.estimate import Estimate
from noisewatch.model.history.facts import Facts
from noisewatch.model.history.figures import Figure, FigureTraits
from noisewatch.records import dataclass


class SideKind(StrEnum):
    """What a file is, by what it holds."""

    VERDICT = "verdict"
    CALIBRATION = "calibration"
    RECORDING = "recording"
    RUN = "run"


class Effect(StrEnum):
    """What a finding does to the decision whether a benchmark may start."""

    BLOCKS = "blocks"
    OPEN = "open"  # nobody knows whether it would
    UNASKED = "not asked"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class FindingState:
    """How a check was answered, in as much as that is compared. `said` and `reason` are for people."""

    status: Status
    severity: Severity
    said: str
    reason: str | None
    answered_by: str | None  # the check that measured what is unknown

    @property
    def effect(self) -> Effect:
        """Only what blocks has one; a blocking check that warns has none."""
        if self.severity != Severity.BLOCKING:
            return Effect.NONE
        if self.status == Status.UNKNOWN:
            return Effect.NONE if self.answered_by is not None else Effect.OPEN
        effects = {Status.FAIL: Effect.BLOCKS, Status.IGNORED: Effect.UNASKED}
        return effects.get(self.status, Effect.NONE)


class Condition(StrEnum):
    """Where, or beside what, a calibration measured; the values stand behind the names of figures."""

    ALONE = ""  # on the target CPUs
    UNDER_LOAD = " under load"
    AGAINST = " (--against)"  # on the CPUs that the target's were compared with

    def names_of(self, figures: Iterable[Figure]) -> frozenset[str]:
        """What these figures are called."""
        return frozenset(f"{figure}{self}" for figure in figures)


@dataclass(frozen=True, slots=True)
class MeasuredFigure:
    """A figure with what it is like; `test` says what its chance is taken from. An `estimate` of None is unknown.

    `by_cpu` is empty for what is known of all CPUs together only.
    """

    estimate: Estimate | None
    traits: FigureTraits
    test: str
    by_cpu: Mapping[int, Estimate] = field(default_factory=dict)
    condition: Condition = Condition.ALONE


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedSide:
    """`findings` and `figures` are None where the file holds none at all; `facts` are empty then.

    `measured_by` is what must be the same for figures of speed to be compared, `noise_of` for noise floors. `against`
    are the CPUs of the figures of that condition, `load` says what ran beside those under load.
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
