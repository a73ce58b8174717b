"""Starting a command as if noisewatch were not there: in C if built, otherwise in Python, with one interface."""

from __future__ import annotations

from types import ModuleType

from noisewatch.machine.spinning.loops import compiled_or


def load_launching(name: str | None = None) -> ModuleType:
    """Return the core with this name; by default the compiled one, unless it is missing or declined."""
    from noisewatch.machine.command import python_launching

    return compiled_or(python_launching, "noisewatch.machine.command._native", name)
