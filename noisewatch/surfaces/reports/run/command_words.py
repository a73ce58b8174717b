"""How reports name a command: without its arguments, which may be secret, unless the user asks for them."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence

from noisewatch.text import clean, printable

_COMMAND = "COMMAND"


def program_of(argv: Sequence[str]) -> str:
    """Return the program's base name, without its folder, which may name a user, and without its arguments."""
    return clean(os.path.basename(argv[0])) or "?"


def command_words(argv: Sequence[str], identifies: bool) -> str:
    """Return the program's name, or the whole command line if `identifies`."""
    return printable(shlex.join(argv)) if identifies else program_of(argv)


def words_to_copy(before: Sequence[str], argv: Sequence[str], identifies: bool) -> str:
    """Return a shell command line: the words `before`, then the command if `identifies`, else a placeholder for it."""
    return printable(shlex.join([*before, *argv])) if identifies else f"{printable(shlex.join(before))} {_COMMAND}"
