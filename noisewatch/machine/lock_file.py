"""A file that only one process at a time may have its name in: who comes second sees the first.

The name stays when we end, as it is not ours but that of whoever started us: the script whose benchmark comes next.
"""

from __future__ import annotations

import fcntl
import os
import re
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from noisewatch.errors import UsageError

HOLD_WITHIN_S = 1.0  # all that is done meanwhile is to read and write a line; a stopped process may hold it for ever
_TRY_AGAIN_S = 0.01
_LARGEST = 4096
_OPEN = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


class FileHeld(UsageError):
    """Another process keeps the file for itself, and may let go of it later."""


def claim(path: str, successor: Callable[[str], str | None]) -> bool:
    """Has the file say what `successor` makes of its text, empty where there is no file yet; whether it may.

    The same text again leaves the file alone; None says that somebody else has it. Raises FileHeld, and UsageError
    where the file cannot be written.
    """
    with _held(path) as file:
        text = _read(file)
        wanted = successor(text)
        if wanted is not None and wanted != text:
            _write(file, wanted)
        return wanted is not None


def release(path: str, text: str) -> None:
    """Empties the file if it still says `text`. Raises as `claim` does."""
    with _held(path) as file:
        if _read(file) == text:
            _write(file, "")


@contextmanager
def _held(path: str) -> Iterator[int]:
    """The open file, which nobody else may change for the moment."""
    try:
        file = _opened(path)
        try:
            if not stat.S_ISREG(os.fstat(file).st_mode):
                raise UsageError(f"{path}: not a regular file, so not a lock")
            hold(path, file)
            yield file
        finally:
            os.close(file)
    except OSError as error:
        raise UsageError(f"{path}: cannot be locked: {(error.strerror or str(error)).lower()}") from error


def hold(path: str, file: int) -> None:
    """Locks the open file until it is closed. Raises FileHeld.

    Everybody may open the file, and so keep it for as long as they like: nobody is waited for without an end.
    """
    give_up_s = time.monotonic() + HOLD_WITHIN_S
    while True:
        try:
            return fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= give_up_s:
                raise FileHeld(f"{path}: {_holder(file)} keeps it held (flock)") from None
        time.sleep(_TRY_AGAIN_S)


def _holder(file: int) -> str:
    """Who has it, by /proc/locks: `1: FLOCK  ADVISORY  WRITE 4711 00:19:1234 0 EOF`."""
    inode = os.fstat(file).st_ino
    try:
        with open("/proc/locks") as locks:
            match = re.search(rf"FLOCK +\w+ +\w+ (\d+) \w+:\w+:{inode} ", locks.read())
        if match is None:
            return "another process"
        with open(f"/proc/{match[1]}/comm", errors="replace") as comm:
            name = "".join(letter if letter.isprintable() else "?" for letter in comm.read().rstrip("\n"))
    except OSError:
        return "another process"
    return f"{name} (pid {match[1]})"


def _opened(path: str) -> int:
    """An existing file is opened as such: in /run/lock the kernel may refuse to create what is another user's."""
    try:
        return os.open(path, _OPEN)
    except FileNotFoundError:
        file = os.open(path, _OPEN | os.O_CREAT, 0o666)
        if os.fstat(file).st_uid == os.geteuid():
            os.fchmod(file, 0o666)  # whoever comes after us has to be able to take over a stale lock
        return file


def _read(file: int) -> str:
    return os.pread(file, _LARGEST, 0).decode("utf-8", "replace")


def _write(file: int, text: str) -> None:
    """In this order, so that whoever reads without our lock never sees a file that looks given back."""
    os.pwrite(file, text.encode("utf-8"), 0)
    os.ftruncate(file, len(text.encode("utf-8")))
