"""The record of a machine: the facts, findings and figures in one file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum

from msgspec import Struct

from noisewatch.cpus import CpuSet
from noisewatch.judgement.terms import Severity, Status
from noisewatch.model.estimate import Estimate
from noisewatch.model.history.facts import Facts
from noisewatch.model.history.figures import Figure, FigureTraits


class RecordKind(StrEnum):
    """The kind of a file's contents."""

    VERDICT = "verdict"
    CALIBRATION = "calibration"
    RECORDING = "recording"
    RUN = "run"


class Effect(StrEnum):
    """A finding's effect on the start of a benchmark."""

    BLOCKS = "blocks"
    OPEN = "open"  # it is unknown whether the finding blocks
    UNASKED = "not asked"
    NONE = "none"


class FindingState(Struct, frozen=True):
    """The compared parts of a check's answer. `said` and `reason` are for people."""

    status: Status
    severity: Severity
    said: str
    reason: str | None
    answered_by: str | None  # the check whose measurement stands in for an unknown answer
    measured: str = ""  # the measured value, compared only for equality
    unknown_because: str | None = None  # the reason for an unknown answer that the profile does not count

    @property
    def statement(self) -> str:
        """The observation without its judgement: what was measured, or why it is unknown."""
        return self.unknown_because or self.reason or self.said

    @property
    def effect(self) -> Effect:
        """The effect on the start of a benchmark. Only checks that can block have one; a warning has none."""
        if self.severity != Severity.BLOCKING:
            return Effect.NONE
        if self.status == Status.UNKNOWN:
            return Effect.NONE if self.answered_by is not None else Effect.OPEN
        effects = {Status.FAIL: Effect.BLOCKS, Status.IGNORED: Effect.UNASKED}
        return effects.get(self.status, Effect.NONE)


class Condition(StrEnum):
    """The CPUs and the load of a calibration. The value is appended to a figure's name."""

    ALONE = ""  # the target CPUs without added load
    UNDER_LOAD = " under load"
    AGAINST = " (--against)"  # the CPUs with which the target CPUs were compared

    def names_of(self, figures: Iterable[Figure]) -> frozenset[str]:
        """Return the figures' names under this condition."""
        return frozenset(f"{figure}{self}" for figure in figures)


class MeasuredFigure(Struct, frozen=True):
    """A figure and its traits. `test` names the source of its random deviation. An `estimate` of None means unknown.

    `by_cpu` is empty if the figure is known only for all CPUs together.
    """

    estimate: Estimate | None
    traits: FigureTraits
    test: str
    by_cpu: Mapping[int, Estimate] = {}
    condition: Condition = Condition.ALONE


class MachineRecord(Struct, frozen=True, kw_only=True):
    """The facts, findings and figures of a machine in the file `source`. Parts that the file lacks are empty.

    Speeds are compared only if `measured_by` is equal, noise floors only if `noise_of` is. `against` are the CPUs of
    figures with the condition `AGAINST`. `load` describes the load of figures with `UNDER_LOAD`.
    """

    source: str
    kind: RecordKind
    target: CpuSet | None
    facts: Facts
    findings: Mapping[str, FindingState] = {}
    figures: Mapping[str, MeasuredFigure] = {}
    profile: str | None = None
    measured_by: str | None = None
    noise_of: str | None = None
    against: CpuSet | None = None
    load: str | None = None
    commands: Mapping[str, str] = {}  # the compared commands of a run, by `a` and `b`
    remarks: tuple[str, ...] = ()  # doubts about the file

    @property
    def has_findings(self) -> bool:
        """Whether files of this kind have findings, even if `findings` is empty."""
        return self.kind in (RecordKind.VERDICT, RecordKind.RECORDING)

    def estimate(self, name: str) -> Estimate | None:
        """Return the figure's estimate, or None if it is unknown or not in the file."""
        figure = self.figures.get(name)
        return None if figure is None else figure.estimate
