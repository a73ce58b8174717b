"""Each CPU's clock and its limits: cpufreq.

    /sys/devices/system/cpu/cpuN/cpufreq                       a link to ../cpufreq/policyM, which a copy may lack
    …/scaling_driver                                           acpi-cpufreq
    …/scaling_governor                                         performance
    …/{scaling_min_freq,scaling_max_freq,cpuinfo_min_freq,cpuinfo_max_freq,scaling_cur_freq}   kHz
    …/energy_performance_preference                            balance_performance
    /sys/devices/system/cpu/cpufreq/policyM/related_cpus       0 1 2 3          (affected_cpus: only online CPUs)
    /sys/devices/system/cpu/cpuN/acpi_cppc/nominal_freq        2600             MHz

https://docs.kernel.org/admin-guide/pm/cpufreq.html
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from noisewatch.cpus import CpuSet, parse_cpu_words
from noisewatch.errors import Malformed
from noisewatch.kernel.cpus.online import CPUS
from noisewatch.kernel.numbers import integer_from, parse_flag, parse_identifier, parse_khz
from noisewatch.kernel.reader import Reader, may_interrupt
from noisewatch.kernel.system.release import release_number
from noisewatch.patterns import regex

POLICIES = f"{CPUS}/cpufreq"
_POLICY = regex(r"policy[0-9]{1,5}")
_BOOST = f"{CPUS}/cpufreq/boost"
_OWN_KNOBS = ("boost", "cpb")  # files that switch turbo for a single CPU
INTEL_DRIVERS = frozenset({"intel_pstate", "intel_cpufreq"})  # one module in active and passive mode
NO_DRIVER = "none"
NO_PREFERENCE = "none"
_PREFERENCE = regex(r"[a-z_]{2,40}|\d{1,3}", re.ASCII)
_MOST_PREFERENCE = 255  # the largest number that fits into the register's byte
_MOST_MHZ = 20_000


def own_folder(cpu: int) -> str:
    """Return the CPU's cpufreq folder on a live machine."""
    return f"{CPUS}/cpu{cpu}/cpufreq"


def read_cpufreq_folders(reader: Reader, cpus: Collection[int]) -> Mapping[int, str]:
    """Return each CPU's cpufreq folder, or its policy's. CPUs without a folder are left out."""
    own = {cpu for cpu in cpus if reader.names_or_none(own_folder(cpu), expected=False) is not None}
    policies = _policy_folders(reader) if len(own) < len(cpus) else []
    shared = {cpu: folder for folder in policies for cpu in _cpus_of(reader, folder)}
    return {cpu: own_folder(cpu) if cpu in own else shared[cpu] for cpu in cpus if cpu in own or cpu in shared}


def read_any_driver(reader: Reader) -> str | None:
    """Return the driver of the first policy that reports one, else CPU 0's; None if unknown."""
    folders = [*_policy_folders(reader), own_folder(0)]
    drivers = (reader.parse(f"{folder}/scaling_driver", parse_identifier, expected=False) for folder in folders)
    return next((driver for driver in drivers if driver is not None), None)


def _policy_folders(reader: Reader) -> list[str]:
    names = reader.names_or_none(POLICIES, expected=False) or []
    return [f"{POLICIES}/{name}" for name in names if _POLICY.fullmatch(name)]


def _cpus_of(reader: Reader, folder: str) -> CpuSet:
    for name in ("related_cpus", "affected_cpus"):
        cpus = reader.parse(f"{folder}/{name}", parse_cpu_words, expected=False)
        if cpus:
            return cpus
    return frozenset()


class CpuFrequency(Struct, frozen=True):
    """One CPU's clock; None means unknown."""

    cpu: int
    governor: str | None = None
    current_khz: int | None = None
    min_khz: int | None = None
    max_khz: int | None = None
    hardware_min_khz: int | None = None
    hardware_max_khz: int | None = None
    base_khz: int | None = None  # without turbo, as reported by intel_pstate, or by firmware with CPPC
    energy_preference: str | None = None  # `none` if the driver accepts no preference
    driver: str | None = None

    @property
    def has_hwp(self) -> bool:
        """Whether the processor certainly chooses the clock itself (HWP): only then has Intel's driver a preference."""
        return self.driver in INTEL_DRIVERS and self.energy_preference not in (None, NO_PREFERENCE)


class Frequency(Struct, frozen=True):
    """The driver (`none` if the kernel has no driver), turbo and each CPU's clock. None means unknown."""

    driver: str | None
    turbo: str | None  # on, off
    turbo_path: str | None  # the file that reports turbo
    turbo_by_cpu: Mapping[int, bool]  # only if each CPU has its own knob, which outranks a global knob
    cpus: Mapping[int, CpuFrequency]
    folder_by_cpu: Mapping[int, str] = {}


def read_frequency(
    reader: Reader,
    cpus: CpuSet,
    undisturbed: CpuSet,
    release: str | None,
    previous: Frequency | None = None,
    first: Frequency | None = None,
) -> Frequency:
    """Return the clocks of `cpus`. Limits, which rarely change, are taken from `previous` if it has them.

    `first` is from the previous snapshot; for an unchanged clock, its object is returned again. For `undisturbed` CPUs,
    values that drivers read on the CPU itself are taken from `first`, and the current frequency is not read if that
    would interrupt the CPU.
    """
    settled = previous or _read_settled(reader, cpus, undisturbed, first)
    has_all_folders = settled.folder_by_cpu.keys() == cpus
    folders = settled.folder_by_cpu if has_all_folders else read_cpufreq_folders(reader, sorted(cpus))
    if previous is None or previous.turbo_path is None:
        turbo, turbo_path, turbo_by_cpu = settled.turbo, settled.turbo_path, settled.turbo_by_cpu
    else:
        own_names = () if previous.turbo_path == _BOOST else _OWN_KNOBS
        turbo, turbo_path, turbo_by_cpu = _read_turbo(reader, cpus, folders, own_names)
    clocks = {}
    is_harmless = _is_asking_harmless(reader, release_number(release))
    for cpu in sorted(cpus):
        earlier = first.cpus.get(cpu) if first is not None else None
        folder = folders.get(cpu)
        if folder is None:
            reader.names_or_none(own_folder(cpu))  # notes the reason
        limits = settled.cpus.get(cpu) or _read_limits(reader, cpu, folder, earlier if cpu in undisturbed else None)
        clock = _read_now(reader, limits, folder, is_harmless or cpu not in undisturbed)
        clocks[cpu] = earlier if earlier is not None and earlier == clock else clock
    return Frequency(settled.driver, turbo, turbo_path, turbo_by_cpu, clocks, folders)


def _read_settled(reader: Reader, cpus: CpuSet, undisturbed: CpuSet, first: Frequency | None) -> Frequency:
    """Return everything that rarely changes: all but governors and current frequencies."""
    earlier = first.cpus if first is not None else {}
    asked = {cpu: earlier[cpu] for cpu in sorted(undisturbed & earlier.keys())}
    earlier_values = tuple([(cpu, clock.base_khz, clock.energy_preference) for cpu, clock in asked.items()])

    def read() -> Frequency:
        folders = read_cpufreq_folders(reader, sorted(cpus))
        turbo = _read_turbo(reader, cpus, folders, _OWN_KNOBS)
        limits = {cpu: _read_limits(reader, cpu, folders.get(cpu), asked.get(cpu)) for cpu in sorted(cpus)}
        return Frequency(_read_driver(reader, cpus, folders), *turbo, limits, folders)

    return reader.make_or_reuse("limits of clocks", (cpus, earlier_values), read)


def _read_limits(reader: Reader, cpu: int, folder: str | None, asked: CpuFrequency | None) -> CpuFrequency:
    """Return one CPU's limits. `asked` contains the values that were already read on the CPU, if any."""
    if folder is None:
        return CpuFrequency(cpu)

    def khz(name: str, expected: bool = True) -> int | None:
        return reader.parse(f"{folder}/{name}", parse_khz, expected)

    lowest_khz, highest_khz = read_window(reader, f"{folder}/scaling_min_freq", f"{folder}/scaling_max_freq")
    limits = CpuFrequency(
        cpu,
        driver=reader.parse(f"{folder}/scaling_driver", parse_identifier, expected=False),
        min_khz=lowest_khz,
        max_khz=highest_khz,
        hardware_min_khz=khz("cpuinfo_min_freq"),
        hardware_max_khz=khz("cpuinfo_max_freq"),
        energy_preference=asked.energy_preference if asked is not None else _read_preference(reader, folder),
    )
    base_khz = asked.base_khz if asked is not None else khz("base_frequency", expected=False)
    # With HWP, cores with the same nominal clock may have different base clocks.
    if base_khz is None and asked is None and not limits.has_hwp:
        base_khz = _nominal_khz(reader, cpu)
    return replace(limits, base_khz=base_khz)


def read_window(reader: Reader, min_path: str, max_path: str) -> tuple[int | None, int | None]:
    """Return a clock's lowest and highest allowed frequency (kHz); both None if they contradict each other."""
    lowest, highest = reader.parse(min_path, parse_khz), reader.parse(max_path, parse_khz)
    if highest == 0 or (lowest is not None and highest is not None and lowest > highest):
        for path in (min_path, max_path):
            reader.note(path, f"no frequency is between the limits {lowest} and {highest} kHz")
        return None, None
    return lowest, highest


def _read_preference(reader: Reader, folder: str) -> str | None:
    path = f"{folder}/energy_performance_preference"
    preference = reader.parse(path, parse_preference, expected=False)
    return NO_PREFERENCE if preference is None and reader.is_absent(path) else preference


def parse_preference(text: str) -> str:
    """Return the energy preference, a word or a number. Raise Malformed."""
    stripped = text.strip()
    is_one = _PREFERENCE.fullmatch(stripped) is not None
    if not is_one or (stripped.isdecimal() and int(stripped) > _MOST_PREFERENCE):
        raise Malformed(f"a word such as balance_power, or a number from 0 to {_MOST_PREFERENCE}", stripped)
    return stripped


def _nominal_khz(reader: Reader, cpu: int) -> int | None:
    mhz = reader.parse(f"{CPUS}/cpu{cpu}/acpi_cppc/nominal_freq", integer_from(0, _MOST_MHZ), expected=False)
    return mhz * 1000 if mhz else None


def _read_now(reader: Reader, limits: CpuFrequency, folder: str | None, may_ask_current: bool) -> CpuFrequency:
    """Return the limits together with the governor and frequency, which may change at any time."""
    if folder is None:
        return limits
    governor_path, current_path = f"{folder}/scaling_governor", f"{folder}/scaling_cur_freq"
    if not may_ask_current:
        reader.note(current_path, "not read: it would interrupt the CPU (Linux before 5.19)")
    governor = reader.parse(governor_path, parse_identifier)
    current_khz = reader.parse(current_path, parse_khz) if may_ask_current else None
    if (governor, current_khz) == (limits.governor, limits.current_khz):
        return limits
    return replace(limits, governor=governor, current_khz=current_khz)


def _is_asking_harmless(reader: Reader, linux: tuple[int, int] | None) -> bool:
    """Return whether every CPU's current frequency can be read without interrupting the CPU."""
    return not reader.machine.is_live or not may_interrupt(f"{own_folder(0)}/scaling_cur_freq", None, linux)


def _read_driver(reader: Reader, cpus: CpuSet, folders: Mapping[int, str]) -> str | None:
    for folder in folders.values():
        driver = reader.parse(f"{folder}/scaling_driver", parse_identifier, expected=False)
        if driver is not None:
            return driver
    is_absent = bool(cpus) and not folders and all(_is_without_cpufreq(reader, cpu) for cpu in cpus)
    return NO_DRIVER if is_absent else None


def _is_without_cpufreq(reader: Reader, cpu: int) -> bool:
    """Return whether the CPU's folder is fully visible and contains no cpufreq."""
    return reader.is_absent(own_folder(cpu)) and "topology" in (
        reader.names_or_none(f"{CPUS}/cpu{cpu}", expected=False) or []
    )


def _read_turbo(
    reader: Reader, cpus: CpuSet, folders: Mapping[int, str], own_names: Sequence[str]
) -> tuple[str | None, str | None, Mapping[int, bool]]:
    """Return whether turbo is on, the knob's path, and the values of per-CPU knobs if these decide.

    intel_pstate/no_turbo is the only inverted knob. The policies' boost (Linux 6.11) and AMD's cpb are per CPU, and
    count as on if they are on for any of `cpus`; cpufreq/boost is global. `own_names` are the per-CPU knobs to read. If
    a knob exists but is neither 0 nor 1, turbo is unknown (None): the next knob may be stale or ignored.
    """
    no_turbo = f"{CPUS}/intel_pstate/no_turbo"
    is_off = reader.parse(no_turbo, parse_flag, expected=False)
    if is_off is not None:
        return ("off" if is_off else "on"), no_turbo, {}
    paths = [no_turbo]
    for name in own_names:
        path_by_cpu = {cpu: f"{folder}/{name}" for cpu, folder in folders.items()}
        values = {cpu: reader.parse(path, parse_flag, expected=False) for cpu, path in path_by_cpu.items()}
        own = {cpu: value for cpu, value in values.items() if value is not None}
        if own and len(own) == len(cpus):
            return ("on" if any(own.values()) else "off"), f"{CPUS}/cpuN/cpufreq/{name}", own
        paths += path_by_cpu.values()
    is_on = reader.parse(_BOOST, parse_flag, expected=False)
    if is_on is None or any(path in reader.reason_by_path for path in paths):
        return None, None, {}
    return ("on" if is_on else "off"), _BOOST, {}
