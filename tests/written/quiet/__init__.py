"""Files and answers of the quiet machine besides its CPUs: a module for each family, with `files` and `ANSWERS`."""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module
from types import ModuleType

from noisewatch.machine import Json


@cache
def _modules() -> list[ModuleType]:
    return [import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__)]


def files(seconds: float) -> dict[str, str]:
    """Return the files of all families, `seconds` after the first snapshot."""
    return {path: text for module in _modules() for path, text in module.files(seconds).items()}


def answers() -> dict[str, Json]:
    """Return the answers to questions that no file answers."""
    return {question: answer for module in _modules() for question, answer in getattr(module, "ANSWERS", {}).items()}
