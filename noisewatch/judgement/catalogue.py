"""All checks that the modules below `checks` declare: by area, then by module, then in the order of the source."""

from __future__ import annotations

from noisewatch.judgement.check import Check
from noisewatch.judgement.checks import all_checks
from noisewatch.judgement.terms import Area

_AREAS = list(Area)
CATALOGUE: tuple[Check, ...] = tuple(sorted(all_checks(), key=lambda check: _AREAS.index(check.area)))
