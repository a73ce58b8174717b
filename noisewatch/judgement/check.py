"""The declaration of a check: text, JSON, `explain`, the monitor and the tests all derive from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Concatenate, ParamSpec

from msgspec import Struct

from noisewatch.faults import contained
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
    asks_rates: bool = False  # it needs a sample, not only settings
    reads_counters: bool = False  # it looks at threads, counters or times too, if there are any
    sees_load: bool = False  # the interval of a calibration suffices
    runs_unsampled: bool = False  # it is evaluated without a sample too, as settings may suffice
    covers_calibration: bool = False  # it cannot pass unless the calibration was observed too
    asks_calibration: bool = False  # it needs the microbenchmark
    answered_by: str | None = None  # the check that measures what this one reads from settings
    severity_in: Mapping[str, Severity] = {}  # by profile, if it differs
    not_asked_in: Mapping[str, str] = {}  # profiles under which it does not apply, and why
    is_hidden_from_guests: bool = False  # it is unknown in a virtual machine or a container
    ground: Ground | None = None  # why it can block; None if it never does
    asks_starter: bool = False  # about properties inherited from the parent, read from this process

    @property
    def is_moving(self) -> bool:
        """Whether the answer may change from one second to the next; it is then never remembered."""
        return self.asks_rates or self.reads_counters

    def severity_under(self, profile: str) -> Severity:
        """Return how much a failure of the check weighs under the profile."""
        return self.severity_in.get(profile, self.severity)


def _as_decorator(
    make: Callable[Concatenate[Callable[[Case], Answer], Fields], Check],
) -> Callable[Fields, Callable[[Callable[[Case], Answer]], Check]]:
    return lambda *args, **fields: lambda answer: make(answer, *args, **fields)


check = _as_decorator(Check)  # decorates the function that answers; its arguments are the other fields


def contained_answer(check: Check, case: Case) -> Answer:
    """Return the check's answer; a fault in the check is unknown, with the check's id."""
    return contained(lambda: check.answer(case), partial(_failed, check))


def _failed(check: Check, reason: str) -> Answer:
    return Answer(Status.UNKNOWN, "unknown", reason=f"{check.id}: {reason}", is_fault=True)
