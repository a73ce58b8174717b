"""The culprits of an interval, and the noise (ns) that each culprit causes on a CPU.

The scheduler measures the time of threads. Interrupts are always counted, but their time is measured only if the kernel
accounts for it (irq and softirq in /proc/stat). Otherwise their time is inferred from typical costs.

The kernel's tick occurs at most CONFIG_HZ times a second. More frequent timer interrupts come from a profiler (perf
record -e cpu-clock) or a program that sleeps for microseconds: they use the same timer of the CPU, and are counted in
the same row of /proc/interrupts.

On a large machine, most CPUs have no culprits except counted interrupts. The stolen time of such a CPU is summed
without a record for each culprit.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct
from msgspec.structs import replace

from noisewatch.kernel.cpus.cpu_time import TICK_NS
from noisewatch.kernel.interrupts.irqs import Irqs, parse_actions
from noisewatch.kernel.interrupts.table import kind_of
from noisewatch.kinds import INTERRUPT_KINDS, THREADS, Kind
from noisewatch.model.interval.interrupt_counts import sums_of
from noisewatch.text import printable

if TYPE_CHECKING:
    from noisewatch.cpus import CpuSet
    from noisewatch.kernel.interrupts.table import InterruptRow
    from noisewatch.kernel.tasks.identity import ProcessIdentity
    from noisewatch.model.interval.interrupt_counts import RowCount
    from noisewatch.model.interval.interval import Interval, Throttle
    from noisewatch.model.interval.task_runs import TaskRun
    from noisewatch.model.rhythm import Rhythm


TIMER_INTERRUPTS = "timer interrupts"
LOUD_SHARE = 0.05  # share of a CPU in a short interval: one tick of 10 ms is 4% of 250 ms
SMALLEST_HZ, LARGEST_HZ = 100, 1000  # kernel/Kconfig.hz
_FAR_ABOVE = 1.5  # threads that sleep on the CPU add a few timer interrupts to its tick


def is_far_above_tick(rate_per_s: float, hz: int | None) -> bool:
    """Return whether timer interrupts are too frequent for the tick.

    `hz` is the kernel's tick rate; for None, the highest rate of any kernel is assumed.
    """
    return rate_per_s > _FAR_ABOVE * (hz or LARGEST_HZ)


# Cost of entry, handler and return on a server of the last ten years; a virtual machine takes longer.
TYPICAL_COST_NS = dict.fromkeys((*INTERRUPT_KINDS, Kind.SOFTIRQ), 2_000) | {Kind.IRQ: 4_000, Kind.IPI: 1_500}

_FEWEST_TICKS = 5


class Culprit(Protocol):
    """A source that takes time from a CPU."""

    @property
    def kind(self) -> Kind: ...
    @property
    def name(self) -> str: ...
    @property
    def cpu(self) -> int: ...
    @property
    def pid(self) -> int | None: ...
    @property
    def tid(self) -> int | None: ...
    @property
    def irq(self) -> int | None: ...


class Disturbance(Struct, frozen=True):
    """The noise of one source on one CPU. `share` is a share of the interval. None means unknown."""

    kind: Kind
    name: str
    cpu: int
    stolen_ns: int | None
    share: float | None
    rate_per_s: float | None
    pid: int | None = None
    tid: int | None = None  # only for a known thread
    irq: int | None = None
    is_inferred: bool = False
    program: str | None = None  # the process's name, if the source is a thread with another name
    identity: ProcessIdentity | None = None  # None if the process was not read
    slices_per_s: float | None = None  # how often a thread was put on the CPU, as the scheduler counts it
    rhythm: Rhythm | None = None  # None if the source was not traced, or is not regular

    @property
    def label(self) -> str:
        """The name with the process: `hog (pid 4711)`, `java (pid 4711), thread GC (4715)`, `RCU`."""
        if self.program is not None:
            return f"{self.program} (pid {self.pid}), thread {self.name} ({self.tid})"
        return self.name if self.process is None else f"{self.name} ({self.process})"

    @property
    def label_with_kind(self) -> str:
        """The label with the kind: `thread hog (pid 4711)`, `softirq RCU`."""
        return self.label if self.program is not None else self.kind.with_name(self.label)

    @property
    def process(self) -> str | None:
        """The process as text: `pid 4711`, or `pid 4711, thread 4715` for a thread other than the main one.

        A thread that ended before its process could be read is `thread 4715`. None for sources other than threads.
        """
        if self.pid is None:
            return f"thread {self.tid}" if self.tid is not None else None
        return f"pid {self.pid}" + (f", thread {self.tid}" if self.tid not in (None, self.pid) else "")


def identified(culprit: Disturbance, interval: Interval) -> Disturbance:
    """Return the culprit with the identity of its process, if the interval has it."""
    if culprit.kind not in THREADS or culprit.pid is None or culprit.identity is not None:
        return culprit
    name = interval.whole_name(culprit.name, culprit.pid)
    process = interval.name_of_process(culprit.pid) if culprit.tid not in (None, culprit.pid) else None
    program = culprit.program or (process if process != name else None)
    return replace(culprit, name=name, program=program, identity=interval.identities.get(culprit.pid))


def main_culprit_names(culprits: Sequence[Disturbance]) -> list[str]:
    """Return `hog on CPU 2` for each culprit that took more than 5% of its CPU, or for the first one if none did.

    Culprits of the same name on one CPU are named once.
    """
    notable = [culprit for culprit in culprits if (culprit.share or 0.0) > LOUD_SHARE] or culprits[:1]
    return list(dict.fromkeys(printable(f"{_short_name(culprit)} on CPU {culprit.cpu}") for culprit in notable))


def _short_name(culprit: Disturbance) -> str:
    """Return a thread's bare name, or another source's name with its kind."""
    return culprit.name if culprit.kind in THREADS else culprit.kind.with_name(culprit.name)


def disturbances_of(interval: Interval, cpu: int) -> tuple[Disturbance, ...]:
    """Return all culprits on the CPU, the costliest first."""
    return interval.compute_once((disturbances_of, cpu), lambda: _disturbances(interval, cpu))


def threads_of(interval: Interval, cpu: int) -> tuple[Disturbance, ...]:
    """Return the threads on the CPU, and unattributed time, the costliest first."""
    return interval.compute_once(
        (threads_of, cpu), lambda: sort_by_cost([*_threads(interval, cpu), *_unexplained(interval, cpu)])
    )


def _disturbances(interval: Interval, cpu: int) -> tuple[Disturbance, ...]:
    """Collect all culprits on the CPU. This is cheap if there are few, as on most CPUs of a large machine."""
    culprits = list(threads_of(interval, cpu))
    culprits += _steal(interval, cpu)
    if interval.worker_throttles:
        culprits += _quotas(interval, cpu)
    if interval.interrupts.on_cpu(cpu):
        culprits += _interrupts(interval, cpu)
    if interval.softirqs.on_cpu(cpu):
        culprits += _softirqs(interval, cpu)
    return sort_by_cost(culprits)


def sort_by_cost(culprits: list[Disturbance]) -> tuple[Disturbance, ...]:
    return tuple(sorted(culprits, key=lambda culprit: -(culprit.stolen_ns or 0)) if len(culprits) > 1 else culprits)


def kind_of_row(row: RowCount | InterruptRow) -> Kind:
    """Return the kind of interrupt that a row of /proc/interrupts counts, such as a device's or the tick."""
    return kind_of(row.label, row.description)


def is_of_a_device(row: RowCount | InterruptRow) -> bool:
    """Return whether the row counts a device's interrupts, not the CPU's own."""
    return kind_of_row(row) == Kind.IRQ


def name_of_row(row: RowCount, irqs: Irqs | None) -> str:
    """Return a row's IRQ, driver and device: `36 virtio1-req.0 (Virtio block device)`.

    For a row without an IRQ number, return its description.
    """
    if row.irq is None:
        return row.description or row.label
    irq = irqs.by_number.get(row.irq) if irqs is not None else None
    actions = (irq.actions if irq is not None else ()) or parse_actions(row.description)
    name = f"{row.irq} {', '.join(actions) or row.description}".strip()
    device = irq.device if irq is not None else None
    return f"{name} ({device})" if device not in (None, "none") else name


def name_of_run(run: TaskRun) -> str:
    """Return the thread's name, or `children of …`, `ended threads of …` or, if they are unread, `threads of …`."""
    if run.are_unread_threads:
        return f"threads of {run.name}"
    if run.are_ended_threads:
        return f"ended threads of {run.name}"
    return f"children of {run.name}" if run.are_children else run.name


def _threads(interval: Interval, cpu: int) -> Iterator[Disturbance]:
    for run in interval.runs_on(cpu):
        kind = Kind.KERNEL_THREAD if run.is_kernel else Kind.THREAD
        tid = None if run.are_children or run.are_ended_threads else run.tid
        program, identity = interval.program_of_thread(run), interval.identities.get(run.pid)
        more: dict[str, Any] = {
            "pid": run.pid,
            "tid": tid,
            "program": program,
            "identity": identity,
            "is_inferred": run.is_inferred,
            "slices_per_s": run.slices / interval.seconds if run.slices else None,
        }
        yield _disturbance(interval, cpu, kind, name_of_run(run), run.ran_ns, **more)


def _unexplained(interval: Interval, cpu: int) -> Iterator[Disturbance]:
    rest_ns = interval.unexplained_ns(cpu)
    if rest_ns:
        yield _disturbance(interval, cpu, Kind.UNATTRIBUTED, "unattributed time", rest_ns)


def _steal(interval: Interval, cpu: int) -> Iterator[Disturbance]:
    load = interval.load_by_cpu.get(cpu)
    if load is not None and load.steal_ns:
        yield _disturbance(interval, cpu, Kind.OUTSIDE, "hypervisor (steal time)", load.steal_ns)


def _disturbance(
    interval: Interval, cpu: int, kind: Kind, name: str, ns: int | None, rate_per_s: float | None = None, **more: Any
) -> Disturbance:
    return Disturbance(kind, name, cpu, ns, None if ns is None else ns / interval.length_ns, rate_per_s, **more)


def timer_interrupts_per_s(interval: Interval | None, cpu: int) -> float | None:
    """Return the CPU's timer interrupts per second, including the tick, or None if unknown."""
    if interval is None or not interval.interrupts.is_known(cpu):
        return None
    return counts_of(interval, Kind.TICK).get(cpu, 0) / interval.seconds


def counts_of(interval: Interval, kind: Kind) -> Mapping[int, int]:
    """Return the number of interrupts of one kind by CPU, without CPUs that had none."""
    rows = interval.interrupts.rows or ()
    return interval.compute_once((counts_of, kind), lambda: sums_of([row for row in rows if kind_of_row(row) == kind]))


def _quotas(interval: Interval, cpu: int) -> Iterator[Disturbance]:
    """Yield the quotas of processes that worked on the CPU.

    The kernel counts stopped time only as a sum over all CPUs. The result is at most the time in which the processes
    did not run on this CPU. Other processes may have run in that time, so the times of culprits may overlap.
    """
    ran_ns: dict[Throttle, int] = defaultdict(int)
    for run in (*interval.runs_on(cpu), *interval.commands_on(cpu)):
        for throttle in interval.worker_throttles.get(run.pid, ()):
            ran_ns[throttle] += run.ran_ns
    for throttle, ns in ran_ns.items():
        stopped_ns = None if throttle.ns is None else min(throttle.ns, max(interval.length_ns - ns, 0))
        yield _disturbance(interval, cpu, Kind.QUOTA, throttle.name, stopped_ns, is_inferred=True)


def _interrupts(interval: Interval, cpu: int) -> Iterator[Disturbance]:
    load = interval.load_by_cpu.get(cpu)
    rows = interval.interrupts.on_cpu(cpu)
    kinds_and_names = interval.compute_once(_kinds_and_names, lambda: _kinds_and_names(interval))
    estimates = [(*kinds_and_names[id(row)], row.irq, count) for row, count in rows]
    expected_ns = sum([count * TYPICAL_COST_NS[kind] for kind, _, _, count in estimates])
    scale = _scale(load.irq_ns if load is not None else None, expected_ns)
    has_timers = cpu in cpus_with_timers(interval)
    length_ns, seconds = interval.length_ns, interval.seconds
    for kind, name, irq, count in estimates:
        stolen_ns = round(count * TYPICAL_COST_NS[kind] * scale)
        are_timers = has_timers and kind == Kind.TICK
        yield Disturbance(
            kind=Kind.TIMER if are_timers else kind,
            name=TIMER_INTERRUPTS if are_timers else name,
            cpu=cpu,
            stolen_ns=stolen_ns,
            share=stolen_ns / length_ns,
            rate_per_s=count / seconds,
            irq=irq,
            is_inferred=True,
        )


def cpus_with_timers(interval: Interval) -> CpuSet:
    """Return the CPUs whose timer interrupts are too frequent for the tick."""
    return interval.compute_once(cpus_with_timers, lambda: _cpus_with_timers(interval))


def _cpus_with_timers(interval: Interval) -> CpuSet:
    hz = interval.after.platform.tick_hz
    ticks = counts_of(interval, Kind.TICK)
    return frozenset(cpu for cpu, count in ticks.items() if is_far_above_tick(count / interval.seconds, hz))


def _kinds_and_names(interval: Interval) -> Mapping[int, tuple[Kind, str]]:
    """Return kind and name of each row whose counts grew, by the row's `id`; computed once for all CPUs."""
    irqs = interval.after.irqs
    return {id(row): (kind_of_row(row), name_of_row(row, irqs)) for row in interval.interrupts.rows or ()}


def _softirqs(interval: Interval, cpu: int) -> Iterator[Disturbance]:
    load = interval.load_by_cpu.get(cpu)
    rows = interval.softirqs.on_cpu(cpu)
    expected_ns = sum(count for _, count in rows) * TYPICAL_COST_NS[Kind.SOFTIRQ]
    scale = _scale(load.softirq_ns if load is not None else None, expected_ns)
    for row, count in rows:
        stolen_ns = round(count * TYPICAL_COST_NS[Kind.SOFTIRQ] * scale)
        rate_per_s = count / interval.seconds
        yield _disturbance(interval, cpu, Kind.SOFTIRQ, row.label, stolen_ns, rate_per_s, is_inferred=True)


def _scale(measured_ns: int | None, estimated_ns: int) -> float:
    """Return the factor that scales estimates to the measured time; 1 if that time is unknown or only a few ticks."""
    return measured_ns / estimated_ns if measured_ns is not None and is_scaled(measured_ns) and estimated_ns else 1.0


def is_scaled(measured_ns: int | None) -> bool:
    """Return whether the kernel measured enough time to scale estimates to it."""
    return measured_ns is not None and measured_ns >= _FEWEST_TICKS * TICK_NS


class Taken(Struct):
    """Stolen time (ns) by kind of noise, and the largest amount taken by a single culprit."""

    ns_by_kind: dict[Kind, int]
    most_ns: int


def taken_by_cpu(interval: Interval, cpus: Iterable[int]) -> Mapping[int, Taken]:
    """Return the stolen time by CPU, without CPUs that lost none."""
    estimate_by_cpu = _estimate_from_counts(interval)
    timers = cpus_with_timers(interval)
    stolen_by_cpu: dict[int, Taken] = {}
    for cpu in cpus:
        if cpu in timers or _may_have_others(interval, cpu):
            culprits = disturbances_of(interval, cpu)
            if culprits:
                stolen_by_cpu[cpu] = _sum_by_kind(culprits)
        elif cpu in estimate_by_cpu:
            stolen_by_cpu[cpu] = estimate_by_cpu[cpu]
    return stolen_by_cpu


def _estimate_from_counts(interval: Interval) -> Mapping[int, Taken]:
    """Estimate the cost of interrupts and softirqs by CPU, only from their counts."""
    stolen_by_cpu: dict[int, Taken] = defaultdict(lambda: Taken({}, 0))
    rows = [(kind_of_row(row), row) for row in interval.interrupts.rows or ()]
    rows += [(Kind.SOFTIRQ, row) for row in interval.softirqs.rows or ()]
    for kind, row in rows:
        cost_ns = TYPICAL_COST_NS[kind]
        for cpu, count in row.count_by_cpu.items():
            there, ns = stolen_by_cpu[cpu], count * cost_ns
            there.ns_by_kind[kind] = there.ns_by_kind.get(kind, 0) + ns
            if ns > there.most_ns:
                there.most_ns = ns
    return stolen_by_cpu


def _may_have_others(interval: Interval, cpu: int) -> bool:
    """Return whether the counts are not enough for the CPU: it had threads, steal, or measured or unexplained time."""
    load = interval.load_by_cpu.get(cpu)
    if interval.had_runs(cpu):
        return True
    if load is None:
        return False
    is_measured = is_scaled(load.irq_ns) or is_scaled(load.softirq_ns)
    return bool(load.steal_ns) or is_measured or bool(interval.unexplained_ns(cpu))


def _sum_by_kind(culprits: Sequence[Disturbance]) -> Taken:
    ns_by_kind: dict[Kind, int] = {}
    for culprit in culprits:
        ns_by_kind[culprit.kind] = ns_by_kind.get(culprit.kind, 0) + (culprit.stolen_ns or 0)
    return Taken(ns_by_kind, culprits[0].stolen_ns or 0)
