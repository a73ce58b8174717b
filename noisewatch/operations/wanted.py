"""The description of the machine that is wanted: read from its file, and kept in a recording for its replays."""

from __future__ import annotations

from pathlib import Path

from noisewatch.errors import Unreadable, UsageError, damaged_words
from noisewatch.machine import Machine
from noisewatch.machine.regular_files import read_small
from noisewatch.model.wanted.description import parse_description
from noisewatch.model.wanted.machine import WantedMachine

_QUESTION = "machine wanted"
_MOST_BYTES = 64 * 1024  # all facts of a machine are some 10 kB


def read_description(path: str) -> WantedMachine:
    """What the file asks for. Raises UsageError, with the line where something is wrong."""
    return parse_description(read_small(Path(path), _MOST_BYTES, "a description of a machine"), path)


def wanted_of(machine: Machine, given: WantedMachine | None) -> WantedMachine | None:
    """The description that was given now; of a recording without one the one that was given then. Raises UsageError.

    It is asked before the first snapshot, so that a recording has it between no two of them.
    """
    if given is not None:
        if machine.is_live:
            machine.ask(_QUESTION, lambda: given.text)
        return given
    if machine.is_live:
        return None
    try:
        text = machine.ask(_QUESTION, str)
    except Unreadable:  # a copy, or a recording that was made without one
        return None
    if not isinstance(text, str):
        raise UsageError(f"{machine.name}: {damaged_words('no text', 'in the description of the machine wanted')}")
    return parse_description(text.encode("utf-8", "replace"), f"{machine.name} (description)")
