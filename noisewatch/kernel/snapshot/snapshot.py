"""All raw counters and settings of a machine at one moment. Only this module reads them all.

Settings rarely change, so they are read at the start, when CPUs come or go, and every ten seconds. KernelSettings
contains the settings of the kernel's own activities whose files have more than one value. Hardware is read once, when a
run begins, because reading it interrupts CPUs. Background contains counters of the machine's own activities, which
every snapshot reads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from noisewatch.cpus import CpuSet
from noisewatch.kernel.cgroup.bandwidth import (
    Cgroup,
    CgroupLevel,
    CpuWeights,
    read_cgroup,
    read_cpu_weights,
    read_worker_cgroups,
)
from noisewatch.kernel.cpus.cpu_time import CpuTime, RunTime, read_cpu_time, read_run_time
from noisewatch.kernel.cpus.isolation import Isolation, read_fair_servers, read_isolation
from noisewatch.kernel.cpus.online import CPUS, Online, read_cpu_folders, read_online
from noisewatch.kernel.cpus.target import (
    PinTrial,
    Target,
    choose_target,
    read_own_affinity,
    read_pin_trial,
    read_requested,
)
from noisewatch.kernel.cpus.topology import CpuPlace, read_core_ranking, read_memory_nodes, read_topology
from noisewatch.kernel.frequency.cpufreq import Frequency, own_folder, read_frequency
from noisewatch.kernel.frequency.heat import (
    Cooling,
    Sensors,
    ThermalThrottling,
    read_celsius,
    read_cooling,
    read_cooling_states,
    read_sensors,
    read_throttling,
)
from noisewatch.kernel.frequency.idle import Idle, read_idle
from noisewatch.kernel.frequency.limits import FrequencyCap, Uncore, read_frequency_caps, read_uncore
from noisewatch.kernel.frequency.power_supply import (
    MainsPower,
    SupplyVoltage,
    VoltageAlarm,
    read_mains_power,
    read_supply_voltage,
    read_voltage_alarm,
)
from noisewatch.kernel.frequency.powercap import PowerLimits, read_power_limits
from noisewatch.kernel.interrupts.irqbalance import Irqbalance, read_irqbalance
from noisewatch.kernel.interrupts.irqs import Irqs, read_irqs
from noisewatch.kernel.interrupts.packet_steering import PacketSteering, read_packet_steering
from noisewatch.kernel.interrupts.table import Interrupts, Softirqs, read_interrupts, read_softirqs
from noisewatch.kernel.memory.counters import Memory, Swap, read_memory, read_swaps
from noisewatch.kernel.memory.limits import MemoryLimits, read_memory_limits
from noisewatch.kernel.memory.nodes import read_nodes_with_memory
from noisewatch.kernel.numbers import integer_from, parse_khz
from noisewatch.kernel.reader import EarlierSnapshots, Reader, Spared
from noisewatch.kernel.snapshot.knobs import Knobs, read_knobs
from noisewatch.kernel.system.boot_configuration import BootConfiguration, read_boot_configuration
from noisewatch.kernel.system.build_options import Console, read_consoles
from noisewatch.kernel.system.clock import (
    ClockOffsets,
    ClockRate,
    ClockSource,
    TimeOfDay,
    read_clock_offsets,
    read_clock_rate,
    read_clock_source,
    read_lag_ns,
    read_time_of_day,
)
from noisewatch.kernel.system.disks import Array, Disk, read_arrays, read_disks
from noisewatch.kernel.system.hardware_errors import (
    ErrorCounters,
    HardwareErrors,
    read_error_counters,
    read_hardware_errors,
)
from noisewatch.kernel.system.inventory import Inventory, read_inventory
from noisewatch.kernel.system.log import KernelLog, read_kernel_log
from noisewatch.kernel.system.mounts import read_temporary_files
from noisewatch.kernel.system.platform import Platform, read_platform
from noisewatch.kernel.system.pressure import LoadAverage, Pressure, read_load_average, read_pressure
from noisewatch.kernel.system.release import read_livepatches, read_release, read_uptime, release_number
from noisewatch.kernel.system.tuned import Tuned, read_tuned
from noisewatch.kernel.tasks.affinities import Services, Workqueues, read_services, read_workqueues
from noisewatch.kernel.tasks.jobs import Jobs, read_jobs
from noisewatch.kernel.tasks.machine_lock import MachineLock, read_machine_lock
from noisewatch.kernel.tasks.own_process import OwnProcess, read_hidepid_reason, read_own_process
from noisewatch.kernel.tasks.run_status import RunStatus, commands_in, read_run_statuses
from noisewatch.kernel.tasks.sessions import Sessions, read_sessions
from noisewatch.kernel.tasks.task import Tasks
from noisewatch.kernel.tasks.threads import TaskReader, TimeOfTasks
from noisewatch.kernel.trace.active import Tracing, read_event_sources, read_tracing
from noisewatch.machine import Json, Machine
from noisewatch.patterns import regex

if TYPE_CHECKING:
    from noisewatch.kernel.frequency.clock_readings import ClockReadings


_MOST_BIAS = 15  # four bits


class Hardware(Struct, frozen=True):
    """The hardware's state when the run began. None means unknown."""

    energy_bias: Knobs  # each target CPU's bias: 0 is performance, 6 is normal, 15 is power saving
    sensors: Sensors
    power_limits: PowerLimits
    uncore: Uncore
    driver_khz: Knobs  # the clocks that target CPUs' drivers read from the hardware


def bias_path(cpu: int) -> str:
    """Return the path of the CPU's energy performance bias."""
    return f"{CPUS}/cpu{cpu}/power/energy_perf_bias"


def driver_clock_path(cpu: int) -> str:
    """Return the path of the clock that the CPU's driver reads; intel_pstate and amd-pstate-epp have no such file."""
    return f"{own_folder(cpu)}/cpuinfo_cur_freq"


def read_hardware(reader: Reader, target: CpuSet, topology: Mapping[int, CpuPlace]) -> Hardware:
    """Read the state of the target CPUs and their packages."""
    places = [topology.get(cpu) for cpu in target]
    package_ids = [place.package for place in places if place is not None and place.package is not None]
    unplaced = [cpu for cpu in sorted(target) if cpu not in topology or topology[cpu].package is None]
    packages = frozenset() if unplaced else frozenset(package_ids)
    hardware = Hardware(
        energy_bias=read_knobs(reader, dict.fromkeys(map(bias_path, sorted(target)), integer_from(0, _MOST_BIAS))),
        sensors=read_sensors(reader, packages),
        power_limits=read_power_limits(reader, packages),
        uncore=read_uncore(reader, packages),
        driver_khz=read_knobs(reader, dict.fromkeys(map(driver_clock_path, sorted(target)), parse_khz)),
    )
    return _mark_incomplete(hardware, f"{CPUS}/cpu{unplaced[0]}/topology/physical_package_id") if unplaced else hardware


def _mark_incomplete(hardware: Hardware, path: str) -> Hardware:
    """Mark the hardware as incomplete: a target CPU's package is unknown, so its readings may be missing."""
    return replace(
        hardware,
        sensors=replace(hardware.sensors, unread=hardware.sensors.unread or path),
        power_limits=replace(hardware.power_limits, unread=hardware.power_limits.unread or path),
        uncore=replace(hardware.uncore, is_complete=False),
    )


class Background(Struct, frozen=True):
    """Counters of the machine's own activities. In all fields, None means unknown."""

    memory: Memory
    throttling: ThermalThrottling
    cooling_states: Mapping[str, int | None]  # current states of the cooling devices in the settings, by path
    memory_limits: MemoryLimits
    load_average: LoadAverage | None
    disks: Mapping[str, Disk] | None
    hardware_errors: HardwareErrors
    supply_voltage: SupplyVoltage
    celsius_by_path: Mapping[str, float | None]  # only sensors whose reading interrupts no target CPU


def read_background(reader: Reader, target: CpuSet, settings: Settings, sensors: Sensors) -> Background:
    """Read the counters, per-CPU counters only for target CPUs. `settings` lists the devices to read."""
    return Background(
        memory=read_memory(reader),
        throttling=read_throttling(reader, target, settings.topology),
        cooling_states=read_cooling_states(reader, settings.cooling),
        memory_limits=read_memory_limits(reader),
        load_average=read_load_average(reader),
        disks=read_disks(reader),
        hardware_errors=read_hardware_errors(reader, settings.error_counters),
        supply_voltage=read_supply_voltage(reader, settings.voltage_alarm),
        celsius_by_path=read_celsius(reader, sensors, target, settings.topology),
    )


class KernelSettings(Struct, frozen=True):
    """Settings of the kernel's own activities. In all fields, None means unknown."""

    tracing: Tracing
    workqueues: Workqueues
    services: Services
    consoles: tuple[Console, ...] | None
    livepatches: Mapping[str, bool | None] | str | None


def read_kernel_settings(reader: Reader) -> KernelSettings:
    """Return the current settings of the kernel's own activities."""
    return KernelSettings(
        tracing=read_tracing(reader),
        workqueues=read_workqueues(reader),
        services=read_services(reader),
        consoles=read_consoles(reader),
        livepatches=read_livepatches(reader),
    )


class Settings(Struct, frozen=True):
    """All settings of a machine. None means unknown, except in `hidden_processes_reason`."""

    read_at_ns: int
    topology: Mapping[int, CpuPlace]
    irqs: Irqs | None
    irqbalance: Irqbalance
    clock_source: ClockSource
    mains_power: MainsPower
    voltage_alarm: VoltageAlarm
    frequency: Frequency
    knobs: Knobs
    kernel: KernelSettings
    caps: Mapping[int, FrequencyCap]  # caps of target CPUs
    idle: Idle
    fair_servers: Mapping[int, int]  # reserved time (ns per period) on each tickless target CPU
    cooling: Cooling
    clock_rate: ClockRate | None
    arrays: tuple[Array, ...] | None  # only arrays that are being checked or rebuilt
    sessions: Sessions
    temporary_files: str | None  # type of the file system for temporary files
    own: OwnProcess
    cpu_weights: CpuWeights | None
    event_sources: frozenset[str] | None
    packet_steering: PacketSteering
    core_ranking: Mapping[int, int]  # ranks of the target CPUs that have one
    error_counters: ErrorCounters
    kernel_log: KernelLog | None
    boot_configuration: BootConfiguration
    uptime_s: float | None
    memory_nodes: frozenset[int] | None
    nodes_with_memory: frozenset[int] | None
    swaps: tuple[Swap, ...] | None
    hidden_processes_reason: str | None  # None: all processes are visible
    tuned: Tuned | None


def read_settings(
    reader: Reader,
    now_ns: int,
    topology: Mapping[int, CpuPlace],
    frequency: Frequency,
    interrupts: Interrupts | None,
    release: str | None,
    target: CpuSet,
    tickless: CpuSet,
    cgroup: Cgroup,
    tasks: Tasks | None,
    previous: Settings | None = None,
) -> Settings:
    """Return the current settings. Settings with many files per CPU are only read for target CPUs."""
    return Settings(
        read_at_ns=now_ns,
        topology=topology,
        irqs=read_irqs(reader, interrupts, release, previous.irqs if previous is not None else None),
        irqbalance=read_irqbalance(reader, tasks),
        clock_source=read_clock_source(reader),
        mains_power=read_mains_power(reader),
        voltage_alarm=read_voltage_alarm(reader),
        frequency=frequency,
        knobs=read_knobs(reader),
        kernel=read_kernel_settings(reader),
        caps=read_frequency_caps(reader, target),
        idle=read_idle(reader, target, previous.idle if previous is not None else None),
        fair_servers=read_fair_servers(reader, target & tickless),
        cooling=read_cooling(reader),
        clock_rate=read_clock_rate(reader),
        arrays=read_arrays(reader),
        sessions=read_sessions(reader),
        temporary_files=read_temporary_files(reader),
        own=read_own_process(reader),
        cpu_weights=read_cpu_weights(reader, cgroup),
        event_sources=read_event_sources(reader),
        packet_steering=read_packet_steering(reader),
        core_ranking=read_core_ranking(reader, target),
        error_counters=read_error_counters(reader),
        kernel_log=read_kernel_log(reader),
        boot_configuration=read_boot_configuration(reader),
        uptime_s=read_uptime(reader),
        memory_nodes=read_memory_nodes(reader),
        nodes_with_memory=read_nodes_with_memory(reader),
        swaps=read_swaps(reader),
        hidden_processes_reason=read_hidepid_reason(reader),
        tuned=read_tuned(reader),
    )


_OF_PROCESSES = regex(r"/proc/(?!1/)\d")  # any process but the first may end
T = TypeVar("T")
SETTINGS_LAST_NS = 10_000_000_000  # time until settings are read again


class Snapshot(Struct, frozen=True):
    """Everything read from a machine at one moment. None means unknown; `reason_by_path` has the reasons."""

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
    own_affinity: CpuSet | None  # this process's affinity before it was pinned to housekeeping CPUs
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
    # By pid, for the processes that used most time of target CPUs.
    worker_cgroups: Mapping[int, tuple[CgroupLevel, ...]]
    jobs: Jobs | None  # None: not requested
    clock: ClockReadings | None  # None: not requested
    inventory: Inventory | None  # None: not requested
    tasks: Tasks | None
    tasks_lag_ns: int  # delay from reading the CPUs' times to reading the tasks' times
    reason_by_path: Mapping[str, str]
    runs: tuple[RunStatus, ...] = ()  # status of each `noisewatch run` on this machine, if requested
    commands: Mapping[int, CpuSet] = field(default_factory=dict)  # CPUs of the runs' commands, by pid
    earlier: EarlierSnapshots = field(default_factory=EarlierSnapshots)

    @property
    def topology(self) -> Mapping[int, CpuPlace]:
        return self.settings.topology

    @property
    def irqs(self) -> Irqs | None:
        return self.settings.irqs


class SnapshotOptions(Struct, frozen=True):
    """What a snapshot contains, and which reads to avoid."""

    cpus: CpuSet | None = None  # the requested target CPUs; None: the default
    allowed_at_start: CpuSet | None = None  # noisewatch's affinity before it was pinned to housekeeping CPUs
    asks_jobs: bool = False  # read scheduled jobs; this starts a program
    asks_clock: bool = False  # read files that only the clock screen needs
    asks_inventory: bool = False  # read the machine's parts, for comparisons of machines
    most_idle_states: int | None = None  # maximum number of CPUs whose idle states are read; None: the default
    asks_runs: Callable[[], Json] | None = None  # returns the runs on this host; None: runs are not read
    is_discreet: bool = False  # do not interrupt target CPUs, on which a benchmark may run


def read_snapshot(
    machine: Machine, options: SnapshotOptions, task_reader: TaskReader | None = None, previous: Snapshot | None = None
) -> Snapshot:
    """Take a snapshot, with threads if there is a `task_reader`. Constant values are taken from `previous`.

    With `previous` or `is_discreet`, files of a live host whose reading interrupts a target CPU are not read.
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
    kept = _reusable_settings(previous, online, taken_at_ns)
    if kept is None:
        reader.earlier.begin_settings()
    previous_isolation = previous.isolation if previous is not None and kept is not None else None
    isolation = read_isolation(reader, _last_cpu(reader, online), online.online, platform.config, previous_isolation)
    topology = kept.topology if kept is not None else _previous_topology(previous, online)
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
    previous_jobs, previous_inventory = (previous.jobs, previous.inventory) if previous is not None else (None, None)
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
        worker_cgroups=read_worker_cgroups(
            reader, tasks, None if previous is None else previous.tasks, target.cpus, machine.own_pids
        ),
        jobs=_read_once_per_run(previous_jobs, options.asks_jobs, lambda: read_jobs(reader)),
        clock=_clock(
            *(reader, options, previous, taken_at_ns, target.cpus, online.online or frozenset(topology)),
            *(topology, background, hardware),
        ),
        inventory=_read_once_per_run(
            previous_inventory, options.asks_inventory, lambda: read_inventory(reader, topology)
        ),
        tasks=tasks,
        tasks_lag_ns=tasks_lag_ns,
        runs=runs,
        commands=commands_in(runs, tasks),
        reason_by_path=_reasons(reader, previous),
        earlier=reader.earlier,
    )
    reader.end()
    return snapshot


def _last_cpu(reader: Reader, online: Online) -> int | None:
    cpus = (online.online or frozenset()) | (online.offline or frozenset()) | read_cpu_folders(reader)
    return max(cpus, default=None)


def _reusable_settings(previous: Snapshot | None, online: Online, now_ns: int) -> Settings | None:
    if previous is None or previous.online.online != online.online:
        return None
    return previous.settings if now_ns - previous.settings.read_at_ns < SETTINGS_LAST_NS else None


def _previous_topology(previous: Snapshot | None, online: Online) -> Mapping[int, CpuPlace] | None:
    """Return the previous topology if it is still valid, else None. It only changes if CPUs go online or offline.

    Unreadable parts are read again with the settings. So are CPU capacities, which arm64 recomputes when its clock
    drivers load.
    """
    if previous is None or online.online is None or previous.online.online != online.online:
        return None
    places = previous.topology.values()
    return previous.topology if all(place.is_whole and place.capacity is None for place in places) else None


def _hardware(reader: Reader, target: Target, topology: Mapping[int, CpuPlace], previous: Snapshot | None) -> Hardware:
    """Return the hardware, read once for the same target CPUs because reading it interrupts them."""
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
    from noisewatch.kernel.frequency.clock_readings import read_clock_readings  # seldom needed

    previous_clock = previous.clock if previous is not None else None
    throttling, uncore = background.throttling, hardware.uncore
    return read_clock_readings(
        reader, now_ns, target, online, topology, throttling, uncore, previous_clock, options.most_idle_states
    )


def _read_once_per_run(previous: T | None, is_asked: bool, read: Callable[[], T]) -> T | None:
    """Return the previous value, or read it if requested: starting a program every few seconds would be costly."""
    return previous if previous is not None else read() if is_asked else None


def _reasons(reader: Reader, previous: Snapshot | None) -> Mapping[str, str]:
    """Return why files are unreadable, including files that only the previous snapshot read."""
    earlier = previous.reason_by_path if previous is not None else {}
    carried_over = {
        path: reason
        for path, reason in earlier.items()
        if path not in reader.asked and _OF_PROCESSES.match(path) is None
    }
    return {**carried_over, **reader.reason_by_path}
