"""The kernel's defaults for the settings that tune changes: a guess for a machine whose journal is lost.

Distributions, drivers and administrators choose other values, so users see the list before it is applied. Settings
without a common default are left alone: printk, clock sources, transparent huge pages, platform profiles, services,
threads and partitions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from noisewatch.cpus import CpuSet, format_cpu_list, format_cpu_mask, parse_cpu_list, parse_cpu_mask
from noisewatch.errors import Malformed
from noisewatch.kernel.system.tuning import FileChange
from noisewatch.machine.tuning import Settings, opened_journal
from noisewatch.operations.tuning.states import are_equal
from noisewatch.operations.tuning.tune import JOURNAL, require_none_in
from noisewatch.operations.tuning.tuner import Changed, Outcome, make_change

_CPUS = "/sys/devices/system/cpu"
_SYSCTLS = "/proc/sys"

Default = Callable[[Settings, str], str | None]  # returns the default of the setting at a path; None: no known default


def _is(value: str) -> Default:
    return lambda settings, path: value


def _same_as(name: str) -> Default:
    """Return the default that a file next to the setting contains."""
    return lambda settings, path: settings.read(f"{path.rpartition('/')[0]}/{name}")


def _cpu_set(settings: Settings, name: str) -> CpuSet:
    """Return the CPUs that a list in /sys/devices/system/cpu contains; none if the kernel has no such list."""
    try:
        return parse_cpu_list(settings.read(f"{_CPUS}/{name}"))
    except (FileNotFoundError, Malformed):  # nohz_full contains (null) without the option
        return frozenset()


def _is_booted_with(settings: Settings, option: str) -> bool:
    return any(word.startswith(f"{option}=") or word == option for word in settings.read("/proc/cmdline").split())


def _governor(settings: Settings, path: str) -> str | None:
    folder = path.rpartition("/")[0]
    available = settings.read(f"{folder}/scaling_available_governors").split()
    if set(available) == {"performance", "powersave"}:
        # For drivers that scale the clock themselves; for all others, `powersave` is the lowest clock.
        return "powersave"
    return next((choice for choice in ("schedutil", "ondemand") if choice in available), None)


def _preference(settings: Settings, path: str) -> str | None:
    available = settings.read(f"{path.rpartition('/')[0]}/energy_performance_available_preferences").split()
    return "balance_performance" if "balance_performance" in available else None


def _idle_state(settings: Settings, path: str) -> str | None:
    return {"enabled": "0", "disabled": "1"}.get(settings.read(f"{path.rpartition('/')[0]}/default_status"))


def _nmi_watchdog(settings: Settings, path: str) -> str | None:
    return None if " hypervisor" in settings.read("/proc/cpuinfo") else "1"  # guests of KVM start without it


def _numa_balancing(settings: Settings, path: str) -> str:
    return "1" if len(parse_cpu_list(settings.read("/sys/devices/system/node/online"))) > 1 else "0"


def _delay_accounting(settings: Settings, path: str) -> str:
    return "1" if _is_booted_with(settings, "delayacct") else "0"


def _watchdog_cpus(settings: Settings, path: str) -> str:
    return format_cpu_list(_cpu_set(settings, "possible") - _cpu_set(settings, "nohz_full"))


def _workqueue_cpus(settings: Settings, path: str) -> str:
    reserved = _cpu_set(settings, "nohz_full") | _cpu_set(settings, "isolated")
    return format_cpu_mask(_cpu_set(settings, "possible") - reserved)


def _irq_default(settings: Settings, path: str) -> str | None:
    return None if _is_booted_with(settings, "irqaffinity") else format_cpu_mask(_cpu_set(settings, "possible"))


def _irq_cpus(settings: Settings, path: str) -> str | None:
    """Return the CPUs to which the driver hints, otherwise all online CPUs; None with the boot option irqaffinity."""
    hint = parse_cpu_mask(settings.read(f"{path.rpartition('/')[0]}/affinity_hint"))
    if hint:
        return format_cpu_list(hint)
    return None if _is_booted_with(settings, "irqaffinity") else format_cpu_list(_cpu_set(settings, "online"))


# By path, in an order that the kernel accepts: the governor performance locks the preference, and a range of clocks
# must never be empty. https://docs.kernel.org/admin-guide/sysctl/, /admin-guide/pm/ and the kernel's sources
_DEFAULTS: dict[str, Default] = {
    f"{_CPUS}/cpu*/cpufreq/scaling_governor": _governor,
    f"{_CPUS}/cpu*/cpufreq/energy_performance_preference": _preference,
    f"{_CPUS}/cpu*/cpufreq/scaling_max_freq": _same_as("cpuinfo_max_freq"),
    f"{_CPUS}/cpu*/cpufreq/scaling_min_freq": _same_as("cpuinfo_min_freq"),
    f"{_CPUS}/cpufreq/boost": _is("1"),
    f"{_CPUS}/intel_pstate/no_turbo": _is("0"),
    f"{_CPUS}/intel_pstate/max_perf_pct": _is("100"),
    f"{_CPUS}/intel_uncore_frequency/*/max_freq_khz": _same_as("initial_max_freq_khz"),
    f"{_CPUS}/intel_uncore_frequency/*/min_freq_khz": _same_as("initial_min_freq_khz"),
    f"{_CPUS}/cpu*/cpuidle/state*/disable": _idle_state,
    f"{_CPUS}/cpu*/power/pm_qos_resume_latency_us": _is("0"),
    f"{_CPUS}/cpu*/power/energy_perf_bias": _is("6"),  # normal
    "/proc/irq/default_smp_affinity": _irq_default,
    "/proc/irq/*/smp_affinity_list": _irq_cpus,
    "/sys/class/net/*/queues/rx-*/rps_cpus": _is("0"),
    f"{_SYSCTLS}/net/core/rps_default_mask": _is("0"),
    "/sys/devices/virtual/workqueue/cpumask": _workqueue_cpus,
    f"{_SYSCTLS}/kernel/watchdog": _is("1"),
    f"{_SYSCTLS}/kernel/nmi_watchdog": _nmi_watchdog,
    f"{_SYSCTLS}/kernel/watchdog_cpumask": _watchdog_cpus,
    f"{_SYSCTLS}/kernel/numa_balancing": _numa_balancing,
    f"{_SYSCTLS}/kernel/timer_migration": _is("1"),
    f"{_SYSCTLS}/kernel/sched_autogroup_enabled": _is("1"),
    f"{_SYSCTLS}/kernel/sched_rt_runtime_us": _is("950000"),
    f"{_SYSCTLS}/kernel/sched_schedstats": _is("0"),
    f"{_SYSCTLS}/kernel/task_delayacct": _delay_accounting,
    f"{_SYSCTLS}/kernel/bpf_stats_enabled": _is("0"),
    f"{_SYSCTLS}/kernel/stack_tracer_enabled": _is("0"),
    f"{_SYSCTLS}/kernel/randomize_va_space": _is("2"),
    f"{_SYSCTLS}/vm/compaction_proactiveness": _is("20"),
    f"{_SYSCTLS}/vm/stat_interval": _is("1"),
    f"{_SYSCTLS}/vm/swappiness": _is("60"),
    f"{_SYSCTLS}/vm/zone_reclaim_mode": _is("0"),
    "/sys/kernel/mm/ksm/run": _is("0"),
    "/sys/kernel/mm/transparent_hugepage/khugepaged/scan_sleep_millisecs": _is("10000"),
    "/sys/kernel/debug/sched/fair_server/cpu*/runtime": _is("50000000"),  # ns of each second
    "/sys/class/graphics/fbcon/cursor_blink": _is("1"),
}


def preview_defaults(settings: Settings | None = None) -> list[Changed]:
    """Return the settings that differ from the kernel's default; `now` is the default."""
    settings = settings or Settings()
    changes = ((change, _read(settings, change.path)) for change in _changes(settings))
    return [
        Changed(change, Outcome.DONE, before, change.value)
        for change, before in changes
        if before is not None and not are_equal(before, change.value)
    ]


def set_defaults(settings: Settings | None = None, path: Path = JOURNAL) -> list[Changed]:
    """Set the kernel's defaults, empty the journal, and return the outcomes.

    Raise UsageError if the journal has changes of this boot, because the values in it are certain.
    """
    settings = settings or Settings()
    with opened_journal(path) as file:
        require_none_in(file, path)
        outcomes = [
            make_change(settings, planned.change, planned.before or "") for planned in preview_defaults(settings)
        ]
        file.forget()
        return outcomes


def _changes(settings: Settings) -> Iterator[FileChange]:
    for pattern, default in _DEFAULTS.items():
        for path in settings.paths(pattern):
            try:
                value = default(settings, path)
            except (OSError, Malformed):
                continue  # no guess, because what the default depends on is not readable here
            if value:
                yield FileChange(path, value)


def _read(settings: Settings, path: str) -> str | None:
    try:
        return settings.read(path)
    except OSError:
        return None
