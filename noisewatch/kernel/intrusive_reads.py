"""The files that interrupt a CPU when read."""

from __future__ import annotations

import re
from collections.abc import Set
from functools import lru_cache

from noisewatch.patterns import regex
from noisewatch.records import dataclass


@dataclass(frozen=True, slots=True)
class IntrusiveRead:
    """A pattern of files; one without a CPU group concerns several CPUs.

    `until` is the first Linux without the interrupt.
    """

    words: re.Pattern[str]
    until: tuple[int, int] | None = None


# What interrupts a CPU by being read: files that the kernel answers on the CPU that they are about. Read when a run
# begins, or on request; never of a CPU while a benchmark may run there. The kernel's source has it:
#   arch/x86/kernel/cpu/aperfmperf.c     arch_freq_get_on_cpu: smp_call_function_single, and 10 ms of sleep, up to 5.18
#   arch/x86/kernel/cpu/proc.c           show_cpuinfo asks that of each CPU
#   drivers/cpufreq/cpufreq.c            show_cpuinfo_cur_freq asks the driver: acpi-cpufreq and powernow-k8 on the CPU
#   drivers/cpufreq/intel_pstate.c       show_base_frequency, intel_pstate_get_epp: rdmsrl_on_cpu
#   drivers/acpi/cppc_acpi.c             cppc_get_perf_caps, with arch/x86/kernel/acpi/cppc.c cpc_read_ffh
#   arch/x86/kernel/cpu/intel_epb.c      energy_perf_bias_show: rdmsrl_on_cpu
#   drivers/powercap/intel_rapl_msr.c    rapl_msr_read_raw: rdmsrl_safe_on_cpu
#   drivers/platform/x86/intel/uncore-frequency/uncore-frequency.c   uncore_read: rdmsrl_on_cpu
#   drivers/hwmon/coretemp.c             show_temp: rdmsr_on_cpu; only the chip's name tells its files (hwmon.py)
#   drivers/thermal/intel/x86_pkg_temp_thermal.c                     sys_get_curr_temp: rdmsr_on_cpu
#   arch/x86/kernel/msr.c                /dev/cpu/N/msr: rdmsr_safe_on_cpu
COUNTED_SINCE = (5, 19)  # commit 7d84c1ebf9dd: from then on x86 counts clocks at the tick, and asks no CPU
_CPU = "/sys/devices/system/cpu/cpu(?P<cpu>[0-9]+)"
INTRUSIVE = (
    IntrusiveRead(regex(f"{_CPU}/cpufreq/scaling_cur_freq"), COUNTED_SINCE),
    IntrusiveRead(regex("/proc/cpuinfo"), COUNTED_SINCE),
    IntrusiveRead(regex(f"{_CPU}/cpufreq/(cpuinfo_cur_freq|base_frequency|energy_performance_preference)")),
    IntrusiveRead(regex(f"{_CPU}/acpi_cppc/.+")),
    IntrusiveRead(regex(f"{_CPU}/power/energy_perf_bias")),
    IntrusiveRead(regex("/dev/cpu/(?P<cpu>[0-9]+)/msr")),
    IntrusiveRead(regex("/sys/class/powercap/intel-rapl.*/(enabled|.*_uw|.*_us|energy_uj)")),
    IntrusiveRead(regex("/sys/devices/system/cpu/intel_uncore_frequency/.*_khz")),
    IntrusiveRead(regex("/sys/class/thermal/thermal_zone[0-9]+/temp")),
)
_FOLDERS = ("/sys/devices/system/cpu/", "/sys/class/", "/dev/cpu/", "/proc/cpuinfo")  # quicker than all of them


def may_interrupt(path: str, cpus: Set[int] | None, release: tuple[int, int] | None) -> bool:
    """Return whether reading the file may interrupt one of `cpus` (None: any); an unknown release may be old."""
    if not path.startswith(_FOLDERS):
        return False
    for until, cpu in _intrusive_as(path):
        if (until is None or release is None or release < until) and (cpus is None or cpu is None or cpu in cpus):
            return True
    return False


@lru_cache(maxsize=1 << 14)  # the same few files of each CPU in each snapshot
def _intrusive_as(path: str) -> tuple[tuple[tuple[int, int] | None, int | None], ...]:
    """Return pairs of the first Linux without the interrupt (None: always) and the CPU (None: several)."""
    found = ((read.until, read.words.fullmatch(path)) for read in INTRUSIVE)
    cpu_by_until = ((until, match.groupdict().get("cpu")) for until, match in found if match is not None)
    return tuple((until, int(cpu) if cpu is not None else None) for until, cpu in cpu_by_until)
