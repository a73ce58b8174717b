"""Facts: what a machine is and how it is set, by class and name, to compare two moments or two machines.

Facts are never hashes, so that every difference has a name. Values that change by themselves are not compared. An
unknown fact (None) differs from no other: it is reported as unknown. Values of several CPUs, packages or zones are
grouped into one fact.

Limits of the target CPUs and their packages (power, clocks, CPU quota) are `none` if the kernel reports no such limit.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from noisewatch.cpus import CpuSet, format_cpu_list
from noisewatch.kernel.snapshot.knobs import Knob
from noisewatch.text import clean

if TYPE_CHECKING:
    from noisewatch.kernel.frequency.idle import IdleState
    from noisewatch.kernel.frequency.limits import UncoreDomain
    from noisewatch.kernel.frequency.powercap import PowerLimit
    from noisewatch.kernel.snapshot.snapshot import Snapshot
    from noisewatch.kernel.system.inventory import Inventory


ENERGY_BIAS, POWER_LIMITS, UNCORE_CLOCK = "energy bias", "power limits", "uncore clock"
FIRMWARE_CLOCK, CPU_QUOTA = "clock limit of the firmware", "CPU quota"
_NONE = "none"


def limit_settings(snapshot: Snapshot) -> dict[str, str | None]:
    """Return the limits of the target CPUs, by the names of the facts."""
    return {
        ENERGY_BIAS: _energy_bias(snapshot),
        POWER_LIMITS: _power_limits(snapshot),
        UNCORE_CLOCK: _uncore_clock(snapshot),
        FIRMWARE_CLOCK: _firmware_clock(snapshot),
    }


def cpu_quota(snapshot: Snapshot) -> str | None:
    """Return the quota of the cgroups above this process: `0.5 CPUs`."""
    share = snapshot.cgroup.cpu_quota_share
    return None if share is None else _NONE if math.isinf(share) else f"{share:g} CPUs"


def _energy_bias(snapshot: Snapshot) -> str | None:
    from noisewatch.kernel.snapshot.snapshot import bias_path  # with all that a snapshot reads

    energy_bias = snapshot.hardware.energy_bias
    paths = {cpu: bias_path(cpu) for cpu in sorted(snapshot.target.cpus)}
    return grouped(
        (cpu, _NONE if path in energy_bias.absent else energy_bias.word(path)) for cpu, path in paths.items()
    )


def _power_limits(snapshot: Snapshot) -> str | None:
    """Return `125 W`, or the limits by zone if they differ: `125 W (intel-rapl:0), off (intel-rapl-mmio:0)`."""
    limits = snapshot.hardware.power_limits
    if limits.zones is None or limits.unread is not None:
        return _NONE if limits.has_none else None
    return grouped_by_name({zone.path.split("/")[-2]: _power(zone) for zone in limits.zones})


def _power(zone: PowerLimit) -> str | None:
    if zone.is_enabled is None or (zone.is_enabled and zone.limit_uw is None):
        return None
    return f"{(zone.limit_uw or 0) / 1e6:g} W" if zone.is_enabled else "off"


def _uncore_clock(snapshot: Snapshot) -> str | None:
    """Return `400000 to 4000000 kHz`, or the clocks by domain if they differ."""
    uncore = snapshot.hardware.uncore
    if uncore.domains is None or not uncore.is_complete:
        return _NONE if uncore.is_absent else None
    return grouped_by_name({domain.path.split("/")[-1]: _clock(domain) for domain in uncore.domains})


def _clock(domain: UncoreDomain) -> str | None:
    if domain.min_khz is None or domain.max_khz is None:
        return None
    return f"{domain.min_khz} to {domain.max_khz} kHz"


def _firmware_clock(snapshot: Snapshot) -> str | None:
    """Return the clock limit of the firmware; `none` if the kernel does not report one."""
    caps = snapshot.settings.caps
    limits = {cpu: caps[cpu].limit_khz if cpu in caps else 0 for cpu in sorted(snapshot.target.cpus)}
    return grouped((cpu, None if khz is None else f"{khz} kHz" if khz else _NONE) for cpu, khz in limits.items())


def grouped(values: Iterable[tuple[int, str | None]], what: str = "CPU") -> str | None:
    """Return the value of all numbers, or the values with theirs: `performance (CPU 0-3), powersave (CPU 4-7)`.

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


def grouped_by_name(value_by_name: Mapping[str, str | None]) -> str | None:
    """Return the value of all names, or each name's: `125 W (intel-rapl:0), 100 W (intel-rapl:1)`.

    None if any value is unknown, or if there is none.
    """
    values = [value for value in value_by_name.values() if value is not None]
    if len(values) < len(value_by_name):
        return None
    if len(set(values)) == 1:
        return values[0]
    return ", ".join(f"{value} ({name})" for name, value in sorted(value_by_name.items())) or None


_ABSENT = "none"
_TOTAL_MEMORY = "MemTotal"
_LONGEST = 4096  # characters
_MEMORY = "memory"
_IDLE_STATES = "idle states"
OF_TARGET = {_IDLE_STATES, ENERGY_BIAS, POWER_LIMITS, UNCORE_CLOCK, FIRMWARE_CLOCK}  # and of their packages, alone
_SAME_MEMORY = 0.01  # what the firmware and the kernel keep for themselves changes with each release


class FactClass(StrEnum):
    """The part of a machine that would have had to change; in the order in which differences are listed."""

    IDENTITY = "identity"
    HARDWARE = "hardware"
    FIRMWARE = "firmware"
    KERNEL = "kernel"
    SETTINGS = "settings"
    SURROUNDINGS = "surroundings"


Facts = Mapping[FactClass, Mapping[str, str | None]]  # None is unknown


class FactDifference(NamedTuple):
    """A fact with two different values; "none" stands for an absent value."""

    of_class: FactClass
    name: str
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.name}: {self.before} → {self.after}"


def facts_of(snapshot: Snapshot) -> Facts:
    """Return all facts of the machine in the snapshot, which has to contain the inventory."""
    inventory = snapshot.inventory
    facts = {
        FactClass.IDENTITY: _identity(snapshot),
        FactClass.HARDWARE: _hardware(snapshot, inventory),
        FactClass.FIRMWARE: _firmware(snapshot, inventory),
        FactClass.KERNEL: _kernel(snapshot),
        FactClass.SETTINGS: _settings(snapshot),
        FactClass.SURROUNDINGS: _surroundings(snapshot),
    }
    return {of_class: {name: in_plain_words(fact) for name, fact in named.items()} for of_class, named in facts.items()}


def in_plain_words(fact: str | None) -> str | None:
    """Return the fact as one clean line of limited length, as it is compared, kept and shown."""
    return clean(" ".join(fact.split()))[:_LONGEST] if fact is not None else None


def differences(before: Facts, after: Facts) -> tuple[FactDifference, ...]:
    """Return the facts that are known on both sides and differ, in the order of the classes."""
    return tuple(
        FactDifference(of_class, name, one, other)
        for of_class in FactClass
        for name in _names(before, after, of_class)
        if (one := before.get(of_class, {}).get(name)) is not None
        and (other := after.get(of_class, {}).get(name)) is not None
        and not _are_same(name, one, other)
    )


def known_alone(facts: Facts, other: Facts) -> tuple[str, ...]:
    """Return the names of the facts that are known in `facts` and not in `other`."""
    return tuple(
        name
        for of_class in FactClass
        for name, value in facts.get(of_class, {}).items()
        if value is not None and other.get(of_class, {}).get(name) is None
    )


def unknown_on_one_side(before: Facts, after: Facts) -> tuple[str, ...]:
    """Return the names of the facts that are known on one side only."""
    return tuple(
        name
        for of_class in FactClass
        for name in _names(before, after, of_class)
        if (before.get(of_class, {}).get(name) is None) != (after.get(of_class, {}).get(name) is None)
    )


def _names(before: Facts, after: Facts, of_class: FactClass) -> list[str]:
    return list(dict.fromkeys([*before.get(of_class, {}), *after.get(of_class, {})]))


def _are_same(name: str, one: str, other: str) -> bool:
    if name != _MEMORY:
        return one == other
    first, second = _kb(one), _kb(other)
    return one == other if not first or not second else abs(second / first - 1) <= _SAME_MEMORY


def _kb(text: str) -> int:
    number = text.partition(" ")[0]
    return int(number) if number.isdecimal() else 0


def _identity(snapshot: Snapshot) -> dict[str, str | None]:
    platform = snapshot.platform
    names = [name for name in (platform.vendor, platform.product) if name]
    return {"board": " ".join(names) or None, "CPU model": platform.cpu_model}


def _hardware(snapshot: Snapshot, inventory: Inventory | None) -> dict[str, str | None]:
    memory = (snapshot.background.memory.kb_by_name or {}).get(_TOTAL_MEMORY)
    nodes = {place.node for place in snapshot.topology.values()}
    packages = {place.package for place in snapshot.topology.values()}
    return {
        "stepping": _by_package(snapshot, inventory.stepping_by_cpu) if inventory is not None else None,
        "CPUs present": _cpu_list(snapshot.online.present),
        "packages": str(len(packages)) if packages and None not in packages else None,
        "nodes": str(len(nodes)) if nodes and None not in nodes else None,
        "caches": _caches(snapshot, inventory) if inventory is not None else None,
        _MEMORY: f"{memory} kB" if memory is not None else None,
        "memory modules": inventory.memory_modules if inventory is not None else None,
    }


def _caches(snapshot: Snapshot, inventory: Inventory) -> str | None:
    """Return the caches by kind of core: `efficiency cores: L2 4096K; performance cores: …`.

    Where the cores of one kind differ, the CPUs are listed too.
    """
    by_kind: dict[str, dict[str, set[int]]] = {}
    for cpu, caches in inventory.caches_by_cpu.items():
        if caches is None:
            return None
        kind = snapshot.topology[cpu].kind or _ABSENT  # an unknown kind has no name that could change
        by_kind.setdefault(kind, {}).setdefault(caches, set()).add(cpu)
    return "; ".join(words for kind, cpus in sorted(by_kind.items()) for words in _of_kind(kind, cpus)) or None


def _of_kind(kind: str, cpus_by_caches: Mapping[str, set[int]]) -> Iterator[str]:
    for caches, cpus in sorted(cpus_by_caches.items(), key=lambda item: min(item[1])):
        which = [f"{kind} cores"] if kind != _ABSENT else []
        which += [f"CPU {format_cpu_list(cpus)}"] if len(cpus_by_caches) > 1 else []
        yield f"{', '.join(which)}: {caches}" if which else caches


def _firmware(snapshot: Snapshot, inventory: Inventory | None) -> dict[str, str | None]:
    if inventory is None:
        return {}
    microcode = _by_package(snapshot, inventory.microcode_by_cpu)
    return {"BIOS": inventory.bios, "BIOS date": inventory.bios_date, "microcode": microcode}


def _kernel(snapshot: Snapshot) -> dict[str, str | None]:
    platform = snapshot.platform
    options = platform.options
    vulnerabilities = platform.vulnerabilities.state_by_name
    facts: dict[str, str | None] = {
        "kernel": platform.kernel,
        "kernel build": platform.kernel_build,
        "kernel options": None if options is None else _options(options),
        "tick": f"{platform.tick_hz} Hz" if platform.tick_hz is not None else None,
    }
    return facts | {f"vulnerability {name}": state for name, state in sorted((vulnerabilities or {}).items())}


def _options(options: Mapping[str, tuple[str, ...]]) -> str:
    words = [f"{name}={value}" if value else name for name, values in sorted(options.items()) for value in values]
    return " ".join(words) or _ABSENT


def _settings(snapshot: Snapshot) -> dict[str, str | None]:
    frequency, isolation, settings = snapshot.frequency, snapshot.isolation, snapshot.settings
    cpus = frequency.cpus.values()
    siblings = [place.siblings for place in snapshot.topology.values()]
    facts: dict[str, str | None] = {
        "CPUs online": _cpu_list(snapshot.online.online),
        "SMT": None if None in siblings or not siblings else _on(any(len(threads or ()) > 1 for threads in siblings)),
        "frequency driver": frequency.driver,
        "turbo": _turbo(snapshot),
        "governor": grouped((clock.cpu, clock.governor) for clock in cpus),
        "energy preference": grouped((clock.cpu, clock.energy_preference) for clock in cpus),
        "lowest clock": grouped((clock.cpu, _khz(clock.min_khz)) for clock in cpus),
        "highest clock": grouped((clock.cpu, _khz(clock.max_khz)) for clock in cpus),
        _IDLE_STATES: _idle_states(snapshot),
        **limit_settings(snapshot),
        "clock source": settings.clock_source.current,
        "isolated CPUs": _cpu_list(isolation.isolated),
        "tickless CPUs": _cpu_list(isolation.nohz_full),
        "CPUs without RCU callbacks": _cpu_list(isolation.rcu_nocbs),
    }
    return facts | {knob_name(knob): _knob(snapshot, knob) for knob in Knob}


def _turbo(snapshot: Snapshot) -> str | None:
    frequency = snapshot.frequency
    if frequency.turbo_by_cpu:
        return grouped((cpu, _on(is_on)) for cpu, is_on in frequency.turbo_by_cpu.items())
    return frequency.turbo


def knob_name(knob: Knob) -> str:
    """Return the name of the knob's fact: `kernel.nmi_watchdog` as in sysctl(8), or the path."""
    return knob.removeprefix("/proc/sys/").replace("/", ".") if knob.startswith("/proc/sys/") else str(knob)


def _knob(snapshot: Snapshot, knob: Knob) -> str | None:
    knobs = snapshot.settings.knobs
    word = knobs.word(knob)
    return _ABSENT if knob in knobs.absent else None if word is None else " ".join(word.split())


def _idle_states(snapshot: Snapshot) -> str | None:
    """Return the enabled idle states of the target CPUs."""
    idle = snapshot.settings.idle.cpus
    return grouped((cpu, _enabled(cpu_idle.states)) for cpu, cpu_idle in idle.items())


def _enabled(states: Sequence[IdleState] | None) -> str | None:
    if states is None or any(state.name is None or state.is_disabled is None for state in states):
        return None
    return " ".join(str(state.name) for state in states if not state.is_disabled) or _ABSENT


def _surroundings(snapshot: Snapshot) -> dict[str, str | None]:
    platform, settings = snapshot.platform, snapshot.settings
    power = settings.mains_power.is_on
    return {
        "virtual machine": platform.virtual,
        "container": platform.container,
        "mains power": power if isinstance(power, str) else None if power is None else _on(power),
        CPU_QUOTA: cpu_quota(snapshot),
    }


def _khz(khz: int | None) -> str | None:
    return f"{khz} kHz" if khz is not None else None


def _on(is_on: bool) -> str:
    return "on" if is_on else "off"


def _cpu_list(cpus: CpuSet | None) -> str | None:
    return None if cpus is None else format_cpu_list(cpus) or _ABSENT


def _by_package(snapshot: Snapshot, value_by_cpu: Mapping[int, str | None]) -> str | None:
    """Return the values by package: `0x8001227 (package 0), 0x8001100 (package 1)`.

    Where the CPUs of a package differ, the values are listed by CPU.
    """
    places = snapshot.topology
    package_by_cpu = {cpu: place.package for cpu in value_by_cpu if (place := places.get(cpu)) is not None}
    pairs = {(package, value_by_cpu[cpu]) for cpu, package in package_by_cpu.items() if package is not None}
    is_of_packages = len({package for package, _ in pairs}) == len(pairs)
    if is_of_packages and len(package_by_cpu) == len(value_by_cpu) and None not in package_by_cpu.values():
        return grouped(((package, value) for package, value in pairs), "package")
    return grouped(value_by_cpu.items())
