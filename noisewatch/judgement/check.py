"""The declaration of a check: text, JSON, `explain`, the monitor and the tests all derive from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Concatenate, ParamSpec

from msgspec import Struct

from noisewatch.faults import contain_faults
from noisewatch.judgement.answer import Answer, Limit
from noisewatch.judgement.terms import Area, Ground, Severity, Status

if TYPE_CHECKING:
    from noisewatch.judgement.case import Case


Fields = ParamSpec("Fields")


class Check(Struct, frozen=True):
    """A question about the target CPUs. The id names the fault, in kebab case."""

    answer: Callable[[Case], Answer]
    id: str
    area: Area
    question: str
    severity: Severity
    reads: tuple[str, ...]
    why: str
    remedy: str
    sources: tuple[str, ...]
    limits: tuple[Limit, ...] = ()
    asks_rates: bool = False  # whether the check needs a sample, not only settings
    reads_counters: bool = False  # whether the check reads threads, counters or times, which may change at any moment
    sees_load: bool = False  # whether the interval of a calibration suffices as a sample
    runs_unsampled: bool = False  # whether the check is evaluated even without a sample, because settings may suffice
    covers_calibration: bool = False  # whether the check passes only if the calibration was observed too
    asks_calibration: bool = False  # whether the check needs the microbenchmark
    answered_by: str | None = None  # id of the check that measures the effect of these settings
    severity_in: Mapping[str, Severity] = {}  # severities by profile, where they differ
    not_asked_in: Mapping[str, str] = {}  # reasons why the check does not apply, by profile
    is_hidden_from_guests: bool = False  # whether the check is unknown in a virtual machine or a container
    ground: Ground | None = None  # the reason why the check can block; None if it never does
    asks_starter: bool = False  # whether the check is about properties that a process inherits from its parent

    @property
    def is_moving(self) -> bool:
        """Whether the answer may change from one second to the next, so it is never remembered."""
        return self.asks_rates or self.reads_counters

    def severity_under(self, profile: str) -> Severity:
        """Return the severity of a failure of the check under the profile."""
        return self.severity_in.get(profile, self.severity)


def _as_decorator(
    make: Callable[Concatenate[Callable[[Case], Answer], Fields], Check],
) -> Callable[Fields, Callable[[Callable[[Case], Answer]], Check]]:
    return lambda *args, **fields: lambda answer: make(answer, *args, **fields)


check = _as_decorator(Check)  # decorates the `answer` function; its arguments are the other fields


def contained_answer(check: Check, case: Case) -> Answer:
    """Return the check's answer. An exception in the check becomes an unknown answer with the check's id."""
    return contain_faults(lambda: check.answer(case), partial(_failed, check))


def _failed(check: Check, reason: str) -> Answer:
    return Answer(Status.UNKNOWN, "unknown", reason=f"{check.id}: {reason}", is_fault=True)
