"""Reads the description of the required machine from its file, and keeps it in a recording for replays."""

from __future__ import annotations

from pathlib import Path

from noisewatch.errors import Unreadable, UsageError, damaged_words
from noisewatch.machine import Machine
from noisewatch.machine.regular_files import read_small
from noisewatch.model.wanted import WantedMachine, parse_description

_QUESTION = "machine wanted"
_MOST_BYTES = 64 * 1024  # all facts of a machine take some 10 kB


def read_description(path: str) -> WantedMachine:
    """Read the description of the required machine.

    Raise UsageError, naming the line if possible, if it is unreadable or invalid.
    """
    return parse_description(read_small(Path(path), _MOST_BYTES, "a description of a machine"), path)


def read_wanted(machine: Machine, given: WantedMachine | None) -> WantedMachine | None:
    """Return the given description, otherwise the recorded one, or None. Raise UsageError for an invalid one.

    Call it before the first snapshot, so that a recording does not contain it between two snapshots.
    """
    if given is not None:
        if machine.is_live:
            machine.ask(_QUESTION, lambda: given.text)
        return given
    if machine.is_live:
        return None
    try:
        text = machine.ask(_QUESTION, str)
    except Unreadable:  # a copied tree, or a recording without a description
        return None
    if not isinstance(text, str):
        raise UsageError(f"{machine.name}: {damaged_words('no text', 'in the description of the required machine')}")
    return parse_description(text.encode("utf-8", "replace"), f"{machine.name} (description)")
