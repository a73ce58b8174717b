"""The noise floor by kind of work, the chance that samples stay within the budget, and text on that chance.

All required kinds of work are judged if the user did not name the kind that the benchmark depends on. Bandwidth is not
required: few benchmarks depend on it, and neighbours that no setting removes take it on most shared machines.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct

from noisewatch.cpus import CpuSet, name_cpus
from noisewatch.judgement.case import Calibrated
from noisewatch.judgement.grading import incomplete_reason
from noisewatch.judgement.noise.budget import ALONE, Budget, NoiseFloor
from noisewatch.judgement.terms import Status
from noisewatch.kinds import Work
from noisewatch.units import describe_chance, describe_ns, share_text

KINDS = (Work.LATENCY, Work.THROUGHPUT, Work.INTERPRETER, Work.CACHE, Work.MEMORY)  # the required ones


class FloorsByWork(Struct, frozen=True):
    """The worst floors over all CPUs at the budget's length: for interruptions alone, and for each kind of work.

    `cpus_above` are the CPUs on which a floor exceeds the budget, by kind. `too_little_on` are the CPUs on which too
    little of a required kind was measured. A kind without any measurement has no floor, nor has bandwidth unless it was
    measured on all CPUs; `bandwidth` is its worst floor on the CPUs where it was measured, or None.
    """

    alone: NoiseFloor | None
    floor_by_work: Mapping[Work, NoiseFloor]
    bandwidth: NoiseFloor | None
    cpus_above: Mapping[str, CpuSet]
    too_little_on: Mapping[Work, CpuSet]
    budget: Budget

    @property
    def above(self) -> tuple[Work, ...]:
        """The required kinds of work whose samples will vary too much, or take too long, on some CPU."""
        return tuple(work for work in self._required if self.cpus_above[work])

    @property
    def may_bandwidth_exceed(self) -> bool:
        """Whether bandwidth, which is not required, was measured on any CPU and may exceed the budget there."""
        return self.bandwidth is not None and not self.budget.is_met_by(self.bandwidth)

    @property
    def within(self) -> tuple[Work, ...]:
        """The kinds of work whose samples will stay within the budget on every CPU."""
        return tuple(
            work
            for work, floor in self.floor_by_work.items()
            if self.budget.is_met_by(floor) and work not in self.too_little_on
        )

    @property
    def undecided(self) -> tuple[Work, ...]:
        """The required kinds that were measured on every CPU, but may or may not stay within the budget."""
        return tuple(work for work in self._required if work not in {*self.above, *self.within, *self.too_little_on})

    @property
    def status(self) -> Status:
        """`FAIL` if a required kind fails, because it may be the benchmark's; `PASS` if all pass; else `UNKNOWN`."""
        if self.above or self.cpus_above.get(ALONE):
            return Status.FAIL
        return Status.PASS if {*KINDS} <= {*self.within} else Status.UNKNOWN

    @property
    def worst(self) -> Work:
        """The required kind whose samples vary most; if any kinds exceed the budget, only these are considered."""
        return max(self.above or self._required, key=lambda work: self.floor_by_work[work].cv_expected)

    @property
    def least_likely(self) -> Work:
        """The required kind with the least chance of staying within the budget.

        A kind with an unknown chance comes first, unless the chance of another kind is low enough to fail.
        """
        floors = self.floor_by_work
        low = [work for work in self._required if self.budget.is_unlikely(floors[work].chance)]
        return min(low or self._required, key=lambda work: (floors[work].chance or 0.0, -floors[work].cv_expected))

    @property
    def _required(self) -> list[Work]:
        return [work for work in self.floor_by_work if work in KINDS]

    @property
    def undecided_reason(self) -> str | None:
        """Why it is unknown whether all kinds stay within the budget, or None if it is known."""
        if self.status != Status.UNKNOWN:
            return None
        missing = [work for work in self.too_little_on if work not in self.floor_by_work]
        if missing:
            return f"not measured, or too little: {', '.join(missing)}; --work judges one kind alone"
        if self.too_little_on:
            cpus = frozenset().union(*self.too_little_on.values())
            return f"too little of {', '.join(self.too_little_on)} was measured on {name_cpus(cpus)}: calibrate longer"
        floors, kinds = [self.floor_by_work[work] for work in self.undecided], ", ".join(self.undecided)
        if any(floor.extrapolated for floor in floors):
            return f"extrapolated: the calibration was too short for samples of this length ({kinds}); calibrate longer"
        least = min(floor.chance or 0.0 for floor in floors)
        if least < self.budget.least_chance:
            return f"needs a chance of {describe_chance(self.budget.least_chance)} ({kinds}: {describe_chance(least)})"
        return f"{self.budget.unbounded_reason(floors)} ({kinds})"


def floors_by_work_of(calibrated: Calibrated) -> FloorsByWork | None:
    """Return the floors by kind of work; None for the user's own command, or if no required kind has a floor."""
    budget = calibrated.budget
    worst_by_work = {
        name: floors.worst for name, floors in calibrated.floors_by_work.items() if floors.worst is not None
    }
    cpus = frozenset(figures.cpu for figures in calibrated.complete)
    by_cpu = {name: floors.at_budget_by_cpu for name, floors in calibrated.floors_by_work.items()}
    kinds = {work: worst_by_work[work] for work in KINDS if work in worst_by_work}
    if not kinds:
        return None
    if cpus <= by_cpu[Work.BANDWIDTH].keys():
        kinds[Work.BANDWIDTH] = worst_by_work[Work.BANDWIDTH]
    return FloorsByWork(
        alone=worst_by_work.get(ALONE),
        floor_by_work=kinds,
        bandwidth=worst_by_work.get(Work.BANDWIDTH),
        cpus_above={
            name: frozenset(cpu for cpu, floor in floors.items() if budget.is_exceeded_by(floor))
            for name, floors in by_cpu.items()
        },
        too_little_on={work: missing for work in KINDS if (missing := cpus - by_cpu.get(work, {}).keys())},
        budget=budget,
    )


class Chance(NamedTuple):
    """The chance (0 to 1) that the benchmark's samples stay within the budget (None: unknown), and the kind of work."""

    value: float | None
    of_what: str


def chance_within_budget(calibrated: Calibrated) -> Chance:
    """Return the chance for the requested kind of work, else the smallest chance for any kind.

    The chance is None if too little of a kind was measured, or if the calibration does not represent a benchmark,
    unless the chance is low enough to fail anyway.
    """
    by_work = floors_by_work_of(calibrated) if calibrated.budget.work is None else None
    if by_work is not None:
        chance = calibrated.chance_of(by_work.floor_by_work[by_work.least_likely])
        if chance is None or (by_work.too_little_on and not calibrated.budget.is_unlikely(chance)):
            return Chance(None, _ALL_KINDS)
        return Chance(chance, f"{by_work.least_likely} work")
    if calibrated.is_of_any_work:
        return Chance(None, _ALL_KINDS)
    return Chance(None if calibrated.floor is None else calibrated.chance_of(calibrated.floor), calibrated.floors_of)


_ALL_KINDS = "all kinds of work"


def judge_by_work(calibrated: Calibrated, by_work: FloorsByWork) -> tuple[Status, str | None]:
    """Return the status of the floors of all kinds of work, with the reason if the status is unknown."""
    if by_work.status == Status.FAIL:
        return Status.FAIL, None
    reason = incomplete_reason(calibrated) or calibrated.doubt or by_work.undecided_reason
    return (Status.PASS, None) if reason is None else (Status.UNKNOWN, reason)


_BUDGETS = (0.01, 0.015, 0.02, 0.03, 0.04, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0)
_LONGER, _MORE_SAMPLES = "--calibration auto", 60


def chance_line(calibrated: Calibrated) -> str:
    """Return `25 samples of 100 ms stay within 1%: chance 41% (latency work)`.

    The chance is that of the requested kind of work, else the smallest of all kinds.
    """
    budget = calibrated.budget
    samples, max_cv = f"{budget.samples} samples of {describe_ns(budget.at_ns)}", share_text(budget.max_cv)
    chance, of_what = chance_within_budget(calibrated)
    chance_text = "unknown" if chance is None else describe_chance(chance)
    return f"{samples} stay within {max_cv}: chance {chance_text} ({of_what})"


def options_to_try(calibrated: Calibrated) -> tuple[str, ...]:
    """Return the options of preflight that may give a clear answer, with the chance that the calibration predicts."""
    if chance_within_budget(calibrated).value is None:
        return (_LONGER,) if calibrated.doubt is None else ()
    by_work = floors_by_work_of(calibrated) if calibrated.is_of_any_work else None
    if by_work is not None:
        work = by_work.least_likely
        floors = calibrated.floors_by_work[work].floors
        return tuple(_options(calibrated, by_work.floor_by_work[work], floors, by_work.floor_by_work))
    return () if calibrated.floor is None else tuple(_options(calibrated, calibrated.floor, calibrated.floors, {}))


def _options(
    calibrated: Calibrated, floor: NoiseFloor, by_length: Sequence[NoiseFloor], by_work: Mapping[Work, NoiseFloor]
) -> Iterator[str]:
    """Yield the options for `floor`, the deciding one; `by_length` and `by_work` contain it and the alternatives."""
    budget = calibrated.budget
    is_exceeded = budget.is_exceeded_by(floor)
    if floor.extrapolated or not is_exceeded:
        yield _LONGER
    if not is_exceeded and floor.cv_expected < budget.max_cv and floor.samples < _MORE_SAMPLES:
        yield f"--samples {_MORE_SAMPLES}"
    least = budget.least_chance
    for work, other in by_work.items():
        if other.chance is not None and other.chance >= least:
            yield f"--work {work} ({describe_chance(other.chance)})"
            break
    lengths = [floor for floor in by_length if floor.sample_ns != budget.at_ns]
    longest = max(lengths, key=lambda floor: (floor.chance or 0.0, floor.sample_ns), default=None)
    if longest is not None and longest.chance is not None and longest.chance >= least:
        yield f"--at {describe_ns(longest.sample_ns).replace(' ', '')} ({describe_chance(longest.chance)})"
    for max_cv in _BUDGETS:
        chance = calibrated.drift.chance_within(max_cv, floor.cv_expected, floor.sample_ns)
        if max_cv > budget.max_cv and chance >= least and not floor.extrapolated:
            yield f"--max-cv {share_text(max_cv)} ({describe_chance(chance)})"
            break
