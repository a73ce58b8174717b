"""A file that only one process at a time may have its name in: who comes second sees the first.

The name stays when we end, as it is not ours but that of whoever started us: the script whose benchmark comes next.
"""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from noisewatch.errors import UsageError

_LARGEST = 4096
_OPEN = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


def claim(path: str, text: str, is_free: Callable[[str], bool]) -> bool:
    """Writes `text` into the file if there is none yet, or what it says leaves it free; whether it did.

    Raises UsageError where the file cannot be written.
    """
    with _held(path) as file:
        if not is_free(_read(file)):
            return False
        _write(file, text)
        return True


def release(path: str, text: str) -> None:
    """Empties the file if it still says `text`. Raises UsageError where that is not possible."""
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
                raise UsageError(f"{path}: not a regular file, and so no lock")
            fcntl.flock(file, fcntl.LOCK_EX)
            yield file
        finally:
            os.close(file)
    except OSError as error:
        raise UsageError(f"{path}: cannot be locked: {(error.strerror or str(error)).lower()}") from error


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
