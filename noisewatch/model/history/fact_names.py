"""The names of all facts, by class, and the files that each is read from; `{cpu}` stands for each CPU's number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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
from noisewatch.model.history.facts import (
    CPU_QUOTA,
    ENERGY_BIAS,
    FIRMWARE_CLOCK,
    POWER_LIMITS,
    UNCORE_CLOCK,
    FactClass,
    knob_name,
)

_VULNERABILITY = "vulnerability "
_CPU = f"{CPUS}/cpu{{cpu}}"
_TOPOLOGY, _CPUFREQ = f"{_CPU}/topology", f"{_CPU}/cpufreq"

PATHS: Mapping[FactClass, Mapping[str, Sequence[str]]] = {
    FactClass.IDENTITY: {
        "board": (f"{DMI}/sys_vendor", f"{DMI}/product_name"),
        "CPU model": (CPUINFO,),
    },
    FactClass.HARDWARE: {
        "stepping": (CPUINFO,),
        "CPUs present": (f"{CPUS}/present",),
        "packages": (f"{_TOPOLOGY}/physical_package_id",),
        "nodes": ("/sys/devices/system/node",),
        "caches": (f"{_CPU}/cache",),
        "memory": (MEMINFO,),
        "memory modules": (CONTROLLERS,),
    },
    FactClass.FIRMWARE: {
        "BIOS": (f"{DMI}/bios_version",),
        "BIOS date": (f"{DMI}/bios_date",),
        "microcode": (CPUINFO,),
    },
    FactClass.KERNEL: {
        "kernel": (RELEASE, VERSION),
        "kernel build": (BUILD, VERSION),
        "kernel options": (COMMAND_LINE,),
        "tick": (PACKED,),
    },
    FactClass.SETTINGS: {
        "CPUs online": (f"{CPUS}/online",),
        "SMT": (f"{_TOPOLOGY}/thread_siblings_list",),
        "frequency driver": (f"{_CPUFREQ}/scaling_driver",),
        "turbo": (f"{CPUS}/intel_pstate/no_turbo", f"{CPUS}/cpufreq/boost"),
        "governor": (f"{_CPUFREQ}/scaling_governor",),
        "energy preference": (f"{_CPUFREQ}/energy_performance_preference",),
        "lowest clock": (f"{_CPUFREQ}/scaling_min_freq",),
        "highest clock": (f"{_CPUFREQ}/scaling_max_freq",),
        "idle states": (f"{_CPU}/cpuidle",),
        ENERGY_BIAS: (f"{_CPU}/power/energy_perf_bias",),
        POWER_LIMITS: (POWERCAP,),
        UNCORE_CLOCK: (UNCORE,),
        FIRMWARE_CLOCK: (f"{_CPUFREQ}/bios_limit",),
        "clock source": (CURRENT,),
        "isolated CPUs": (f"{CPUS}/isolated",),
        "tickless CPUs": (f"{CPUS}/nohz_full",),
        "CPUs without RCU callbacks": (COMMAND_LINE, f"{CPUS}/nohz_full"),
        **{knob_name(knob): (str(knob),) for knob in Knob},
    },
    FactClass.SURROUNDINGS: {
        "virtual machine": (CPUINFO, f"{DMI}/sys_vendor"),
        "container": ("/.dockerenv", "/run/.containerenv", "/proc/self/cgroup"),
        "mains power": (POWER,),
        CPU_QUOTA: (MEMBERSHIP,),
    },
}


def paths_of(of_class: FactClass, name: str) -> Sequence[str] | None:
    """Return the files that the fact is read from, or None if there is no such fact.

    The names of vulnerabilities differ from kernel to kernel, and all of them are facts.
    """
    if of_class == FactClass.KERNEL and name.startswith(_VULNERABILITY):
        return (f"{VULNERABILITIES}/{name.removeprefix(_VULNERABILITY)}",)
    return PATHS[of_class].get(name)
