"""A machine that a test writes: files by path, snapshot after snapshot."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from noisewatch.errors import Absent, Unreadable
from noisewatch.kernel.reader import Reader
from noisewatch.machine import Json, T, not_at_hand

Files = Mapping[str, str]
# Files that every Linux has: where they are visible, a missing file is known to be absent.
BARE: Files = {
    "/proc/sys/kernel/ostype": "Linux\n",
    "/proc/sys/vm/overcommit_memory": "0\n",
    "/proc/sys/net/core/somaxconn": "4096\n",
    "/sys/devices/system/cpu/modalias": "cpu:type:x86\n",
    "/sys/class/mem/null/dev": "1:3\n",
    "/sys/firmware/memmap/0/type": "System RAM\n",
    "/sys/kernel/uevent_seqnum": "1\n",
    "/sys/bus/cpu/drivers_autoprobe": "1\n",
}
PROC_MOUNT = "proc /proc proc rw,nosuid,nodev,noexec,relatime 0 0\n"
SECOND_NS = 1_000_000_000


class WrittenMachine:
    """A machine with the files of `moments`; `advance` goes to the next moment. Files that are not written are absent.

    With `is_copy`, such files are unknown, as in a copied tree. `answers` has the answers to questions that no file
    answers, by the first words of the question; `answers_later` replaces some from the second moment on. `modes` has
    permission bits by path (default 0644).
    """

    is_live = False
    name = "a written machine"

    def __init__(
        self,
        *moments: Files,
        is_copy: bool = False,
        answers: Mapping[str, Json] | None = None,
        answers_later: Mapping[str, Json] | None = None,
        modes: Mapping[str, int] | None = None,
        own_pids: Sequence[int] = (),
        seconds_between: float = 3.0,
    ) -> None:
        self._moments = moments or ({},)
        self._at = 0
        self._is_copy = is_copy
        self._answers = answers or {}
        self._answers_later = answers_later or {}
        self._modes = modes or {}
        self._step_ns = round(seconds_between * SECOND_NS)
        self.own_pids = frozenset(own_pids)
        self.reads: list[str] = []
        self._folders_by_moment: dict[int, Mapping[str, set[str]]] = {}

    @property
    def has_next(self) -> bool:
        return self._at + 1 < len(self._moments)

    def advance(self) -> None:
        self._at += 1

    def now_ns(self) -> int:
        return SECOND_NS + self._at * self._step_ns

    def read_bytes(self, path: str) -> bytes:
        self.reads.append(path)
        files = self._moments[self._at]
        if path in files:
            return files[path].encode("utf-8", "surrogateescape")
        if path in self._folders():
            raise Unreadable(path, "is a directory")
        raise self._missing(path)

    def reread(self, files: Sequence[tuple[str, bytes | None]]) -> list[tuple[int, bytes | None]]:
        return not_at_hand(files)

    def list_names(self, path: str) -> list[str]:
        self.reads.append(path + "/")
        names = self._folders().get(path.rstrip("/"))
        if not names:
            raise self._missing(path)
        return sorted(name for name in names if name)

    def _folders(self) -> Mapping[str, set[str]]:
        """Return the names in each folder of this snapshot."""
        if self._at not in self._folders_by_moment:
            self._folders_by_moment[self._at] = _folders_of(tuple(self._moments[self._at]))
        return self._folders_by_moment[self._at]

    def mode(self, path: str) -> int:
        if path not in self._moments[self._at]:
            raise self._missing(path)
        return self._modes.get(path, 0o644)

    def ask(self, question: str, answer: Callable[[], Json]) -> Json:
        later = self._answers_later if self._at else {}
        for words, value in (*later.items(), *self._answers.items()):
            if question.startswith(words):
                return value
        raise Unreadable(question, "not written down")

    def begin_snapshot(self) -> None:
        """Do nothing: a written machine has no snapshots to mark."""

    def within_deadline(self, work: Callable[[], T]) -> T:
        return work()

    def _missing(self, path: str) -> Unreadable:
        return (Unreadable if self._is_copy else Absent)(path, "no such file")


@lru_cache(maxsize=100)
def _folders_of(files: tuple[str, ...]) -> Mapping[str, set[str]]:
    """Return the names in each folder. Cached, as most tests change the content of a file, and no folder."""
    folders: dict[str, set[str]] = {}
    for file in files:
        path = file
        while path:
            path, _, name = path.rpartition("/")
            has_parents = path in folders
            folders.setdefault(path, set()).add(name)
            if has_parents:
                break
    return folders


def mounted(mounts: str, root: str = "/") -> dict[str, str]:
    """Return the files that list these mounts (lines as in /proc/mounts), each with `root` as the root of its mount.

    The mount of /proc is added, as the files are read there.
    """
    mounts = f"{PROC_MOUNT}{mounts}"
    lines = [line.split(" ") for line in mounts.splitlines()]
    info = [
        f"{number} 1 0:{number} {root} {folder} rw shared:{number} - {kind} {device} {options}\n"
        for number, (device, folder, kind, options, *_) in enumerate(lines, start=2)
    ]
    return {"/proc/self/mounts": mounts, "/proc/self/mountinfo": "".join(info)}


def reading(files: Files, *, is_copy: bool = False) -> Reader:
    """Return a reader of one snapshot of a machine that hides nothing."""
    return Reader(WrittenMachine({**BARE, **files}, is_copy=is_copy))


def write_tree(root: Path, files: Files) -> Path:
    """Write the files below `root`, for --sysroot."""
    for path, text in files.items():
        place = root / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text.encode("utf-8", "surrogateescape"))
    return root


def without(files: Files, *removed: str) -> dict[str, str]:
    """Return the files except those at, or below, the given paths."""
    below = tuple(posixpath.join(removed_path, "") for removed_path in removed)
    return {path: text for path, text in files.items() if path not in removed and not path.startswith(below)}
