"""Settings that are made noisy one by one, and the scripts that put them right and back again."""

from __future__ import annotations

import json
from typing import Any

from tests.lab.expected import finding
from tests.lab.lab import Lab
from tests.lab.tuning import settings

_TRACING = "/sys/kernel/tracing"
# What is written where, and the check that has to find it.
_NOISE = {
    "lockup-watchdog-on-target": ("/proc/sys/kernel/watchdog_cpumask", "0-7"),
    "kernel-statistics-collected": ("/proc/sys/kernel/sched_schedstats", "1"),
    "console-prints-everything": ("/proc/sys/kernel/printk", "8 4 1 7"),
    "ksm-scans": ("/sys/kernel/mm/ksm/run", "1"),
    "zone-reclaim-enabled": ("/proc/sys/vm/zone_reclaim_mode", "1"),
    "workqueues-on-target": ("/sys/devices/virtual/workqueue/cpumask", "ff"),
    "kernel-traced": (f"{_TRACING}/set_event", "sched:sched_switch"),
    "layout-not-random": ("/proc/sys/kernel/randomize_va_space", "0"),
}
_CALM = {
    "/proc/sys/kernel/watchdog_cpumask": "0-1,4-5",
    "/proc/sys/kernel/sched_schedstats": "0",
    "/proc/sys/kernel/printk": "1 4 1 7",
    "/sys/kernel/mm/ksm/run": "0",
    "/proc/sys/vm/zone_reclaim_mode": "0",
    "/sys/devices/virtual/workqueue/cpumask": "33",
    f"{_TRACING}/set_event": "",
    "/proc/sys/kernel/randomize_va_space": "2",
}
_PREFLIGHT = "noisewatch preflight --no-config --sample 0 --no-calibration --format json " + " ".join(
    f"--severity {check_id}=warning" for check_id in _NOISE
)


def _preflight(lab: Lab, options: str = "") -> dict[str, Any]:
    report: dict[str, Any] = json.loads(lab.run(f"{_PREFLIGHT} {options}").out)
    return report


def test_the_scripts_put_everything_right_and_back_though_they_are_run_twice(isolated: Lab) -> None:
    try:
        for path, value in _NOISE.values():
            isolated.do(f"printf '%s\\n' '{value}' > {path}")
        noisy = settings(isolated)
        report = _preflight(isolated, "--fix-script fix.sh --undo-script undo.sh")
        assert {each: finding(report, each)["status"] for each in _NOISE} == _STATUS
        for _ in range(2):
            isolated.do("sh fix.sh")
        tuned = _preflight(isolated)
        assert {each: finding(tuned, each)["status"] for each in _NOISE} == dict.fromkeys(_NOISE, "pass")
        assert settings(isolated) != noisy
        for _ in range(2):
            isolated.do("sh undo.sh")
        assert settings(isolated) == noisy
    finally:
        for path, value in _CALM.items():
            isolated.run(f"printf '%s\\n' '{value}' > {path}")


_STATUS = {each: "warn" if each == "layout-not-random" else "fail" for each in _NOISE}
