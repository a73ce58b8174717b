"""Compare two calibrations: of two sets of CPUs, of the same CPUs idle and under load, or before and after a series."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from noisewatch.cpus import CpuSet
from noisewatch.judgement.case import Calibrated
from noisewatch.judgement.noise.budget import LOSES_TOO_MUCH
from noisewatch.judgement.noise.floor import worst_floors
from noisewatch.machine.spinning.calibration.buffer import BANDWIDTH
from noisewatch.model.calibration.figures import Calibration, CpuFigures
from noisewatch.model.calibration.timeline import uninterrupted_means
from noisewatch.model.estimate import Estimate, ratio_of
from noisewatch.model.run.series import Bounds

_DIFFERS = 1.5  # a ratio of noise; two calibrations of one machine differ by less, unless something has changed


class Difference(StrEnum):
    """The noise of the second side, relative to the first."""

    NOISIER = "noisier"
    QUIETER = "quieter"
    SAME = "same"
    UNKNOWN = "unknown"


class Comparison(Struct, frozen=True):
    """The difference in noise between two calibrations.

    `ratio` is the second side's noise divided by the first's; None if one is unknown, or if the first is 0.
    `are_floors_apart`: the 90% intervals of both noise floors, at the budget's sample length, do not overlap; None if
    one is unknown.
    """

    difference: Difference
    ratio: float | None
    are_floors_apart: bool | None
    longest_ratio: float | None  # the second side's longest gap divided by the first's; None without gaps


def part_of(calibrated: Calibrated, cpus: CpuSet) -> Calibrated:
    """Return the calibration of these CPUs alone, with their own noise floor."""
    calibration = calibrated.calibration
    samples = replace(
        calibration.samples,
        cpus=tuple(samples_of_cpu for samples_of_cpu in calibration.samples.cpus if samples_of_cpu.cpu in cpus),
    )
    floors = {cpu: floors_of_cpu for cpu, floors_of_cpu in calibrated.floors_by_cpu.items() if cpu in cpus}
    return replace(
        calibrated,
        calibration=Calibration(samples, tuple(figures for figures in calibration.cpus if figures.cpu in cpus)),
        floors_by_cpu=floors,
        floors=tuple(worst_floors(floors)),
        floors_by_work={},
    )


def noise_share_of(calibrated: Calibrated) -> float | None:
    """Return the share of the observed time that was lost in gaps, or None if no CPU was measured to the end."""
    measured_cpus = {figures.cpu for figures in calibrated.complete}
    measured = [samples for samples in calibrated.calibration.samples.cpus if samples.cpu in measured_cpus]
    spun_ns = sum(samples.spun_ns for samples in measured)
    stolen_ns = sum(sum(samples.gaps.length_ns) + samples.gaps.lost_ns for samples in measured)
    return stolen_ns / spun_ns if spun_ns else None


def compare(first: Calibrated, second: Calibrated) -> Comparison:
    """Return whether the second side is noisier, quieter or the same; unknown if a CPU was not measured to the end."""
    first_share, second_share = noise_share_of(first), noise_share_of(second)
    apart, longest = _are_apart(first, second), _longest_ratio(first, second)
    if first_share is None or second_share is None or first.troubles or second.troubles:
        return Comparison(Difference.UNKNOWN, None, apart, longest)
    ratio = second_share / first_share if first_share else None
    if second_share > first_share * _DIFFERS:
        return Comparison(Difference.NOISIER, ratio, apart, longest)
    difference = Difference.QUIETER if second_share * _DIFFERS < first_share else Difference.SAME
    return Comparison(difference, ratio, apart, longest)


def noisy_cpus(calibrated: Calibrated) -> CpuSet:
    """Return the CPUs that lost too much to gaps, or whose samples vary too much for the budget."""
    lost = {figures.cpu for figures in calibrated.complete if (figures.stolen_share or 0.0) > LOSES_TOO_MUCH}
    return calibrated.cpus_above_budget | lost


def _longest_ratio(first: Calibrated, second: Calibrated) -> float | None:
    first_ns, second_ns = (
        max((figures.gap_max_ns or 0 for figures in side.complete), default=0) for side in (first, second)
    )
    return second_ns / first_ns if first_ns else None


def _are_apart(first: Calibrated, second: Calibrated) -> bool | None:
    first_floor, second_floor = first.floor, second.floor
    if first_floor is None or second_floor is None:
        return None
    return first_floor.cv_high < second_floor.cv_low or second_floor.cv_high < first_floor.cv_low


_MAX_SPEED_CHANGE = 0.01


class SpeedChange(Struct, frozen=True):
    """How much longer the same work took on a CPU after the series, as a share; negative if it was faster."""

    cpu: int
    share: float

    @property
    def is_too_much(self) -> bool:
        return abs(self.share) > _MAX_SPEED_CHANGE


def speed_changes(opening: Calibrated, closing: Calibrated) -> list[SpeedChange]:
    """Return the speed change of each CPU that was measured to the end both times, the largest first.

    The chain of dependent steps shows the speed. Only the clock and interruptions slow this chain, and the median
    excludes interruptions.
    """
    before = {figures.cpu: figures for figures in opening.complete}
    pairs = ((before[figures.cpu], figures) for figures in closing.complete if figures.cpu in before)
    return sorted(_changes(pairs), key=lambda change: -abs(change.share))


def unknown_change_reason(opening: Calibrated, closing: Calibrated, cpus: CpuSet) -> str | None:
    """Return why the speed change of one of the CPUs is unknown, or None if all are known."""
    missing = sorted(cpus - {change.cpu for change in speed_changes(opening, closing)})
    if not missing:
        return None
    troubles = opening.troubles | closing.troubles
    return f"CPU {missing[0]}: {troubles.get(missing[0], 'its work was not measured')}"


def _changes(pairs: Iterator[tuple[CpuFigures, CpuFigures]]) -> Iterator[SpeedChange]:
    for first, last in pairs:
        if first.latency_work is not None and last.latency_work is not None and first.latency_work.piece_ns > 0:
            yield SpeedChange(first.cpu, last.latency_work.piece_ns / first.latency_work.piece_ns - 1)


_LEAST_BANDWIDTH_CHANGE = 0.05
_SIGNIFICANCE = 0.01
_PART_NS = 5_000_000  # copies are averaged over such parts, because neighbours work in bursts
_FEWEST_PARTS = 5


class BandwidthChange(Struct, frozen=True):
    """How much longer copies of large blocks took on a CPU after the series, as a share; negative if they were faster.

    `is_too_much`: chance does not explain the change, and it is larger than 5%.
    """

    cpu: int
    share: float
    interval: Bounds
    is_too_much: bool


def bandwidth_change(opening: Calibrated, closing: Calibrated) -> BandwidthChange | None:
    """Return the largest change on a CPU whose copies were measured well enough both times, or None if there is none.

    A change that is too much outranks a larger one that chance explains.
    """
    before, after = (_copy_times(calibrated) for calibrated in (opening, closing))
    changes = [_change_of(cpu, before[cpu], estimate) for cpu, estimate in after.items() if cpu in before]
    return max(changes, key=lambda change: (change.is_too_much, abs(change.share)), default=None)


def _change_of(cpu: int, before: Estimate, after: Estimate) -> BandwidthChange:
    ratio = ratio_of(before, after, _SIGNIFICANCE)
    low, high = ratio.interval
    is_large = abs(math.log(ratio.value)) > math.log1p(_LEAST_BANDWIDTH_CHANGE)
    return BandwidthChange(cpu, ratio.value - 1, Bounds(low - 1, high - 1), ratio.is_shown and is_large)


def _copy_times(calibrated: Calibrated) -> dict[int, Estimate]:
    """Return the mean time of a copy without interruptions, by CPU."""
    complete = {figures.cpu for figures in calibrated.complete}
    means_by_cpu = {
        samples.cpu: uninterrupted_means(samples, BANDWIDTH, _PART_NS)
        for samples in calibrated.calibration.samples.cpus
        if samples.cpu in complete
    }
    return {cpu: _mean_of(means) for cpu, means in means_by_cpu.items() if len(means) >= _FEWEST_PARTS}


def _mean_of(means: Sequence[float]) -> Estimate:
    logarithms = [math.log(mean) for mean in means]
    deviation = statistics.stdev(logarithms) / math.sqrt(len(logarithms))
    return Estimate(math.exp(statistics.fmean(logarithms)), deviation, len(logarithms) - 1)
