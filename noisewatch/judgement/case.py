"""The input of all checks: a snapshot, the sampled interval that ended with it, a calibration, and the rules.

If the user named no profile, `rules_for` chooses it by the kind of machine.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from noisewatch.judgement.answer import Graded, unknown
from noisewatch.judgement.noise.drift import USUAL_DRIFT, Drift
from noisewatch.judgement.rules import CONFIDENCE_IN, DEFAULT, SHARED, Rules
from noisewatch.kernel.system.platform import NONE
from noisewatch.kernel.tasks.own_process import UNKNOWN_PROCESS
from noisewatch.kinds import Work

if TYPE_CHECKING:
    from typing import Unpack

    from noisewatch.cpus import CpuSet
    from noisewatch.judgement.answer import Answer, AnswerDetails, Limit
    from noisewatch.judgement.noise.budget import Budget, NoiseFloor
    from noisewatch.judgement.noise.floor import WorkFloors
    from noisewatch.judgement.remembered import Remembered
    from noisewatch.kernel.calibration import CalibrationSamples
    from noisewatch.kernel.interrupts.irqs import Irq
    from noisewatch.kernel.snapshot.snapshot import Snapshot
    from noisewatch.kernel.system.reference_clock import ClockComparison
    from noisewatch.kernel.tasks.task import Task
    from noisewatch.model.calibration.attribution import Attribution, ConcurrentObservations
    from noisewatch.model.calibration.figures import Calibration, CpuFigures
    from noisewatch.model.history.entries import Past
    from noisewatch.model.interval.interval import Interval


NO_TARGET = "there is no target CPU"
NOT_READ_AFTER = "the counters after the calibration were not read"
KERNEL_NAME_LENGTH = 15  # characters of a task's name that the kernel keeps
T = TypeVar("T")
_MIN_MEASURED = 0.85  # share of the requested time; warming up, clock measurements and looks take the rest


class Calibrated(Struct, frozen=True):
    """A calibration, its predictions, and the noise budget.

    `floors` are the worst noise floors of all CPUs, by sample length. They are for the budget's kind of
    work, else the user's command, else mixed work. `floors_by_work` are for each kind of work, and for interruptions
    alone.
    """

    calibration: Calibration
    floors_by_cpu: Mapping[int, Sequence[NoiseFloor]]
    floors: tuple[NoiseFloor, ...]
    budget: Budget
    attribution: Attribution
    floors_by_work: Mapping[str, WorkFloors] = {}
    drift: Drift = USUAL_DRIFT

    @property
    def floor(self) -> NoiseFloor | None:
        """The noise floor at the sample length of the budget."""
        return self._at_budget(self.floors)

    @property
    def is_of_any_work(self) -> bool:
        """Whether the kind of work is unknown: it was not requested, and no command was calibrated."""
        return self.budget.work is None and not self.calibration.samples.command

    @property
    def floors_of(self) -> str:
        """The name of the work that `floors` are for."""
        return "the workload" if self.calibration.samples.command else f"{self.budget.work or Work.MIXED} work"

    @property
    def cpus_above_budget(self) -> CpuSet:
        """The CPUs whose predicted variation or worst sample exceeds the budget."""
        own = {cpu: self._at_budget(floors) for cpu, floors in self.floors_by_cpu.items()}
        return frozenset(cpu for cpu, floor in own.items() if floor is not None and self.budget.is_exceeded_by(floor))

    @property
    def doubt(self) -> str | None:
        """The reason why the calibration may not represent the noise of a benchmark, or None."""
        samples = self.calibration.samples
        if samples.is_realtime:
            return "measured with real-time priority, which preempts tasks that would share the CPU with a benchmark"
        if samples.command:
            return "the calibration measured a workload, not the machine"
        missing = [figures for figures in self.complete if (figures.measured_share or 0.0) < _MIN_MEASURED]
        if missing:
            worst = min(missing, key=lambda figures: figures.measured_share or 0.0)
            return f"CPU {worst.cpu} was measured for only {worst.measured_share or 0.0:.0%} of the requested time"
        full = [figures for figures in self.complete if figures.lost_gaps]
        return f"not all gaps on CPU {full[0].cpu} were kept ({full_buffer_words(full[0])})" if full else None

    @property
    def unpredicted(self) -> CpuSet:
        """The CPUs whose measurement was complete, but too short for a noise floor."""
        return frozenset(cpu for cpu, floors in self.floors_by_cpu.items() if not floors)

    @property
    def complete(self) -> list[CpuFigures]:
        """The figures of the CPUs whose measurement was complete."""
        return [figures for figures in self.calibration.cpus if figures.trouble is None]

    @property
    def troubles(self) -> dict[int, str]:
        """The reason why a CPU's measurement is not complete, by CPU."""
        return {figures.cpu: figures.trouble for figures in self.calibration.cpus if figures.trouble is not None}

    def chance_of(self, floor: NoiseFloor) -> float | None:
        """Return the chance (0 to 1) that samples with this noise floor stay within the budget.

        None if the calibration is incomplete or doubtful, unless the chance is low enough to fail anyway.
        """
        is_doubtful = bool(self.troubles or self.unpredicted) or self.doubt is not None
        return None if is_doubtful and not self.budget.is_unlikely(floor.chance) else floor.chance

    def _at_budget(self, floors: Sequence[NoiseFloor]) -> NoiseFloor | None:
        return next((floor for floor in floors if floor.sample_ns == self.budget.at_ns), None)


def full_buffer_words(figures: CpuFigures) -> str:
    """Return why gaps of the CPU did not fit into the buffer, and what helps.

    The size of the buffer is proportional to the length of the calibration, up to a maximum.
    """
    from noisewatch.machine.spinning.calibration.buffer import (
        GAPS_PER_S,
    )  # imported here because few calibrations fill their buffer

    if (figures.gaps_per_s or 0.0) > GAPS_PER_S:
        return f"buffer full: more than {GAPS_PER_S:,} per second, so stop what interrupts the CPU"
    return "buffer full: calibrate for a shorter time"


def calibrated_with(
    samples: CalibrationSamples,
    budget: Budget,
    cpus: CpuSet | None = None,
    meanwhile: ConcurrentObservations | None = None,
    drift: Drift = USUAL_DRIFT,
) -> Calibrated:
    """Return the figures and noise floors of the calibration's samples, for `cpus` or for all CPUs.

    CPUs in `cpus` without samples get the trouble "not calibrated". Gaps are attributed to culprits by the observations
    `meanwhile`, which were made during the calibration.
    """
    # imported here because most snapshots are judged without a calibration
    from noisewatch.judgement.noise.floor import floors_by_work, floors_of, replays_by_cpu, worst_floors
    from noisewatch.kernel.calibration import CpuSamples
    from noisewatch.model.calibration.attribution import ConcurrentObservations, attribution_of
    from noisewatch.model.calibration.figures import calibration_of

    if cpus is not None:
        samples_by_cpu = {samples_of_cpu.cpu: samples_of_cpu for samples_of_cpu in samples.cpus}
        samples = replace(
            samples, cpus=tuple(samples_by_cpu.get(cpu) or CpuSamples(cpu, "not calibrated") for cpu in sorted(cpus))
        )
    replays = replays_by_cpu([samples])
    by_cpu = floors_of(replays, budget, drift)
    attribution = attribution_of(samples, meanwhile or ConcurrentObservations())
    return Calibrated(
        calibration=calibration_of(samples),
        floors_by_cpu=by_cpu,
        floors=tuple(worst_floors(by_cpu)),
        budget=budget,
        attribution=attribution,
        floors_by_work=floors_by_work(samples, budget, drift, replays),
        drift=drift,
    )


class Case(Struct, frozen=True, dict=True, eq=False):
    """A snapshot to judge, with the sample before it and the calibration after it, if any.

    `interval` and `calibrated` are None if they were not requested, or if they failed for a reason in
    `no_sample_reason` or `no_calibration_reason`. `under_load` is the interval of the calibration; None without a
    calibration, or if the machine was not read afterwards, as in a truncated recording. This interval shows effects of
    load, such as throttling. It contains the spinners' time, so unattributed time cannot be derived from it.
    """

    snapshot: Snapshot
    interval: Interval | None = None
    no_sample_reason: str | None = None
    calibrated: Calibrated | None = None
    no_calibration_reason: str | None = None
    under_load: Interval | None = None
    clock_comparison: ClockComparison | str | None = None  # CLOCK_MONOTONIC and another clock, or why unknown
    past: Past | None = None  # earlier calibrations of this machine; None if not requested
    rules: Rules = DEFAULT
    limits: Mapping[str, float] = {}  # the evaluated check's limits that the user set, by key
    starts_benchmark: bool = True  # whether noisewatch's parent also starts the benchmark; False in a monitor
    remembered: Remembered | None = None  # results of earlier cases

    def remember(self, key: Hashable, work: Callable[[Case], T]) -> T:
        """Return `work(self)`, or the result remembered from the previous case if it cannot have changed."""
        remembered = self.remembered
        return work(self) if remembered is None or not remembered.is_current(self) else remembered.get(key, work)

    def bound(self, limit: Limit) -> float:
        """Return the limit's value: the user's, else the one for the profile and the budget."""
        return self.limits.get(limit.key, limit.under(self.rules.profile, self.budget.max_cv))

    def graded(self, **shared: Unpack[AnswerDetails]) -> Graded:
        """Return a builder of answers on this case that share these details."""
        return Graded(self.bound, shared)

    def unread(self, *paths: str) -> Answer:
        """Return an unknown answer with the reason why the first unread file could not be read."""
        return unknown(self.unread_reason(*paths))

    @property
    def budget(self) -> Budget:
        """The acceptable noise."""
        return self.calibrated.budget if self.calibrated is not None else self.rules.budget

    @property
    def sample(self) -> Interval:
        """The sampled interval, for checks that are evaluated only if there is one."""
        assert self.interval is not None
        return self.interval

    @property
    def no_sample_text(self) -> str:
        return self.no_sample_reason or "no sample was taken"

    @property
    def intervals(self) -> list[Interval]:
        """The sample and the interval under load, if present, for faults that must not occur in either."""
        return [interval for interval in (self.interval, self.under_load) if interval is not None]

    @property
    def snapshots(self) -> list[Snapshot]:
        """The snapshot to judge, and the snapshots around the sample and the calibration."""
        ends = (snapshot for interval in self.intervals for snapshot in (interval.before, interval.after))
        return [self.snapshot, *ends]

    @cached_property
    def without_own_process(self) -> Case:
        """The case with this process's affinity, settings and cgroup weights treated as unknown."""
        settings = replace(self.snapshot.settings, own=UNKNOWN_PROCESS, cpu_weights=None)
        return replace(self, snapshot=replace(self.snapshot, own_affinity=None, settings=settings))

    @property
    def is_guest(self) -> bool:
        """Whether this is known to be a virtual machine, or a container that hides the machine's settings."""
        return kind_of_guest(self.snapshot) is not None

    @property
    def guest_words(self) -> str:
        """The text `a virtual machine`, or `this may be a virtual machine, which`; a singular verb follows."""
        return "this may be a virtual machine, which" if self.snapshot.platform.virtual is None else "a virtual machine"

    @property
    def container_words(self) -> str:
        """The text `a container`, or `this may be a container, which`; a singular verb follows."""
        return "this may be a container, which" if self.snapshot.platform.container is None else "a container"

    @property
    def target(self) -> CpuSet:
        return self.snapshot.target.cpus

    @property
    def online(self) -> CpuSet:
        return self.snapshot.online.online or frozenset()

    @cached_property
    def running(self) -> CpuSet:
        """The CPUs that are listed as online, or have a row in /proc/stat (only online CPUs have one)."""
        return self.online | frozenset(self.snapshot.cpu_time or ())

    @cached_property
    def siblings(self) -> CpuSet:
        """The running CPUs that share a core with a target CPU and are not target CPUs themselves."""
        return self._listed_siblings & self.running

    @property
    def doubtful_siblings(self) -> CpuSet:
        """The siblings of target CPUs that no file lists as online or offline."""
        return self._listed_siblings - self.running - (self.snapshot.online.offline or frozenset())

    @cached_property
    def _listed_siblings(self) -> CpuSet:
        return self.remember("cores of the target", _listed_siblings)

    @property
    def tasks_by_tid(self) -> Mapping[int, Task]:
        """The threads by TID; empty if they were not read."""
        return self.snapshot.tasks.by_tid if self.snapshot.tasks is not None else {}

    @property
    def irqs_by_number(self) -> Mapping[int, Irq]:
        """The IRQs by number; empty if they were not read."""
        return self.snapshot.irqs.by_number if self.snapshot.irqs is not None else {}

    @property
    def attribution(self) -> Attribution | None:
        """The culprits of the gaps in the calibration, or None without a calibration."""
        return self.calibrated.attribution if self.calibrated is not None else None

    @cached_property
    def programs(self) -> Sequence[Task]:
        """The main thread of each process, except kernel threads, noisewatch and the commands that it measures."""
        own = self.snapshot.own_pids | self.snapshot.commands.keys()
        return [
            task for tid, task in self.tasks_by_tid.items() if tid == task.pid and not task.is_kernel and tid not in own
        ]

    @cached_property
    def program_names(self) -> frozenset[str]:
        """The names of all programs, truncated to 15 characters as in the kernel."""
        return frozenset([task.name[:KERNEL_NAME_LENGTH] for task in self.programs])

    @property
    def housekeeping(self) -> CpuSet:
        """The online CPUs to which other work can be moved: no target CPUs and, if possible, no siblings of them."""
        others = self.online - self.target
        return others - self.siblings or others

    def unread_reason(self, *paths: str) -> str:
        """Return why the first unread path could not be read.

        If none of the paths is unread, the reason is from an unread path below one of them, else from a folder above.
        """
        reasons = self.snapshot.reason_by_path
        exact = next((path for path in paths if path in reasons), None)
        known = exact or _first_below(paths, self._unread_paths) or _first_above(paths, reasons)
        return f"{known}: {reasons[known]}" if known is not None else f"{paths[0]}: not exported here"

    @cached_property
    def _unread_paths(self) -> list[str]:
        return sorted(self.snapshot.reason_by_path)


def _listed_siblings(case: Case) -> CpuSet:
    shared_cpus: set[int] = set()
    target = case.target
    for cpu, place in case.snapshot.topology.items():
        shared = place.siblings or frozenset()
        if cpu in target:
            shared_cpus |= shared
        elif shared & target:
            shared_cpus.add(cpu)
    return frozenset(shared_cpus) - target


def _first_below(paths: Sequence[str], ordered: Sequence[str]) -> str | None:
    """Return an unread path below the first path that has one.

    This is a binary search because there may be thousands of folders and unread paths.
    """
    for path in paths:
        index = bisect_left(ordered, path + "/")
        if index < len(ordered) and ordered[index].startswith(path + "/"):
            return ordered[index]
    return None


def _first_above(paths: Sequence[str], reasons: Mapping[str, str]) -> str | None:
    for path in paths:
        ends = (index for index, character in enumerate(path) if character == "/")
        known = next((path[:end] for end in ends if path[:end] in reasons), None)
        if known is not None:
            return known
    return None


def kind_of_guest(snapshot: Snapshot) -> str | None:
    """Return `a virtual machine` or `a container` if the machine's settings are hidden, else None.

    A container on bare metal does not hide them if the target CPUs' governors are readable.
    """
    platform = snapshot.platform
    if platform.virtual not in (None, NONE):
        return "a virtual machine"
    if platform.container in (None, NONE):
        return None
    clocks = snapshot.frequency.cpus
    are_readable = all(cpu in clocks and clocks[cpu].governor is not None for cpu in snapshot.target.cpus)
    return None if platform.virtual == NONE and are_readable else "a container"


def rules_for(rules: Rules, snapshot: Snapshot) -> Rules:
    """Return the rules with the shared profile for guests, and with the profile's confidence, unless the user set them.

    A container on bare metal counts as a guest only if it hides the machine's settings.
    """
    kind = kind_of_guest(snapshot) if not rules.is_profile_given else None
    if kind is not None:
        rules = replace(rules, profile=SHARED, profile_reason=kind)
    if rules.budget.confidence is None and rules.profile in CONFIDENCE_IN:
        rules = replace(rules, budget=replace(rules.budget, confidence=CONFIDENCE_IN[rules.profile]))
    return rules
