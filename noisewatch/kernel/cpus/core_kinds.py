"""The kinds of core of a machine: what distinguishes CPUs, and which of them are the faster ones.

    /sys/devices/{cpu_core,cpu_atom,cpu_lowpower}/cpus           0-7          (hybrid Intel; the last from Linux 6.13)
    /sys/devices/system/cpu/cpuN/cpu_capacity                    1024         (ARM, and recent hybrid x86)
    /sys/devices/system/cpu/cpuN/acpi_cppc/highest_perf          61           (the firmware's scale)
    /sys/devices/system/cpu/cpuN/cpufreq/cpuinfo_max_freq        3900000      (kHz)
    /sys/devices/system/cpu/cpuN/regs/identification/midr_el1    0x00000000410fd0c0   (ARM; else /proc/cpuinfo)

The lists are of perf's units (arch/x86/events/intel/core.c, intel_hybrid_pmu_type_map). Capacity, performance and
frequency show how strong a core is, not what it is: kinds of core may be equal in them. So CPUs are of one kind only
where their designs are known and equal. An ARM part is the design of a core; both kinds of a hybrid x86 processor have
one model, and differ in their caches. AMD's highest_perf ranks equal cores (amd-pstate.rst), and is not used.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from noisewatch.cpus import format_cpu_list, parse_cpu_list
from noisewatch.kernel.cpus.cache_sizes import NO_CACHES, read_cache_sizes
from noisewatch.kernel.cpus.cpuinfo import design, names_core
from noisewatch.kernel.cpus.online import CPUS
from noisewatch.kernel.frequency.cpufreq import read_cpufreq_folders
from noisewatch.kernel.numbers import parse_count, parse_hexadecimal, parse_khz
from noisewatch.kernel.reader import Reader

PERFORMANCE, EFFICIENCY, ALL_ALIKE = "performance", "efficiency", "none"
_BIG = "cpu_core"
HYBRID = tuple(f"/sys/devices/{unit}/cpus" for unit in (_BIG, "cpu_atom", "cpu_lowpower"))
_RANKED_BY_FIRMWARE = ("AuthenticAMD", "HygonGenuine")
_CLEAR_GAP = 0.8  # cores of one kind differ by a few per cent (favoured cores), kinds by a quarter and more


def read_hybrid_units(reader: Reader) -> Mapping[int, str] | None:
    """Return the unit that lists each CPU, empty where no unit exists; None if the lists contradict each other."""
    unit_by_cpu: dict[int, str] = {}
    lists = {path: reader.parsed(path, parse_cpu_list, expected=False) for path in HYBRID}
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
    """Return the known designs by CPU, which distinguish kinds of core: hybrid unit, ARM part, or x86 model with
    caches.

    `designs` are those of /proc/cpuinfo.
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
    register = reader.parsed(path, parse_hexadecimal, expected=False)
    return None if register is None else design(register >> 24 & 0xFF, register >> 4 & 0xFFF)


def read_highest_performance(
    reader: Reader, cpus: Sequence[int], designs: Mapping[int, str], known: Mapping[int, int]
) -> Mapping[int, int]:
    """Return the firmware's scale of CPUs whose vendor does not rank equal cores by it.

    Reading it interrupts the CPU: `known` values are not read again, and without all of them the scale is not used
    while nothing may be interrupted.
    """
    if not designs or any(name.startswith(_RANKED_BY_FIRMWARE) for name in designs.values()):
        return {}
    if reader.spared is not None:
        return {cpu: known[cpu] for cpu in cpus} if known.keys() >= set(cpus) else {}
    paths = {cpu: f"{CPUS}/cpu{cpu}/acpi_cppc/highest_perf" for cpu in cpus}
    values = {cpu: known.get(cpu) or reader.parsed(path, parse_count, expected=False) for cpu, path in paths.items()}
    return {cpu: value for cpu, value in values.items() if value}


def read_kinds(
    reader: Reader,
    cpus: Sequence[int],
    units: Mapping[int, str] | None,
    designs: Mapping[int, str],
    capacities: Mapping[int, int | None],
    performance: Mapping[int, int],
) -> Mapping[int, str]:
    """Return the kind of each CPU; a CPU whose kind is unknown is missing."""
    if units is None:
        return {}
    is_unit_hidden = any(path in reader.reason_by_path for path in HYBRID)  # it exists, and cannot be read
    if len(set(units.values())) > 1 or is_unit_hidden:
        return {cpu: PERFORMANCE if unit == _BIG else EFFICIENCY for cpu, unit in units.items()}
    folders = read_cpufreq_folders(reader, cpus)
    limits = {
        cpu: reader.parsed(f"{folder}/cpuinfo_max_freq", parse_khz, expected=False) for cpu, folder in folders.items()
    }
    strengths = (_positive(capacities), performance, _positive(limits))
    return kinds_of(cpus, [strength for strength in strengths if strength], designs)


def _positive(values: Mapping[int, int | None]) -> Mapping[int, int]:
    return {cpu: value for cpu, value in values.items() if value is not None and value > 0}


def kinds_of(
    cpus: Collection[int], strengths: Sequence[Mapping[int, int]], designs: Mapping[int, str]
) -> Mapping[int, str]:
    """Return the kinds by the first strength in which CPUs differ clearly.

    A CPU of unknown strength may be the fastest one: then no other is known to be a performance core.
    """
    is_complete = all(strength.keys() >= set(cpus) for strength in strengths)
    for strength in strengths:
        kinds = kinds_by_strength(strength)
        if ALL_ALIKE not in kinds.values():
            return kinds if is_complete else {cpu: kind for cpu, kind in kinds.items() if kind == EFFICIENCY}
    is_one_design = designs.keys() >= set(cpus) and len(set(designs.values())) == 1
    return dict.fromkeys(cpus, ALL_ALIKE) if strengths and is_complete and is_one_design else {}


def kinds_by_strength(strength_by_cpu: Mapping[int, int]) -> dict[int, str]:
    """Return the kinds by capacity, performance or highest frequency: one kind unless the weakest is clearly weaker.

    Cores that are not clearly weaker than the strongest one are performance cores, all others efficiency cores.
    """
    least = max(strength_by_cpu.values(), default=0) * _CLEAR_GAP
    if all(strength >= least for strength in strength_by_cpu.values()):
        return dict.fromkeys(strength_by_cpu, ALL_ALIKE)
    return {cpu: PERFORMANCE if strength >= least else EFFICIENCY for cpu, strength in strength_by_cpu.items()}
