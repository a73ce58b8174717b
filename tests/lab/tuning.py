"""Run the fixes of a report, and read the settings that they may change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

from tests.lab.lab import Lab

_SETTINGS = (
    "/proc/irq/default_smp_affinity",
    "/proc/irq/*/smp_affinity_list",
    "/sys/devices/system/cpu/online",
    "/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor",
    "/sys/devices/system/cpu/cpu*/cpufreq/scaling_m*_freq",
    "/proc/sys/kernel/numa_balancing",
    "/proc/sys/kernel/printk",
    "/proc/sys/kernel/randomize_va_space",
    "/proc/sys/kernel/sched_rt_runtime_us",
    "/proc/sys/kernel/sched_schedstats",
    "/proc/sys/kernel/task_delayacct",
    "/proc/sys/kernel/watchdog_cpumask",
    "/proc/sys/vm/stat_interval",
    "/proc/sys/vm/zone_reclaim_mode",
    "/sys/devices/virtual/workqueue/cpumask",
    "/sys/kernel/mm/ksm/run",
    "/sys/kernel/tracing/set_event",
)


def settings(lab: Lab) -> str:
    """Return all settings that fixes change, each on a line with its path."""
    return lab.do(f"grep -H '' {' '.join(_SETTINGS)}")


def fixes(report: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the fixes of failed checks and warnings that can be applied now."""
    candidates = [finding["fix"] for finding in report["findings"] if finding["status"] in ("fail", "warn")]
    return [fix for fix in candidates if fix is not None and fix["now"] is not None]


@contextmanager
def apply_fixes(lab: Lab, report: Mapping[str, Any]) -> Iterator[None]:
    """Apply all fixes of the report, and undo them at the end in reverse order."""
    with ExitStack() as undo_stack:
        for fix in fixes(report):
            undo_stack.callback(lab.do, fix["undo"])
            lab.do(fix["now"])
        yield
