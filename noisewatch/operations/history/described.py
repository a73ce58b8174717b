"""Entries of a history as JSON: a damaged line counts for nothing.

Facts stay the same for weeks. They have a line of their own, to which the entries refer by its digest. Facts are
compared by name; the digest only shows whether a line was changed later.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping

from noisewatch.errors import Malformed
from noisewatch.kernel.numbers import field_of
from noisewatch.kinds import Work
from noisewatch.machine import Json
from noisewatch.model.history.entries import Cvs, Entry
from noisewatch.model.history.facts import FactClass, Facts, in_plain_words
from noisewatch.model.history.figures import Figure

CALIBRATION, ACCEPTED, FACTS = "calibration", "accepted", "facts"
_WORKS: Mapping[str, Work] = {str(work): work for work in Work}
_FIGURES: Mapping[str, Figure] = {str(figure): figure for figure in Figure}
_MOST_CV = 100.0  # no calibration has seen more: the file is damaged
_MOST = 1e15  # of any figure


def described(entry: Entry) -> dict[str, Json]:
    """Return the entry as a line of the file, without the machine's key."""
    return {
        "kind": CALIBRATION,
        "at": entry.at_s,
        "core": entry.core,
        "cpus": sorted(entry.cpus),
        "cv": {work: {str(length_ns): cv for length_ns, cv in cvs.items()} for work, cvs in entry.cvs.items()},
        "figures": {str(figure): value for figure, value in entry.figures.items()},
        "facts": digest(entry.facts),
        "boot": entry.boot,
    }


def described_facts(facts: Facts) -> dict[str, Json]:
    """Return the line of facts that entries refer to."""
    return {"kind": FACTS, "digest": digest(facts), "facts": plain_facts(facts)}


def digest(facts: Facts) -> str:
    """Return the digest of the facts: 32 hexadecimal digits."""
    return _digest_of(plain_facts(facts))


def _digest_of(plain: Json) -> str:
    import hashlib  # only needed for a history

    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()[:32]


def plain_facts(facts: Facts) -> dict[str, Json]:
    """Return the facts as JSON, by class and name; null is unknown."""
    return {str(of_class): dict(named) for of_class, named in facts.items()}


def parsed_all(lines: Iterable[Json]) -> Iterator[Entry]:
    """Yield the valid calibrations of the lines; their facts are unknown if the line of facts is missing."""
    facts_by_digest: dict[str, Facts] = {}
    for line in lines:
        if isinstance(line, dict) and line.get("kind") == FACTS:
            facts_by_digest[str(line.get("digest"))] = parsed_facts(line.get("facts"))
        elif (entry := _parsed(line, facts_by_digest)) is not None:
            yield entry


def is_damaged(line: Json) -> bool:
    """Return whether a line of facts or of a calibration is invalid or was changed after writing."""
    if line.get("kind") == FACTS:
        return not isinstance(line.get("facts"), dict) or _digest_of(line["facts"]) != line.get("digest")
    return _parsed(line, {}) is None


def _parsed(said: Json, facts_by_digest: Mapping[str, Facts]) -> Entry | None:
    try:
        boot = said.get("boot")
        entry = Entry(
            at_s=float(said["at"]),
            core=field_of(said, "core", str),
            cpus=frozenset(int(cpu) for cpu in field_of(said, "cpus", list)),
            cvs=_cvs(field_of(said, "cv", dict)),
            figures=_figures(said.get("figures") or {}),
            facts=facts_by_digest.get(str(said.get("facts")), {}),
            boot=boot if isinstance(boot, str) else None,
        )
        cvs = [cv for each in entry.cvs.values() for cv in each.values()]
        is_sound = math.isfinite(entry.at_s) and bool(cvs) and all(0 <= cv <= _MOST_CV for cv in cvs)
        return entry if is_sound and field_of(said, "kind", str) == CALIBRATION else None
    except (Malformed, TypeError, ValueError, AttributeError, KeyError, OverflowError):
        return None


def _cvs(said: Mapping[str, Json]) -> Cvs:
    return {
        _WORKS[name]: {int(length): float(cv) for length, cv in by_length.items()}
        for name, by_length in said.items()
        if name in _WORKS
    }


def _figures(said: Mapping[str, Json]) -> dict[Figure, float]:
    """Return the figures that this version supports. Raise ValueError for a value that no machine has."""
    figures = {_FIGURES[name]: float(value) for name, value in said.items() if name in _FIGURES}
    if not all(0 <= value <= _MOST for value in figures.values()):
        raise ValueError("no figure of a machine")
    return figures


def parsed_facts(said: Json) -> Facts:
    """Return the facts of the classes that this version supports, cleaned for display."""
    classes = said if isinstance(said, dict) else {}
    return {
        of_class: {
            str(in_plain_words(fact)): in_plain_words(value) if isinstance(value, str) else None
            for fact, value in classes[of_class].items()
        }
        for of_class in FactClass
        if isinstance(classes.get(of_class), dict)
    }
