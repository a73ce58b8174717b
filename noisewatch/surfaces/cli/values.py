"""What the options' values may be, and what they come to. Each refusal says what was wanted."""

from __future__ import annotations

import re
import shlex
from argparse import ArgumentTypeError
from collections.abc import Callable

from noisewatch.units import parse_duration

_LONGEST_S = 1e6
SHORTEST_SAMPLE_S = 0.5
SHORTEST_CALIBRATION_S = 0.5
_SHORTEST_SAMPLE_NS, _LONGEST_SAMPLE_NS = 100_000, 100_000_000_000
_LARGEST_SHARE = 10.0
_LARGEST_INFLATION = 1e6
_MOST_SAMPLES = 10_000


def seconds(least: float) -> Callable[[str], float]:
    """Seconds, so many or more."""

    def parse(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if not least <= value <= _LONGEST_S:
            raise ArgumentTypeError(f"wanted seconds from {least:g} to {_LONGEST_S:g}, found {text!r}")
        return value

    return parse


def sample_seconds(text: str) -> float:
    """0, or long enough that a tick of 10 ms, or a single interrupt, is no verdict."""
    value = seconds(0)(text)
    if 0 < value < SHORTEST_SAMPLE_S:
        raise ArgumentTypeError(f"wanted 0 or at least {SHORTEST_SAMPLE_S:g} seconds, found {text!r}")
    return value


def calibration_seconds(text: str) -> float:
    """0, or long enough for each kind of measurement to come up."""
    value = seconds(0)(text)
    if 0 < value < SHORTEST_CALIBRATION_S:
        raise ArgumentTypeError(f"wanted 0 or at least {SHORTEST_CALIBRATION_S:g} seconds, found {text!r}")
    return value


def sample_length(text: str) -> int:
    """A duration such as 100ms, 10us or 1s as nanoseconds."""
    length_ns = parse_duration(text.strip()) or 0
    if not _SHORTEST_SAMPLE_NS <= length_ns <= _LONGEST_SAMPLE_NS:
        raise ArgumentTypeError(f"wanted a duration from 100us to 100s, such as 10ms, found {text!r}")
    return round(length_ns)


def share(text: str) -> float:
    """2% or 0.02."""
    match = re.fullmatch(r"(\d{1,6}(?:\.\d{1,9})?)(%?)", text.strip())
    value = float(match[1]) / (100 if match[2] else 1) if match else 0.0
    is_clear = match is not None and (bool(match[2]) or value < 1)
    if not (is_clear and 0 < value <= _LARGEST_SHARE):
        raise ArgumentTypeError(f"wanted a share such as 5% or 0.05, found {text!r}")
    return value


def inflation(text: str) -> float:
    """A factor of 1 or more."""
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not 1 <= value <= _LARGEST_INFLATION:
        raise ArgumentTypeError(f"wanted a factor of at least 1, such as 1.2, found {text!r}")
    return value


def sample_count(text: str) -> int:
    """Two or more: of one there is no deviation."""
    if not text.isascii() or not text.isdecimal() or not 2 <= int(text) <= _MOST_SAMPLES:
        raise ArgumentTypeError(f"wanted a number of samples from 2 to {_MOST_SAMPLES}, found {text!r}")
    return int(text)


def limit_value(text: str, unit: str) -> float | None:
    """What a limit of that unit is set to, such as 2% or 0.02 of a share; None where the text is no such number."""
    match = re.fullmatch(r"(\d{1,15}(?:\.\d{1,9})?)(%?)", text)
    if match is None or (match[2] and unit != "share"):
        return None
    value = float(match[1]) / (100 if match[2] else 1)
    is_clear = unit != "share" or bool(match[2]) or value < 1
    return value if is_clear and (unit != "share" or value <= 1) else None


def words(text: str) -> tuple[str, ...]:
    """The words of a command line, as a shell would part them; no shell runs it."""
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise ArgumentTypeError(f"{text!r}: {error}") from error
    if not words:
        raise ArgumentTypeError("wanted a command, found none")
    return words
