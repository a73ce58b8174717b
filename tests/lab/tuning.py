"""The commands that preflight prints, carried out, and all that they may change, read back."""

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
    """All settings that fixes change, one a line with its path."""
    return lab.do(f"grep -H '' {' '.join(_SETTINGS)}")


def fixes(report: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The fixes of what did not pass, where there is something to do now."""
    found = [each["fix"] for each in report["findings"] if each["status"] in ("fail", "warn")]
    return [fix for fix in found if fix is not None and fix["now"] is not None]


@contextmanager
def tuned(lab: Lab, report: Mapping[str, Any]) -> Iterator[None]:
    """The machine with all fixes of the report carried out; afterwards all are undone, the last one first."""
    with ExitStack() as undone:
        for fix in fixes(report):
            undone.callback(lab.do, fix["undo"])
            lab.do(fix["now"])
        yield
