"""The measuring loops: in C if compiled, otherwise in Python, with one interface."""

from __future__ import annotations

import importlib
import os
from types import ModuleType

from noisewatch.machine.spinning.loops import python_loops

NATIVE, PYTHON = "native", "python"
CHOICE = "NOISEWATCH_CORE"  # environment variable: `python` disables the compiled core


def load_core(name: str | None = None) -> ModuleType:
    """Return the core with this name; by default the compiled one unless it is missing or disabled."""
    return load_compiled_or(python_loops, "noisewatch.machine.spinning.loops.native", name)


def load_compiled_or(python: ModuleType, compiled: str, name: str | None) -> ModuleType:
    """Return the module `compiled`, or `python` if that core is requested or no other exists."""
    if (name or os.environ.get(CHOICE)) == PYTHON:
        return python
    try:
        return importlib.import_module(compiled)
    except ImportError:
        return python
