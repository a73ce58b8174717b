"""What is told of a command: the whole line only where that is asked for, as its arguments may be secret."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence

from noisewatch.text import clean, printable

_COMMAND = "COMMAND"


def program_of(argv: Sequence[str]) -> str:
    """The program's base name, which says nothing of whose it is, or what it was told."""
    return clean(os.path.basename(argv[0])) or "?"


def command_words(argv: Sequence[str], identifies: bool) -> str:
    """The program alone, or the whole command line where it `identifies`."""
    return printable(shlex.join(argv)) if identifies else program_of(argv)


def words_to_copy(before: Sequence[str], argv: Sequence[str], identifies: bool) -> str:
    """A command line for the shell: the words before the command, and it; else what the reader puts in its place."""
    return printable(shlex.join([*before, *argv])) if identifies else f"{printable(shlex.join(before))} {_COMMAND}"
