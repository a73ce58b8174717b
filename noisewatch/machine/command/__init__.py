"""Starting a command as if noisewatch were not there: in C if built, otherwise in Python, with one interface."""

from __future__ import annotations

import os
from types import ModuleType

from noisewatch.machine.spinning.loops import CHOICE, PYTHON


def load_launching(name: str | None = None) -> ModuleType:
    """Return the core with this name; by default the compiled one, unless it is missing or declined."""
    from noisewatch.machine.command import python_launching

    if (name or os.environ.get(CHOICE)) == PYTHON:
        return python_launching
    try:
        from noisewatch.machine.command import _native
    except ImportError:
        return python_launching
    return _native
