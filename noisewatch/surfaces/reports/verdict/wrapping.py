"""Prose of a verdict wrapped at the terminal's width; commands in it stay whole, to be copied."""

from __future__ import annotations

import textwrap

from noisewatch.patterns import regex
from noisewatch.text import printable

NARROWEST = 20
_UNBROKEN = "\0"  # replaces a blank at which no line may end; printable text does not contain it
# `sudo noisewatch trace --cpus 3`: its last word ends before the sentence's full stop
_COMMAND = regex(r"sudo(?: [-\w./=,]*[-\w/=])+|noisewatch [a-z]+(?: [a-z]+(?:-[a-z]+)+| --?[-\w]+(?: [\w,./-]*\w)?)*")


def wrapped_around_commands(text: str, width: int, indent: int, further: int) -> list[str]:
    """Wrap the text, with lines after the first indented by `further`; a command is never broken."""
    kept = _COMMAND.sub(lambda match: match[0].replace(" ", _UNBROKEN), printable(text))
    lines = textwrap.wrap(
        kept,
        max(width, NARROWEST),
        initial_indent=" " * indent,
        subsequent_indent=" " * further,
        break_on_hyphens=False,
        break_long_words=False,
    )
    return [line.replace(_UNBROKEN, " ") for line in lines]


def wrapped(text: str, width: int, indent: int, further: int | None = None) -> list[str]:
    """Wrap the text, with lines after the first indented by `further`; there is at least one line."""
    first = " " * indent
    following = first if further is None else " " * min(further, max(width, NARROWEST) // 2)
    lines = textwrap.wrap(
        printable(text),
        max(width, NARROWEST),
        initial_indent=first,
        subsequent_indent=following,
        break_on_hyphens=False,
    )
    return lines or [""]
