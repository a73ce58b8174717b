"""The CPU topology: each CPU's core, package, node, caches and kind of core.

    /sys/devices/system/cpu/cpuN/topology/thread_siblings_list   0,4      (also core_cpus_list, Linux 5.3)
    …/{core_cpus,thread_siblings}                                00000011 (the same, as masks)
    …/{core_id,physical_package_id}
    /sys/devices/system/cpu/smt/active                           1        (some core has two threads online)
    /sys/devices/system/cpu/cpuN/node0                           the CPU's node
    /sys/devices/system/node/node0/{cpulist,cpumap}              0-3, f
    /sys/devices/system/cpu/cpuN/cache/index3/{level,type,shared_cpu_list}
    /sys/devices/system/cpu/cpu0/cache/index2/{level,type,size}           2          Unified    1024K
    /sys/devices/system/cpu/cpuN/cpu_capacity                    1024     (ARM, and recent hybrid x86)
    /sys/devices/system/cpu/cpuN/cpufreq/amd_pstate_prefcore_ranking         231      (Linux 6.9)

https://docs.kernel.org/admin-guide/cputopology.html, https://docs.kernel.org/admin-guide/pm/amd-pstate.html,
https://docs.kernel.org/admin-guide/abi-testing.html. The ranking shows which cores the firmware prefers because they
clock higher than others. The kernel caches it; reading the same number from acpi_cppc/highest_perf may interrupt the
CPU. smt/active is 1 while the scheduler counts a core with two threads online (kernel/cpu.c, from Linux 5.0 on; 4.19
does not notice threads that go offline).

These files distinguish kinds of core, and show which kind is faster:

    /sys/devices/{cpu_core,cpu_atom,cpu_lowpower}/cpus           0-7          (hybrid Intel; the last from Linux 6.13)
    /sys/devices/system/cpu/cpuN/cpu_capacity                    1024         (ARM, and recent hybrid x86)
    /sys/devices/system/cpu/cpuN/acpi_cppc/highest_perf          61           (the firmware's scale)
    /sys/devices/system/cpu/cpuN/cpufreq/cpuinfo_max_freq        3900000      (kHz)
    /sys/devices/system/cpu/cpuN/regs/identification/midr_el1    0x00000000410fd0c0   (ARM; else /proc/cpuinfo)

The first files list the CPUs of perf's units (arch/x86/events/intel/core.c, intel_hybrid_pmu_type_map). Capacity,
performance and frequency show how strong a core is, and may be equal for different kinds. CPUs only count as one kind
if their designs are known and equal. An ARM part identifies a core's design. Both kinds of core in a hybrid x86
processor have the same model, but different caches. AMD's highest_perf is not used: it ranks equal cores
(amd-pstate.rst).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from noisewatch.cpus import (
    CpuSet,
    format_cpu_list,
    parse_cpu_list,
    parse_cpu_mask,
    parse_nonempty_cpu_list,
    parse_nonempty_cpu_mask,
)
from noisewatch.errors import Absent, Malformed, Unreadable
from noisewatch.kernel.cpus.cpuinfo import design, names_core
from noisewatch.kernel.cpus.online import CPUS, read_cpu_folders
from noisewatch.kernel.frequency.cpufreq import read_cpufreq_folders
from noisewatch.kernel.numbers import integer_from, parse_count, parse_flag, parse_hexadecimal, parse_khz, parse_word
from noisewatch.kernel.reader import Reader
from noisewatch.patterns import regex

PERFORMANCE, EFFICIENCY, ALL_ALIKE = "performance", "efficiency", "none"
_BIG = "cpu_core"
HYBRID = tuple(f"/sys/devices/{unit}/cpus" for unit in (_BIG, "cpu_atom", "cpu_lowpower"))
_RANKED_BY_FIRMWARE = ("AuthenticAMD", "HygonGenuine")
_CLEAR_GAP = 0.8  # cores of one kind differ by a few per cent (favoured cores), kinds by a quarter or more


def read_hybrid_units(reader: Reader) -> Mapping[int, str] | None:
    """Return each CPU's perf unit (hybrid Intel); empty without units, None if the units' lists are contradictory."""
    unit_by_cpu: dict[int, str] = {}
    lists = {path: reader.parse(path, parse_cpu_list, expected=False) for path in HYBRID}
    for path, cpus in lists.items():
        shared = (cpus or frozenset()) & unit_by_cpu.keys()
        if shared:
            reader.note(path, f"{format_cpu_list(shared)} is in it and in {unit_by_cpu[min(shared)]}")
            return None
        unit_by_cpu |= dict.fromkeys(cpus or (), path.split("/")[-2])
    if not unit_by_cpu and sum(cpus is not None for cpus in lists.values()) > 1:
        reader.note(HYBRID[0], f"no CPU is in it, nor in {HYBRID[1]}")
        return None
    return unit_by_cpu


def read_designs(
    reader: Reader, cpus: Sequence[int], designs: Mapping[int, str], units: Mapping[int, str] | None
) -> Mapping[int, str]:
    """Return each CPU's design: its hybrid unit, ARM part, or x86 model with caches. Unknown designs are left out.

    `designs` are from /proc/cpuinfo.
    """
    if units is None or units:
        return {cpu: units[cpu] for cpu in cpus if cpu in units} if units else {}
    design_by_cpu = {}
    for cpu in cpus:
        name = _read_part(reader, cpu) or designs.get(cpu)
        if name is not None and not names_core(name):
            caches = read_cache_sizes(reader, cpu)
            name = f"{name}, {caches}" if caches and caches != NO_CACHES else None
        if name is not None:
            design_by_cpu[cpu] = name
    return design_by_cpu


def _read_part(reader: Reader, cpu: int) -> str | None:
    path = f"{CPUS}/cpu{cpu}/regs/identification/midr_el1"
    register = reader.parse(path, parse_hexadecimal, expected=False)
    return None if register is None else design(register >> 24 & 0xFF, register >> 4 & 0xFFF)


def read_highest_performance(
    reader: Reader, cpus: Sequence[int], designs: Mapping[int, str], earlier: Mapping[int, int]
) -> Mapping[int, int]:
    """Return the CPUs' values on the firmware's scale; empty if designs are unknown, or the vendor ranks equal cores.

    Reading a value interrupts the CPU, so `earlier` values are not read again. While CPUs are spared, the result is
    empty unless all values are known.
    """
    if not designs or any(name.startswith(_RANKED_BY_FIRMWARE) for name in designs.values()):
        return {}
    if reader.spared is not None:
        return {cpu: earlier[cpu] for cpu in cpus} if earlier.keys() >= set(cpus) else {}
    return read_firmware_scale(reader, cpus, earlier)


def read_firmware_scale(reader: Reader, cpus: Sequence[int], earlier: Mapping[int, int]) -> Mapping[int, int]:
    """Return each CPU's maximum performance on the firmware's scale; CPUs without a value are left out.

    Values in `earlier` are not read again.
    """
    paths = {cpu: f"{CPUS}/cpu{cpu}/acpi_cppc/highest_perf" for cpu in cpus}
    values = {cpu: earlier.get(cpu) or reader.parse(path, parse_count, expected=False) for cpu, path in paths.items()}
    return {cpu: value for cpu, value in values.items() if value}


def read_kinds(
    reader: Reader,
    cpus: Sequence[int],
    units: Mapping[int, str] | None,
    designs: Mapping[int, str],
    capacities: Mapping[int, int | None],
    performance: Mapping[int, int],
) -> Mapping[int, str]:
    """Return each CPU's kind of core; CPUs of unknown kind are left out."""
    if units is None:
        return {}
    is_unit_hidden = any(path in reader.reason_by_path for path in HYBRID)  # exists, but cannot be read
    if len(set(units.values())) > 1 or is_unit_hidden:
        return {cpu: PERFORMANCE if unit == _BIG else EFFICIENCY for cpu, unit in units.items()}
    folders = read_cpufreq_folders(reader, cpus)
    limits = {
        cpu: reader.parse(f"{folder}/cpuinfo_max_freq", parse_khz, expected=False) for cpu, folder in folders.items()
    }
    strengths = (_positive_values(capacities), performance, _positive_values(limits))
    return kinds_of(cpus, [strength for strength in strengths if strength], designs)


def _positive_values(values: Mapping[int, int | None]) -> Mapping[int, int]:
    return {cpu: value for cpu, value in values.items() if value is not None and value > 0}


def kinds_of(
    cpus: Collection[int], strengths: Sequence[Mapping[int, int]], designs: Mapping[int, str]
) -> Mapping[int, str]:
    """Return each CPU's kind of core by the first of the `strengths` in which CPUs differ clearly.

    If a CPU's strength is unknown it may be the fastest, so only efficiency cores are returned.
    """
    is_complete = all(strength.keys() >= set(cpus) for strength in strengths)
    for strength in strengths:
        kinds = kinds_by_strength(strength)
        if ALL_ALIKE not in kinds.values():
            return kinds if is_complete else {cpu: kind for cpu, kind in kinds.items() if kind == EFFICIENCY}
    is_one_design = designs.keys() >= set(cpus) and len(set(designs.values())) == 1
    return dict.fromkeys(cpus, ALL_ALIKE) if strengths and is_complete and is_one_design else {}


def kinds_by_strength(strength_by_cpu: Mapping[int, int]) -> dict[int, str]:
    """Return each CPU's kind of core by its capacity, performance or highest frequency.

    Cores clearly weaker than the strongest one are efficiency cores, all others performance cores. If no core is
    clearly weaker, all are alike.
    """
    least = max(strength_by_cpu.values(), default=0) * _CLEAR_GAP
    if all(strength >= least for strength in strength_by_cpu.values()):
        return dict.fromkeys(strength_by_cpu, ALL_ALIKE)
    return {cpu: PERFORMANCE if strength >= least else EFFICIENCY for cpu, strength in strength_by_cpu.items()}


NODES = "/sys/devices/system/node"
_SMT = f"{CPUS}/smt/active"
_NODE = regex(r"node([0-9]{1,5})")
_UNDEFINED = -1  # the kernel's value if the architecture reports no package
_HOLD_DATA = ("Data", "Unified")
_parse_level = integer_from(1, 8)  # the limit of all architectures


class CpuPlace(Struct, frozen=True):
    """A CPU's place in the topology. None means unknown."""

    cpu: int
    core: int | None
    package: int | None
    node: int | None
    siblings: CpuSet | None  # the CPUs of its core, itself included
    last_level_cache: CpuSet | None
    kind: str | None  # performance, efficiency, or `none` if all cores are alike
    capacity: int | None  # the largest core has 1024
    design: str | None = None  # `0x41/0xd05`, an x86 model with its caches, or `cpu_atom`
    package_cpus: CpuSet | None = None  # the CPUs of its package; only read if the package has no number
    cache_level: int | None = None  # the last-level cache's level
    highest_performance: int | None = None  # on the firmware's scale, if the scale compares kinds of core

    @property
    def is_whole(self) -> bool:
        """Whether all fields that most machines report are known."""
        return None not in (self.core, self.package, self.node, self.siblings, self.last_level_cache, self.kind)


def read_topology(
    reader: Reader,
    online: CpuSet | None,
    designs: Mapping[int, str] | None = None,
    earlier: Mapping[int, CpuPlace] | None = None,
) -> Mapping[int, CpuPlace]:
    """Return the place of each online CPU that has a folder in sysfs.

    `designs` are from /proc/cpuinfo. Values whose reading interrupts a CPU are taken from `earlier` places.
    """
    folders = read_cpu_folders(reader)
    cpus = sorted(folders if online is None else folders & online)
    nodes = _read_nodes(reader)
    capacities = {cpu: reader.parse(f"{CPUS}/cpu{cpu}/cpu_capacity", parse_count, expected=False) for cpu in cpus}
    units = read_hybrid_units(reader)
    design_by_cpu = read_designs(reader, cpus, designs or {}, units)
    asked = {cpu: place.highest_performance for cpu, place in (earlier or {}).items() if place.highest_performance}
    performance = read_highest_performance(reader, cpus, design_by_cpu, asked)
    kinds = read_kinds(reader, cpus, units, design_by_cpu, capacities, performance)
    places = {
        cpu: replace(
            _read_place(reader, cpu, nodes, capacities[cpu], kinds.get(cpu)),
            design=design_by_cpu.get(cpu),
            highest_performance=performance.get(cpu),
        )
        for cpu in cpus
    }
    return (
        _clear_siblings(reader, places) if folders == frozenset(places) and _lacks_threads(reader, places) else places
    )


def _lacks_threads(reader: Reader, places: Mapping[int, CpuPlace]) -> bool:
    """Return whether no CPU lists a sibling although, for the scheduler, some core has two threads online."""
    are_alone = bool(places) and all(place.siblings == frozenset({cpu}) for cpu, place in places.items())
    return are_alone and reader.parse(_SMT, parse_flag, expected=False) is True


def _clear_siblings(reader: Reader, places: Mapping[int, CpuPlace]) -> Mapping[int, CpuPlace]:
    for cpu in places:
        path = f"{CPUS}/cpu{cpu}/topology/thread_siblings_list"
        reader.note(path, f"lists no sibling for any CPU, although {_SMT} is 1")
    return {cpu: replace(place, siblings=None) for cpu, place in places.items()}


def _read_place(reader: Reader, cpu: int, nodes: Mapping[int, int], capacity: int | None, kind: str | None) -> CpuPlace:
    folder = f"{CPUS}/cpu{cpu}/topology"
    package = reader.parse(f"{folder}/physical_package_id", integer_from(_UNDEFINED))
    is_numbered = package is not None and package != _UNDEFINED
    cache, level = _read_last_level_cache(reader, cpu)
    return CpuPlace(
        cpu=cpu,
        core=reader.parse(f"{folder}/core_id", integer_from(_UNDEFINED)),
        package=package if is_numbered else None,
        node=nodes[cpu] if cpu in nodes else _node_link(reader, cpu),
        siblings=_read_cpus(reader, folder, ("core_cpus", "thread_siblings")),
        last_level_cache=cache,
        kind=kind,
        capacity=capacity,
        package_cpus=None if is_numbered else _read_cpus(reader, folder, ("package_cpus", "core_siblings"), False),
        cache_level=level if cache is not None else None,
    )


def _read_cpus(reader: Reader, folder: str, names: tuple[str, str], expected: bool = True) -> CpuSet | None:
    """Return the CPUs listed under the newer or the older name, or the union if both are listed; None means unknown.

    Old kernels and lean copies have masks instead of lists.
    """
    lists = [reader.parse(f"{folder}/{name}_list", parse_nonempty_cpu_list, expected=False) for name in names]
    readable = [cpus for cpus in lists if cpus is not None]
    if readable:
        return frozenset().union(*readable)
    masks = (reader.parse(f"{folder}/{name}", parse_nonempty_cpu_mask, expected=False) for name in names)
    cpus = next((cpus for cpus in masks if cpus is not None), None)
    if cpus is not None:
        return cpus
    return reader.parse(f"{folder}/{names[-1]}_list", parse_nonempty_cpu_list, expected)  # notes the reason


def _read_nodes(reader: Reader) -> dict[int, int]:
    """Return each CPU's node from the nodes' lists or masks; CPUs in several nodes are left out."""
    node_by_cpu: dict[int, int] = {}
    doubtful: set[int] = set()
    for name in reader.names_or_none(NODES, expected=False) or []:
        match = _NODE.fullmatch(name)
        if match is None:
            continue
        cpus = reader.parse(f"{NODES}/{name}/cpulist", parse_cpu_list, expected=False)
        if cpus is None:
            cpus = reader.parse(f"{NODES}/{name}/cpumap", parse_cpu_mask, expected=False)
        doubtful.update(node_by_cpu.keys() & (cpus or frozenset()))
        node_by_cpu.update(dict.fromkeys(cpus or (), int(match[1])))
    if doubtful:
        reader.note(NODES, f"CPU {min(doubtful)} is in several nodes")
    return {cpu: node for cpu, node in node_by_cpu.items() if cpu not in doubtful}


def read_memory_nodes(reader: Reader) -> frozenset[int] | None:
    """Return the online nodes, including nodes without CPUs, or None if the kernel lists none."""
    names = reader.names_or_none(NODES, expected=False)
    matches = [_NODE.fullmatch(name) for name in names or ()]
    return frozenset(int(match[1]) for match in matches if match is not None) or None


def _node_link(reader: Reader, cpu: int) -> int | None:
    names = reader.names_or_none(f"{CPUS}/cpu{cpu}", expected=False) or []
    return next((int(match[1]) for name in names if (match := _NODE.fullmatch(name))), None)


def _read_last_level_cache(reader: Reader, cpu: int) -> tuple[CpuSet | None, int | None]:
    """Return the CPUs that share the last-level cache, and its level; None means unknown."""
    folder = f"{CPUS}/cpu{cpu}/cache"
    folder_by_level: dict[int, str] = {}
    data_levels: set[int] = set()
    for name in reader.names_or_none(folder) or []:
        if not name.startswith("index"):
            continue
        level = reader.parse(f"{folder}/{name}/level", _parse_level)
        if level is None:
            return None, None
        kind = reader.parse(f"{folder}/{name}/type", parse_word, expected=False)
        if kind != "Instruction":
            folder_by_level[level] = f"{folder}/{name}"
        if kind in _HOLD_DATA:
            if level in data_levels:
                reader.note(f"{folder}/{name}/level", f"a second data cache of level {level}")
                return None, None
            data_levels.add(level)
    if not folder_by_level:
        return None, None
    level = max(folder_by_level)
    highest = folder_by_level[level]
    shared = reader.parse(f"{highest}/shared_cpu_list", parse_nonempty_cpu_list, expected=False)
    if shared is None:
        shared = reader.parse(f"{highest}/shared_cpu_map", parse_nonempty_cpu_mask)  # before Linux 2.6.26
    return shared, level


def cache_names(topology: Mapping[int, CpuPlace]) -> Mapping[int, str]:
    """Return the name of each CPU's last-level cache: `L3#0`, numbered by first CPU. Unknown caches are left out."""
    count_by_level: dict[int, int] = {}
    names: dict[tuple[int, CpuSet], str] = {}
    name_by_cpu: dict[int, str] = {}
    for cpu, place in sorted(topology.items()):
        if place.last_level_cache is None or place.cache_level is None:
            continue
        cache = place.cache_level, place.last_level_cache
        if cache not in names:
            number = count_by_level.get(place.cache_level, 0)
            count_by_level[place.cache_level] = number + 1
            names[cache] = f"L{place.cache_level}#{number}"
        name_by_cpu[cpu] = names[cache]
    return name_by_cpu


def fastest_of(cpus: CpuSet, topology: Mapping[int, CpuPlace]) -> CpuSet:
    """Return the CPUs with the fastest kind of core; all CPUs if none is known to be slower than another.

    If performance cores have several designs, only those with the strongest core's design are fastest.
    """
    fast = [topology[cpu] for cpu in cpus if cpu in topology and topology[cpu].kind == PERFORMANCE]
    slow = {cpu for cpu in cpus if cpu in topology and topology[cpu].kind == EFFICIENCY}
    chosen = frozenset([place.cpu for place in fast]) or (cpus - slow) or cpus
    strongest = max(fast, key=lambda place: place.capacity or 0, default=None)
    if strongest is None or strongest.design is None or strongest.capacity is None:
        return chosen
    return frozenset([place.cpu for place in fast if place.design == strongest.design])


_FILE = "amd_pstate_prefcore_ranking"
NAME = f"cpufreq/{_FILE}"


def read_core_ranking(reader: Reader, cpus: CpuSet) -> Mapping[int, int]:
    """Return the CPUs' ranks; empty on most machines, which do not rank cores."""
    return reader.make_or_reuse("core ranking", cpus, lambda: _read_ranking(reader, cpus))


def _read_ranking(reader: Reader, cpus: CpuSet) -> Mapping[int, int]:
    folders = read_cpufreq_folders(reader, sorted(cpus))
    ranks = {cpu: reader.parse(f"{folder}/{_FILE}", parse_count, expected=False) for cpu, folder in folders.items()}
    return {cpu: rank for cpu, rank in ranks.items() if rank is not None and rank > 0}


NO_CACHES = "none"
_INDEX, _SIZE = regex(r"index\d{1,2}"), regex(r"(\d{1,9})K")
_LETTERS = {"Data": "d", "Instruction": "i", "Unified": ""}


def read_cache_sizes(reader: Reader, cpu: int) -> str | None:
    """Return the caches, such as `L1d 32K, L2 1024K`; NO_CACHES if the kernel lists none, None if any is unknown."""
    folder = f"{CPUS}/cpu{cpu}/cache"
    try:
        indexes = sorted(name for name in reader.names(folder, expected=False) if _INDEX.fullmatch(name))
    except Absent:
        return NO_CACHES
    except Unreadable:
        return None
    words = [_read_size(reader, f"{folder}/{index}") for index in indexes]
    return ", ".join(word for word in words if word) if None not in words else None


def _parse_size(text: str) -> str:
    """Return the size in the kernel's format, `1024K`. Raise Malformed."""
    size = text.strip()
    if _SIZE.fullmatch(size) is None:
        raise Malformed("a size such as 1024K", size)
    return size


def _read_size(reader: Reader, folder: str) -> str | None:
    level = reader.parse(f"{folder}/level", integer_from(1, 8), expected=False)
    kind = reader.parse(f"{folder}/type", parse_word, expected=False)
    size = reader.parse(f"{folder}/size", _parse_size, expected=False)
    return None if level is None or kind not in _LETTERS or size is None else f"L{level}{_LETTERS[kind]} {size}"
