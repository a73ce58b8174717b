"""Files that are read again and again: compiled where a compiler was at hand, else in Python, with one interface."""

from __future__ import annotations

import os
from types import ModuleType

from noisewatch.machine.reading import python_reading
from noisewatch.machine.spinning.loops import CHOICE, PYTHON


def load_reading(name: str | None = None) -> ModuleType:
    """The core of that name; else the compiled one if it was built and is not declined."""
    if (name or os.environ.get(CHOICE)) == PYTHON:
        return python_reading
    try:
        from noisewatch.machine.reading import _native
    except ImportError:
        return python_reading
    return _native
