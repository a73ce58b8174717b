"""What rarely changes: read at the start, when CPUs come or go, and every ten seconds.

KernelSettings are the kernel's activities in parallel with tasks: settings of more than one value in one file.
"""

from __future__ import annotations

from collections.abc import Mapping

from noisewatch.cpus import CpuSet
from noisewatch.kernel.cgroup.bandwidth import Cgroup
from noisewatch.kernel.cgroup.weights import CpuWeights, read_cpu_weights
from noisewatch.kernel.cpus.fair_server import read_fair_servers
from noisewatch.kernel.cpus.topology import CpuPlace, read_core_ranking, read_memory_nodes
from noisewatch.kernel.frequency.cpufreq import Frequency
from noisewatch.kernel.frequency.heat import Cooling, read_cooling
from noisewatch.kernel.frequency.idle import Idle, read_idle
from noisewatch.kernel.frequency.limits import FrequencyCap, read_frequency_caps
from noisewatch.kernel.frequency.power_supply import MainsPower, read_mains_power
from noisewatch.kernel.frequency.supply_voltage import VoltageAlarm, read_voltage_alarm
from noisewatch.kernel.interrupts.irqbalance import Irqbalance, read_irqbalance
from noisewatch.kernel.interrupts.irqs import Irqs, read_irqs
from noisewatch.kernel.interrupts.packet_steering import PacketSteering, read_packet_steering
from noisewatch.kernel.interrupts.table import Interrupts
from noisewatch.kernel.memory.counters import Swap, read_swaps
from noisewatch.kernel.memory.policy import read_nodes_with_memory
from noisewatch.kernel.reader import Reader
from noisewatch.kernel.snapshot.knobs import Knobs, read_knobs
from noisewatch.kernel.system.boot_configuration import BootConfiguration, read_boot_configuration
from noisewatch.kernel.system.build_options import Console, read_consoles
from noisewatch.kernel.system.clock import ClockRate, ClockSource, read_clock_rate, read_clock_source
from noisewatch.kernel.system.disks import Array, read_arrays
from noisewatch.kernel.system.hardware_errors import ErrorCounters, read_error_counters
from noisewatch.kernel.system.log import KernelLog, read_kernel_log
from noisewatch.kernel.system.mounts import read_temporary_files
from noisewatch.kernel.system.release import read_livepatches, read_uptime
from noisewatch.kernel.tasks.affinities import Services, Workqueues, read_services, read_workqueues
from noisewatch.kernel.tasks.own_process import OwnProcess, read_own_process, read_why_hidden
from noisewatch.kernel.tasks.sessions import Sessions, read_sessions
from noisewatch.kernel.tasks.task import Tasks
from noisewatch.kernel.trace.active import Tracing, read_event_sources, read_tracing
from noisewatch.records import dataclass


@dataclass(frozen=True, slots=True)
class KernelSettings:
    """Settings of the kernel. None is unknown in all fields."""

    tracing: Tracing
    workqueues: Workqueues
    services: Services
    consoles: tuple[Console, ...] | None
    livepatches: Mapping[str, bool | None] | str | None


def read_kernel_settings(reader: Reader) -> KernelSettings:
    """Return the kernel's settings now."""
    return KernelSettings(
        tracing=read_tracing(reader),
        workqueues=read_workqueues(reader),
        services=read_services(reader),
        consoles=read_consoles(reader),
        livepatches=read_livepatches(reader),
    )


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings of a machine. None is unknown in all fields."""

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
    caps: Mapping[int, FrequencyCap]  # of the target CPUs
    idle: Idle
    fair_servers: Mapping[int, int]  # ns a period, of the target CPUs that are tickless
    cooling: Cooling
    clock_rate: ClockRate | None
    arrays: tuple[Array, ...] | None  # that are being checked or rebuilt
    sessions: Sessions
    temporary_files: str | None  # the type of their file system
    own: OwnProcess
    cpu_weights: CpuWeights | None
    event_sources: frozenset[str] | None
    packet_steering: PacketSteering
    core_ranking: Mapping[int, int]  # of the target CPUs that are ranked
    error_counters: ErrorCounters
    kernel_log: KernelLog | None
    boot_configuration: BootConfiguration
    uptime_s: float | None
    memory_nodes: frozenset[int] | None
    nodes_with_memory: frozenset[int] | None
    swaps: tuple[Swap, ...] | None
    why_processes_hidden: str | None  # None is known as well: all can be seen


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
    """Return the settings now; those of many files a CPU only for target CPUs."""
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
        why_processes_hidden=read_why_hidden(reader),
    )
