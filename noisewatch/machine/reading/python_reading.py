"""Reads files in Python if there is no compiled core."""

from __future__ import annotations

import os
from collections.abc import Sequence
from errno import EFBIG, ENOENT, ENOTDIR, ESRCH
from time import monotonic_ns

AT, SINCE_NS, IS_GIVEN_UP, PROGRESS_WORDS = range(4)
_CHUNK = 1 << 18
_MOST_DIGITS = 18  # any such count fits into a signed 64-bit integer

# A descriptor, or the path of a file that is not open; and the previous content: None if the file did not exist.
Kept = tuple[int | bytes, bytes | None]
_NOTHING_THERE = (ENOENT, ENOTDIR, ESRCH)


def reread(kept: Sequence[Kept], progress: memoryview, largest: int) -> list[tuple[int, bytes | int]]:
    """Read the files whole, and return the changed ones by their index in `kept`.

    An answer is the content, or the error's number; EFBIG for more than `largest` bytes. `progress` has three words of
    format "q": the index of the file being read, since when (CLOCK_MONOTONIC, in ns), and whether another thread has
    given up waiting, which ends this function.
    """
    changed: list[tuple[int, bytes | int]] = []
    for at, (file, before) in enumerate(kept):
        if progress[IS_GIVEN_UP]:
            break
        progress[AT], progress[SINCE_NS] = at, monotonic_ns()
        try:
            content = read_whole(file, largest) if isinstance(file, int) else _read_at(file, largest)
        except OSError as error:
            if before is not None or error.errno not in _NOTHING_THERE:
                changed.append((at, error.errno or 0))
        else:
            if content != before:
                changed.append((at, content))
    return changed


def _read_at(path: bytes, largest: int) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return read_whole(descriptor, largest)
    finally:
        os.close(descriptor)


def read_whole(descriptor: int, largest: int) -> bytes:
    """Return the content of an open file. Raise OSError, EFBIG for more than `largest` bytes."""
    chunks: list[bytes] = []
    size = 0
    while chunk := os.pread(descriptor, _CHUNK, size):
        chunks.append(chunk)
        size += len(chunk)
        if size > largest:
            raise OSError(EFBIG, os.strerror(EFBIG))
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def changed_lines(before: bytes, after: bytes) -> list[tuple[int, int, int]] | None:
    """Return the lines of `after` that differ from `before`: number from 0, begin, and end without the line break.

    Return None if the number of lines differs. In a large /proc/interrupts, few rows change.
    """
    old, new = before.split(b"\n"), after.split(b"\n")
    if len(old) != len(new):
        return None
    changed, begin = [], 0
    for number, (one, other) in enumerate(zip(old, new, strict=True)):
        if one != other:
            changed.append((number, begin, begin + len(other)))
        begin += len(other) + 1
    return changed


def counts(text: bytes, begin: int, end: int, count: int) -> tuple[tuple[int, ...], int] | None:
    """Parse `count` blank-separated counts of at most 18 digits; return them and their end, or None for other text.

    The end is where the text after the counts begins.
    """
    words = text[begin:end].split(None, count)
    numbers = words[:count]
    together = b"".join(numbers)
    if len(numbers) < count or (count and not together.isdigit()) or max(map(len, numbers), default=0) > _MOST_DIGITS:
        return None
    return tuple(map(int, numbers)), end - len(words[count]) if len(words) > count else end
