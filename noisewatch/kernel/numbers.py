"""Counts, files that hold one number or one word, and fields of JSON answers, perhaps of a damaged recording."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, TypeVar

from noisewatch.errors import Malformed
from noisewatch.machine import Json

_BLANKS = " \t"
_LONGEST_WORD = 4096  # a page, the most that a file of sysfs says at once
_MOST_DIGITS = 20  # of the kernel's largest type, 64 bits without a sign
MOST_INT, MOST_UNSIGNED = 2**31 - 1, 2**32 - 1  # of the types that most settings have
_MOST_KHZ = 20_000_000  # twice what a core ever reached, under liquid helium


def is_count(word: str) -> bool:
    """Whether the word is a count that a kernel can have."""
    return word.isascii() and word.isdecimal() and len(word) <= _MOST_DIGITS


def are_counts(words: Sequence[str]) -> bool:
    """Whether all of the words are. They are looked at together: a table may have a million."""
    together = "".join(words)
    is_decimal = not words or (together.isascii() and together.isdecimal())
    return is_decimal and all(words) and max(map(len, words), default=0) <= _MOST_DIGITS


def lines_of(text: str) -> list[str]:
    """The lines as the kernel ends them: a name may hold other characters that Python takes for line ends.

    Blank last lines are none: an editor, a mail or a copy adds them. A text of nothing else is one, and no table.
    """
    lines = text.split("\n") if text else []
    while len(lines) > 1 and not lines[-1].strip(_BLANKS):
        lines.pop()
    return lines


def parse_integer(text: str) -> int:
    """The one whole number of the file. Raises Malformed."""
    stripped = text.strip()
    if not is_count(stripped.removeprefix("-")):
        raise Malformed("a whole number", stripped)
    return int(stripped)


@cache  # one and the same parser for one range, which EarlierSnapshots knows again
def integer_from(least: int, most: int = MOST_INT) -> Callable[[str], int]:
    """Parses the one whole number of a file that can say none but these; what it returns raises Malformed."""

    def parse(text: str) -> int:
        number = parse_integer(text)
        if not least <= number <= most:
            raise Malformed(f"a whole number from {least} to {most}", text.strip())
        return number

    return parse


def parse_khz(text: str) -> int:
    """The one frequency of the file, in kHz. Raises Malformed."""
    return integer_from(0, _MOST_KHZ)(text)


def parse_count(text: str) -> int:
    """The one number of the file, from 0 on. Raises Malformed."""
    stripped = text.strip()
    if not is_count(stripped):
        raise Malformed("a number from 0 on", stripped)
    return int(stripped)


def parse_hexadecimal(text: str) -> int:
    """The one number of the file, which begins with 0x. Raises Malformed."""
    stripped = text.strip()
    if re.fullmatch(r"0x[0-9a-fA-F]{1,16}", stripped) is None:
        raise Malformed("a number such as 0x410fd0c0", stripped)
    return int(stripped, 16)


def parse_flag(text: str) -> bool:
    """True for `1`, False for `0`. Raises Malformed."""
    stripped = text.strip()
    if stripped not in ("0", "1"):
        raise Malformed("0 or 1", stripped)
    return stripped == "1"


def bare(text: str) -> str:
    """The text without blanks and line ends around it, and without the one NUL that a file may have (nohz_full).

    Raises Malformed for more NULs: they stand where characters were lost.
    """
    if text.count("\0") > 1:
        raise Malformed("no NULs", text)
    return text.strip(" \t\r\n\0")


def parse_identifier(text: str) -> str:
    """The one name of the file, of letters, digits and `_.+-`, with a letter in it: fit to stand in a command.

    Some begin with a digit: `9p`, `32k_counter`. Raises Malformed.
    """
    stripped = bare(text)
    if len(stripped) > _LONGEST_WORD or re.fullmatch(r"\d*[a-zA-Z][\w.+-]*", stripped, re.ASCII) is None:
        raise Malformed("a name of letters, digits, _, ., + and -", stripped)
    return stripped


def parse_identifiers(text: str) -> tuple[str, ...]:
    """Those of the file, at least one, no more than a page holds. Raises Malformed."""
    return tuple(map(parse_identifier, parse_word(text).split()))


def parse_word(text: str) -> str:
    """The one word of the file. Raises Malformed where there is none, or more than one line."""
    stripped = bare(text)
    if not stripped or "\n" in stripped or len(stripped) > _LONGEST_WORD:
        raise Malformed("a word", stripped)
    return stripped


_LARGEST = 1 << 62

T = TypeVar("T")


def field_of(said: Json, name: str, kind: type[T]) -> T:
    """The field, which is of that very type. Raises Malformed."""
    value: Any = said.get(name) if isinstance(said, dict) else None
    if type(value) is not kind:
        raise Malformed(f"{name} in the answer", str(value))
    return value


def count_of(said: Json, name: str) -> int:
    """The field, a whole number from 0 on. Raises Malformed."""
    value = field_of(said, name, int)
    if not is_count_in(value):
        raise Malformed(f"{name} in the answer", str(value))
    return value


def is_count_in(value: Json) -> bool:
    """Whether it is a whole number from 0 on."""
    return type(value) is int and 0 <= value <= _LARGEST
