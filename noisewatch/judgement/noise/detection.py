"""The changes that a benchmark can detect on this machine, and the number of samples that detect a given change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from noisewatch.cpus import CpuSet, name_cpus
from noisewatch.judgement.case import Calibrated
from noisewatch.judgement.grading import incomplete_reason
from noisewatch.judgement.noise.budget import NoiseFloor
from noisewatch.judgement.noise.by_work import KINDS
from noisewatch.judgement.noise.comparison import part_of
from noisewatch.judgement.noise.floor import SAMPLE_LENGTHS_NS
from noisewatch.judgement.noise.smallest_change import MOST_SAMPLES, samples_needed

WORKLOAD = "workload"
_TOO_LITTLE = "too little was measured"
_EXTRAPOLATED = "too little was measured for samples of this length"
_TOO_MANY = f"more than {MOST_SAMPLES:,} samples"


class Needed(NamedTuple):
    """The number of samples of `sample_ns` that detect a change in one kind of work, or None with the reason."""

    work: str
    sample_ns: int
    samples: int | None
    reason: str | None


class SmallestChange(NamedTuple):
    """The floor that determines the smallest change that the budget's samples detect, and its kind of work.

    If the floor is unknown, it is None, and `reason` explains why. `work` then names the unknown kinds, or is empty if
    all kinds are unknown.
    """

    floor: NoiseFloor | None
    work: str
    reason: str | None


def needed_samples(calibrated: Calibrated, share: float) -> list[Needed]:
    """Return how many samples of each of two versions detect a change of `share`, by kind of work and sample length.

    The kinds are the requested one, or the workload, else all. For each length, the CPU with the largest upper end of
    the interval (`cv_high`) decides.
    """
    lengths_ns = sorted({*SAMPLE_LENGTHS_NS, calibrated.budget.at_ns})
    by_work, doubt = _floors_by_work(calibrated), _doubt(calibrated)
    return [
        _samples_needed(work, length_ns, floors, share, doubt or _missing(calibrated, work))
        for work, floors in by_work.items()
        for length_ns in lengths_ns
    ]


def smallest_change_of(calibrated: Calibrated) -> SmallestChange:
    """Return the smallest detectable change for the requested kind of work, else the largest one of all kinds.

    It is unknown if the floor of any kind is unknown, because that may be the benchmark's kind.
    """
    at_budget = _floor_at_budget_by_work(calibrated)
    doubt = _doubt(calibrated)
    if doubt is not None:
        return SmallestChange(None, "", doubt)
    reasons = {work: _missing(calibrated, work) or _unusable_floor_reason(floor) for work, floor in at_budget.items()}
    unknown = [work for work, reason in reasons.items() if reason is not None]
    if unknown:
        return SmallestChange(None, "" if len(unknown) == len(reasons) else ", ".join(unknown), reasons[unknown[0]])
    floor_by_work = {work: floor for work, floor in at_budget.items() if floor is not None}
    worst = max(floor_by_work, key=lambda work: floor_by_work[work].smallest_change_share)
    return SmallestChange(floor_by_work[worst], worst, None)


def on_cpus(calibrated: Calibrated, cpus: CpuSet) -> Calibrated:
    """Return the calibration of these CPUs alone, with their noise floors by kind of work."""
    by_work = {name: floors.part_of(cpus) for name, floors in calibrated.floors_by_work.items()}
    return replace(part_of(calibrated, cpus), floors_by_work=by_work)


def _samples_needed(
    work: str, length_ns: int, floors: Mapping[int, NoiseFloor], share: float, doubt: str | None
) -> Needed:
    floor = floors.get(length_ns)
    reason = doubt or _unusable_floor_reason(floor)
    if reason is not None or floor is None:
        return Needed(work, length_ns, None, reason)
    samples = samples_needed(floor.cv_high, share)
    return Needed(work, length_ns, samples, _TOO_MANY if samples is None else None)


def _unusable_floor_reason(floor: NoiseFloor | None) -> str | None:
    if floor is None:
        return _TOO_LITTLE
    return _EXTRAPOLATED if floor.extrapolated else None


def _doubt(calibrated: Calibrated) -> str | None:
    """Return why the calibration proves nothing, or None.

    A calibrated workload is not in doubt here, although it is not the machine: the results are about the workload.
    """
    incomplete = incomplete_reason(calibrated)
    has_workload = calibrated.calibration.samples.command and not calibrated.calibration.samples.is_realtime
    return incomplete if incomplete is not None or has_workload else calibrated.doubt


def _missing(calibrated: Calibrated, work: str) -> str | None:
    """Return on which CPUs too little of the work was measured, or None."""
    if calibrated.is_of_any_work:
        floor_by_cpu = calibrated.floors_by_work[work].at_budget_by_cpu if work in calibrated.floors_by_work else {}
        cpus = frozenset(figures.cpu for figures in calibrated.complete) - floor_by_cpu.keys()
    else:
        cpus = calibrated.unpredicted
    return f"{_TOO_LITTLE} on {name_cpus(cpus)}" if cpus else None


def _floors_by_work(calibrated: Calibrated) -> dict[str, Mapping[int, NoiseFloor]]:
    """Return the noise floors by kind of work that the benchmark may do, then by sample length (ns)."""
    floors_by_work: dict[str, Sequence[NoiseFloor]] = {_only_work(calibrated): calibrated.floors}
    if calibrated.is_of_any_work:
        known = calibrated.floors_by_work
        floors_by_work = {str(work): known[work].worst_by_length if work in known else () for work in KINDS}
    return {work: {floor.sample_ns: floor for floor in floors} for work, floors in floors_by_work.items()}


def _floor_at_budget_by_work(calibrated: Calibrated) -> dict[str, NoiseFloor | None]:
    if not calibrated.is_of_any_work:
        return {_only_work(calibrated): calibrated.floor}
    floors_by_work = calibrated.floors_by_work
    return {str(work): floors_by_work[work].worst if work in floors_by_work else None for work in KINDS}


def _only_work(calibrated: Calibrated) -> str:
    return WORKLOAD if calibrated.calibration.samples.command else str(calibrated.budget.work)
