"""Where cpufreq keeps the files of each CPU: by itself, or by the policy that it shares with others.

    /sys/devices/system/cpu/cpuN/cpufreq            a link to ../cpufreq/policyM, which a copy may lack
    /sys/devices/system/cpu/cpufreq/policyM/related_cpus     0 1 2 3      (affected_cpus: those that are online)

https://docs.kernel.org/admin-guide/pm/cpufreq.html
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from noisewatch.cpus import CpuSet, parse_cpu_words
from noisewatch.kernel.numbers import parse_identifier
from noisewatch.kernel.reader import Reader

CPUS = "/sys/devices/system/cpu"
POLICIES = f"{CPUS}/cpufreq"
_POLICY = re.compile(r"policy[0-9]{1,5}")


def own_folder(cpu: int) -> str:
    """The folder as a live machine has it."""
    return f"{CPUS}/cpu{cpu}/cpufreq"


def read_cpufreq_folders(reader: Reader, cpus: Collection[int]) -> Mapping[int, str]:
    """The folder of each CPU that has one."""
    own = {cpu for cpu in cpus if reader.names_or_none(own_folder(cpu), expected=False) is not None}
    shared = _read_policies(reader) if len(own) < len(cpus) else {}
    return {cpu: own_folder(cpu) if cpu in own else shared[cpu] for cpu in cpus if cpu in own or cpu in shared}


def read_any_driver(reader: Reader) -> str | None:
    """The driver of the first policy that tells one, or else of CPU 0."""
    folders = [*_policy_folders(reader), own_folder(0)]
    drivers = (reader.parsed(f"{folder}/scaling_driver", parse_identifier, expected=False) for folder in folders)
    return next((driver for driver in drivers if driver is not None), None)


def _read_policies(reader: Reader) -> Mapping[int, str]:
    return {cpu: folder for folder in _policy_folders(reader) for cpu in _cpus_of(reader, folder)}


def _policy_folders(reader: Reader) -> list[str]:
    names = reader.names_or_none(POLICIES, expected=False) or []
    return [f"{POLICIES}/{name}" for name in names if _POLICY.fullmatch(name)]


def _cpus_of(reader: Reader, folder: str) -> CpuSet:
    for name in ("related_cpus", "affected_cpus"):
        cpus = reader.parsed(f"{folder}/{name}", parse_cpu_words, expected=False)
        if cpus:
            return cpus
    return frozenset()
