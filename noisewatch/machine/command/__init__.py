"""Starts commands transparently: in C if compiled, otherwise in Python, with one interface."""

from __future__ import annotations

from types import ModuleType

from noisewatch.machine.spinning.loops import load_compiled_or


def load_launching(name: str | None = None) -> ModuleType:
    """Return the core with this name; by default the compiled one unless it is missing or disabled."""
    from noisewatch.machine.command import python_launching

    return load_compiled_or(python_launching, "noisewatch.machine.command._native", name)
