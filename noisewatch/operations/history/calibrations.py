"""Calibrations of this host in a file: recalled before a calibration, and remembered after it."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec.structs import replace

from noisewatch.errors import Unreadable, UsageError
from noisewatch.judgement.case import Calibrated
from noisewatch.judgement.noise.budget import Budget
from noisewatch.judgement.noise.drift import Drift, drift_of
from noisewatch.kernel.calibration import CalibrationOptions, CalibrationSamples
from noisewatch.kernel.snapshot.snapshot import Snapshot
from noisewatch.machine import Json, Machine
from noisewatch.machine.history_file import append_entry, boot_key, machine_key
from noisewatch.model.history.entries import Entry, Past
from noisewatch.operations.history.past import (
    damage_words,
    described,
    described_facts,
    digest,
    parsed_all,
    read_past,
)
from noisewatch.operations.progress import ProgressListener
from noisewatch.text import clean

NO_PAST = Past(is_kept=False)
_QUESTION = "history"
_APART_S, _TOGETHER_S = 30.0, 86_400.0  # nearer ones are not independent; farther ones do not predict a benchmark


def drift_in(past: Past, samples: CalibrationSamples) -> Drift:
    """Return how much the noise of the same CPUs changed between calibrations like this one."""
    cpus = {samples_of_cpu.cpu for samples_of_cpu in samples.cpus}
    alike = [entry for entry in past.entries if entry.core == samples.core and entry.cpus == cpus]
    return drift_of([(one.cvs, other.cvs) for one, other in _pairs(alike)])


def until_settled(past: Past, options: CalibrationOptions, budget: Budget) -> CalibrationOptions:
    """Return the options; with `is_auto` the calibration ends once the noise floor is known well enough."""
    if not options.is_auto:
        return options
    from noisewatch.judgement.noise.settled import is_settled

    return replace(options, is_enough=lambda so_far: is_settled(so_far, budget, drift_in(past, so_far)))


class CalibrationHistory:
    """The history of this host at the path; for a recording, the history at the time of recording."""

    def __init__(self, machine: Machine, path: Path | None) -> None:
        """Read the history. Raise UsageError if the file cannot be read, before anything is measured."""
        self._machine = machine
        self._path = path if machine.is_live else None
        self.known = read_past(self._path) if self._path is not None else NO_PAST

    def remark_damage(self, listener: ProgressListener) -> None:
        """Report the damaged lines of the file to the listener, if there are any."""
        if self.known.damaged:
            listener.on_remark(f"{self._path}: {damage_words(self.known.damaged)}")

    def recall(self) -> Past:
        """Return the history before a calibration. Raise UsageError if it cannot be read.

        To be called just before the calibration, so that a recording has both between the same two snapshots.
        """
        if self._machine.is_live and self._path is None:
            return NO_PAST
        try:
            answer = self._machine.ask(_QUESTION, self._kept)
        except Unreadable:  # an old recording, without a history
            return NO_PAST
        return _recorded_past(answer)

    def remember(self, calibrated: Calibrated, snapshot: Snapshot, listener: ProgressListener) -> None:
        """Add the calibration, unless it is in doubt; the listener gets a remark if that fails."""
        if self._path is None:
            return
        from noisewatch.judgement.history.measured import entry_of  # with everything that evaluates calibrations

        entry = entry_of(calibrated, snapshot, time.time(), boot_key())
        if entry is None:
            listener.on_remark(f"not remembered: {_why_in_doubt(calibrated)}")
            return
        machine = {"machine": machine_key()}
        try:
            append_entry(self._path, described(entry) | machine, described_facts(entry.facts) | machine)
        except UsageError as error:
            listener.on_remark(f"not remembered: {error}")

    def _kept(self) -> Json:
        """Return the newest entries of this machine, without its key: a recording may be shared."""
        assert self._path is not None
        past = read_past(self._path)
        facts = {digest(entry.facts): described_facts(entry.facts) for entry in past.entries}
        return {
            "entries": [*facts.values(), *map(described, past.entries)],
            "accepted": past.accepted,
            "doubt": past.doubt,
        }


def _why_in_doubt(calibrated: Calibrated) -> str:
    troubles = [f"CPU {cpu}: {trouble}" for cpu, trouble in sorted(calibrated.troubles.items())]
    return next(iter(troubles), None) or calibrated.doubt or "it was too short to predict anything"


def _recorded_past(answer: Json) -> Past:
    """Parse the history in a recording; a recording from before figures has a list of entries."""
    kept = answer if isinstance(answer, dict) else {"entries": answer}
    lines, accepted, doubt = kept.get("entries"), kept.get("accepted"), kept.get("doubt")
    entries = tuple(parsed_all(lines)) if isinstance(lines, list) else ()
    return Past(
        entries,
        min(max(accepted, 0), len(entries)) if isinstance(accepted, int) else 0,
        clean(doubt) if isinstance(doubt, str) else None,
    )


def _pairs(calibrations: Iterable[Entry]) -> Iterator[tuple[Entry, Entry]]:
    """Yield each calibration with the next one that is neither too near nor too far in time.

    The clock may have been set back in between.
    """
    last: Entry | None = None
    for entry in calibrations:
        passed_s = math.inf if last is None else entry.at_s - last.at_s
        if 0 <= passed_s < _APART_S:
            continue
        if last is not None and _APART_S <= passed_s <= _TOGETHER_S:
            yield last, entry
        last = entry
