"""Reading the same files repeatedly: in C if a compiler was at hand, otherwise in Python, with one interface."""

from __future__ import annotations

import os
from types import ModuleType

from noisewatch.machine.reading import python_reading
from noisewatch.machine.spinning.loops import CHOICE, PYTHON


def load_reading(name: str | None = None) -> ModuleType:
    """Return the core with this name; by default the compiled one, unless it is missing or declined."""
    if (name or os.environ.get(CHOICE)) == PYTHON:
        return python_reading
    try:
        from noisewatch.machine.reading import _native
    except ImportError:
        return python_reading
    return _native
