"""A tree of /proc and /sys files that was copied from a machine (`--sysroot`): one unchanging snapshot."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Sequence
from pathlib import Path

from noisewatch.errors import NO_SUCH_FILE, Unreadable, UsageError
from noisewatch.machine import Json, T, not_at_hand
from noisewatch.machine.live import reason_of
from noisewatch.machine.reading.kept_files import read_file
from noisewatch.patterns import regex

_CLASS = regex(r"/sys/class/[^/]+")  # these folders contain only links, which many ways of copying omit


class CopiedTree:
    """The machine whose files are below `root`. A file missing there is unknown, not absent."""

    is_live = False
    own_pids: frozenset[int] = frozenset()

    def __init__(self, root: str) -> None:
        """Open the tree. Raise UsageError unless `root` is a folder that contains proc or sys."""
        folder = Path(root)
        if not folder.is_dir():
            raise UsageError(f"--sysroot {root}: no such folder")
        if not (folder / "proc").is_dir() and not (folder / "sys").is_dir():
            raise UsageError(f"--sysroot {root}: contains neither proc/ nor sys/")
        self._root = os.path.realpath(root)
        self.name = os.path.basename(self._root) or self._root
        self._place_by_folder: dict[str, str | None] = {"": self._root}  # None: the folder does not exist

    def now_ns(self) -> int:
        return 0

    def read_bytes(self, path: str) -> bytes:
        return self._translating_errors(path, self._read)

    def reread(self, files: Sequence[tuple[str, bytes | None]]) -> list[tuple[int, bytes | None]]:
        return not_at_hand(files)

    def list_names(self, path: str) -> list[str]:
        names = self._translating_errors(path, lambda path: sorted(os.listdir(self._folder(path))))
        if not names and _CLASS.fullmatch(path):
            raise Unreadable(path, "empty, as if its links were not copied")
        return names

    def mode(self, path: str) -> int:
        return self._translating_errors(path, lambda path: stat.S_IMODE(self._resolve(path)[1]))

    def ask(self, question: str, answer: Callable[[], Json]) -> Json:
        raise Unreadable(question, "not available in a copied tree")

    def begin_snapshot(self) -> None:
        """Do nothing: a copied tree does not change."""

    def within_deadline(self, work: Callable[[], T]) -> T:
        return work()

    def _translating_errors(self, path: str, use: Callable[[str], T]) -> T:
        try:
            return use(path)
        except OSError as error:
            raise Unreadable(path, reason_of(error)) from error

    def _read(self, path: str) -> bytes:
        """Read a regular file. Refuse any other file, which might block forever, and fail on a directory."""
        place, mode = self._resolve(path)
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            raise Unreadable(path, "not a regular file")
        return read_file(place)

    def _resolve(self, path: str) -> tuple[str, int]:
        """Return the path's real path and mode, with all links followed.

        Raise OSError, or Unreadable if it is outside the tree.
        """
        above, _, name = path.rpartition("/")
        place = f"{self._folder(above)}/{name}"
        mode = os.lstat(place).st_mode
        if not stat.S_ISLNK(mode):
            return place, mode
        place, mode = _follow_link(place)
        if os.path.commonpath([place, self._root]) != self._root:
            raise Unreadable(path, "a link out of the copied tree")
        return place, mode

    def _folder(self, path: str) -> str:
        """Return the folder's real path. It is cached: the tree does not change, and may have 100,000 folders."""
        if path not in self._place_by_folder:
            try:
                place, _ = self._resolve(path)
            except (FileNotFoundError, NotADirectoryError):
                place = None
            self._place_by_folder[path] = place
        real_path = self._place_by_folder[path]
        if real_path is None:
            raise FileNotFoundError(errno.ENOENT, NO_SUCH_FILE, path)
        return real_path


def _follow_link(link: str) -> tuple[str, int]:
    """Return the target of the link and its mode, without opening it for reading, which could block."""
    descriptor = os.open(link, os.O_PATH | os.O_CLOEXEC)
    try:
        return os.readlink(f"/proc/self/fd/{descriptor}"), os.fstat(descriptor).st_mode
    finally:
        os.close(descriptor)
