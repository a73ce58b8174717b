"""Where an answer goes: standard output, or a file that is complete or not there at all."""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from noisewatch.errors import UsageError


@contextmanager
def opened_output(path: str | None) -> Iterator[BinaryIO]:
    """The file to write to, opened before any measuring; the file at `path` appears when all went well.

    What is no regular file (a pipe, /dev/stderr) is written directly. Raises UsageError where it cannot be written.
    """
    if path == "":
        raise UsageError("--output '': names no file")
    if path in (None, "-"):
        if sys.stdout is None:
            raise UsageError("standard output is closed")
        with _reported("standard output"):
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
    elif _is_special(path):
        with _reported(path), open(path, "wb") as file:
            yield file
    else:
        with _reported(path):
            yield from _replaced(path)


def print_answer(text: str) -> None:
    """Prints to standard output what its encoding can say. Raises UsageError where it does not take it."""
    with opened_output(None) as output:
        output.write(text.encode(sys.stdout.encoding or "utf-8", "replace"))


def _is_special(path: str) -> bool:
    try:
        return not stat.S_ISREG(os.stat(path).st_mode)
    except OSError:
        return False


def _replaced(path: str) -> Iterator[BinaryIO]:
    target = os.path.realpath(path)
    descriptor, temporary = tempfile.mkstemp(prefix=".noisewatch-", dir=os.path.dirname(target))
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
        os.chmod(temporary, _wanted_mode(target))
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


def _wanted_mode(path: str) -> int:
    """That of the file it replaces; else what the umask leaves."""
    try:
        return stat.S_IMODE(os.stat(path).st_mode)
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask


@contextmanager
def _reported(path: str) -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise UsageError(f"{path}: {(error.strerror or str(error)).lower()}") from error
