"""Internal faults: unexpected exceptions, and the boundaries that contain them.

Exceptions in errors.py are raised on purpose, and caught where they can be handled. Everything else is a fault. A fault
only affects the part in which it occurs (a check, a picture, the action of a key, one run of the sampler), which
reports it; everything else continues. In tests faults are raised, because contained faults would be overlooked.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from types import TracebackType
from typing import TypeVar

import noisewatch
from noisewatch.errors import NoisewatchError

RAISED = "NOISEWATCH_RAISE_FAULTS"  # environment variable: raise faults instead of containing them
_LONGEST_MESSAGE = 120  # characters, so that the place in the code, which follows, fits on any screen
T = TypeVar("T")


def _installed() -> tuple[int, int] | None:
    """Return the inode and modification time of `__init__.py`, which a reinstallation changes; None if unreadable."""
    try:
        status = os.stat(noisewatch.__file__)
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns


_INSTALLED_AT_START = _installed()


def describe_fault(error: BaseException) -> str:
    """Return the error in one line, with its place, such as `internal error: KeyError: 7 (idle.py:43)`."""
    import traceback  # imported only here, because faults are rare

    frame = traceback.extract_tb(error.__traceback__)[-1:]
    place = "".join(f" ({os.path.basename(entry.filename)}:{entry.lineno})" for entry in frame)
    message = " ".join(str(error).split())
    message = message if len(message) <= _LONGEST_MESSAGE else f"{message[: _LONGEST_MESSAGE - 1]}…"
    return f"internal error: {type(error).__name__}: {message}{place}"


def reason_of(error: Exception) -> str:
    """Return the error's reason for the user, or raise a fault again if the environment variable `RAISED` is set.

    The reason asks for a restart if noisewatch was updated while it ran, or if an import fails: modules that are
    imported later may not fit the running ones.
    """
    if isinstance(error, NoisewatchError):
        return str(error)
    if os.environ.get(RAISED):
        raise error
    if isinstance(error, ImportError) or _installed() != _INSTALLED_AT_START:
        return f"restart noisewatch: it or a dependency was reinstalled ({describe_fault(error)})"
    return f"{describe_fault(error)}; please report it"


class Boundary:
    """A context manager that contains faults: `report` receives an exception's reason, and the caller continues."""

    def __init__(self, report: Callable[[str], object]) -> None:
        self._report = report

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> bool:
        if not isinstance(error, Exception):  # no exception, or one such as KeyboardInterrupt
            return False
        self._report(reason_of(error))
        return True


def contain_faults(work: Callable[[], T], instead: Callable[[str], T]) -> T:
    """Return the result of `work`, or the result of `instead(reason)` if `work` raises."""
    answers: list[T] = []
    with Boundary(lambda reason: answers.append(instead(reason))):
        return work()
    return answers[0]
