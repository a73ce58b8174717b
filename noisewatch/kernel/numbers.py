"""Parsers of counts, of files with one number or word, and of JSON answers' fields, which may be damaged."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, TypeVar

from noisewatch.errors import Malformed
from noisewatch.machine import Json

_BLANKS = " \t"
_LONGEST_WORD = 4096  # a page, the maximum size of a sysfs file
_MOST_DIGITS = 20  # digits of the largest number in the kernel's largest type, unsigned 64 bits
MOST_INT, MOST_UNSIGNED = 2**31 - 1, 2**32 - 1  # the largest values of most settings' types


def is_count(word: str) -> bool:
    """Return whether the word is a whole number of at least 0 that fits the kernel's types."""
    return word.isascii() and word.isdecimal() and len(word) <= _MOST_DIGITS


def are_counts(words: Sequence[str]) -> bool:
    """Return whether all words are counts; fast, because a table may have a million."""
    together = "".join(words)
    is_decimal = not words or (together.isascii() and together.isdecimal())
    return is_decimal and all(words) and max(map(len, words), default=0) <= _MOST_DIGITS


def lines_of(text: str) -> list[str]:
    """Split the text into lines at newlines only: names may contain other characters that Python treats as line ends.

    Trailing blank lines, which an editor, mail or copy may add, are dropped. A blank text has one line, an empty text
    none.
    """
    lines = text.split("\n") if text else []
    while len(lines) > 1 and not lines[-1].strip(_BLANKS):
        lines.pop()
    return lines


def require_match(match: re.Match[str] | None, expected: str, text: str, line: int | None = None) -> re.Match[str]:
    """Return the match. Raise Malformed if it is None."""
    if match is None:
        raise Malformed(expected, text, line)
    return match


def parse_integer(text: str) -> int:
    """Return the file's only whole number. Raise Malformed."""
    stripped = text.strip()
    if not is_count(stripped.removeprefix("-")):
        raise Malformed("a whole number", stripped)
    return int(stripped)


@cache  # EarlierSnapshots compares parsers, so equal ranges need the same one
def integer_from(least: int, most: int = MOST_INT) -> Callable[[str], int]:
    """Return a parser of a file's only whole number, which raises Malformed outside the range."""

    def parse(text: str) -> int:
        number = parse_integer(text)
        if not least <= number <= most:
            raise Malformed(f"a whole number from {least} to {most}", text.strip())
        return number

    return parse


parse_khz = integer_from(0, 20_000_000)  # twice the overclocking record, which was set with liquid helium


def parse_count(text: str) -> int:
    """Return the file's only number, a count. Raise Malformed."""
    stripped = text.strip()
    if not is_count(stripped):
        raise Malformed("a number from 0 on", stripped)
    return int(stripped)


def parse_hexadecimal(text: str) -> int:
    """Return the file's only number, hexadecimal with 0x. Raise Malformed."""
    stripped = text.strip()
    if re.fullmatch(r"0x[0-9a-fA-F]{1,16}", stripped) is None:
        raise Malformed("a number such as 0x410fd0c0", stripped)
    return int(stripped, 16)


def parse_flag(text: str) -> bool:
    """Return True for `1`, False for `0`. Raise Malformed."""
    stripped = text.strip()
    if stripped not in ("0", "1"):
        raise Malformed("0 or 1", stripped)
    return stripped == "1"


def bare(text: str) -> str:
    """Return the text without surrounding blanks, line ends and the single NUL that a file may have (nohz_full).

    Raise Malformed if there are more NULs: they stand for lost characters.
    """
    if text.count("\0") > 1:
        raise Malformed("no NULs", text)
    return text.strip(" \t\r\n\0")


def parse_identifier(text: str) -> str:
    """Return the file's only name: letters (at least one), digits and `_.+-`, safe in a command. Raise Malformed.

    Some names begin with a digit: `9p`, `32k_counter`.
    """
    stripped = bare(text)
    if len(stripped) > _LONGEST_WORD or re.fullmatch(r"\d*[a-zA-Z][\w.+-]*", stripped, re.ASCII) is None:
        raise Malformed("a name of letters, digits, _, ., + and -", stripped)
    return stripped


def parse_identifiers(text: str) -> tuple[str, ...]:
    """Return the names in the file's only line. Raise Malformed if there are none."""
    return tuple(map(parse_identifier, parse_word(text).split()))


def parse_word(text: str) -> str:
    """Return the file's only line. Raise Malformed if it is empty or too long, or if there are several lines."""
    stripped = bare(text)
    if not stripped or "\n" in stripped or len(stripped) > _LONGEST_WORD:
        raise Malformed("a word", stripped)
    return stripped


def word_of(expected: str, pattern: re.Pattern[str]) -> Callable[[str], str]:
    """Return a parser of a file's only line, which raises Malformed unless the pattern matches the whole line."""

    def parse(text: str) -> str:
        word = parse_word(text)
        return require_match(pattern.fullmatch(word), expected, word)[0]

    return parse


_LARGEST = 1 << 62

T = TypeVar("T")


def field_of(answer: Json, name: str, kind: type[T]) -> T:
    """Return the answer's field. Raise Malformed unless it has exactly this type."""
    value: Any = answer.get(name) if isinstance(answer, dict) else None
    if type(value) is not kind:
        raise Malformed(f"{name} in the answer", str(value))
    return value


def count_of(answer: Json, name: str) -> int:
    """Return the answer's field, a whole number of at least 0. Raise Malformed."""
    value = field_of(answer, name, int)
    if not is_count_in(value):
        raise Malformed(f"{name} in the answer", str(value))
    return value


def is_count_in(value: Json) -> bool:
    """Return whether the value is a whole number of at least 0."""
    return type(value) is int and 0 <= value <= _LARGEST
