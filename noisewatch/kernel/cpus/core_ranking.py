"""Which cores the firmware prefers, as they clock higher than their likes.

    /sys/devices/system/cpu/cpu3/cpufreq/amd_pstate_prefcore_ranking     231     (Linux 6.9)

https://docs.kernel.org/admin-guide/pm/amd-pstate.html. The kernel keeps the figure: acpi_cppc/highest_perf, which says
the same, may have to be asked of the CPU itself.
"""

from __future__ import annotations

from collections.abc import Mapping

from noisewatch.cpus import CpuSet
from noisewatch.kernel.frequency.folders import read_cpufreq_folders
from noisewatch.kernel.numbers import parse_count
from noisewatch.kernel.reader import Reader

_FILE = "amd_pstate_prefcore_ranking"
NAME = f"cpufreq/{_FILE}"


def read_core_ranking(reader: Reader, cpus: CpuSet) -> Mapping[int, int]:
    """The rank of each of the CPUs that has one; most machines rank none."""
    folders = read_cpufreq_folders(reader, sorted(cpus))
    ranks = {cpu: reader.parsed(f"{folder}/{_FILE}", parse_count, expected=False) for cpu, folder in folders.items()}
    return {cpu: rank for cpu, rank in ranks.items() if rank is not None and rank > 0}
