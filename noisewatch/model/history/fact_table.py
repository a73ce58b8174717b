"""All facts, by class and name: the files that contain each fact, and its value in a snapshot.

Values of several CPUs, packages or zones are grouped into one fact. Limits (power, clocks, CPU quota) are `none` if the
kernel reports no such limit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from noisewatch.cpus import CpuSet, format_cpu_list
from noisewatch.kernel.cgroup.mounts import MEMBERSHIP
from noisewatch.kernel.cpus.cpuinfo import PATH as CPUINFO
from noisewatch.kernel.cpus.online import CPUS
from noisewatch.kernel.frequency.limits import FOLDER as UNCORE
from noisewatch.kernel.frequency.power_supply import FOLDER as POWER
from noisewatch.kernel.frequency.powercap import FOLDER as POWERCAP
from noisewatch.kernel.memory.counters import MEMINFO
from noisewatch.kernel.snapshot.knobs import Knob
from noisewatch.kernel.system.build_options import PACKED
from noisewatch.kernel.system.clock import CURRENT
from noisewatch.kernel.system.hardware_errors import CONTROLLERS
from noisewatch.kernel.system.hypervisor import DMI
from noisewatch.kernel.system.platform import FOLDER as VULNERABILITIES
from noisewatch.kernel.system.release import BUILD, COMMAND_LINE, RELEASE, VERSION
from noisewatch.model.history.facts import ABSENT, MEMORY, FactClass, Facts, knob_name, plain_line

if TYPE_CHECKING:
    from noisewatch.kernel.cpus.topology import CpuPlace
    from noisewatch.kernel.frequency.cpufreq import CpuFrequency
    from noisewatch.kernel.frequency.idle import IdleState
    from noisewatch.kernel.frequency.limits import UncoreDomain
    from noisewatch.kernel.frequency.powercap import PowerLimit
    from noisewatch.kernel.snapshot.snapshot import Snapshot
    from noisewatch.kernel.system.inventory import Inventory

_Value = Callable[["Snapshot"], str | None]


class _Fact(NamedTuple):
    """The source of a fact: its files (`{cpu}` stands for each CPU's number), and the function for its value."""

    paths: Sequence[str]
    value: _Value


def facts_of(snapshot: Snapshot) -> Facts:
    """Return all facts of the snapshot's machine. Facts from the inventory are unknown or missing without one."""
    facts = {
        of_class: {name: fact.value(snapshot) for name, fact in named.items()} for of_class, named in _FACTS.items()
    }
    if snapshot.inventory is None:
        facts[FactClass.FIRMWARE] = {}
    vulnerabilities = snapshot.platform.vulnerabilities.state_by_name or {}
    facts[FactClass.KERNEL] |= {f"{_VULNERABILITY}{name}": state for name, state in sorted(vulnerabilities.items())}
    return {of_class: {name: plain_line(fact) for name, fact in named.items()} for of_class, named in facts.items()}


def paths_of(of_class: FactClass, name: str) -> Sequence[str] | None:
    """Return the files that the fact is read from, or None if there is no such fact.

    Every vulnerability is a fact, whatever its name, because the names differ between kernels.
    """
    if of_class == FactClass.KERNEL and name.startswith(_VULNERABILITY):
        return (f"{VULNERABILITIES}/{name.removeprefix(_VULNERABILITY)}",)
    fact = _FACTS[of_class].get(name)
    return None if fact is None else fact.paths


def names_of(of_class: FactClass) -> Collection[str]:
    """Return the names of all facts of the class, without vulnerabilities."""
    return _FACTS[of_class].keys()


def _board(snapshot: Snapshot) -> str | None:
    return " ".join(name for name in (snapshot.platform.vendor, snapshot.platform.product) if name) or None


def _from_inventory(value: Callable[[Snapshot, Inventory], str | None]) -> _Value:
    """Return a function for the value, which is None if the snapshot has no inventory."""
    return lambda snapshot: None if snapshot.inventory is None else value(snapshot, snapshot.inventory)


def _count_of(number: Callable[[CpuPlace], int | None]) -> _Value:
    """Return a function that counts the distinct numbers (of packages, for example) that CPUs have.

    Its result is None if any CPU's number is unknown, or if there are no CPUs.
    """

    def value(snapshot: Snapshot) -> str | None:
        numbers = {number(place) for place in snapshot.topology.values()}
        return str(len(numbers)) if numbers and None not in numbers else None

    return value


def _caches(snapshot: Snapshot, inventory: Inventory) -> str | None:
    """Return the caches by kind of core: `efficiency cores: L2 4096K; performance cores: …`.

    If cores of one kind differ, the CPUs are listed too.
    """
    by_kind: dict[str, dict[str, set[int]]] = {}
    for cpu, caches in inventory.caches_by_cpu.items():
        if caches is None:
            return None
        kind = snapshot.topology[cpu].kind or ABSENT  # an unknown kind has no name
        by_kind.setdefault(kind, {}).setdefault(caches, set()).add(cpu)
    return "; ".join(words for kind, cpus in sorted(by_kind.items()) for words in _caches_of_kind(kind, cpus)) or None


def _caches_of_kind(kind: str, cpus_by_caches: Mapping[str, set[int]]) -> Iterator[str]:
    for caches, cpus in sorted(cpus_by_caches.items(), key=lambda item: min(item[1])):
        which = [f"{kind} cores"] if kind != ABSENT else []
        which += [f"CPU {format_cpu_list(cpus)}"] if len(cpus_by_caches) > 1 else []
        yield f"{', '.join(which)}: {caches}" if which else caches


def _by_package(snapshot: Snapshot, value_by_cpu: Mapping[int, str | None]) -> str | None:
    """Return the values by package: `0x8001227 (package 0), 0x8001100 (package 1)`.

    If CPUs of one package differ, or their package is unknown, the values are listed by CPU.
    """
    places = snapshot.topology
    package_by_cpu = {cpu: place.package for cpu in value_by_cpu if (place := places.get(cpu)) is not None}
    pairs = {(package, value_by_cpu[cpu]) for cpu, package in package_by_cpu.items() if package is not None}
    is_of_packages = len({package for package, _ in pairs}) == len(pairs)
    if is_of_packages and len(package_by_cpu) == len(value_by_cpu) and None not in package_by_cpu.values():
        return group_values(((package, value) for package, value in pairs), "package")
    return group_values(value_by_cpu.items())


def _memory(snapshot: Snapshot) -> str | None:
    kb = (snapshot.background.memory.kb_by_name or {}).get("MemTotal")
    return f"{kb} kB" if kb is not None else None


def _options(snapshot: Snapshot) -> str | None:
    options = snapshot.platform.options
    if options is None:
        return None
    words = [f"{name}={value}" if value else name for name, values in sorted(options.items()) for value in values]
    return " ".join(words) or ABSENT


def _tick(snapshot: Snapshot) -> str | None:
    hz = snapshot.platform.tick_hz
    return f"{hz} Hz" if hz is not None else None


def _smt(snapshot: Snapshot) -> str | None:
    siblings = [place.siblings for place in snapshot.topology.values()]
    return None if None in siblings or not siblings else _on(any(len(threads or ()) > 1 for threads in siblings))


def _turbo(snapshot: Snapshot) -> str | None:
    frequency = snapshot.frequency
    if frequency.turbo_by_cpu:
        return group_values((cpu, _on(is_on)) for cpu, is_on in frequency.turbo_by_cpu.items())
    return frequency.turbo


def _by_cpu(value: Callable[[CpuFrequency], str | None]) -> _Value:
    """Return a function for the CPUs' values, grouped by `group_values`."""
    return lambda snapshot: group_values((clock.cpu, value(clock)) for clock in snapshot.frequency.cpus.values())


def _khz(khz: int | None) -> str | None:
    return f"{khz} kHz" if khz is not None else None


def _idle_states(snapshot: Snapshot) -> str | None:
    """Return the enabled idle states of the target CPUs: `POLL C1 C6`, by CPU if they differ."""
    idle = snapshot.settings.idle.cpus
    return group_values((cpu, _enabled(cpu_idle.states)) for cpu, cpu_idle in idle.items())


def _enabled(states: Sequence[IdleState] | None) -> str | None:
    if states is None or any(state.name is None or state.is_disabled is None for state in states):
        return None
    return " ".join(str(state.name) for state in states if not state.is_disabled) or ABSENT


def _energy_bias(snapshot: Snapshot) -> str | None:
    from noisewatch.kernel.snapshot.snapshot import bias_path  # slow: it imports every reader of a snapshot

    energy_bias = snapshot.hardware.energy_bias
    paths = {cpu: bias_path(cpu) for cpu in sorted(snapshot.target.cpus)}
    return group_values(
        (cpu, ABSENT if path in energy_bias.absent else energy_bias.word(path)) for cpu, path in paths.items()
    )


def _power_limits(snapshot: Snapshot) -> str | None:
    """Return `125 W`, or the limits by zone if they differ: `125 W (intel-rapl:0), off (intel-rapl-mmio:0)`."""
    limits = snapshot.hardware.power_limits
    if limits.zones is None or limits.unread is not None:
        return ABSENT if limits.has_none else None
    return group_by_name({zone.path.split("/")[-2]: _power(zone) for zone in limits.zones})


def _power(zone: PowerLimit) -> str | None:
    if zone.is_enabled is None or (zone.is_enabled and zone.limit_uw is None):
        return None
    return f"{(zone.limit_uw or 0) / 1e6:g} W" if zone.is_enabled else "off"


def _uncore_clock(snapshot: Snapshot) -> str | None:
    """Return `400000 to 4000000 kHz`, or the clocks by domain if they differ."""
    uncore = snapshot.hardware.uncore
    if uncore.domains is None or not uncore.is_complete:
        return ABSENT if uncore.is_absent else None
    return group_by_name({domain.path.split("/")[-1]: _clock(domain) for domain in uncore.domains})


def _clock(domain: UncoreDomain) -> str | None:
    if domain.min_khz is None or domain.max_khz is None:
        return None
    return f"{domain.min_khz} to {domain.max_khz} kHz"


def _firmware_clock(snapshot: Snapshot) -> str | None:
    """Return the firmware's clock limit, by CPU if it differs; `none` if the kernel does not report one."""
    caps = snapshot.settings.caps
    limits = {cpu: caps[cpu].limit_khz if cpu in caps else 0 for cpu in sorted(snapshot.target.cpus)}
    return group_values((cpu, None if khz is None else f"{khz} kHz" if khz else ABSENT) for cpu, khz in limits.items())


def _knob(knob: Knob, snapshot: Snapshot) -> str | None:
    knobs = snapshot.settings.knobs
    word = knobs.word(knob)
    return ABSENT if knob in knobs.absent else None if word is None else " ".join(word.split())


def _mains_power(snapshot: Snapshot) -> str | None:
    power = snapshot.settings.mains_power.is_on
    return power if isinstance(power, str) else None if power is None else _on(power)


def _cpu_quota(snapshot: Snapshot) -> str | None:
    """Return the CPU quota of this process's cgroups: `0.5 CPUs`, or `none`."""
    share = snapshot.cgroup.cpu_quota_share
    return None if share is None else ABSENT if math.isinf(share) else f"{share:g} CPUs"


def _on(is_on: bool) -> str:
    return "on" if is_on else "off"


def _cpu_list(cpus: CpuSet | None) -> str | None:
    return None if cpus is None else format_cpu_list(cpus) or ABSENT


def group_values(values: Iterable[tuple[int, str | None]], what: str = "CPU") -> str | None:
    """Return the common value, or each value with its numbers: `performance (CPU 0-3), powersave (CPU 4-7)`.

    None if any value is unknown, or if there is none.
    """
    numbers_by_value: dict[str, set[int]] = {}
    for number, value in values:
        if value is None:
            return None
        numbers_by_value.setdefault(value, set()).add(number)
    if len(numbers_by_value) <= 1:
        return next(iter(numbers_by_value), None)
    groups = sorted(numbers_by_value.items(), key=lambda group: min(group[1]))
    return ", ".join(f"{value} ({what} {format_cpu_list(numbers)})" for value, numbers in groups)


def group_by_name(value_by_name: Mapping[str, str | None]) -> str | None:
    """Return the common value, or each value with its name: `125 W (intel-rapl:0), 100 W (intel-rapl:1)`.

    None if any value is unknown, or if there is none.
    """
    values = [value for value in value_by_name.values() if value is not None]
    if len(values) < len(value_by_name):
        return None
    if len(set(values)) == 1:
        return values[0]
    return ", ".join(f"{value} ({name})" for name, value in sorted(value_by_name.items())) or None


_VULNERABILITY = "vulnerability "
_CPU = f"{CPUS}/cpu{{cpu}}"
_TOPOLOGY, _CPUFREQ = f"{_CPU}/topology", f"{_CPU}/cpufreq"
_FACTS: Mapping[FactClass, Mapping[str, _Fact]] = {
    FactClass.IDENTITY: {
        "board": _Fact((f"{DMI}/sys_vendor", f"{DMI}/product_name"), _board),
        "CPU model": _Fact((CPUINFO,), lambda snapshot: snapshot.platform.cpu_model),
    },
    FactClass.HARDWARE: {
        "stepping": _Fact(
            (CPUINFO,), _from_inventory(lambda snapshot, own: _by_package(snapshot, own.stepping_by_cpu))
        ),
        "CPUs present": _Fact((f"{CPUS}/present",), lambda snapshot: _cpu_list(snapshot.online.present)),
        "packages": _Fact((f"{_TOPOLOGY}/physical_package_id",), _count_of(lambda place: place.package)),
        "nodes": _Fact(("/sys/devices/system/node",), _count_of(lambda place: place.node)),
        "caches": _Fact((f"{_CPU}/cache",), _from_inventory(_caches)),
        MEMORY: _Fact((MEMINFO,), _memory),
        "memory modules": _Fact((CONTROLLERS,), _from_inventory(lambda _, own: own.memory_modules)),
    },
    FactClass.FIRMWARE: {
        "BIOS": _Fact((f"{DMI}/bios_version",), _from_inventory(lambda _, own: own.bios)),
        "BIOS date": _Fact((f"{DMI}/bios_date",), _from_inventory(lambda _, own: own.bios_date)),
        "microcode": _Fact(
            (CPUINFO,), _from_inventory(lambda snapshot, own: _by_package(snapshot, own.microcode_by_cpu))
        ),
    },
    FactClass.KERNEL: {
        "kernel": _Fact((RELEASE, VERSION), lambda snapshot: snapshot.platform.kernel),
        "kernel build": _Fact((BUILD, VERSION), lambda snapshot: snapshot.platform.kernel_build),
        "kernel options": _Fact((COMMAND_LINE,), _options),
        "tick": _Fact((PACKED,), _tick),
    },
    FactClass.SETTINGS: {
        "CPUs online": _Fact((f"{CPUS}/online",), lambda snapshot: _cpu_list(snapshot.online.online)),
        "SMT": _Fact((f"{_TOPOLOGY}/thread_siblings_list",), _smt),
        "frequency driver": _Fact((f"{_CPUFREQ}/scaling_driver",), lambda snapshot: snapshot.frequency.driver),
        "turbo": _Fact((f"{CPUS}/intel_pstate/no_turbo", f"{CPUS}/cpufreq/boost"), _turbo),
        "governor": _Fact((f"{_CPUFREQ}/scaling_governor",), _by_cpu(lambda clock: clock.governor)),
        "energy preference": _Fact(
            (f"{_CPUFREQ}/energy_performance_preference",), _by_cpu(lambda clock: clock.energy_preference)
        ),
        "lowest clock": _Fact((f"{_CPUFREQ}/scaling_min_freq",), _by_cpu(lambda clock: _khz(clock.min_khz))),
        "highest clock": _Fact((f"{_CPUFREQ}/scaling_max_freq",), _by_cpu(lambda clock: _khz(clock.max_khz))),
        "idle states": _Fact((f"{_CPU}/cpuidle",), _idle_states),
        "energy bias": _Fact((f"{_CPU}/power/energy_perf_bias",), _energy_bias),
        "power limits": _Fact((POWERCAP,), _power_limits),
        "uncore clock": _Fact((UNCORE,), _uncore_clock),
        "clock limit of the firmware": _Fact((f"{_CPUFREQ}/bios_limit",), _firmware_clock),
        "clock source": _Fact((CURRENT,), lambda snapshot: snapshot.settings.clock_source.current),
        "isolated CPUs": _Fact((f"{CPUS}/isolated",), lambda snapshot: _cpu_list(snapshot.isolation.isolated)),
        "tickless CPUs": _Fact((f"{CPUS}/nohz_full",), lambda snapshot: _cpu_list(snapshot.isolation.nohz_full)),
        "CPUs without RCU callbacks": _Fact(
            (COMMAND_LINE, f"{CPUS}/nohz_full"), lambda snapshot: _cpu_list(snapshot.isolation.rcu_nocbs)
        ),
        **{knob_name(knob): _Fact((str(knob),), partial(_knob, knob)) for knob in Knob},
    },
    FactClass.SURROUNDINGS: {
        "virtual machine": _Fact((CPUINFO, f"{DMI}/sys_vendor"), lambda snapshot: snapshot.platform.virtual),
        "container": _Fact(
            ("/.dockerenv", "/run/.containerenv", "/proc/self/cgroup"), lambda snapshot: snapshot.platform.container
        ),
        "mains power": _Fact((POWER,), _mains_power),
        "CPU quota": _Fact((MEMBERSHIP,), _cpu_quota),
    },
}
# names of facts that cover only the target CPUs and their packages
OF_TARGET = {"idle states", "energy bias", "power limits", "uncore clock", "clock limit of the firmware"}
