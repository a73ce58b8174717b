"""The measuring loops: compiled where a compiler was at hand, else in Python, with the same interface."""

from __future__ import annotations

import os
from types import ModuleType

from noisewatch.machine.spinning.loops import python_loops

NATIVE, PYTHON = "native", "python"
CHOICE = "NOISEWATCH_CORE"  # environment variable: `python` does without the compiled core


def load_core(name: str | None = None) -> ModuleType:
    """The core of that name; else the compiled one if it was built and is not declined."""
    if (name or os.environ.get(CHOICE)) == PYTHON:
        return python_loops
    try:
        from noisewatch.machine.spinning.loops import native
    except ImportError:
        return python_loops
    return native
