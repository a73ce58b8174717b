"""Rereads files: in C if compiled, otherwise in Python, with one interface."""

from __future__ import annotations

from types import ModuleType

from noisewatch.machine.reading import python_reading
from noisewatch.machine.spinning.loops import load_compiled_or


def load_reading(name: str | None = None) -> ModuleType:
    """Return the core with this name; by default the compiled one unless it is missing or disabled."""
    return load_compiled_or(python_reading, "noisewatch.machine.reading._native", name)
