"""Limits in words."""

from __future__ import annotations

from noisewatch.judgement.limit import Limit

_WHOLE_FROM = 1e5


def describe_value(value: float, unit: str) -> str:
    """`5.0%` of a share, `4,194,304 kB` of anything else."""
    if unit == "share":
        return f"{value:.1%}"
    return f"{value:,.0f} {unit}" if value >= _WHOLE_FROM else f"{value:g} {unit}"


def describe_limit(limit: Limit) -> str:
    """Its key, what it bounds, where it is, and why."""
    return f"{limit.key}: {limit.name}: {describe_value(limit.value, limit.unit)} ({limit.reason})"
