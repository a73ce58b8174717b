"""A command that is started as if noisewatch were not there: by a compiled core, else in Python, with one interface."""

from __future__ import annotations

import os
from types import ModuleType

from noisewatch.machine.spinning.loops import CHOICE, PYTHON


def load_launching(name: str | None = None) -> ModuleType:
    """The core of that name; else the compiled one if it was built and is not declined."""
    from noisewatch.machine.command import python_launching

    if (name or os.environ.get(CHOICE)) == PYTHON:
        return python_launching
    try:
        from noisewatch.machine.command import _native
    except ImportError:
        return python_launching
    return _native
