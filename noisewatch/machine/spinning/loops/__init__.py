"""The measuring loops: in C if a compiler was at hand, otherwise in Python, with one interface."""

from __future__ import annotations

import os
from types import ModuleType

from noisewatch.machine.spinning.loops import python_loops

NATIVE, PYTHON = "native", "python"
CHOICE = "NOISEWATCH_CORE"  # environment variable: `python` does without the compiled core


def load_core(name: str | None = None) -> ModuleType:
    """Return the core with this name; by default the compiled one, unless it is missing or declined."""
    if (name or os.environ.get(CHOICE)) == PYTHON:
        return python_loops
    try:
        from noisewatch.machine.spinning.loops import native
    except ImportError:
        return python_loops
    return native
