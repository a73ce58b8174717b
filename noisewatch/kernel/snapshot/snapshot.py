"""All raw counters and settings of a machine, read once at one moment: the only place that reads them all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, replace
from typing import TYPE_CHECKING, TypeVar

from noisewatch.cpus import CpuSet
from noisewatch.kernel.cgroup.bandwidth import Cgroup, CgroupLevel, read_cgroup, read_worker_cgroups
from noisewatch.kernel.cpus.cpu_time import CpuTime, RunTime, read_cpu_time, read_run_time
from noisewatch.kernel.cpus.isolation import Isolation, read_isolation
from noisewatch.kernel.cpus.online import Online, read_cpu_folders, read_online
from noisewatch.kernel.cpus.target import (
    PinTrial,
    Target,
    choose_target,
    read_own_affinity,
    read_pin_trial,
    read_requested,
)
from noisewatch.kernel.cpus.topology import CpuPlace, read_topology
from noisewatch.kernel.earlier import EarlierSnapshots
from noisewatch.kernel.frequency.cpufreq import Frequency, read_frequency
from noisewatch.kernel.interrupts.irqs import Irqs
from noisewatch.kernel.interrupts.table import Interrupts, Softirqs, read_interrupts, read_softirqs
from noisewatch.kernel.reader import Reader, Spared
from noisewatch.kernel.snapshot.hardware import Background, Hardware, read_background, read_hardware
from noisewatch.kernel.snapshot.settings import Settings, read_settings
from noisewatch.kernel.system.clock import ClockOffsets, TimeOfDay, read_clock_offsets, read_lag_ns, read_time_of_day
from noisewatch.kernel.system.inventory import Inventory, read_inventory
from noisewatch.kernel.system.platform import Platform, read_platform
from noisewatch.kernel.system.pressure import Pressure, read_pressure
from noisewatch.kernel.system.release import read_release, release_number
from noisewatch.kernel.tasks.jobs import Jobs, read_jobs
from noisewatch.kernel.tasks.machine_lock import MachineLock, read_machine_lock
from noisewatch.kernel.tasks.missing import TimeOfTasks
from noisewatch.kernel.tasks.run_status import RunStatus, commands_in, read_run_statuses
from noisewatch.kernel.tasks.task import Tasks
from noisewatch.kernel.tasks.threads import TaskReader
from noisewatch.machine import Json, Machine
from noisewatch.patterns import regex
from noisewatch.records import dataclass

if TYPE_CHECKING:
    from noisewatch.kernel.frequency.clock_readings import ClockReadings

_OF_PROCESSES = regex(r"/proc/(?!1/)\d")  # which end, but for the first
T = TypeVar("T")
SETTINGS_LAST_NS = 10_000_000_000  # rarely changed settings are read again after this


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One moment of a machine. None is unknown; `reason_by_path` has the reasons."""

    taken_at_ns: int
    time_of_day: TimeOfDay | None
    clock_offsets: ClockOffsets | None
    machine_name: str
    is_live: bool
    own_pids: frozenset[int]
    platform: Platform
    online: Online
    isolation: Isolation
    target: Target
    own_affinity: (
        CpuSet | None
    )  # of what is started from where this process was, before it was pinned to housekeeping CPUs
    pin_trial: PinTrial
    hardware: Hardware
    settings: Settings
    frequency: Frequency
    interrupts: Interrupts | None
    softirqs: Softirqs | None
    cpu_time: Mapping[int, CpuTime] | None
    run_time: Mapping[int, RunTime] | None
    pressure: Pressure
    background: Background
    machine_lock: MachineLock | None
    cgroup: Cgroup
    worker_cgroups: Mapping[int, tuple[CgroupLevel, ...]]  # by process, of those that had most of the target CPUs
    jobs: Jobs | None  # None is not asked
    clock: ClockReadings | None  # None is not asked
    inventory: Inventory | None  # None is not asked
    tasks: Tasks | None
    tasks_lag_ns: int  # how much later than the CPUs' times they were read
    reason_by_path: Mapping[str, str]
    runs: tuple[RunStatus, ...] = ()  # of `noisewatch run`, where that is asked for ...
    commands: Mapping[int, CpuSet] = field(default_factory=dict)  # ... and where processes of their commands belong
    earlier: EarlierSnapshots = field(default_factory=EarlierSnapshots, repr=False, compare=False)

    @property
    def topology(self) -> Mapping[int, CpuPlace]:
        return self.settings.topology

    @property
    def irqs(self) -> Irqs | None:
        return self.settings.irqs


@dataclass(frozen=True, slots=True)
class SnapshotOptions:
    """The content of a snapshot, and the reads to avoid."""

    cpus: CpuSet | None = None
    allowed_at_start: CpuSet | None = None  # our affinity before we were pinned to housekeeping CPUs
    asks_jobs: bool = False  # for what is scheduled: a program has to be started for it
    asks_clock: bool = False  # for what the clock screen shows, and nothing else needs
    asks_inventory: bool = False  # for what machines are compared by
    most_idle_states: int | None = None  # the limit of CPUs whose idle states are read; None: the default
    asks_runs: Callable[[], Json] | None = None  # returns the answer on this host; None: runs are not read
    is_discreet: bool = False  # nothing is asked that interrupts a target CPU: a benchmark runs there


def read_snapshot(
    machine: Machine, options: SnapshotOptions, task_reader: TaskReader | None = None, previous: Snapshot | None = None
) -> Snapshot:
    """Return a snapshot now, with threads if there is a `task_reader`; `previous` avoids rereading what is constant.

    Reads that interrupt a CPU happen only on this host, without a `previous` snapshot, when a run begins.
    """
    return machine.within_deadline(lambda: _read(machine, options, task_reader, previous))


def _read(
    machine: Machine, options: SnapshotOptions, task_reader: TaskReader | None, previous: Snapshot | None
) -> Snapshot:
    machine.begin_snapshot()
    reader = Reader(machine, previous.earlier if previous is not None else None)
    if machine.is_live and (options.is_discreet or previous is not None):
        release = previous.platform.kernel if previous is not None else read_release(reader)
        reader.spared = Spared(None, release_number(release))
    taken_at_ns = machine.now_ns()
    time_of_day = read_time_of_day(machine)
    reader.reread()
    cpu_time = read_cpu_time(reader)
    run_time = read_run_time(reader)
    interrupts = read_interrupts(reader, previous.interrupts if previous is not None else None)
    softirqs = read_softirqs(reader)
    online = read_online(reader)
    platform = previous.platform if previous is not None else read_platform(reader)
    kept = _still_valid(previous, online, taken_at_ns)
    if kept is None:
        reader.earlier.begin_settings()
    known_isolation = previous.isolation if previous is not None and kept is not None else None
    isolation = read_isolation(reader, _last_cpu(reader, online), online.online, platform.config, known_isolation)
    topology = kept.topology if kept is not None else _known_topology(previous, online)
    if topology is None:
        earlier = previous.topology if previous is not None else None
        topology = read_topology(reader, online.online, platform.design_by_cpu, earlier)
    own_affinity = read_own_affinity(reader, options.allowed_at_start, online)
    target = choose_target(read_requested(reader, options.cpus), isolation, online, own_affinity, topology)
    if reader.spared is not None:
        reader.spared = replace(reader.spared, cpus=target.cpus)
    frequency = read_frequency(
        reader,
        online.online or frozenset(topology),
        target.cpus,
        platform.kernel,
        kept.frequency if kept is not None else None,
        previous.frequency if previous is not None else None,
    )
    cgroup = read_cgroup(reader)
    hardware = _hardware(reader, target, topology, previous)
    tickless = isolation.nohz_full or frozenset()
    had = TimeOfTasks(taken_at_ns, cpu_time, run_time)
    tasks = task_reader.read(reader, target.cpus, tickless, had) if task_reader is not None else None
    tasks_lag_ns = read_lag_ns(machine, taken_at_ns) if task_reader is not None else 0
    settings = kept or read_settings(
        *(reader, taken_at_ns, topology, frequency, interrupts, platform.kernel, target.cpus, tickless, cgroup, tasks),
        previous=previous.settings if previous is not None else None,
    )
    background = read_background(reader, target.cpus, settings, hardware.sensors)
    runs = read_run_statuses(reader, options.asks_runs) if options.asks_runs is not None else ()
    known_jobs, known_inventory = (previous.jobs, previous.inventory) if previous is not None else (None, None)
    snapshot = Snapshot(
        taken_at_ns=taken_at_ns,
        time_of_day=time_of_day,
        clock_offsets=read_clock_offsets(reader),
        machine_name=machine.name,
        is_live=machine.is_live,
        own_pids=machine.own_pids,
        platform=platform,
        online=online,
        isolation=isolation,
        target=target,
        own_affinity=own_affinity,
        pin_trial=read_pin_trial(reader, target.cpus),
        hardware=hardware,
        settings=settings,
        frequency=frequency,
        interrupts=interrupts,
        softirqs=softirqs,
        cpu_time=cpu_time,
        run_time=run_time,
        pressure=read_pressure(reader),
        machine_lock=read_machine_lock(reader),
        background=background,
        cgroup=cgroup,
        worker_cgroups=_worker_cgroups(reader, tasks, target, previous),
        jobs=_once(known_jobs, options.asks_jobs, lambda: read_jobs(reader)),
        clock=_clock(
            *(reader, options, previous, taken_at_ns, target.cpus, online.online or frozenset(topology)),
            *(topology, background, hardware),
        ),
        inventory=_once(known_inventory, options.asks_inventory, lambda: read_inventory(reader, topology)),
        tasks=tasks,
        tasks_lag_ns=tasks_lag_ns,
        runs=runs,
        commands=commands_in(runs, tasks),
        reason_by_path=_reasons(reader, previous),
        earlier=reader.earlier,
    )
    reader.end()
    return snapshot


def _worker_cgroups(
    reader: Reader, tasks: Tasks | None, target: Target, previous: Snapshot | None
) -> Mapping[int, tuple[CgroupLevel, ...]]:
    before = previous.tasks if previous is not None else None
    return read_worker_cgroups(reader, tasks, before, target.cpus, reader.machine.own_pids)


def _last_cpu(reader: Reader, online: Online) -> int | None:
    known = (online.online or frozenset()) | (online.offline or frozenset()) | read_cpu_folders(reader)
    return max(known, default=None)


def _still_valid(previous: Snapshot | None, online: Online, now_ns: int) -> Settings | None:
    if previous is None or previous.online.online != online.online:
        return None
    return previous.settings if now_ns - previous.settings.read_at_ns < SETTINGS_LAST_NS else None


def _known_topology(previous: Snapshot | None, online: Online) -> Mapping[int, CpuPlace] | None:
    """Return the previous topology if it still holds: with the same online CPUs, nothing moves.

    Unreadable parts are tried again with the settings, and so are CPUs with a capacity: arm64 recomputes it when its
    clock drivers load.
    """
    if previous is None or online.online is None or previous.online.online != online.online:
        return None
    places = previous.topology.values()
    return previous.topology if all(place.is_known and place.capacity is None for place in places) else None


def _hardware(reader: Reader, target: Target, topology: Mapping[int, CpuPlace], previous: Snapshot | None) -> Hardware:
    """Return the hardware, read once: reading it takes time from target CPUs."""
    if previous is not None and previous.target.cpus == target.cpus:
        return previous.hardware
    return read_hardware(reader, target.cpus, topology)


def _clock(
    reader: Reader,
    options: SnapshotOptions,
    previous: Snapshot | None,
    now_ns: int,
    target: CpuSet,
    online: CpuSet,
    topology: Mapping[int, CpuPlace],
    background: Background,
    hardware: Hardware,
) -> ClockReadings | None:
    if not options.asks_clock:
        return None
    from noisewatch.kernel.frequency.clock_readings import read_clock_readings  # what most snapshots do without

    known = previous.clock if previous is not None else None
    throttling, uncore = background.throttling, hardware.uncore
    return read_clock_readings(
        reader, now_ns, target, online, topology, throttling, uncore, known, options.most_idle_states
    )


def _once(known: T | None, is_asked: bool, read: Callable[[], T]) -> T | None:
    """Return what is read once a run: to start a program every few seconds would be a job by itself."""
    return known if known is not None else read() if is_asked else None


def _reasons(reader: Reader, previous: Snapshot | None) -> Mapping[str, str]:
    """Return the failures of this snapshot, and the previous one's that were not read again."""
    earlier = previous.reason_by_path if previous is not None else {}
    taken_over = {
        path: reason
        for path, reason in earlier.items()
        if path not in reader.asked and _OF_PROCESSES.match(path) is None
    }
    return {**taken_over, **reader.reason_by_path}
