"""The answers of checks, the limits of checks, and the text on both.

A limit's text contains the value beyond which the check warns or fails, and the value's relation to the budget.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

from msgspec import Struct

from noisewatch.judgement.noise.budget import DEFAULT_MAX_CV
from noisewatch.judgement.terms import Severity, Status
from noisewatch.patterns import regex
from noisewatch.units import describe_value, share_text

if TYPE_CHECKING:
    from typing import Unpack

    from noisewatch.cpus import CpuSet
    from noisewatch.judgement.fixes.fix import Fix
    from noisewatch.model.interval.disturbance import Disturbance

FAILS = "fails"
LIMIT, MINIMUM, LOOKED_BACK, LOOKED_AHEAD = "limit", "minimum", "looked back", "looked ahead"  # roles of a limit


class Limit(Struct, frozen=True):
    """A limit of a check, and the reason for its value. `key` names the limit within the check: `--limit ID.key=…`.

    If `of_budget` is set, the limit scales with the budget: `value` is the limit at the default budget, and a larger
    budget raises it at most to `of_budget` times the budget. Only limits on a share of time scale.
    """

    key: str
    name: str
    value: float
    unit: str
    reason: str
    value_in: Mapping[str, float] = {}  # the values of profiles for which `value` does not hold
    set_by: str | None = None  # the option that sets the limit's value, instead of --limit
    of_budget: float | None = None
    is_least: bool = False  # whether it is a minimum: smaller values warn or fail

    def under(self, profile: str, max_cv: float = DEFAULT_MAX_CV) -> float:
        """Return the limit's value under the profile, for samples that may vary by `max_cv`."""
        value = self.value_in.get(profile, self.value)
        if self.of_budget is None or max_cv == DEFAULT_MAX_CV:
            return value
        return min(value * max_cv / DEFAULT_MAX_CV, max(value, self.of_budget * min(max_cv, 1.0)))


def passing_and_failing(
    name: str,
    unit: str,
    passes: tuple[float, str] | tuple[float, str, float],
    fails: tuple[float, str] | tuple[float, str, float],
    prefix: str = "",
    is_plural: bool = False,
    is_least: bool = False,
) -> tuple[Limit, Limit]:
    """Return the limit up to which a value passes, and the limit above which it fails.

    `passes` and `fails` are tuples: a value, its reason and, if the limit scales with the budget, its `of_budget`. Keys
    begin with `prefix`.
    """
    limits = []
    for verb, (value, reason, *of_budget) in (("passes", passes), ("fails", fails)):
        full_name = f"{name} that {verb.removesuffix('es' if verb == 'passes' else 's') if is_plural else verb}"
        key, part = f"{prefix}{verb}", of_budget[0] if of_budget else None
        limits.append(Limit(key, full_name, value, unit, reason, of_budget=part, is_least=is_least))
    return limits[0], limits[1]


class Answer(Struct, frozen=True):
    """The result of a check on one machine. `said` is text for people only."""

    status: Status
    said: str
    measured: Any = None
    limit: float | None = None
    unit: str | None = None
    cpus: CpuSet = frozenset()
    reason: str | None = None  # why the answer is unknown or not applicable, or why a warning may be a failure
    evidence: Mapping[str, Any] = {}
    culprits: tuple[Disturbance, ...] = ()
    fix: Fix | None = None
    severity: Severity | None = None  # the severity, if it differs from the check's
    is_fault: bool = False  # whether noisewatch itself failed; such an answer counts under every profile
    items: tuple[str, ...] = ()  # the details that `said` summarizes, one line each
    limit_role: str = LIMIT  # the role of `limit`: LIMIT, MINIMUM, LOOKED_BACK or LOOKED_AHEAD


class AnswerDetails(TypedDict, total=False):
    """The optional fields of an answer: all except its status and its text."""

    measured: Any
    limit: float | None
    unit: str | None
    cpus: CpuSet
    reason: str | None
    evidence: Mapping[str, Any]
    culprits: tuple[Disturbance, ...]
    fix: Fix | None
    severity: Severity | None
    items: tuple[str, ...]
    limit_role: str


class Counted(NamedTuple):
    """A count (None if unknown), its limit, and the status and text of the answer if the count exceeds the limit."""

    number: int | None
    limit: Limit
    status: Status
    text: str


class Graded:
    """A builder of answers on one case that share details, such as their evidence; see `Case.graded`.

    Details passed for a single answer override the shared ones.
    """

    __slots__ = ("_bound", "_shared")

    def __init__(self, bound: Callable[[Limit], float], shared: AnswerDetails) -> None:
        self._bound, self._shared = bound, shared

    def by(self, limit: Limit, measured: float | None) -> Graded:
        """Return a builder of answers that also share a measured value and its limit."""
        role, bound = MINIMUM if limit.is_least else LIMIT, self._bound(limit)
        graded: AnswerDetails = {"measured": measured, "limit": bound, "unit": limit.unit, "limit_role": role}
        return Graded(self._bound, self._shared | graded)

    def by_counts(
        self, counts: Sequence[Counted], calm: str, unknown_reason: str | None, fix: Fix | None = None
    ) -> Answer:
        """Return the answer for the first count above its limit, else unknown if `unknown_reason` is set, else a pass.

        `counts` must be in order, the gravest first.
        """
        for number, limit, status, text in counts:
            if number is not None and number > self._bound(limit):
                return self.by(limit, number).answer(status, text, fix=fix)
        if unknown_reason is not None:
            return unknown(unknown_reason)
        return self.by(counts[0].limit, counts[0].number).passes(calm)

    def passes(self, text: str, **details: Unpack[AnswerDetails]) -> Answer:
        return self.answer(Status.PASS, text, **details)

    def warns(self, text: str, **details: Unpack[AnswerDetails]) -> Answer:
        return self.answer(Status.WARN, text, **details)

    def fails(self, text: str, **details: Unpack[AnswerDetails]) -> Answer:
        return self.answer(Status.FAIL, text, **details)

    def unknown(self, reason: str | None, text: str = "unknown") -> Answer:
        """Return the answer, with the shared details, for something that could not be read or measured."""
        return self.answer(Status.UNKNOWN, text, reason=reason)

    def not_applicable(self, reason: str) -> Answer:
        """Return the answer, with the shared details, for a question that does not apply to this machine."""
        return self.answer(Status.NOT_APPLICABLE, "does not apply", reason=reason)

    def answer(self, status: Status, text: str, **details: Unpack[AnswerDetails]) -> Answer:
        return Answer(status, text, **(self._shared | details))


def unknown(reason: str) -> Answer:
    """Return the answer for something that could not be read or measured."""
    return Answer(Status.UNKNOWN, "unknown", reason=reason)


def not_applicable(reason: str) -> Answer:
    """Return the answer for a question that does not apply to this machine or profile."""
    return Answer(Status.NOT_APPLICABLE, "does not apply", reason=reason)


_VERBS = {"passes": "warns", "fails": "fails"}  # the effect of exceeding a limit, by the last word of its key
_OUTCOME_IN_NAME = regex(r" (?:that (?:pass|fail)(?:es|s)?|without a warning|below which the check fails)\b")
_PARTS = {0.5: "half", 0.2: "a fifth"}


def warns_and_fails(warns: float, fails: float, unit: str) -> str:
    """Return ` (warns above 1%, fails above 5%)`, to be appended to a sentence."""
    return f" (warns {_beyond(warns, unit)}, fails {_beyond(fails, unit)})"


def describe_limit(limit: Limit) -> str:
    """Return `busy share of a target CPU: warns above 1% (two ticks of 10 ms are 0.7% of a 3 s sample)`."""
    name = _OUTCOME_IN_NAME.sub("", limit.name) if _verb(limit) else limit.name
    return f"{name}: {describe_bound(limit, limit.value)} ({'; '.join(_reasons(limit))})"


def describe_bound(limit: Limit, value: float) -> str:
    """Return `warns above 1%`, or only the value if the limit's key does not end with an outcome."""
    verb = _verb(limit)
    return _value(value, limit.unit) if verb is None else f"{verb} {_beyond(value, limit.unit, limit.is_least)}"


def _verb(limit: Limit) -> str | None:
    return _VERBS.get(limit.key.rpartition("-")[2])


def _reasons(limit: Limit) -> list[str]:
    """Return the reasons for the limit's value; its relation to the budget, if any, comes first."""
    if limit.of_budget is None:
        return [limit.reason]
    budget = share_text(DEFAULT_MAX_CV)
    part = f"{_PARTS.get(limit.of_budget, f'{limit.of_budget:g} times')} of the budget".replace("times of", "times")
    if abs(limit.value - limit.of_budget * DEFAULT_MAX_CV) < 1e-9:
        whole = f"{part} of {budget}"
        remaining = limit.reason.removeprefix(part)
        return [whole, limit.reason] if remaining == limit.reason else [whole + remaining]
    level = share_text(limit.value / limit.of_budget)
    scaling = f"for budgets of {budget} to {level}; proportionally lower for smaller budgets, {part} for larger budgets"
    return [scaling, limit.reason]


def _beyond(value: float, unit: str, is_least: bool = False) -> str:
    return f"{'below' if is_least else 'above'} {_value(value, unit)}"


def _value(value: float, unit: str) -> str:
    return share_text(value) if unit == "share" else describe_value(value, unit)
