"""Figures in words: durations and shares as people read them, `?` for what is not known."""

from __future__ import annotations


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
