"""The past of this machine in a history file: its lines of JSON, and the entries of this machine among them.

Facts stay the same for weeks. They have a line of their own, to which the entries refer by its digest. Facts are
compared by name; the digest only shows whether a line was changed later. A damaged line counts for nothing.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from pathlib import Path

from msgspec.structs import replace

from noisewatch.errors import Malformed, damaged_words
from noisewatch.kernel.numbers import field_of
from noisewatch.kinds import Work
from noisewatch.machine import Json
from noisewatch.machine.history_file import has_identity, machine_key, parsed_line, read_store
from noisewatch.model.history.entries import Acceptance, Cvs, Entry, Past, boots_interleave
from noisewatch.model.history.facts import FactClass, Facts, in_plain_words
from noisewatch.model.history.figures import Figure
from noisewatch.model.history.thinning import Thinning
from noisewatch.patterns import regex
from noisewatch.text import clean

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


def _parsed(fields: Json, facts_by_digest: Mapping[str, Facts]) -> Entry | None:
    try:
        boot = fields.get("boot")
        entry = Entry(
            at_s=float(fields["at"]),
            core=field_of(fields, "core", str),
            cpus=frozenset(int(cpu) for cpu in field_of(fields, "cpus", list)),
            cvs=_cvs(field_of(fields, "cv", dict)),
            figures=_figures(fields.get("figures") or {}),
            facts=facts_by_digest.get(str(fields.get("facts")), {}),
            boot=boot if isinstance(boot, str) else None,
        )
        cvs = [cv for by_length in entry.cvs.values() for cv in by_length.values()]
        is_sound = math.isfinite(entry.at_s) and bool(cvs) and all(0 <= cv <= _MOST_CV for cv in cvs)
        return entry if is_sound and field_of(fields, "kind", str) == CALIBRATION else None
    except (Malformed, TypeError, ValueError, AttributeError, KeyError, OverflowError):
        return None


def _cvs(fields: Mapping[str, Json]) -> Cvs:
    return {
        _WORKS[name]: {int(length): float(cv) for length, cv in by_length.items()}
        for name, by_length in fields.items()
        if name in _WORKS
    }


def _figures(fields: Mapping[str, Json]) -> dict[Figure, float]:
    """Return the figures that this version supports. Raise ValueError for a value that no machine has."""
    figures = {_FIGURES[name]: float(value) for name, value in fields.items() if name in _FIGURES}
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


_MOST_NAMED = 8  # lines
_SHARED = (
    "two machines have the same /etc/machine-id (one was cloned from the other), so their entries are mixed here: give "
    "each its own (systemd-machine-id-setup)"
)
_NAMELESS = (
    "this machine has no /etc/machine-id, so its entries cannot be distinguished from those of others without one "
    "(systemd-machine-id-setup makes one)"
)
_LONG = (
    "the history has more than 256 MB, and less than 200 entries of this machine in its newest 256 MB, so older ones "
    "may be missing; give this machine a file of its own"
)
_FEW = 200  # entries
_MOST_CHECKED = 400  # of the newest lines of this machine, for damage
_WRITTEN, _ACCEPTED = b'{"kind":"calibration",', b'{"kind":"accepted",'
_MACHINE = regex(rb'"machine":"([^"]*)"')
_WHICH = regex(rb'"at":([0-9]{1,15}(?:\.[0-9]{1,9})?),("core":"[^"]*","cpus":\[[0-9,]*\])')
_NAMED_FACTS = b'"facts":"'
_FACTS = regex(rb'"facts":"([^"]*)"')


class _Choice:
    """The choice of lines to parse, the newest first: lines of calibrations are long, and most are left out."""

    def __init__(self, machine: str) -> None:
        self.others: set[str] = set()
        self._machine = machine
        self._own_end = f'"machine":"{machine}"}}'.encode()
        self._lines = self._own = 0
        self._is_usual = True  # nothing was accepted after this line
        self._thinning: Thinning[tuple[int, bytes]] = Thinning()

    def is_wanted(self, line: bytes) -> bool:
        """Return whether the line is to be parsed anyway: it is not a calibration in our format.

        To be called once for each line.
        """
        self._lines += 1
        if not line.startswith(_WRITTEN) or not line.endswith(b"}"):
            self._is_usual = self._is_usual and not (line.startswith(_ACCEPTED) and self._is_own(line))
            return True
        if not self._is_own(line):
            return False
        which = _WHICH.search(line)
        if which is None:
            return True
        self._own += 1
        at, series = which.groups()
        facts = _FACTS.search(line, max(line.rfind(_NAMED_FACTS), 0))
        self._thinning.add(series, float(at), facts and facts[1], (self._lines, line), self._is_usual)
        return False

    def _is_own(self, line: bytes) -> bool:
        if line.endswith(self._own_end):
            return True
        match = _MACHINE.search(line)
        machine = self._machine if match is None else match[1].decode("ascii", "replace")
        if machine != self._machine:
            self.others.add(machine)
        return machine == self._machine

    @property
    def parsed(self) -> list[tuple[int, Json]]:
        """The calibrations that count, with the numbers of their lines; None is damaged."""
        return [(self._lines + 1 - from_end, parsed_line(line)) for from_end, line in self._thinning.kept]

    @property
    def left_out(self) -> int:
        return self._own - len(self._thinning.kept)


def read_past(path: Path) -> Past:
    """Read the past of this machine. Raise UsageError if the file cannot be read.

    It is in doubt if the entries may be another machine's too.
    """
    key = machine_key()
    choice = _Choice(key)
    store = read_store(path, choice.is_wanted)
    lines = sorted([*zip(store.numbers, store.entries, strict=True), *choice.parsed], key=itemgetter(0))
    own = [(number, line) for number, line in lines if line is None or line.get("machine") == key]
    damaged = _damaged_of(own)
    past = past_of((line for number, line in own if line is not None and number not in damaged), key)
    thinned_out = past.thinned_out + choice.left_out
    is_short = store.is_cut and len(past.entries) + thinned_out < _FEW
    doubt = _SHARED if boots_interleave(past.entries) else _LONG if is_short else None
    return replace(
        past,
        doubt=doubt if has_identity() else _NAMELESS,
        other_machines=len((choice.others | {str(line.get("machine")) for line in store.entries}) - {key}),
        damaged=tuple(sorted({*store.damaged, *damaged})),
        thinned_out=thinned_out,
    )


def _damaged_of(lines: Sequence[tuple[int, Json]]) -> set[int]:
    """Return the numbers of damaged lines, among lines of facts and the newest calibrations."""
    newest = len(lines) - _MOST_CHECKED
    return {
        number
        for place, (number, line) in enumerate(lines)
        if line is None
        or (line["kind"] == FACTS and is_damaged(line))
        or (line["kind"] == CALIBRATION and place >= newest and is_damaged(line))
    }


def damage_words(lines: Sequence[int]) -> str:
    """Return `damaged in lines 4, 17: they count for nothing`."""
    numbers = [*map(str, lines[:_MOST_NAMED]), *(["…"] if len(lines) > _MOST_NAMED else [])]
    if len(numbers) == 1:
        return damaged_words("it counts for nothing", f"in line {numbers[0]}")
    return damaged_words("they count for nothing", f"in lines {', '.join(numbers)}")


def past_of(lines: Iterable[Json], machine: str) -> Past:
    """Return the past of the machine with that key, thinned, from all lines of a file."""
    own = [line for line in lines if line.get("machine") == machine]
    accepted = max((number for number, line in enumerate(own) if line["kind"] == ACCEPTED), default=0)
    facts = [line for line in own if line["kind"] == FACTS]
    before, since = (tuple(parsed_all([*facts, *lines])) for lines in (own[:accepted], own[accepted:]))
    entries, begin = (*before, *since), len(before)
    thinning: Thinning[int] = Thinning()
    for number, entry in reversed(list(enumerate(entries))):
        thinning.add((entry.core, entry.cpus), entry.at_s, entry.facts, number, is_usual=number >= begin)
    kept = sorted(thinning.kept)
    return Past(
        tuple(entries[number] for number in kept),
        sum(number < begin for number in kept),
        acceptance=_acceptance(own[accepted]) if own and own[accepted]["kind"] == ACCEPTED else None,
        thinned_out=len(entries) - len(kept),
    )


def _acceptance(line: Json) -> Acceptance:
    at, why = line.get("at"), line.get("why")
    is_number = isinstance(at, int | float) and math.isfinite(at)
    return Acceptance(float(at) if is_number else None, clean(" ".join(why.split())) if isinstance(why, str) else "")
