"""A lock file, which contains the name of the process that holds the lock.

The name stays when noisewatch ends: the holder is the script that started it and runs the benchmark next.
"""

from __future__ import annotations

import fcntl
import os
import re
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from noisewatch.errors import UsageError, system_reason

HOLD_DEADLINE_S = 1.0  # the file is held only to read and write a line, but a stopped process may hold it forever
_TRY_AGAIN_S = 0.01
_LARGEST = 4096
_OPEN = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


class FileHeld(UsageError):
    """Another process holds the file's lock; a later attempt may succeed."""


def claim(path: str, successor: Callable[[str], str | None]) -> bool:
    """Replace the file's text (empty if there is no file) by `successor(text)`; return whether the claim succeeded.

    An unchanged text is not written. A successor of None refuses the claim: another process holds the lock. Raise
    FileHeld, and UsageError if the file cannot be written.
    """
    with _open_locked(path) as file:
        text = _read(file)
        new_text = successor(text)
        if new_text is not None and new_text != text:
            _write(file, new_text)
        return new_text is not None


def release(path: str, text: str) -> None:
    """Empty the file if its content is still `text`. Raise the errors of `claim`."""
    with _open_locked(path) as file:
        if _read(file) == text:
            _write(file, "")


@contextmanager
def _open_locked(path: str) -> Iterator[int]:
    """Open and lock the file: in the context, no other process can claim or release it."""
    try:
        file = _open(path)
        try:
            if not stat.S_ISREG(os.fstat(file).st_mode):
                raise UsageError(f"{path}: not a regular file, so not a lock")
            hold(path, file)
            yield file
        finally:
            os.close(file)
    except OSError as error:
        raise UsageError(f"{path}: cannot be locked: {system_reason(error)}") from error


def hold(path: str, file: int) -> None:
    """Lock the open file until it is closed. Raise FileHeld after a timeout.

    Any user may open the file and hold it for any time.
    """
    give_up_s = time.monotonic() + HOLD_DEADLINE_S
    while True:
        try:
            return fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= give_up_s:
                raise FileHeld(f"{path}: {_holder(file)} keeps it locked (flock)") from None
        time.sleep(_TRY_AGAIN_S)


def _holder(file: int) -> str:
    """Return the holder's name and pid from /proc/locks: `1: FLOCK  ADVISORY  WRITE 4711 00:19:1234 0 EOF`."""
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


def _open(path: str) -> int:
    """Open the file; create it only if it is missing: in /run/lock, O_CREAT on another user's file may be refused."""
    try:
        return os.open(path, _OPEN)
    except FileNotFoundError:
        file = os.open(path, _OPEN | os.O_CREAT, 0o666)
        if os.fstat(file).st_uid == os.geteuid():
            os.fchmod(file, 0o666)  # another user must be able to take over a stale lock
        return file


def _read(file: int) -> str:
    return os.pread(file, _LARGEST, 0).decode("utf-8", "replace")


def _write(file: int, text: str) -> None:
    """Write before truncating, so that a reader without the lock never sees an empty, released file."""
    os.pwrite(file, text.encode("utf-8"), 0)
    os.ftruncate(file, len(text.encode("utf-8")))
