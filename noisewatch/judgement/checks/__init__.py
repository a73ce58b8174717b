"""The checks, by area. A new check is one decorated function in one of these files."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec

from noisewatch.judgement.check import Check


def all_checks() -> Iterator[Check]:
    """Yield all checks in source order, one module after another."""
    for module in _modules():
        yield from _checks_of(module)


def check_with_id(name: str) -> Check | None:
    """Return the check with this id, or None. Only modules whose source contains the id are imported."""
    for module in _modules():
        if f'id="{name}"' in _source_of(module):
            for candidate in _checks_of(module):
                if candidate.id == name:
                    return candidate
    return None


def _modules() -> Iterator[str]:
    return (module.name for module in pkgutil.walk_packages(__path__, f"{__name__}."))


def _source_of(module: str) -> str:
    spec = find_spec(module)
    get_source = getattr(spec.loader, "get_source", None) if spec is not None else None
    return (get_source(module) if get_source is not None else None) or ""


def _checks_of(module: str) -> Iterator[Check]:
    for value in vars(import_module(module)).values():
        if isinstance(value, Check) and value.answer.__module__ == module:  # not an import
            yield value
