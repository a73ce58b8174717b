"""Why a fact of a machine is unknown."""

from __future__ import annotations

from noisewatch.judgement.case import Case
from noisewatch.model.history.fact_names import paths_of
from noisewatch.model.history.facts import FactClass


def why_unread(case: Case, of_class: FactClass, name: str) -> str:
    """Return why the fact's file could not be read; if each CPU has its own file, the first reason of any."""
    cpus = sorted(case.snapshot.online.online or case.snapshot.topology) or [0]
    paths = paths_of(of_class, name) or ()
    return case.why_unknown(*(path.replace("{cpu}", str(cpu)) for path in paths for cpu in cpus))
