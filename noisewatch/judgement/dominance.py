"""What a noise floor mostly consists of: interruptions, the clock, memory, or throughput that others take."""

from __future__ import annotations

from dataclasses import dataclass, replace

from noisewatch.judgement.case import Calibrated
from noisewatch.judgement.noise_floor import NoiseFloor
from noisewatch.model.statistics import coefficient_of_variation
from noisewatch.model.timeline import timelines_of
from noisewatch.sources.calibration import CpuSamples, Samples


@dataclass(frozen=True, slots=True)
class Cause:
    """The greatest part of the noise, and what to do about it. `has_culprits`: the sample may have seen who it was."""

    name: str
    said: str
    has_culprits: bool = False


INTERRUPTIONS = Cause("interruptions", "interruptions: what shares this CPU has to go elsewhere", has_culprits=True)
FREQUENCY = Cause("frequency", "the clock, which moves: governor performance, no turbo")
MEMORY = Cause("memory", "a neighbour in the last-level cache, or on the way to memory")
THROUGHPUT = Cause("throughput", "throughput that a sibling or a neighbour takes, perhaps of another virtual machine")
_HALF = 0.5
_FOURFOLD = 4
_LEAST_CLOCK = 0.005  # what a chain of multiplications varies by at one clock
_FEWEST_SAMPLES = 20


def dominating_cause(calibrated: Calibrated, floor: NoiseFloor) -> Cause:
    """The cause of most of the floor's variance.

    Gaps alone are replayed without the fixed work, at the longest samples of which there were enough. What they do not
    explain is the clock, if that moved half as much as the work did; memory, if that was less steady by far; and else
    throughput.
    """
    (said,) = [each for each in calibrated.calibration.samples.cpus if each.cpu == floor.cpu]
    (figures,) = [each for each in calibrated.calibration.cpus if each.cpu == floor.cpu]
    work_ns = min(floor.sample_ns, timelines_of([_gaps_alone(said)]).steady.useful_ns / _FEWEST_SAMPLES)
    if work_ns > 0 and _variance(_gaps_alone(said), work_ns) >= _HALF * _variance(said, work_ns):
        return INTERRUPTIONS
    clock, work, memory = figures.effective_khz_spread_share, figures.work, figures.memory
    if clock is not None and work is not None and clock > max(_HALF * work.width_share, _LEAST_CLOCK):
        return FREQUENCY
    if memory is not None and work is not None and memory.width_share > _FOURFOLD * work.width_share:
        return MEMORY
    return THROUGHPUT


def _gaps_alone(said: CpuSamples) -> CpuSamples:
    none = Samples()
    return replace(said, work=none, native_work=none, command=none)


def _variance(said: CpuSamples, work_ns: float) -> float:
    """The relative variance of samples of that length."""
    cv = coefficient_of_variation(timelines_of([said]).steady.sample_times(work_ns))
    return cv**2 if cv is not None else 0.0
