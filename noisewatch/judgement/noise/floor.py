"""The noise that the machine alone adds to a benchmark's samples, predicted from a calibration.

The replayed timeline of each CPU gives the times of samples of a given length. Many draws of the user's number of
samples give an interval for the relative standard deviation, and the worst sample. There is a floor for mixed work
or the user's command, for each kind of work, and for work that only interruptions slow.
"""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from noisewatch.judgement.noise.budget import ALONE, CONFIDENCE, Budget, NoiseFloor
from noisewatch.judgement.noise.drift import USUAL_DRIFT, Drift
from noisewatch.judgement.noise.smallest_change import smallest_change
from noisewatch.kinds import Work
from noisewatch.model.calibration.statistics import coefficient_of_variation
from noisewatch.model.calibration.timeline import INTERRUPTIONS, SERIES_OF, Replay, Timelines

if TYPE_CHECKING:
    from noisewatch.cpus import CpuSet
    from noisewatch.kernel.calibration import CalibrationSamples, CpuSamples


SAMPLE_LENGTHS_NS = (1_000_000, 10_000_000, 100_000_000, 1_000_000_000)
MOST_DRAWS, FEWEST_DRAWS, _DRAWN_SAMPLES = 200, 50, 10_000
_SAMPLES_PER_PROCESS = 5  # pyperf takes 3 samples per process, and 10 in its mode for JIT compilers
FEWEST_SAMPLES, _FEWEST_WORKED = (
    10,
    3,
)  # a length with fewer samples in the calibration is extrapolated from shorter lengths
_FEWEST_IN_LOOKS, _FEWEST_LOOKS = (
    0.5,
    4,
)  # work of half a sample's length suffices if it was measured at four times or more
_FEWEST_PIECES = 2  # samples with fewer units of work would be interpolated, and would look too steady


def floors_by_cpu(
    calibrations: Sequence[CalibrationSamples], budget: Budget, drift: Drift = USUAL_DRIFT
) -> dict[int, list[NoiseFloor]]:
    """Return the floors of each CPU that was measured to the end, sorted by length.

    The budget's own length is included. The floors are of the budget's kind of work, else of the user's command if it
    was measured, else of mixed work. Several calibrations, such as before and after a benchmark, are combined. A CPU
    with too few measurements has no floors.
    """
    return floors_of(replays_by_cpu(calibrations), budget, drift)


def floors_of(replays: Mapping[int, Replay], budget: Budget, drift: Drift = USUAL_DRIFT) -> dict[int, list[NoiseFloor]]:
    """Return the floors of each CPU, sorted by length, from its replay."""
    series = None if budget.work is None else SERIES_OF[budget.work]
    return {cpu: floors_by_length(replay.timelines(series), cpu, budget, drift) for cpu, replay in replays.items()}


def worst_floors(by_cpu: Mapping[int, Sequence[NoiseFloor]]) -> list[NoiseFloor]:
    """Return the worst value of every figure over all CPUs, by sample length; `cpu` is the CPU that varies most.

    A benchmark may run on any of the CPUs. CPUs without a floor are left out, and may be worse.
    """
    return [worst_of(floors) for floors in zip(*filter(None, by_cpu.values()), strict=True)]


def worst_of(floors: Sequence[NoiseFloor]) -> NoiseFloor:
    """Return the worst value of every figure in one or more floors; `cpu` is the CPU that varies most."""
    chances = [floor.chance for floor in floors]
    return replace(
        max(floors, key=lambda floor: floor.cv_expected),
        cv_low=max(floor.cv_low for floor in floors),
        cv_high=max(floor.cv_high for floor in floors),
        max_expected=max(floor.max_expected for floor in floors),
        max_inflation=max(floor.max_inflation for floor in floors),
        smallest_change_share=max(floor.smallest_change_share for floor in floors),
        bounded=all(floor.bounded for floor in floors),
        extrapolated=any(floor.extrapolated for floor in floors),
        chance=None if None in chances else min(chance for chance in chances if chance is not None),
    )


def replays_by_cpu(calibrations: Iterable[CalibrationSamples]) -> dict[int, Replay]:
    """Return the replay of each CPU that was measured to the end."""
    runs: dict[int, list[CpuSamples]] = {}
    for calibration in calibrations:
        for samples in calibration.cpus:
            if samples.trouble is None:
                runs.setdefault(samples.cpu, []).append(samples)
    return {cpu: Replay(run) for cpu, run in runs.items()}


def floors_by_length(
    timelines: Timelines, cpu: int, budget: Budget, drift: Drift, draws: int = MOST_DRAWS, is_all: bool = True
) -> list[NoiseFloor]:
    """Return the floors of one CPU for each length, shortest first; empty if too little was measured.

    Unless `is_all`, only the budget's length is included, with shorter lengths if it is extrapolated from them.
    """
    lengths = sorted({*SAMPLE_LENGTHS_NS, budget.at_ns})
    if not is_all:
        is_enough = _is_enough(timelines, budget.at_ns)
        lengths = [budget.at_ns] if is_enough else [length for length in lengths if length <= budget.at_ns]
    return _floors_of(timelines, cpu, lengths, budget, drift, draws)


def _floors_of(
    timelines: Timelines, cpu: int, lengths_ns: Sequence[int], budget: Budget, drift: Drift, draws: int
) -> list[NoiseFloor]:
    floors: list[NoiseFloor] = []
    for length_ns in lengths_ns:
        if _is_enough(timelines, length_ns):
            floor = _predict(timelines, cpu, length_ns, budget, drift, draws)
            is_coarse = length_ns < _FEWEST_PIECES * timelines.piece_ns
            floors.append(replace(floor, extrapolated=True, chance=None) if is_coarse else floor)
        elif floors:
            floors.append(_extrapolate(floors, length_ns, timelines))
    return floors


def _is_enough(timelines: Timelines, length_ns: int) -> bool:
    """Return whether the timelines suffice for samples of this length.

    Gaps alone do not determine how fast the CPU was: some of the time has to be work.
    """
    fewest = _FEWEST_IN_LOOKS if timelines.looks >= _FEWEST_LOOKS else _FEWEST_WORKED
    is_worked = timelines.worked_ns >= fewest * length_ns and timelines.looks > 1
    return is_worked and timelines.steady.useful_ns >= length_ns and timelines.useful_ns >= FEWEST_SAMPLES * length_ns


def _predict(timelines: Timelines, cpu: int, length_ns: int, budget: Budget, drift: Drift, draws: int) -> NoiseFloor:
    samples = budget.samples
    cvs, maxima = _draw(timelines, length_ns, samples, draws)
    low, high = drift.widen(*shortest_interval(cvs, CONFIDENCE), length_ns)
    return NoiseFloor(
        sample_ns=length_ns,
        cpu=cpu,
        cv_low=low,
        cv_expected=statistics.median(cvs),
        cv_high=high,
        max_expected=statistics.median(maxima),
        max_inflation=sorted(maxima)[int(len(maxima) * 0.95)],
        smallest_change_share=smallest_change(high, samples),
        samples=samples,
        bounded=samples * length_ns <= timelines.passed_ns,
        extrapolated=False,
        chance=statistics.fmean(drift.chance_within(budget.max_cv, cv, length_ns) for cv in cvs),
    )


def expected_cv(timelines: Timelines, length_ns: float, samples: int) -> float:
    """Return the median relative standard deviation of this many samples."""
    return statistics.median(_draw(timelines, length_ns, samples)[0])


def _draw(
    timelines: Timelines, length_ns: float, samples: int, max_draws: int = MOST_DRAWS
) -> tuple[list[float], list[float]]:
    """Return, for each draw, the relative standard deviation and the largest sample relative to the draw's median."""
    rng = random.Random(_SEED)
    cvs, maxima = [], []
    for _ in range(max(min(_DRAWN_SAMPLES // samples, max_draws), FEWEST_DRAWS)):
        drawn: list[float] = []
        while len(drawn) < samples:
            drawn += timelines.run_times(length_ns, _SAMPLES_PER_PROCESS, rng)
        drawn = drawn[:samples]
        cvs.append(coefficient_of_variation(drawn) or 0.0)
        maxima.append(max(drawn) / statistics.median(drawn))
    return cvs, maxima


_SEED = 1  # the same calibration always has the same floor


def shortest_interval(values: Sequence[float], share: float) -> tuple[float, float]:
    """Return the narrowest interval, by the ratio of its ends, that contains `share` of the values.

    There must be at least one value, and no negative value. It is the highest-density interval: Hyndman, "Computing and
    Graphing Highest Density Regions", 1996, doi 10.1080/00031305.1996.10474359. If all values are equal, both ends
    are this value.
    """
    ordered = sorted(values)
    kept = max(math.ceil(len(ordered) * share), 1)
    pairs = [(ordered[start], ordered[start + kept - 1]) for start in range(len(ordered) - kept + 1)]
    return min(pairs, key=lambda pair: pair[1] / pair[0] if pair[0] > 0 else math.inf if pair[1] > 0 else 1.0)


def _extrapolate(floors: Sequence[NoiseFloor], length_ns: int, timelines: Timelines) -> NoiseFloor:
    """Return the floor at `length_ns`, extrapolated from the longest predicted sample.

    The variation of independent noise falls with the square root of the sample's length, but the variation of drift
    does not fall. The lower end assumes independent noise, and the upper end assumes drift.
    """
    last = floors[-1]
    ratio = math.sqrt(last.sample_ns / length_ns)
    return replace(
        last,
        sample_ns=length_ns,
        cv_low=last.cv_low * ratio,
        cv_expected=last.cv_expected * math.sqrt(ratio),
        bounded=last.samples * length_ns <= timelines.passed_ns,
        extrapolated=True,
        chance=None,
    )


class WorkFloors:
    """The floors of one kind of work, computed on demand: not every verdict shows all of them."""

    def __init__(self, inputs: _FloorInputs, series: Sequence[str]) -> None:
        self._inputs = inputs
        self._series = series

    @cached_property
    def at_budget_by_cpu(self) -> Mapping[int, NoiseFloor]:
        """The floors at the budget's length by CPU; a CPU on which too little was measured has none."""
        inputs = self._inputs
        floor_by_cpu = {
            cpu: floors_by_length(timeline, cpu, inputs.budget, inputs.drift, inputs.draws, is_all=False)
            for cpu, timeline in self._timelines.items()
        }
        return {cpu: floors[-1] for cpu, floors in floor_by_cpu.items() if floors}

    @cached_property
    def worst(self) -> NoiseFloor | None:
        """The worst value of every figure over all CPUs at the budget's length, or None."""
        return worst_of([*self.at_budget_by_cpu.values()]) if self.at_budget_by_cpu else None

    @cached_property
    def floors(self) -> tuple[NoiseFloor, ...]:
        """The floors by sample length: at the budget's length, the worst of all CPUs.

        At other lengths they are the floors of the CPU that has the largest `cv_high` at the budget's length.
        """
        inputs, worst, by_cpu = self._inputs, self.worst, self.at_budget_by_cpu
        if worst is None:
            return ()
        cpu = max(by_cpu, key=lambda cpu: by_cpu[cpu].cv_high)
        floors = floors_by_length(self._timelines[cpu], cpu, inputs.budget, inputs.drift, inputs.draws)
        return tuple(worst if floor.sample_ns == inputs.budget.at_ns else floor for floor in floors)

    @cached_property
    def worst_by_length(self) -> tuple[NoiseFloor, ...]:
        """The worst value of every figure for each sample length, over all CPUs on which enough was measured."""
        inputs = self._inputs
        by_cpu = {
            cpu: floors_by_length(timelines, cpu, inputs.budget, inputs.drift, inputs.draws)
            for cpu, timelines in self._timelines.items()
        }
        return tuple(worst_floors(by_cpu))

    def part_of(self, cpus: CpuSet) -> WorkFloors:
        """Return the floors of these CPUs alone."""
        replays = {cpu: replay for cpu, replay in self._inputs.replays.items() if cpu in cpus}
        return WorkFloors(replace(self._inputs, replays=replays), self._series)

    @cached_property
    def _timelines(self) -> Mapping[int, Timelines]:
        return {cpu: replay.timelines(self._series) for cpu, replay in self._inputs.replays.items()}


class _FloorInputs(Struct, frozen=True):
    """The inputs that the noise floors of every kind of work share."""

    replays: Mapping[int, Replay]
    budget: Budget
    drift: Drift

    @property
    def draws(self) -> int:
        """The number of draws per CPU: fewer if there are many CPUs, because only the worst CPU counts."""
        return max(MOST_DRAWS // max(len(self.replays), 1), FEWEST_DRAWS)


def floors_by_work(
    calibration: CalibrationSamples,
    budget: Budget,
    drift: Drift = USUAL_DRIFT,
    replays: Mapping[int, Replay] | None = None,
) -> dict[str, WorkFloors]:
    """Return the floors of each kind of work except mixed, and of interruptions alone; empty for the user's command.

    `replays` are the calibration's replays, if they exist already: computing them is slow.
    """
    if calibration.command:
        return {}
    inputs = _FloorInputs(replays if replays is not None else replays_by_cpu([calibration]), budget, drift)
    kinds = {str(work): WorkFloors(inputs, series) for work, series in SERIES_OF.items() if work != Work.MIXED}
    return {ALONE: WorkFloors(inputs, INTERRUPTIONS), **kinds}
