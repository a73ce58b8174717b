"""Files that the user names: what is no regular file (a pipe, a device, a folder) is refused, and never waited for."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from noisewatch.errors import UsageError

READ = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK


@contextmanager
def failures_told(path: Path) -> Iterator[None]:
    """An OSError within it becomes a UsageError that names the file."""
    try:
        yield
    except OSError as error:
        raise UsageError(f"{path}: {(error.strerror or str(error)).lower()}") from error


@contextmanager
def opened_regular(path: Path, flags: int, what: str) -> Iterator[int]:
    """Its descriptor. Raises UsageError where it is no regular file, so not `what` was wanted, and OSError."""
    file = os.open(path, flags, 0o666)
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise UsageError(f"{path}: not a regular file, so not {what}")
        yield file
    finally:
        os.close(file)


def read_small(path: Path, most_bytes: int, what: str) -> bytes:
    """The whole file. Raises UsageError where it cannot be read, or is larger."""
    with failures_told(path), opened_regular(path, READ, what) as file, open(file, "rb", closefd=False) as stream:
        content = stream.read(most_bytes + 1)
    if len(content) > most_bytes:
        raise UsageError(f"{path}: larger than {most_bytes >> 10} KiB, so not {what}")
    return content
