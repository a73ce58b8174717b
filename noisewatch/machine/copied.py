"""A tree of /proc and /sys files copied from some machine (`--sysroot`): a still picture."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

from noisewatch.errors import Unreadable, UsageError
from noisewatch.machine import Json, T
from noisewatch.machine.descriptors import read_file
from noisewatch.machine.live import unreadable


class CopiedTree:
    """The machine whose files lie under `root`. A file that is missing there is unknown, not known to be absent."""

    is_live = False
    own_pids: frozenset[int] = frozenset()

    def __init__(self, root: str) -> None:
        """Raises UsageError where `root` is no folder with a proc or a sys in it."""
        folder = Path(root)
        if not folder.is_dir():
            raise UsageError(f"--sysroot {root}: no such folder")
        if not (folder / "proc").is_dir() and not (folder / "sys").is_dir():
            raise UsageError(f"--sysroot {root}: holds neither proc/ nor sys/")
        self._root = os.path.realpath(root)
        self.name = os.path.basename(self._root) or self._root

    def now_ns(self) -> int:
        return 0

    def read_bytes(self, path: str) -> bytes:
        return self._checked(path, lambda place: _read_regular(path, place))

    def list_names(self, path: str) -> list[str]:
        return self._checked(path, lambda place: sorted(os.listdir(place)))

    def mode(self, path: str) -> int:
        return self._checked(path, lambda place: stat.S_IMODE(os.stat(place).st_mode))

    def ask(self, question: str, answer: Callable[[], Json]) -> Json:
        raise Unreadable(question, "a copied tree cannot be asked")

    def begin_snapshot(self) -> None:
        """Nothing to mark: a copied tree stands still."""

    def within_deadline(self, work: Callable[[], T]) -> T:
        return work()

    def _checked(self, path: str, use: Callable[[str], T]) -> T:
        try:
            place = os.path.realpath(self._root + path, strict=True)
            if os.path.commonpath([place, self._root]) != self._root:
                raise Unreadable(path, "a link that leaves the copied tree")
            return use(place)
        except OSError as error:
            raise Unreadable(path, unreadable(path, error).reason) from error


def _read_regular(path: str, place: str) -> bytes:
    """What is neither a file nor a directory might never answer."""
    mode = os.stat(place).st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise Unreadable(path, "not a regular file")
    return read_file(place)
