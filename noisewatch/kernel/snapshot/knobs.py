"""Kernel settings with one value in one file each.

    /proc/sys/kernel/nmi_watchdog              0
    /sys/kernel/mm/ksm/run                     0
    /sys/kernel/mm/transparent_hugepage/enabled   always [madvise] never

https://docs.kernel.org/admin-guide/sysctl/ and its pages; the checks interpret the values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum

from msgspec import Struct

from noisewatch.cpus import parse_cpu_mask, parse_nonempty_cpu_list
from noisewatch.errors import Absent, Malformed, Unreadable
from noisewatch.kernel.numbers import (
    MOST_INT,
    MOST_UNSIGNED,
    are_counts,
    bare,
    integer_from,
    parse_flag,
    parse_identifier,
    parse_identifiers,
    parse_integer,
    parse_word,
)
from noisewatch.kernel.reader import Reader

Parse = Callable[[str], object]


class Knob(StrEnum):
    """The settings, each with its file."""

    NMI_WATCHDOG = "/proc/sys/kernel/nmi_watchdog"
    WATCHDOG = "/proc/sys/kernel/watchdog"
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
    ZONE_RECLAIM = "/proc/sys/vm/zone_reclaim_mode"
    COMPACTION = "/proc/sys/vm/compaction_proactiveness"

    THP_ENABLED = "/sys/kernel/mm/transparent_hugepage/enabled"
    THP_DEFRAG = "/sys/kernel/mm/transparent_hugepage/defrag"
    KHUGEPAGED_SLEEP = "/sys/kernel/mm/transparent_hugepage/khugepaged/scan_sleep_millisecs"
    KSM_RUN = "/sys/kernel/mm/ksm/run"

    SCHED_EXT_STATE = "/sys/kernel/sched_ext/state"
    SCHED_EXT_OPS = "/sys/kernel/sched_ext/root/ops"

    IDLE_DRIVER = "/sys/devices/system/cpu/cpuidle/current_driver"
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
        """Whether the setting belongs to the processor or firmware, and so to the host of a virtual machine."""
        return self.startswith(("/sys/devices/system/", "/sys/firmware/"))


class Knobs(Struct, frozen=True):
    """The content of the files. A file that is neither in `text_by_path` nor `absent` is unknown."""

    text_by_path: Mapping[str, str]
    absent: frozenset[str]

    def integer(self, path: str) -> int | None:
        """Return the whole number in the file; None if it is unknown or absent."""
        try:
            return parse_integer(self.text_by_path[path])
        except (KeyError, Malformed):
            return None

    def word(self, path: str) -> str | None:
        """Return the word in brackets, or the whole text if there is none; None if the file is unknown or absent."""
        text = self.text_by_path.get(path)
        return None if text is None else _selected_word(text) or text


def _selected_word(text: str) -> str | None:
    return next((word[1:-1] for word in text.split() if word.startswith("[") and word.endswith("]")), None)


def _choice_parser(*words: str) -> Parse:
    """Return a parser that raises Malformed unless one of the words is in brackets."""

    def parse(text: str) -> None:
        if _selected_word(text) not in words:
            raise Malformed(f"one of {', '.join(words)} in brackets", text)

    return parse


def _parse_levels(text: str) -> None:
    if not text or not are_counts(text.split()):
        raise Malformed("levels such as 4 4 1 7", text)
    for level in text.split():
        integer_from(0)(level)


_ANY = integer_from(-MOST_INT - 1)  # the kernel accepts all values
# The values that the kernel accepts: kernel/sysctl.c, mm/, and the other settings' drivers.
PARSE: Mapping[str, Parse] = {
    Knob.NMI_WATCHDOG: parse_flag,
    Knob.WATCHDOG: parse_flag,
    Knob.WATCHDOG_CPUS: parse_nonempty_cpu_list,  # blank if hidden, or without a watchdog
    Knob.WATCHDOG_THRESHOLD: integer_from(0, 60),
    Knob.TIMER_MIGRATION: parse_flag,
    Knob.REALTIME_RUNTIME: integer_from(-1),
    Knob.REALTIME_PERIOD: integer_from(1),
    Knob.AUTOGROUP: parse_flag,
    Knob.SCHEDULER_STATISTICS: parse_flag,
    Knob.DELAY_ACCOUNTING: parse_flag,
    Knob.STACK_TRACER: _ANY,
    Knob.BPF_STATISTICS: parse_flag,
    Knob.NUMA_BALANCING: integer_from(0, 4),
    Knob.ADDRESS_RANDOMISATION: integer_from(0, 2),
    Knob.PERF_PARANOID: _ANY,
    Knob.PERF_SAMPLE_RATE: integer_from(1),
    Knob.PRINTK: _parse_levels,
    Knob.STAT_INTERVAL: integer_from(0),
    Knob.ZONE_RECLAIM: integer_from(0, 7),  # three bits
    Knob.COMPACTION: integer_from(0, 100),
    Knob.THP_ENABLED: _choice_parser("always", "madvise", "never"),
    Knob.THP_DEFRAG: _choice_parser("always", "defer", "defer+madvise", "madvise", "never"),
    Knob.KHUGEPAGED_SLEEP: integer_from(0, MOST_UNSIGNED),
    Knob.KSM_RUN: integer_from(0, 2),
    Knob.SCHED_EXT_STATE: parse_identifier,
    Knob.SCHED_EXT_OPS: parse_word,
    Knob.IDLE_DRIVER: parse_identifier,
    Knob.PSTATE_MIN_PERF: integer_from(0, 100),
    Knob.PSTATE_MAX_PERF: integer_from(1, 100),
    Knob.PSTATE_DYNAMIC_BOOST: parse_flag,
    Knob.PLATFORM_PROFILE: parse_identifier,
    Knob.PLATFORM_PROFILES: parse_identifiers,
    Knob.MACHINE_CHECK_INTERVAL: integer_from(0),
    Knob.MACHINE_CHECK_IGNORED: parse_flag,
    Knob.LOCKDOWN: _choice_parser("none", "integrity", "confidentiality"),
    Knob.SECURITY_MODULES: parse_word,
    Knob.CURSOR_BLINK: integer_from(-1, 1),  # -1 without a screen
    Knob.RPS_DEFAULT: parse_cpu_mask,
}


def read_knobs(reader: Reader, parse_by_path: Mapping[str, Parse] = PARSE) -> Knobs:
    """Read the settings. Kernels differ, so any file may be missing; a value that no kernel accepts is unknown."""
    text_by_path: dict[str, str] = {}
    absent: set[str] = set()
    for path, parse in parse_by_path.items():
        try:
            text = bare(reader.text(path, expected=False))
            parse(text)
        except Absent:
            absent.add(path)
        except Unreadable:
            continue
        except Malformed as error:
            reader.note(path, error.reason)
        else:
            text_by_path[path] = text
    return Knobs(text_by_path, frozenset(absent))
