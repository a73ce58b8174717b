"""The settings of a machine and the affinities of its threads, read without noisewatch.

`python -m tests.lab.machine_state` prints them as JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from glob import glob
from pathlib import Path

_SETTINGS = (
    "/proc/irq/default_smp_affinity",
    "/proc/irq/*/smp_affinity_list",
    "/proc/sys/kernel/numa_balancing",
    "/proc/sys/kernel/printk",
    "/proc/sys/kernel/randomize_va_space",
    "/proc/sys/kernel/sched_*",
    "/proc/sys/kernel/task_delayacct",
    "/proc/sys/kernel/timer_migration",
    "/proc/sys/kernel/*watchdog*",
    "/proc/sys/vm/stat_interval",
    "/proc/sys/vm/swappiness",
    "/proc/sys/vm/zone_reclaim_mode",
    "/sys/devices/system/cpu/online",
    "/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor",
    "/sys/devices/system/cpu/cpu*/cpufreq/scaling_m*_freq",
    "/sys/devices/system/cpu/cpu*/power/pm_qos_resume_latency_us",
    "/sys/devices/system/machinecheck/machinecheck*/check_interval",
    "/sys/devices/virtual/workqueue/cpumask",
    "/sys/fs/cgroup/cgroup.subtree_control",
    "/sys/fs/cgroup/cpuset.cpus.isolated",
    "/sys/fs/cgroup/*/cpuset.cpus*",
    "/sys/kernel/mm/ksm/run",
    "/sys/kernel/mm/transparent_hugepage/*",
    "/sys/kernel/tracing/set_event",
)
_IS_FIXED = 0x04000000  # PF_NO_SETAFFINITY: kworkers and per-CPU threads, whose affinity the kernel itself changes


def read_settings() -> dict[str, str]:
    """Return the content of all settings by path; those that cannot be read are left out."""
    contents = {}
    for path in sorted(path for pattern in _SETTINGS for path in glob(pattern)):
        try:
            contents[path] = Path(path).read_text(errors="replace").strip()
        except OSError:
            continue  # a file of an offline CPU
    return contents


def read_affinities() -> dict[str, str]:
    """Return the CPU list of each thread that could be pinned, by its id, start and name."""
    affinities = {}
    for folder in map(Path, glob("/proc/[0-9]*/task/[0-9]*")):
        try:
            name, _, rest = (folder / "stat").read_text(errors="replace").rpartition(")")
            status = (folder / "status").read_text(errors="replace")
        except OSError:
            continue  # it has exited
        fields = rest.split()
        cpus = re.search(r"^Cpus_allowed_list:\s*(\S*)", status, re.MULTILINE)
        if cpus is not None and not int(fields[6]) & _IS_FIXED:
            affinities[f"{name}) {fields[19]}"] = cpus[1]
    return affinities


def differences(
    before: Mapping[str, str], after: Mapping[str, str], of_both: bool = False
) -> dict[str, tuple[str | None, str | None]]:
    """Return what differs, with both values; with `of_both`, leave out what has no value in one of them."""
    keys = before.keys() & after.keys() if of_both else before.keys() | after.keys()
    return {key: (before.get(key), after.get(key)) for key in sorted(keys) if before.get(key) != after.get(key)}


if __name__ == "__main__":
    print(json.dumps({"settings": read_settings(), "affinities": read_affinities()}))
