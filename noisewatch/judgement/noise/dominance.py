"""The main cause of a noise floor: a quota, interruptions, the clock, memory, or contended throughput."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from noisewatch.judgement.case import Calibrated
from noisewatch.judgement.noise.budget import NoiseFloor
from noisewatch.judgement.noise.floor import FEWEST_SAMPLES, expected_cv
from noisewatch.kinds import Kind, Work
from noisewatch.model.calibration.timeline import SERIES_OF, timelines_of

if TYPE_CHECKING:
    from noisewatch.kernel.calibration import CpuSamples
    from noisewatch.model.calibration.figures import CpuFigures, Spread


class NoisePart(Struct, frozen=True):
    """The largest part of the noise, and its remedy. `has_culprits`: culprits on the CPU may be the cause."""

    name: str
    said: str
    has_culprits: bool = False


QUOTA = NoisePart("quota", "a CPU quota, which stops the group's threads until the next period", has_culprits=True)
INTERRUPTIONS = NoisePart("interruptions", "interruptions: move other work off the target CPUs", has_culprits=True)
FREQUENCY = NoisePart("frequency", "a moving clock: set governor performance, switch turbo off")
MEMORY = NoisePart("memory", "a neighbour in the last-level cache or on the memory bus")
THROUGHPUT = NoisePart("throughput", "a sibling or a neighbour that takes throughput, perhaps another virtual machine")
_OF_MEMORY = (Work.CACHE, Work.MEMORY, Work.BANDWIDTH)
_HALF = 0.5
_TWOFOLD, _FOURFOLD = 2, 4
_MIN_QUOTA = 0.001  # share of the time; if a quota takes this much in one piece, it dominates the variation of samples
_MIN_CLOCK = 0.005  # a chain of multiplications varies by this share even at a constant clock


def dominating_cause(calibrated: Calibrated, floor: NoiseFloor, work: Work | None = None) -> NoisePart:
    """Return the main cause of the variance of a floor for this kind of work.

    It is a quota if quotas stopped the loops for longer than anything else did: stops lengthen all measurements, which
    then prove nothing about the clock or memory. It is interruptions if they cause more than half of the variance.
    Otherwise it is the clock if the clock varied more than half as much as the work; else memory, if the work uses
    memory and memory accesses varied far more than interpreted work; else throughput.
    """
    (samples,) = [candidate for candidate in calibrated.calibration.samples.cpus if candidate.cpu == floor.cpu]
    (figures,) = [candidate for candidate in calibrated.calibration.cpus if candidate.cpu == floor.cpu]
    if is_of_quota(calibrated, figures):
        return QUOTA
    if _share_of_interruptions(samples, floor, work) > _HALF:
        return INTERRUPTIONS
    clock, own = figures.effective_khz_spread_share, _own_spread(figures, work)
    memory = _own_spread(figures, work) if work in _OF_MEMORY else figures.memory
    if clock is not None and own is not None and clock > max(_HALF * own.width_share, _MIN_CLOCK):
        return FREQUENCY
    usual, times = figures.work, _TWOFOLD if work in _OF_MEMORY else _FOURFOLD
    is_in_registers = work in (Work.LATENCY, Work.THROUGHPUT)
    if not is_in_registers and memory is not None and usual is not None:
        return MEMORY if memory.width_share > times * usual.width_share else THROUGHPUT
    return THROUGHPUT


def _own_spread(figures: CpuFigures, work: Work | None) -> Spread | None:
    """Return the spread of the kind of work, or of interpreted work if no single kind was named."""
    spreads = {
        Work.LATENCY: figures.latency_work,
        Work.THROUGHPUT: figures.native_work,
        Work.CACHE: figures.memory,
        Work.MEMORY: figures.main_memory,
        Work.BANDWIDTH: figures.bandwidth,
    }
    return figures.work if work is None else spreads.get(work, figures.work)


def is_of_quota(calibrated: Calibrated, figures: CpuFigures) -> bool:
    """Return whether quotas took over 0.1% of the CPU's time, and over half of the time that it lost in gaps."""
    attribution = calibrated.attribution
    if figures.cpu not in attribution.quota_by_cpu:
        return False
    culprits = [culprit.disturbance for culprit in attribution.culprits_by_cpu.get(figures.cpu, ())]
    named = [attribution.quota_by_cpu[figures.cpu], *(culprit for culprit in culprits if culprit.kind == Kind.QUOTA)]
    share = max(culprit.share or 0.0 for culprit in named)
    return share > max(_MIN_QUOTA, _HALF * (figures.stolen_share or 0.0))


def _share_of_interruptions(samples: CpuSamples, floor: NoiseFloor, work: Work | None) -> float:
    """Return the share of the variance due to interruptions, for samples of the floor's length.

    If there are too few samples of that length, shorter ones are used.
    """
    series = None if work is None else SERIES_OF[work]
    interrupted = timelines_of([samples], series)
    length_ns = min(floor.sample_ns, interrupted.useful_ns / FEWEST_SAMPLES)
    if length_ns <= 0:
        return 0.0
    whole = expected_cv(interrupted, length_ns, floor.samples)
    uninterrupted = expected_cv(timelines_of([samples], series, are_interrupted=False), length_ns, floor.samples)
    return 1 - uninterrupted**2 / whole**2 if whole > 0 else 0.0
