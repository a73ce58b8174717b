"""Faults of noisewatch's own: unexpected exceptions, and the boundaries that contain them.

Exceptions in errors.py are raised on purpose, and caught where they can be handled. Everything else is a fault. A fault
costs the part in which it happens (a check, a picture, the action of a key, one run of the sampler), which reports it;
the rest goes on. In the tests faults are raised, as contained ones would be overlooked.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from types import TracebackType
from typing import TypeVar

import noisewatch
from noisewatch.errors import NoisewatchError

RAISED = "NOISEWATCH_RAISE_FAULTS"  # the environment variable that has them raised
_LONGEST_MESSAGE = 120  # signs: the place that follows is to be seen on any screen
T = TypeVar("T")


def _installed() -> tuple[int, int] | None:
    """Return inode and modification time of the package's first file, or None if it is gone.

    A reinstallation changes them.
    """
    try:
        status = os.stat(noisewatch.__file__)
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns


_INSTALLED_AT_START = _installed()


def describe_fault(error: BaseException) -> str:
    """Return the error in one line, with its place: `internal error: KeyError: 7 (idle.py:43)`."""
    import traceback  # faults are rare

    frame = traceback.extract_tb(error.__traceback__)[-1:]
    place = "".join(f" ({os.path.basename(entry.filename)}:{entry.lineno})" for entry in frame)
    message = " ".join(str(error).split())
    message = message if len(message) <= _LONGEST_MESSAGE else f"{message[: _LONGEST_MESSAGE - 1]}…"
    return f"internal error: {type(error).__name__}: {message}{place}"


def reason_of(error: Exception) -> str:
    """Return the error's reason for the user. Raise the error itself if faults are to be raised.

    A module imported at a key press may be newer than the running modules, after an update.
    """
    if isinstance(error, NoisewatchError):
        return str(error)
    if os.environ.get(RAISED):
        raise error
    if isinstance(error, ImportError) or _installed() != _INSTALLED_AT_START:
        return f"restart noisewatch: it, or what it needs, was installed anew ({describe_fault(error)})"
    return f"{describe_fault(error)}; please report it"


class Boundary:
    """A context manager that contains faults: `report` receives the reason of an exception, and the caller goes on."""

    def __init__(self, report: Callable[[str], object]) -> None:
        self._report = report

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> bool:
        if not isinstance(error, Exception):  # such as KeyboardInterrupt, or none at all
            return False
        self._report(reason_of(error))
        return True


def contained(work: Callable[[], T], instead: Callable[[str], T]) -> T:
    """Return the result of `work`, or `instead` of the reason if `work` raises."""
    answers: list[T] = []
    with Boundary(lambda reason: answers.append(instead(reason))):
        return work()
    return answers[0]
