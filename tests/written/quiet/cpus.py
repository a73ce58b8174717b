"""A scheduler that keeps the kernel's work, and systemd's, on the housekeeping CPUs."""

from __future__ import annotations

from noisewatch.kernel.snapshot.knobs import Knob

WORKQUEUES = "/sys/devices/virtual/workqueue"
SYSTEM = "/sys/fs/cgroup/system.slice"
USER = "/sys/fs/cgroup/user.slice"


def files(seconds: float) -> dict[str, str]:
    """Return the scheduler's settings, which are constant."""
    return {
        Knob.SCHED_EXT_STATE: "disabled\n",
        "/proc/1/comm": "systemd\n",
        f"{SYSTEM}/pids.max": "max\n",
        f"{USER}/pids.max": "max\n",
        f"{WORKQUEUES}/cpumask": "3\n",
        f"{WORKQUEUES}/cpumask_requested": "f\n",
        f"{WORKQUEUES}/cpumask_isolated": "c\n",
        f"{WORKQUEUES}/power/control": "auto\n",
        f"{WORKQUEUES}/writeback/cpumask": "f\n",
    }
