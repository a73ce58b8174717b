"""Text on limits: the value from which a check warns or fails, and its part of the budget."""

from __future__ import annotations

from noisewatch.judgement.check import Limit
from noisewatch.judgement.noise.budget import DEFAULT_MAX_CV
from noisewatch.patterns import regex
from noisewatch.units import describe_value, share_text

_VERBS = {"passes": "warns", "fails": "fails"}  # by the last word of the key
_OUTCOME_IN_NAME = regex(r" (?:that (?:pass|fail)(?:es|s)?|without a warning|below which it fails)\b")
_PARTS = {0.5: "half", 0.2: "a fifth"}


def warns_and_fails(warns: float, fails: float, unit: str) -> str:
    """Return ` (warns from 1%, fails from 5%)`, for the end of a sentence."""
    return f" (warns {_from(warns, unit)}, fails {_from(fails, unit)})"


def describe_limit(limit: Limit) -> str:
    """Return `busy share of a target CPU: warns from 1% (two ticks of 10 ms in a 3 s sample)`."""
    name = _OUTCOME_IN_NAME.sub("", limit.name) if _verb(limit) else limit.name
    return f"{name}: {describe_bound(limit, limit.value)} ({'; '.join(_reasons(limit))})"


def describe_bound(limit: Limit, value: float) -> str:
    """Return `warns from 1%` of a value of the limit, or the value alone if the key does not say what it does."""
    verb = _verb(limit)
    return _value(value, limit.unit) if verb is None else f"{verb} {_from(value, limit.unit, limit.is_least)}"


def _verb(limit: Limit) -> str | None:
    return _VERBS.get(limit.key.rpartition("-")[2])


def _reasons(limit: Limit) -> list[str]:
    """Return why the limit has its value; one in proportion to the budget says so first."""
    if limit.of_budget is None:
        return [limit.reason]
    budget = share_text(DEFAULT_MAX_CV)
    part = f"{_PARTS.get(limit.of_budget, f'{limit.of_budget:g} times')} of the budget".replace("times of", "times")
    if abs(limit.value - limit.of_budget * DEFAULT_MAX_CV) < 1e-9:
        whole = f"{part} of {budget}"
        rest = limit.reason.removeprefix(part)
        return [whole, limit.reason] if rest == limit.reason else [whole + rest]
    level = share_text(limit.value / limit.of_budget)
    return [f"for a budget of {budget}: less in proportion below it, {part} above {level}", limit.reason]


def _from(value: float, unit: str, is_least: bool = False) -> str:
    return f"{'below' if is_least else 'from' if value else 'above'} {_value(value, unit)}"


def _value(value: float, unit: str) -> str:
    return share_text(value) if unit == "share" else describe_value(value, unit)
