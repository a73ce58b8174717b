"""Figures in words: durations and shares as people read them, `?` for what is not known."""

from __future__ import annotations

_WHOLE_FROM = 1e5
_SHORT_UNITS = {"per second": "/s", "seconds": " s"}


def describe_ns(ns: float | None) -> str:
    """`850 ns`, `12 µs`, `3.2 ms`, `1 s`."""
    if ns is None:
        return "?"
    for unit, size in (("ns", 1), ("µs", 1e3), ("ms", 1e6)):
        if ns < 999.5 * size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns / 1e9:.3g} s"


def describe_share(share: float | None, digits: int = 2) -> str:
    """`0.71%`."""
    return "?" if share is None else f"{share:.{digits}%}"


def describe_ghz(khz: float | None) -> str:
    """`3.694`."""
    return "?" if khz is None else f"{khz / 1e6:.3f}"


def describe_rate(per_s: float | None) -> str:
    """`0.4/s`, `13/s`, `41 200/s`."""
    if per_s is None:
        return "?"
    value = float(f"{per_s:.3g}")
    return f"{value:,.0f}/s".replace(",", " ") if value >= 100 else f"{value:g}/s"


def describe_value(value: float, unit: str) -> str:
    """`5.0%` of a share, `10/s` of a rate, `4,194,304 kB` of anything else."""
    if unit == "share":
        return f"{value:.1%}"
    number = f"{value:,.0f}" if value >= _WHOLE_FROM else f"{value:g}"
    return number + _SHORT_UNITS.get(unit, f" {unit}")
