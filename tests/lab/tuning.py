"""Run the fixes of a report, read the settings that they may change, and make settings noisy."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

from tests.lab.expected import finding
from tests.lab.lab import Lab

# By check that must fail: the file, and the noisy value.
NOISE = {
    "lockup-watchdog-on-target": ("/proc/sys/kernel/watchdog_cpumask", "0-7"),
    "kernel-statistics-collected": ("/proc/sys/kernel/sched_schedstats", "1"),
    "console-prints-everything": ("/proc/sys/kernel/printk", "8 4 1 7"),
    "ksm-scans": ("/sys/kernel/mm/ksm/run", "1"),
    "zone-reclaim-enabled": ("/proc/sys/vm/zone_reclaim_mode", "1"),
    "workqueues-on-target": ("/sys/devices/virtual/workqueue/cpumask", "ff"),
    "kernel-traced": ("/sys/kernel/tracing/set_event", "sched:sched_switch"),
    "layout-not-random": ("/proc/sys/kernel/randomize_va_space", "0"),
}
NOISE_STATUSES = {check_id: "warn" if check_id == "layout-not-random" else "fail" for check_id in NOISE}
_PREFLIGHT = "noisewatch preflight --profile micro --no-config --sample 0 --no-calibration --format json " + " ".join(
    f"--severity {check_id}=warning" for check_id in NOISE
)
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
def noisy_settings(lab: Lab) -> Iterator[None]:
    """Make all settings of NOISE noisy, and write their earlier values at the end."""
    before = {path: lab.read(path) for path, _ in NOISE.values()}
    try:
        _write(lab, dict(NOISE.values()))
        yield
    finally:
        _write(lab, before)


def _write(lab: Lab, values: Mapping[str, str]) -> None:
    lab.do("\n".join(["set -e", *(f"printf '%s\\n' '{value}' > {path}" for path, value in values.items())]))


def noise_statuses(lab: Lab, options: str = "") -> dict[str, str]:
    """Return the status of each check of NOISE."""
    report = json.loads(lab.run(f"{_PREFLIGHT} {options}").out)
    return {check_id: finding(report, check_id)["status"] for check_id in NOISE}


@contextmanager
def apply_fixes(lab: Lab, report: Mapping[str, Any]) -> Iterator[None]:
    """Apply all fixes of the report, and undo them at the end in reverse order."""
    with ExitStack() as undo_stack:
        for fix in fixes(report):
            undo_stack.callback(lab.do, fix["undo"])
            lab.do(fix["now"])
        yield
