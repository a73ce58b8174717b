"""Faults of noisewatch's own: exceptions that nobody thought of, and where they are kept from doing more harm.

What errors.py declares is raised on purpose, and caught where it is known what to do. Everything else is a fault. It
costs the part that it happens in (a check, what a key asked for, one run of the sampler), which tells it; the rest goes
on. In the tests faults are raised: what is contained there would be overlooked.
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable
from typing import TypeVar

from noisewatch.errors import NoisewatchError

RAISED = "NOISEWATCH_RAISE_FAULTS"  # the environment variable that has them raised
T = TypeVar("T")


def describe_fault(error: BaseException) -> str:
    """In one line, with the place: `internal error: KeyError: 7 (idle.py:43)`."""
    frame = traceback.extract_tb(error.__traceback__)[-1:]
    place = "".join(f" ({os.path.basename(each.filename)}:{each.lineno})" for each in frame)
    return f"internal error: {type(error).__name__}: {' '.join(str(error).split())}{place}"


def contained(work: Callable[[], T], instead: Callable[[str], T]) -> T:
    """What `work` gives; where it raises, what `instead` makes of the reason."""
    try:
        return work()
    except NoisewatchError as error:
        return instead(str(error))
    except Exception as error:
        if os.environ.get(RAISED):
            raise
        return instead(f"{describe_fault(error)}; please report it")
