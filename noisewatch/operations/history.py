"""What earlier calibrations of this host showed: remembered where the user wants that, and asked by the next ones."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from noisewatch.cpus import CpuSet
from noisewatch.errors import Malformed, Unreadable, UsageError
from noisewatch.judgement.case import Calibrated
from noisewatch.judgement.noise.budget import Budget
from noisewatch.judgement.noise.drift import Cvs, Drift, drift_of
from noisewatch.kernel.calibration import CalibrationOptions, CalibrationSamples
from noisewatch.kernel.numbers import field_of
from noisewatch.kinds import Work
from noisewatch.machine import Json, Machine
from noisewatch.machine.history_file import append_entry, machine_key, read_entries
from noisewatch.operations.progress import ProgressListener
from noisewatch.records import dataclass

_QUESTION = "history"
_KIND = "calibration"
_MOST = 200  # the newest: a machine is not what it was years ago
_MOST_CV = 100.0  # no calibration has seen more: the file is damaged
_APART_S, _TOGETHER_S = 30.0, 86_400.0  # nearer ones saw the same; farther ones say little of the next benchmark


@dataclass(frozen=True, slots=True)
class _Remembered:
    """One earlier calibration."""

    at_s: float  # since 1970
    core: str
    cpus: CpuSet
    cvs: Cvs


@dataclass(frozen=True, slots=True)
class Past:
    """The earlier calibrations of one machine, the oldest first."""

    calibrations: tuple[_Remembered, ...] = ()

    def drift_of(self, samples: CalibrationSamples) -> Drift:
        """How much the noise of its CPUs changed between calibrations such as this one."""
        cpus = {said.cpu for said in samples.cpus}
        alike = [each for each in self.calibrations if each.core == samples.core and each.cpus == cpus]
        return drift_of([(one.cvs, other.cvs) for one, other in _pairs(alike)])

    def until_settled(self, options: CalibrationOptions, budget: Budget) -> CalibrationOptions:
        """With `is_auto` it is enough once what will judge it knows the noise floor well."""
        if not options.is_auto:
            return options
        from noisewatch.judgement.noise.by_work import is_settled

        return replace(options, is_enough=lambda so_far: is_settled(so_far, budget, self.drift_of(so_far)))


class CalibrationHistory:
    """Of this host what is kept at the path; of a recording what was known when it was made."""

    def __init__(self, machine: Machine, path: Path | None) -> None:
        """Raises UsageError where the file cannot be read, which is to be told before anything is measured."""
        self._machine = machine
        self._path = path if machine.is_live else None
        if self._path is not None:
            read_entries(self._path)

    def recall(self) -> Past:
        """What is known before a calibration; raises UsageError.

        It is asked just before that is read, so that a recording has both between the same two snapshots.
        """
        if self._machine.is_live and self._path is None:
            return Past()
        try:
            answer = self._machine.ask(_QUESTION, self._kept)
        except Unreadable:  # a recording from before it was kept
            return Past()
        return Past(tuple(_parsed_all(answer)) if isinstance(answer, list) else ())

    def remember(self, calibrated: Calibrated, listener: ProgressListener) -> None:
        """Adds the calibration, unless it is in doubt; the listener is told where that fails."""
        cvs = _cvs_of(calibrated)
        if self._path is None or not cvs or calibrated.doubt or calibrated.troubles:
            return
        remembered = _Remembered(
            at_s=time.time(),
            core=calibrated.calibration.samples.core,
            cpus=frozenset(figures.cpu for figures in calibrated.calibration.cpus),
            cvs=cvs,
        )
        try:
            append_entry(self._path, {**_described(remembered), "machine": machine_key()})
        except UsageError as error:
            listener.on_remark(f"not remembered: {error}")

    def _kept(self) -> Json:
        """The newest of this machine, without its key: a recording may be shared."""
        assert self._path is not None
        own = machine_key()
        entries = (entry for entry in read_entries(self._path) if entry.get("machine") == own)
        return [_described(each) for each in _parsed_all(entries)][-_MOST:]


def _cvs_of(calibrated: Calibrated) -> Cvs:
    """What was predicted, and not extrapolated."""
    known = {
        work: {
            floor.sample_ns: floor.cv_expected
            for floor in calibrated.floors_by_work[work].floors
            if not floor.extrapolated
        }
        for work in Work
        if work in calibrated.floors_by_work
    }
    return {work: cvs for work, cvs in known.items() if cvs}


def _pairs(calibrations: Iterable[_Remembered]) -> Iterator[tuple[_Remembered, _Remembered]]:
    """Each with the next one that is neither too near nor too far; the clock may have been set back in between."""
    last: _Remembered | None = None
    for each in calibrations:
        passed_s = math.inf if last is None else each.at_s - last.at_s
        if 0 <= passed_s < _APART_S:
            continue
        if last is not None and _APART_S <= passed_s <= _TOGETHER_S:
            yield last, each
        last = each


def _described(remembered: _Remembered) -> dict[str, Json]:
    return {
        "kind": _KIND,
        "at": remembered.at_s,
        "core": remembered.core,
        "cpus": sorted(remembered.cpus),
        "cv": {work: {str(length_ns): cv for length_ns, cv in cvs.items()} for work, cvs in remembered.cvs.items()},
    }


def _parsed_all(entries: Iterable[Json]) -> Iterator[_Remembered]:
    """Those that are calibrations, and not damaged."""
    return (each for each in map(_parsed, entries) if each is not None)


def _parsed(entry: Json) -> _Remembered | None:
    try:
        remembered = _Remembered(
            at_s=float(entry["at"]),
            core=field_of(entry, "core", str),
            cpus=frozenset(int(cpu) for cpu in field_of(entry, "cpus", list)),
            cvs={
                Work(name): {int(length): float(cv) for length, cv in by_length.items()}
                for name, by_length in field_of(entry, "cv", dict).items()
                if name in set(Work)
            },
        )
        cvs = [cv for each in remembered.cvs.values() for cv in each.values()]
        is_sound = math.isfinite(remembered.at_s) and bool(cvs) and all(0 <= cv <= _MOST_CV for cv in cvs)
        return remembered if is_sound and field_of(entry, "kind", str) == _KIND else None
    except (Malformed, TypeError, ValueError, AttributeError, KeyError, OverflowError):
        return None
