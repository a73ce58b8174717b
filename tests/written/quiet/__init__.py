"""What the quiet machine has beside its CPUs: by family, a module with `files` and perhaps `ANSWERS`."""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module
from types import ModuleType

from noisewatch.machine import Json


@cache
def _modules() -> list[ModuleType]:
    return [import_module(f"{__name__}.{each.name}") for each in pkgutil.iter_modules(__path__)]


def files(seconds: float) -> dict[str, str]:
    """Return the files of all families, `seconds` after the first snapshot."""
    return {path: text for module in _modules() for path, text in module.files(seconds).items()}


def answers() -> dict[str, Json]:
    """What no file says."""
    return {question: answer for module in _modules() for question, answer in getattr(module, "ANSWERS", {}).items()}
