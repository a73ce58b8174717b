"""Parsers of option values; their errors name the accepted values."""

from __future__ import annotations

import math
import re
import shlex
from argparse import ArgumentTypeError
from collections.abc import Callable

from noisewatch.kinds import Work
from noisewatch.units import parse_duration

AS_LONG_AS_NEEDED = math.inf  # seconds of a calibration that ends as soon as its result is precise enough
_MAX_S = 1e6
_MAX_MINUTES = 1440
_MIN_SAMPLE_NS, _MAX_SAMPLE_NS = 100_000, 100_000_000_000
_MAX_SHARE = 10.0
_MAX_INFLATION = 1e6
_MIN_SCALE, _MAX_SCALE = 0.1, 10.0
_MAX_DIGITS = 9  # accepted in a whole number; int() refuses thousands of digits
_MAX_CORE_DIGITS = 10
_SECONDS_BY_UNIT = {"s": 1.0, "min": 60.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def seconds(minimum: float) -> Callable[[str], float]:
    """Return a parser of seconds that accepts `minimum` or more."""

    def parse(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if not minimum <= value <= _MAX_S:
            raise ArgumentTypeError(f"expected seconds from {minimum:g} to {_MAX_S:.0f}, found {text!r}")
        return value

    return parse


def minutes(text: str) -> float:
    """Parse minutes, more than 0 and at most a day."""
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not 0 < value <= _MAX_MINUTES:
        raise ArgumentTypeError(f"expected a number of minutes, more than 0 and at most {_MAX_MINUTES}, found {text!r}")
    return value


def zero_or_seconds(minimum: float) -> Callable[[str], float]:
    """Return a parser of seconds that accepts 0, and `minimum` or more."""

    def parse(text: str) -> float:
        value = seconds(0)(text)
        if 0 < value < minimum:
            raise ArgumentTypeError(f"expected 0 or at least {minimum:g} seconds, found {text!r}")
        return value

    return parse


def or_auto(parse: Callable[[str], float]) -> Callable[[str], float]:
    """Return a parser that also accepts `auto`, for which it returns AS_LONG_AS_NEEDED."""
    return lambda text: AS_LONG_AS_NEEDED if text.strip() == "auto" else parse(text)


def kind_of_work(text: str) -> Work:
    """Parse the name of a kind of work."""
    try:
        return Work(text.strip())
    except ValueError:
        raise ArgumentTypeError(f"expected one of {', '.join(Work)}, found {text!r}") from None


def sample_length(text: str) -> int:
    """Parse a duration such as 100ms, 500us or 1s; return ns."""
    length_ns = parse_duration(text.strip()) or 0
    if not _MIN_SAMPLE_NS <= length_ns <= _MAX_SAMPLE_NS:
        raise ArgumentTypeError(f"expected a duration from 100us to 100s, such as 10ms, found {text!r}")
    return round(length_ns)


def parse_number(text: str, is_share: bool) -> float | None:
    """Parse a number or, if `is_share`, a share such as 2% or 0.02. Return None if the text is invalid.

    A share of 1 or more needs the percent sign.
    """
    match = re.fullmatch(r"(\d{1,15}(?:\.\d{1,9})?)(%?)", text)
    if match is None or (match[2] and not is_share):
        return None
    value = float(match[1]) / (100 if match[2] else 1)
    return value if match[2] or not is_share or value < 1 else None


def share(text: str) -> float:
    """Parse a share such as 2% or 0.02."""
    value = parse_number(text.strip(), is_share=True)
    if value is None or not 0 < value <= _MAX_SHARE:
        raise ArgumentTypeError(f"expected a share such as 5% or 0.05, found {text!r}")
    return value


def share_of_all(text: str) -> float:
    """Parse a share of at most 100%, such as 50%."""
    value = share(text)
    if value > 1:
        raise ArgumentTypeError(f"expected a share of at most 100%, such as 50%, found {text!r}")
    return value


def chance(text: str) -> float:
    """Parse a chance above 50%, such as 90% or 0.9."""
    value = share(text)
    if not 0.5 < value < 1:
        raise ArgumentTypeError(f"expected a chance above 50% and below 100%, found {text!r}")
    return value


def inflation(text: str) -> float:
    """Parse a factor of 1 or more."""
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not 1 <= value <= _MAX_INFLATION:
        raise ArgumentTypeError(f"expected a factor of at least 1, such as 1.2, found {text!r}")
    return value


def scale(text: str) -> float:
    """Parse the factor of a picture's size."""
    value = parse_number(text.strip(), is_share=False)
    if value is None or not _MIN_SCALE <= value <= _MAX_SCALE:
        raise ArgumentTypeError(f"expected a factor from {_MIN_SCALE:g} to {_MAX_SCALE:g}, such as 2, found {text!r}")
    return value


def whole_number(minimum: int, maximum: int, of: str = "") -> Callable[[str], int]:
    """Return a parser of whole numbers from `minimum` to `maximum`; `of` completes its error, such as " of samples"."""

    def parse(text: str) -> int:
        is_number = text.isascii() and text.isdecimal() and len(text) <= _MAX_DIGITS
        value = int(text) if is_number else -1
        if not minimum <= value <= maximum:
            raise ArgumentTypeError(f"expected a number{of} from {minimum} to {maximum}, found {text!r}")
        return value

    return parse


def core_count(text: str) -> int:
    """Parse a number of cores, 1 or more."""
    if not (text.isascii() and text.isdecimal()) or len(text) > _MAX_CORE_DIGITS or int(text) < 1:
        raise ArgumentTypeError(f"expected 1 or more cores, found {text!r}")
    return int(text)


def age(text: str) -> float:
    """Parse an age such as 90min, 24h or 7d; return seconds."""
    match = re.fullmatch(r"(\d{1,9}(?:\.\d{1,3})?) ?(s|min|m|h|d)", text.strip())
    if match is None or not float(match[1]):
        raise ArgumentTypeError(f"expected an age such as 90min, 24h or 7d, found {text!r}")
    return float(match[1]) * _SECONDS_BY_UNIT[match[2]]


def words(text: str) -> tuple[str, ...]:
    """Split a command line into words as a shell would; no shell runs it."""
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise ArgumentTypeError(f"{text!r}: {error}") from error
    if not words:
        raise ArgumentTypeError("expected a command, found none")
    return words
