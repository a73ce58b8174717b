"""Formatting and parsing of durations, shares, rates, frequencies and sizes; an unknown value is `?`.

`describe_…` is for sentences and tables, `short_…` for the columns of a screen.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Sequence

from noisewatch.patterns import regex

NS_PER_S = 1_000_000_000
_WHOLE_FROM = 1e5
_THOUSANDS_FROM = 99_950  # per second; from here on, rates would need seven columns
_NS_BY_UNIT = {"ns": 1.0, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9}
_DURATION = regex(r"(\d+(?:\.\d+)?) ?(ns|us|µs|ms|s)")
_KHZ_BY_UNIT = {"Hz": 1e-3, "kHz": 1.0, "MHz": 1e3, "GHz": 1e6}
_FREQUENCY = regex(r"(\d{1,15}(?:\.\d{1,9})?) ?([kMG]?Hz)", re.ASCII)
_SIZES = " KMGTP"  # each is 1024 times the previous one, as in the kernel's kB and K, and in the GB of memory modules
_SIZE = regex(r"(\d{1,15}(?:\.\d{1,9})?) ?([kKMGTP])(?:i?B)?", re.ASCII)
_LEAST_SHARE = 0.0005  # smaller shares would be rounded to 0
_LEAST_TEXT, _MOST_TEXT = 1e-4, 99.0  # the smallest and largest share that `share_text` prints as a number
_FOUR_DIGITS_FROM = 9.995  # from 999.5% on, the format for three digits would use an exponent
_COUNTED = {"CPUs", "nodes", "caches", "users", "tasks", "periods", "times", "pages", "events"}
_SHORT_UNITS = {"per second": "/s", "seconds": " s"}


def parse_duration(text: str) -> float | None:
    """Parse `10ms`, `1.5 s`, `100us` as nanoseconds. Return None for any other text."""
    match = _DURATION.fullmatch(text)
    return float(match[1]) * _NS_BY_UNIT[match[2]] if match else None


def parse_frequency(text: str) -> float | None:
    """Parse `3 GHz`, `2100 MHz`, `1200000 kHz`, `250 Hz` as kHz. Return None for any other text."""
    match = _FREQUENCY.fullmatch(text)
    return float(match[1]) * _KHZ_BY_UNIT[match[2]] if match else None


def parse_size(text: str) -> float | None:
    """Parse `64 GiB`, `64 GB`, `16316412 kB`, `1024K` (all powers of 1024) as bytes. Return None for any other text."""
    match = _SIZE.fullmatch(text)
    return float(match[1]) * 1024 ** _SIZES.index(match[2].upper()) if match else None


def describe_size(size: float) -> str:
    """Return a size in bytes as `15.6 GiB`, `512 MiB`, `64 bytes`."""
    step = next((step for step in range(len(_SIZES) - 1) if size < 999.5 * 1024**step), len(_SIZES) - 1)
    return f"{size / 1024**step:.3g} {_SIZES[step]}iB" if step else f"{size:g} bytes"


def describe_ns(ns: float | None) -> str:
    """Return a duration in nanoseconds as `850 ns`, `12 µs`, `3.2 ms`, `1 s`."""
    if ns is None:
        return "?"
    for unit, size in (("ns", 1), ("µs", 1e3), ("ms", 1e6)):
        if ns < 999.5 * size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns / 1e9:.3g} s"


def format_in_one_unit(values_ns: Sequence[float | None]) -> tuple[str, list[str]]:
    """Return one unit for all durations of a column, and the durations in this unit: `µs` and `3.40`, `62.90`.

    An unknown value is `?`.
    """
    known = [value for value in values_ns if value]
    unit, size = next(
        (
            (unit, size)
            for unit, size in (("ns", 1.0), ("µs", 1e3), ("ms", 1e6))
            if min(known, default=0) < 999.5 * size
        ),
        ("s", 1e9),
    )
    if max(known, default=0) >= _WHOLE_FROM * size:  # too many digits to compare at a glance
        unit, size = ("ms", 1e6) if size < 1e6 else ("s", 1e9)
    least, most = min(known, default=0) / size, max(known, default=0) / size
    if 0 < least < 0.0995:  # a small value is not shown as 0
        digits = 3
    elif least >= 99.95 or most >= 9999.5 or unit == "ns":
        digits = 0
    else:
        digits = 1 if least >= 9.995 or most >= 999.5 else 2
    return unit, ["?" if value is None else f"{value / size:.{digits}f}" for value in values_ns]


def describe_share(share: float | None, digits: int = 2) -> str:
    """Return a share as a percentage with fixed decimals: `0.71%`."""
    return "?" if share is None else f"{share:.{digits}%}"


def share_text(share: float) -> str:
    """Return a share with up to three digits, or as a whole percentage from 1000% on: `0.21%`, `7.4%`, `132%`, `1140%`.

    A tiny share is `<0.01%`, not 0; a huge one is `>9900%`, and an infinite one `none`.
    """
    if 0 < share < _LEAST_TEXT:
        return f"<{_LEAST_TEXT:.2%}"
    if _FOUR_DIGITS_FROM <= share < _MOST_TEXT:
        return f"{share:.0%}"
    return f"{share * 100:.3g}%" if share < _MOST_TEXT else "none" if math.isinf(share) else f">{_MOST_TEXT:.0%}"


def describe_chance(chance: float | None) -> str:
    """Return a probability as `83%`, `>99%` or `<1%`, rounded down so that it is never overstated."""
    if chance is None:
        return "?"
    if 0 < chance < 0.01:
        return "<1%"
    return ">99%" if 0.99 < chance < 1 else f"{math.floor(chance * 100 + _ROUNDED)}%"


_ROUNDED = 1e-9  # percent, added before rounding down: 0.29 * 100 is slightly less than 29


def describe_ghz(khz: float | None) -> str:
    """Return a frequency in kHz as GHz without the unit: `3.694`."""
    return "?" if khz is None else f"{khz / 1e6:.3f}"


def describe_mhz(khz: float | None) -> str:
    """Return a frequency in kHz as MHz without the unit: `3694`."""
    return "?" if khz is None else f"{khz / 1000:.0f}"


def describe_count(count: int, noun: str, plural: str | None = None) -> str:
    """Return a count with its noun: `1 run`, `25 runs`, `0 runs`; `plural` is needed if it is not the noun and an s."""
    return f"{count} {noun if count == 1 else plural or f'{noun}s'}"


def describe_busy_processes(count: int) -> str:
    """Return `1 busy process` or `2 busy processes`."""
    return describe_count(count, "busy process", "busy processes")


def describe_names(names: Sequence[str], most: int) -> str:
    """Return the first `most` names and the number of further names: `a, b and 3 more`."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def describe_rate(per_s: float | None) -> str:
    """Return events per second as `0.4/s`, `13/s`, `41 200/s`."""
    if per_s is None:
        return "?"
    value = float(f"{per_s:.3g}")
    return f"{_grouped(value) if value >= 100 else f'{value:g}'}/s"


_MOST_DIGITS = 7


def describe_value(value: float, unit: str) -> str:
    """Return a value by its unit: `5.0%` for a share, `10/s` for a rate, `4,194,304 kB` for other units."""
    if unit == "share":
        return f"{value:.1%}"
    if value == 1 and unit in _COUNTED:
        return f"1 {unit[:-1]}"
    number = f"{value:,.0f}" if value >= _WHOLE_FROM else f"{value:g}"
    return number + _SHORT_UNITS.get(unit, f" {unit}")


def distinct_from_limit(value: float, limit: float) -> str:
    """Return the value with one decimal, or with more decimals if it would otherwise look equal to the limit."""
    texts = [f"{value:.{digits}f}" for digits in range(1, _MOST_DIGITS)]
    return next((text for text in texts if value == limit or float(text) != limit), f"{value!r}")


def short_duration(ns: float | None) -> str:
    """Return a duration in nanoseconds in at most six columns: `0`, `12 µs`, `3.2 ms`, `480 ms`."""
    if ns is None:
        return "?"
    if ns < 1:
        return "0"
    for unit, size in (("ns", 1), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)):
        value = ns / size
        if value < 9.95:
            return f"{value:.1f} {unit}" if unit != "ns" else f"{value:.0f} {unit}"
        if value < 999.5:
            return f"{value:.0f} {unit}"
    return f"{ns / 1e9:.0f} s"


def short_noise(ns_per_s: float | None) -> str:
    """Return noise (ns/s) with the digits of `short_duration`: `0 µs/s`, `3.2 ms/s`, `1.0 s/s`."""
    return "0 µs/s" if ns_per_s is not None and ns_per_s < 1 else f"{short_duration(ns_per_s)}/s"


def short_seconds(value: float) -> str:
    """Return seconds as `0.2 s`, `5 s`, `60 s`."""
    return f"{value:.1f} s" if value < 0.95 else f"{value:.0f} s"


def short_change(ns: float | None) -> str:
    """Return a difference of durations (ns) with its sign, in at most seven columns."""
    if ns is None:
        return "?"
    return f"{'-' if ns < 0 else '+'}{short_duration(abs(ns))}" if abs(ns) >= 1 else "0"


def short_rate(per_s: float | None) -> str:
    """Return events per second in at most six columns: `0.4`, `13`, `41 200`, `120k`."""
    if per_s is None:
        return "?"
    if per_s >= _THOUSANDS_FROM:
        return f"{per_s / 1000:.0f}k"
    if 0 < per_s < 9.95:
        return f"{per_s:.1f}"
    return _grouped(per_s if per_s < 99.5 else float(f"{per_s:.3g}"))


def _grouped(value: float) -> str:
    """Return a whole number with blanks between its thousands."""
    return f"{value:,.0f}".replace(",", " ")


def short_share(value: float | None) -> str:
    """Return a share as a percentage in at most five columns; a small share is never shown as 0."""
    if value is None:
        return "?"
    if 0 < value < _LEAST_SHARE:
        return "<0.1%"
    return f"{value:.0%}" if value >= 0.0995 else f"{value:.1%}"


def describe_clock(khz: float | None) -> str:
    """Return a frequency in kHz as `1.8 GHz`."""
    return "?" if khz is None else f"{khz / 1e6:.4g} GHz"


def describe_clocks(lowest_khz: float, highest_khz: float) -> str:
    """Return a range of frequencies in kHz as `1.2 to 2.3 GHz`."""
    return f"{lowest_khz / 1e6:.4g} to {describe_clock(highest_khz)}"


def describe_minute(at_s: float) -> str:
    """Return a time (seconds since 1970) as local time: `2026-11-14 09:30`."""
    try:
        return time.strftime("%Y-%m-%d %H:%M", time.localtime(at_s))
    except (OverflowError, OSError, ValueError):
        return "?"


def describe_figure(value: float, unit: str) -> str:
    """Return a measured figure by its unit: ns, kHz, CV, share of a median or /s."""
    by_unit = {"ns": describe_ns, "kHz": describe_clock, "CV": describe_share, "median": _describe_of_median}
    return by_unit.get(unit, describe_rate)(value)


def _describe_of_median(share: float) -> str:
    return f"{share:.1%} of the median"


def long_duration(seconds: float) -> str:
    """Return seconds in one unit, rounded down: `45 s`, `12 min`, `30 h`, `4 days`."""
    for unit, size, most in (("s", 1, 120), ("min", 60, 120), ("h", 3600, 48)):
        if seconds < size * most:
            return f"{seconds // size:.0f} {unit}"
    return f"{seconds // 86400:.0f} days"
