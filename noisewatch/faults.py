"""Faults of noisewatch's own: exceptions that nobody thought of, and where they are kept from doing more harm.

What errors.py declares is raised on purpose, and caught where it is known what to do. Everything else is a fault. It
costs the part that it happens in (a check, a picture, what a key asked for, one run of the sampler), which tells it;
the rest goes on. In the tests faults are raised: what is contained there would be overlooked.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from types import TracebackType
from typing import TypeVar

import noisewatch
from noisewatch.errors import NoisewatchError

RAISED = "NOISEWATCH_RAISE_FAULTS"  # the environment variable that has them raised
_MOST_SAID = 120  # signs: the place that follows is to be seen on any screen
T = TypeVar("T")


def _installed() -> tuple[int, int] | None:
    """Which file the package begins with: another one once pip has installed it anew; None where it is gone."""
    try:
        status = os.stat(noisewatch.__file__)
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns


_INSTALLED_AT_START = _installed()


def describe_fault(error: BaseException) -> str:
    """In one line, with the place: `internal error: KeyError: 7 (idle.py:43)`."""
    import traceback  # faults are rare

    frame = traceback.extract_tb(error.__traceback__)[-1:]
    place = "".join(f" ({os.path.basename(each.filename)}:{each.lineno})" for each in frame)
    said = " ".join(str(error).split())
    said = said if len(said) <= _MOST_SAID else f"{said[: _MOST_SAID - 1]}…"
    return f"internal error: {type(error).__name__}: {said}{place}"


def reason_of(error: Exception) -> str:
    """What to tell the user about the error. Raises it where faults are raised.

    What is imported at a key press may be of another version than what has been running since before an update.
    """
    if isinstance(error, NoisewatchError):
        return str(error)
    if os.environ.get(RAISED):
        raise error
    if isinstance(error, ImportError) or _installed() != _INSTALLED_AT_START:
        return f"restart noisewatch: it, or what it needs, was installed anew ({describe_fault(error)})"
    return f"{describe_fault(error)}; please report it"


class Boundary:
    """A context manager that ends faults: `tell` gets the reason of what was raised in it, and the caller goes on."""

    def __init__(self, tell: Callable[[str], object]) -> None:
        self._tell = tell

    def __enter__(self) -> None:
        """Nothing to prepare."""

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> bool:
        if not isinstance(error, Exception):  # such as KeyboardInterrupt, or none at all
            return False
        self._tell(reason_of(error))
        return True


def contained(work: Callable[[], T], instead: Callable[[str], T]) -> T:
    """What `work` gives; where it raises, what `instead` makes of the reason."""
    answers: list[T] = []
    with Boundary(lambda reason: answers.append(instead(reason))):
        return work()
    return answers[0]
