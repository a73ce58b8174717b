"""Opens files that the user names; only regular files: a pipe, a device or a folder is refused without blocking."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from noisewatch.errors import UsageError, system_reason

READ = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK


@contextmanager
def convert_failures(path: Path) -> Iterator[None]:
    """Convert an OSError in the context to a UsageError that names the file."""
    try:
        yield
    except OSError as error:
        raise UsageError(f"{path}: {system_reason(error)}") from error


@contextmanager
def open_regular(path: Path, flags: int, what: str) -> Iterator[int]:
    """Return a context with the open file's descriptor.

    `what` names the expected kind of file in errors. Raise OSError, or UsageError if it is not a regular file.
    """
    file = os.open(path, flags, 0o666)
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise UsageError(f"{path}: not a regular file, so not {what}")
        yield file
    finally:
        os.close(file)


def read_small(path: Path, most_bytes: int, what: str) -> bytes:
    """Return the file's content. Raise UsageError if it cannot be read, or is larger than `most_bytes`."""
    with convert_failures(path), open_regular(path, READ, what) as file, open(file, "rb", closefd=False) as stream:
        content = stream.read(most_bytes + 1)
    if len(content) > most_bytes:
        raise UsageError(f"{path}: larger than {most_bytes >> 10} KiB, so not {what}")
    return content
