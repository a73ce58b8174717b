"""Settings of the kernel that are one value in one file each.

    /proc/sys/kernel/nmi_watchdog              0
    /sys/kernel/mm/ksm/run                     0
    /sys/kernel/mm/transparent_hugepage/enabled   always [madvise] never

https://docs.kernel.org/admin-guide/sysctl/ and the page of each; what a value means is the business of its check.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from noisewatch.errors import Absent, Malformed, Unreadable
from noisewatch.sources.numbers import parse_integer
from noisewatch.sources.reader import Reader


class Knob(StrEnum):
    """The files that are read, by what they set."""

    NMI_WATCHDOG = "/proc/sys/kernel/nmi_watchdog"
    WATCHDOG = "/proc/sys/kernel/watchdog"
    SOFT_WATCHDOG = "/proc/sys/kernel/soft_watchdog"
    WATCHDOG_CPUS = "/proc/sys/kernel/watchdog_cpumask"
    WATCHDOG_THRESHOLD = "/proc/sys/kernel/watchdog_thresh"
    TIMER_MIGRATION = "/proc/sys/kernel/timer_migration"
    REALTIME_RUNTIME = "/proc/sys/kernel/sched_rt_runtime_us"
    REALTIME_PERIOD = "/proc/sys/kernel/sched_rt_period_us"
    AUTOGROUP = "/proc/sys/kernel/sched_autogroup_enabled"
    SCHEDULER_STATISTICS = "/proc/sys/kernel/sched_schedstats"
    DELAY_ACCOUNTING = "/proc/sys/kernel/task_delayacct"
    STACK_TRACER = "/proc/sys/kernel/stack_tracer_enabled"
    BPF_STATISTICS = "/proc/sys/kernel/bpf_stats_enabled"
    NUMA_BALANCING = "/proc/sys/kernel/numa_balancing"
    ADDRESS_RANDOMISATION = "/proc/sys/kernel/randomize_va_space"
    PERF_PARANOID = "/proc/sys/kernel/perf_event_paranoid"
    PERF_SAMPLE_RATE = "/proc/sys/kernel/perf_event_max_sample_rate"
    PRINTK = "/proc/sys/kernel/printk"

    STAT_INTERVAL = "/proc/sys/vm/stat_interval"
    SWAPPINESS = "/proc/sys/vm/swappiness"
    ZONE_RECLAIM = "/proc/sys/vm/zone_reclaim_mode"
    COMPACTION = "/proc/sys/vm/compaction_proactiveness"

    THP_ENABLED = "/sys/kernel/mm/transparent_hugepage/enabled"
    THP_DEFRAG = "/sys/kernel/mm/transparent_hugepage/defrag"
    KHUGEPAGED_SLEEP = "/sys/kernel/mm/transparent_hugepage/khugepaged/scan_sleep_millisecs"
    KSM_RUN = "/sys/kernel/mm/ksm/run"

    SCHED_EXT_STATE = "/sys/kernel/sched_ext/state"
    SCHED_EXT_OPS = "/sys/kernel/sched_ext/root/ops"

    IDLE_DRIVER = "/sys/devices/system/cpu/cpuidle/current_driver"
    IDLE_GOVERNOR = "/sys/devices/system/cpu/cpuidle/current_governor"
    PSTATE_STATUS = "/sys/devices/system/cpu/intel_pstate/status"
    PSTATE_MIN_PERF = "/sys/devices/system/cpu/intel_pstate/min_perf_pct"
    PSTATE_MAX_PERF = "/sys/devices/system/cpu/intel_pstate/max_perf_pct"
    PSTATE_DYNAMIC_BOOST = "/sys/devices/system/cpu/intel_pstate/hwp_dynamic_boost"
    PLATFORM_PROFILE = "/sys/firmware/acpi/platform_profile"
    PLATFORM_PROFILES = "/sys/firmware/acpi/platform_profile_choices"
    MACHINE_CHECK_INTERVAL = "/sys/devices/system/machinecheck/machinecheck0/check_interval"
    MACHINE_CHECK_IGNORED = "/sys/devices/system/machinecheck/machinecheck0/ignore_ce"

    LOCKDOWN = "/sys/kernel/security/lockdown"
    SECURITY_MODULES = "/sys/kernel/security/lsm"
    CURSOR_BLINK = "/sys/class/graphics/fbcon/cursor_blink"
    RPS_DEFAULT = "/proc/sys/net/core/rps_default_mask"

    @property
    def is_of_hardware(self) -> bool:
        """Whether it sets the processor or the firmware, which in a virtual machine are the host's."""
        return self.startswith(("/sys/devices/system/", "/sys/firmware/"))


@dataclass(frozen=True, slots=True)
class Knobs:
    """What each file says; one that is neither here nor known to be absent is unknown."""

    text_by_path: Mapping[str, str]
    absent: frozenset[str]

    def integer(self, path: str) -> int | None:
        """The whole number in the file; None is unknown, or absent."""
        try:
            return parse_integer(self.text_by_path[path])
        except (KeyError, Malformed):
            return None

    def word(self, path: str) -> str | None:
        """The text of the file, or of several words the one in brackets; None is unknown, or absent."""
        text = self.text_by_path.get(path)
        if text is None:
            return None
        chosen = [word[1:-1] for word in text.split() if word.startswith("[") and word.endswith("]")]
        return chosen[0] if chosen else text


def read_knobs(reader: Reader, paths: Iterable[str] = Knob) -> Knobs:
    """The files, each of which may be missing: kernels differ."""
    text_by_path: dict[str, str] = {}
    absent: set[str] = set()
    for path in paths:
        try:
            text_by_path[path] = reader.text(path, expected=False).strip(" \t\r\n\0")
        except Absent:
            absent.add(path)
        except Unreadable:
            continue
    return Knobs(text_by_path, frozenset(absent))
