"""All checks: what the modules below `checks` declare, by area, then by module, then as they stand there."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from importlib import import_module

from noisewatch.judgement import checks
from noisewatch.judgement.check import Check
from noisewatch.judgement.terms import Area

_AREAS = list(Area)


def _declared() -> Iterator[Check]:
    for found in pkgutil.walk_packages(checks.__path__, f"{checks.__name__}."):
        for value in vars(import_module(found.name)).values():
            if isinstance(value, Check) and value.answer.__module__ == found.name:  # else it is imported there
                yield value


CATALOGUE: tuple[Check, ...] = tuple(sorted(_declared(), key=lambda each: _AREAS.index(each.area)))
