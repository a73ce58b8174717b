"""Keeps open the kernel files that are read repeatedly, and reads them in one call.

Opening and closing a file of /proc costs three times as much as reading it.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Callable, Container, Sequence

from msgspec import Struct

from noisewatch.machine.reading import load_reading
from noisewatch.machine.reading.python_reading import AT, IS_GIVEN_UP, PROGRESS_WORDS, SINCE_NS, Kept, read_whole
from noisewatch.units import NS_PER_S

_KERNEL = ("/proc/", "/sys/")  # elsewhere a path may later refer to another file than the open one
_MOST_KEPT = 2048  # the kernel holds a page for each open file
_MOST_NOTED = 4096
_IDLE_SNAPSHOTS = 16  # a file that was not read in this many snapshots is closed if others need its place
LARGEST_FILE = 256 << 20  # /proc/interrupts of 1152 CPUs has 13 MB; no file that we read is much larger


def read_file(path: str) -> bytes:
    """Return the whole content of the file. Raise OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return read_whole(descriptor, LARGEST_FILE)
    finally:
        os.close(descriptor)


File = tuple[str, bytes | None]  # a path and its previous content; None if it did not exist


Reread = Callable[[list[Kept], memoryview, int], list[tuple[int, bytes | int]]]  # as in python_reading


class ReadProgress:
    """Which of many files is being read, and since when; the reading thread writes it, the waiting thread reads it."""

    def __init__(self) -> None:
        self.paths: list[str] = []
        self.words = memoryview(bytearray(8 * PROGRESS_WORDS)).cast("q")

    def since(self) -> tuple[str, float] | None:
        """Return the path being read, and when this read began (s, CLOCK_MONOTONIC); None before the first file."""
        return (self.paths[self.words[AT]], self.words[SINCE_NS] / NS_PER_S) if self.words[SINCE_NS] else None

    def give_up(self) -> None:
        """Skip all files after the hanging one."""
        self.words[IS_GIVEN_UP] = 1


class _Open(Struct):
    descriptor: int
    asked_in: int  # number of the last snapshot that read the file


class KeptFiles:
    """The recently read files, kept open: the kernel renews their content at each read. Not thread-safe."""

    def __init__(self, below: tuple[str, ...] = _KERNEL, most: int = _MOST_KEPT, reread: Reread | None = None) -> None:
        self._below = below
        self._reread: Reread = reread or load_reading().reread
        self._open_by_path: dict[str, _Open] = {}
        self._noted: set[str] = set()
        self._snapshot = self._tidied_in = 0
        self._most_kept = min(most, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 4)

    def begin_snapshot(self) -> None:
        """Begin a snapshot: files read from here on are still in use."""
        self._snapshot += 1

    def reread(
        self, files: Sequence[File], progress: ReadProgress, skipped: Container[str] = ()
    ) -> list[tuple[int, bytes | None]]:
        """Reread the files in order, in one call; return the changed files by their index in `files`.

        The caller has to `read` the files that are returned with None. These are files in `skipped`, files that could
        not be read (the path of an ended process may refer to another process), and files to keep open from now on.
        """
        has_room = self._has_room()
        answers: list[tuple[int, bytes | None]] = []
        kept: list[Kept] = []
        places: list[int] = []
        for at, (path, before) in enumerate(files):
            file = self._open_by_path.get(path)
            is_to_be_kept = file is None and has_room and before is not None and path in self._noted
            if path in skipped or is_to_be_kept:
                answers.append((at, None))
                continue
            if file is not None:
                file.asked_in = self._snapshot
                kept.append((file.descriptor, before))
            else:
                kept.append((os.fsencode(path), before))
                if before is not None:
                    self._remember(path)
            places.append(at)
            progress.paths.append(path)
        for number, content in self._reread(kept, progress.words, LARGEST_FILE):
            if isinstance(content, bytes):
                answers.append((places[number], content))
            else:
                self._close(progress.paths[number])
                answers.append((places[number], None))
        return answers

    def read(self, path: str) -> bytes:
        """Return the file's content; keep a kernel file open from the second reading on, if possible. Raise OSError."""
        kept = self._open_by_path.get(path)
        if kept is not None:
            kept.asked_in = self._snapshot
            try:
                return read_whole(kept.descriptor, LARGEST_FILE)
            except OSError:
                self._close(path)
        if path not in self._noted or not self._has_room():
            content = read_file(path)
            self._remember(path)
            return content
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self._open_by_path[path] = _Open(descriptor, self._snapshot)
        return read_whole(descriptor, LARGEST_FILE)

    def _remember(self, path: str) -> None:
        if not path.startswith(self._below):
            return
        if len(self._noted) >= _MOST_NOTED:  # paths of ended processes accumulate
            self._noted.clear()
        self._noted.add(path)

    def _has_room(self) -> bool:
        if len(self._open_by_path) >= self._most_kept and self._tidied_in < self._snapshot:
            self._tidied_in, oldest = self._snapshot, self._snapshot - _IDLE_SNAPSHOTS
            for path in [path for path, file in self._open_by_path.items() if file.asked_in < oldest]:
                self._close(path)
        return len(self._open_by_path) < self._most_kept

    def close_others(self, path: str) -> None:
        """Close all files except this one: the thread that is stuck in it would keep hundreds of others open."""
        for other in [open_path for open_path in self._open_by_path if open_path != path]:
            self._close(other)

    def __del__(self) -> None:
        """Close all files once the stuck thread has returned."""
        self.close_others("")

    def _close(self, path: str) -> None:
        file = self._open_by_path.pop(path, None)  # removed before it is closed, because two threads may call this
        if file is not None:
            os.close(file.descriptor)
