"""How far firmware lets the clock of each target CPU go.

    /sys/devices/system/cpu/cpuN/cpufreq/bios_limit                      2100000            kHz
    /sys/devices/system/cpu/cpuN/cpufreq/scaling_available_frequencies   2100000 1400000    kHz, without turbo

https://docs.kernel.org/admin-guide/pm/cpufreq.html; both are told by acpi-cpufreq, the first by amd-pstate too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from noisewatch.cpus import CpuSet
from noisewatch.errors import Malformed
from noisewatch.kernel.frequency.folders import own_folder, read_cpufreq_folders
from noisewatch.kernel.numbers import parse_khz
from noisewatch.kernel.reader import Reader


@dataclass(frozen=True, slots=True)
class FrequencyCap:
    """What firmware allows, and the highest frequency of its own table, in kHz. None is unknown, or not told."""

    limit_khz: int | None
    highest_khz: int | None


def cap_path(cpu: int) -> str:
    """The file with firmware's limit."""
    return f"{own_folder(cpu)}/bios_limit"


def parse_frequencies(text: str) -> tuple[int, ...]:
    """The frequencies of a table. Raises Malformed."""
    words = text.split()
    if not words:
        raise Malformed("frequencies in kHz", text.strip())
    return tuple(map(parse_khz, words))


def read_frequency_caps(reader: Reader, target: CpuSet) -> Mapping[int, FrequencyCap]:
    """The caps by CPU; one that is missing is known to have none."""
    caps: dict[int, FrequencyCap] = {}
    folders = read_cpufreq_folders(reader, sorted(target))
    for cpu in sorted(target):
        folder = folders.get(cpu, own_folder(cpu))
        path = f"{folder}/bios_limit"
        limit_khz = reader.parsed(path, parse_khz, expected=False)
        if limit_khz is None:
            if not reader.is_absent(path):
                caps[cpu] = FrequencyCap(None, None)
            continue
        table = reader.parsed(f"{folder}/scaling_available_frequencies", parse_frequencies, expected=False)
        caps[cpu] = FrequencyCap(limit_khz, max(table) if table else None)
    return caps
