"""This machine's history in a file of JSON lines, which is read before a calibration and extended after it.

Facts stay the same for weeks, so they are in separate lines: an entry contains the digest of its facts. Facts are
compared by name; the digest also detects lines that were changed later. A damaged line is ignored.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from noisewatch.cpus import CpuSet, name_cpus
from noisewatch.errors import Malformed, Unreadable, UsageError, damaged_words
from noisewatch.judgement.case import Calibrated
from noisewatch.judgement.history.development import Development, development_of
from noisewatch.judgement.noise.budget import Budget
from noisewatch.judgement.noise.drift import Drift, drift_of
from noisewatch.kernel.calibration import CalibrationOptions, CalibrationSamples
from noisewatch.kernel.numbers import field_of
from noisewatch.kernel.snapshot.snapshot import Snapshot
from noisewatch.kinds import Work
from noisewatch.machine import Json, Machine
from noisewatch.machine.history_file import append_entry, boot_key, has_identity, machine_key, parse_line, read_store
from noisewatch.model.history.entries import Acceptance, Cvs, Entry, Past, boots_interleave
from noisewatch.model.history.facts import Facts, parse_facts
from noisewatch.model.history.figures import Figure
from noisewatch.model.history.thinning import Thinning
from noisewatch.operations.progress import ProgressListener
from noisewatch.patterns import regex
from noisewatch.text import clean

CALIBRATION, ACCEPTED, FACTS = "calibration", "accepted", "facts"
_WORKS: Mapping[str, Work] = {str(work): work for work in Work}
_FIGURES: Mapping[str, Figure] = {str(figure): figure for figure in Figure}
_MOST_CV = 100.0  # above this, the line is damaged
_MOST = 1e15  # largest possible value of any figure


def entry_line(entry: Entry) -> dict[str, Json]:
    """Return the fields of the entry's line in the file, without the machine's key."""
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


def facts_line(facts: Facts) -> dict[str, Json]:
    """Return the fields of the line that contains the facts; entries refer to it by its digest."""
    return {"kind": FACTS, "digest": digest(facts), "facts": facts_as_json(facts)}


def digest(facts: Facts) -> str:
    """Return the digest of the facts: 32 hexadecimal digits."""
    return _digest_of(facts_as_json(facts))


def _digest_of(plain: Json) -> str:
    import hashlib  # only needed for a history

    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()[:32]


def facts_as_json(facts: Facts) -> dict[str, Json]:
    """Return the facts as JSON, by class and name; null means unknown."""
    return {str(of_class): dict(named) for of_class, named in facts.items()}


def parse_entries(lines: Iterable[Json]) -> Iterator[Entry]:
    """Yield an entry per valid calibration in the lines; its facts are unknown if their line is missing."""
    facts_by_digest: dict[str, Facts] = {}
    for line in lines:
        if isinstance(line, dict) and line.get("kind") == FACTS:
            facts_by_digest[str(line.get("digest"))] = parse_facts(line.get("facts"))
        elif (entry := _parse_entry(line, facts_by_digest)) is not None:
            yield entry


def is_damaged(line: Json) -> bool:
    """Return whether a calibration's line is invalid, or a line of facts is invalid or was changed after writing."""
    if line.get("kind") == FACTS:
        return not isinstance(line.get("facts"), dict) or _digest_of(line["facts"]) != line.get("digest")
    return _parse_entry(line, {}) is None


def _parse_entry(fields: Json, facts_by_digest: Mapping[str, Facts]) -> Entry | None:
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
    """Return the figures that this version knows. Raise ValueError for an impossible value."""
    figures = {_FIGURES[name]: float(value) for name, value in fields.items() if name in _FIGURES}
    if not all(0 <= value <= _MOST for value in figures.values()):
        raise ValueError("not a figure of a machine")
    return figures


_MOST_NAMED = 8  # lines
_SHARED = (
    "two machines have the same /etc/machine-id (one is a clone of the other), so their entries are mixed: give the "
    "clone its own (remove the file there, then systemd-machine-id-setup)"
)
_NAMELESS = (
    "this machine has no /etc/machine-id, so its entries look like those of other machines without one: create it "
    "(systemd-machine-id-setup)"
)
_LONG = (
    "the newest 256 MB of the history contain fewer than 200 entries of this machine, so older ones may be missing: "
    "give this machine its own file"
)
_FEW = 200  # entries
_MOST_CHECKED = 400  # newest lines of this machine that are checked for damage
_WRITTEN, _ACCEPTED = b'{"kind":"calibration",', b'{"kind":"accepted",'
_MACHINE = regex(rb'"machine":"([^"]*)"')
_WHICH = regex(rb'"at":([0-9]{1,15}(?:\.[0-9]{1,9})?),("core":"[^"]*","cpus":\[[0-9,]*\])')
_NAMED_FACTS = b'"facts":"'
_FACTS = regex(rb'"facts":"([^"]*)"')


class _Choice:
    """Chooses the calibration lines to parse: lines are long, and most are left out. Pass the newest line first."""

    def __init__(self, machine: str) -> None:
        self.others: set[str] = set()
        self._machine = machine
        self._own_end = f'"machine":"{machine}"}}'.encode()
        self._lines = self._own = 0
        self._is_usual = True  # no acceptance follows this line
        self._thinning: Thinning[tuple[int, bytes]] = Thinning()

    def is_needed(self, line: bytes) -> bool:
        """Return whether the line must be parsed now, because it is not a calibration in this version's format.

        Call it once for each line.
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
        """The chosen calibrations with their line numbers; None instead of a damaged calibration."""
        return [(self._lines + 1 - from_end, parse_line(line)) for from_end, line in self._thinning.kept]

    @property
    def left_out(self) -> int:
        return self._own - len(self._thinning.kept)


def read_past(path: Path) -> Past:
    """Read the past of this machine. Raise UsageError if the file cannot be read.

    The past has a `doubt` if entries may be another machine's, or if older ones may be missing.
    """
    key = machine_key()
    choice = _Choice(key)
    store = read_store(path, choice.is_needed)
    lines = sorted([*zip(store.numbers, store.entries, strict=True), *choice.parsed], key=itemgetter(0))
    own = [(number, line) for number, line in lines if line is None or line.get("machine") == key]
    damaged = _damaged_lines(own)
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


def _damaged_lines(lines: Sequence[tuple[int, Json]]) -> set[int]:
    """Return the numbers of damaged lines; of calibration lines, only the newest are checked."""
    newest = len(lines) - _MOST_CHECKED
    return {
        number
        for place, (number, line) in enumerate(lines)
        if line is None
        or (line["kind"] == FACTS and is_damaged(line))
        or (line["kind"] == CALIBRATION and place >= newest and is_damaged(line))
    }


def damage_words(lines: Sequence[int]) -> str:
    """Return a message such as `damaged in lines 4, 17: they are ignored`."""
    numbers = [*map(str, lines[:_MOST_NAMED]), *(["…"] if len(lines) > _MOST_NAMED else [])]
    if len(numbers) == 1:
        return damaged_words("it is ignored", f"in line {numbers[0]}")
    return damaged_words("they are ignored", f"in lines {', '.join(numbers)}")


def past_of(lines: Iterable[Json], machine: str) -> Past:
    """Return the thinned past of the machine with this key; `lines` are parsed lines of a file, in its order."""
    own = [line for line in lines if line.get("machine") == machine]
    accepted = max((number for number, line in enumerate(own) if line["kind"] == ACCEPTED), default=0)
    facts = [line for line in own if line["kind"] == FACTS]
    before, since = (tuple(parse_entries([*facts, *lines])) for lines in (own[:accepted], own[accepted:]))
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


NO_PAST = Past(is_kept=False)
_QUESTION = "history"
# Closer pairs are not independent; more distant pairs do not predict a benchmark.
_APART_S, _TOGETHER_S = 30.0, 86_400.0


def drift_in(past: Past, samples: CalibrationSamples) -> Drift:
    """Return how much these CPUs' noise has changed from one comparable calibration to the next."""
    cpus = {samples_of_cpu.cpu for samples_of_cpu in samples.cpus}
    alike = [entry for entry in past.entries if entry.core == samples.core and entry.cpus == cpus]
    return drift_of([(one.cvs, other.cvs) for one, other in _consecutive_pairs(alike)])


def until_accurate(past: Past, options: CalibrationOptions, budget: Budget) -> CalibrationOptions:
    """Return the options; with `is_auto`, they end the calibration once the noise floor is accurate enough."""
    if not options.is_auto:
        return options
    from noisewatch.judgement.noise.settled import is_settled

    return replace(options, is_enough=lambda so_far: is_settled(so_far, budget, drift_in(past, so_far)))


class CalibrationHistory:
    """This host's history in the file; for a recording, the recorded history."""

    def __init__(self, machine: Machine, path: Path | None) -> None:
        """Read the history. Raise UsageError if the file cannot be read, before anything is measured."""
        self._machine = machine
        self._path = path if machine.is_live else None
        self.known = read_past(self._path) if self._path is not None else NO_PAST

    def remark_damage(self, listener: ProgressListener) -> None:
        """Report the file's damaged lines to the listener, if there are any."""
        if self.known.damaged:
            listener.on_remark(f"{self._path}: {damage_words(self.known.damaged)}")

    def recall(self) -> Past:
        """Return the history before a calibration: the file's, the recorded one, or an empty one.

        Call it just before the calibration, so that a recording contains both between the same two snapshots. Raise
        UsageError if the file cannot be read.
        """
        if self._machine.is_live and self._path is None:
            return NO_PAST
        try:
            answer = self._machine.ask(_QUESTION, self._entries_to_record)
        except Unreadable:  # an old recording without a history
            return NO_PAST
        return _recorded_past(answer)

    def remember(self, calibrated: Calibrated, snapshot: Snapshot, listener: ProgressListener) -> None:
        """Append the calibration unless it is in doubt; the listener gets a remark if it was not appended.

        Do nothing without a history file.
        """
        if self._path is None:
            return
        from noisewatch.judgement.history.measured import entry_of  # imports all modules that evaluate calibrations

        entry = entry_of(calibrated, snapshot, time.time(), boot_key())
        if entry is None:
            listener.on_remark(f"not remembered: {_doubt_reason(calibrated)}")
            return
        machine = {"machine": machine_key()}
        try:
            append_entry(self._path, entry_line(entry) | machine, facts_line(entry.facts) | machine)
        except UsageError as error:
            listener.on_remark(f"not remembered: {error}")

    def _entries_to_record(self) -> Json:
        """Return this machine's thinned entries, without its key because a recording may be shared."""
        assert self._path is not None
        past = read_past(self._path)
        facts = {digest(entry.facts): facts_line(entry.facts) for entry in past.entries}
        return {
            "entries": [*facts.values(), *map(entry_line, past.entries)],
            "accepted": past.accepted,
            "doubt": past.doubt,
        }


def _doubt_reason(calibrated: Calibrated) -> str:
    troubles = [f"CPU {cpu}: {trouble}" for cpu, trouble in sorted(calibrated.troubles.items())]
    return next(iter(troubles), None) or calibrated.doubt or "it was too short for a prediction"


def _recorded_past(answer: Json) -> Past:
    """Parse the history in a recording; in old recordings, which lack figures, it is a list of entries."""
    kept = answer if isinstance(answer, dict) else {"entries": answer}
    lines, accepted, doubt = kept.get("entries"), kept.get("accepted"), kept.get("doubt")
    entries = tuple(parse_entries(lines)) if isinstance(lines, list) else ()
    return Past(
        entries,
        min(max(accepted, 0), len(entries)) if isinstance(accepted, int) else 0,
        clean(doubt) if isinstance(doubt, str) else None,
    )


def _consecutive_pairs(calibrations: Iterable[Entry]) -> Iterator[tuple[Entry, Entry]]:
    """Yield pairs of consecutive calibrations that are at most a day apart.

    A calibration less than 30 s after the previous one is skipped. If the clock was set back between two calibrations,
    they are not a pair.
    """
    last: Entry | None = None
    for entry in calibrations:
        passed_s = math.inf if last is None else entry.at_s - last.at_s
        if 0 <= passed_s < _APART_S:
            continue
        if last is not None and _APART_S <= passed_s <= _TOGETHER_S:
            yield last, entry
        last = entry


class HistoryView(Struct, frozen=True):
    """This machine's entries in a file.

    `development` covers the entries of one set of CPUs; None if there are none.
    """

    path: Path
    past: Past
    development: Development | None


def read_history(path: Path, cpus: CpuSet | None = None, or_others: bool = False) -> HistoryView:
    """Read the history of these CPUs, by default the newest entry's.

    With `or_others`, fall back to the newest entry's CPUs; otherwise raise UsageError if there are only entries of
    other CPUs. Raise UsageError if the file cannot be read or is not a history.
    """
    past = read_past(path)
    measured = [entry for entry in past.entries if entry.figures]
    newest = next((entry for entry in reversed(measured) if cpus is None or entry.cpus == cpus), None)
    if newest is None and measured and or_others:
        newest = measured[-1]
    if newest is None and measured:
        names = dict.fromkeys(name_cpus(entry.cpus) for entry in reversed(measured))
        raise UsageError(f"{path}: no entry of {name_cpus(cpus or ())}; there are entries of {', '.join(names)}")
    return HistoryView(
        path=path,
        past=past,
        development=development_of(past.like(newest)) if newest is not None else None,
    )


def accept_machine(path: Path, why: str) -> None:
    """Make the current machine the new baseline: from now on, only new entries define the usual values.

    Raise UsageError if the file cannot be read or written, or if it has no entry of this machine.
    """
    if not read_past(path).entries:
        raise UsageError(
            f"{path}: there is no entry of this machine to accept yet; noisewatch preflight --history makes one"
        )
    append_entry(path, {"kind": ACCEPTED, "at": time.time(), "machine": machine_key(), "why": why})
