"""The files of an instance that say what it keeps: open, and read together to see whether they say it still.

A trace is looked at after each repetition of a command. To open thirty files each time took four milliseconds.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from noisewatch.machine.reading import load_reading
from noisewatch.machine.reading.python_reading import PROGRESS_WORDS, read_whole

_LARGEST = 1 << 20  # a filter that names many CPUs


class Switches:
    """What the files below a folder said when they were added. The folder cannot be removed before `close`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._kept: list[tuple[int, bytes]] = []
        self._reread = load_reading().reread
        self._progress = memoryview(bytearray(8 * PROGRESS_WORDS)).cast("q")

    def add(self, names: Iterable[str]) -> None:
        """From now on they are looked at. Raises OSError."""
        for name in names:
            descriptor = os.open(self._folder / name, os.O_RDONLY | os.O_CLOEXEC)
            self._kept.append((descriptor, b""))
            self._kept[-1] = (descriptor, read_whole(descriptor, _LARGEST))

    @property
    def are_as_added(self) -> bool:
        """Whether each of them says what it said; none that cannot be read does."""
        return not self._reread(self._kept, self._progress, _LARGEST)

    def close(self) -> None:
        """None is looked at any more."""
        for descriptor, _ in self._kept:
            os.close(descriptor)
        self._kept = []
