"""Ways to a false calm that a review found: what is hidden, cut or the container's own."""

from __future__ import annotations

from tests.judgement.example import Example
from tests.written.quiet_machine import CPUS, process, quiet_files

_MOUNTS = quiet_files()["/proc/self/mounts"]
_IN_DOCKER = {"/.dockerenv": ""}


def _served(name: str) -> dict[str, str]:
    return {"/proc/self/mounts": _MOUNTS + f"lxcfs /proc/{name} fuse.lxcfs rw 0 0\n"}


_VULNERABILITIES = "/sys/devices/system/cpu/vulnerabilities"
_HIDING = {"/proc/self/mounts": _MOUNTS + "proc /proc proc rw,nosuid,hidepid=invisible 0 0\n"}
_NO_KERNEL_THREADS = ("/proc/2", "/proc/30")
_POWERLESS = {"/proc/self/status": quiet_files()["/proc/self/status"].replace("000001ffffffffff", "0000000000000000")}
_BEFORE_4_15 = {"/proc/sys/kernel/osrelease": "4.14.0\n", "/proc/version": "Linux version 4.14.0 (a@b) #1 SMP\n"}
_TARGET_0 = {f"{CPUS}/isolated": "\n", f"{CPUS}/nohz_full": "\n"}

EXAMPLES = [
    Example("irqbalance-may-move-irqs", "unknown", _HIDING | _POWERLESS | _TARGET_0, "hidepid=invisible"),
    Example("irqbalance-may-move-irqs", "pass", _HIDING | _TARGET_0, "does not run"),
    Example("irqbalance-may-move-irqs", "pass", _HIDING | _POWERLESS, "would spare"),
    Example("security-agent-runs", "unknown", _HIDING | _POWERLESS, "hidepid=invisible"),
    Example("threads-confined-to-isolated-cpus", "unknown", gone=_NO_KERNEL_THREADS, named="no kernel thread"),
    Example("irqbalance-may-move-irqs", "unknown", _TARGET_0, "no kernel thread", gone=_NO_KERNEL_THREADS),
    Example("boot-cpu-is-target", "pass", {f"{CPUS}/online": "1-3\n"}, "nor known to be online"),
    Example("mitigations-chosen-by-hand", "unknown", {f"{_VULNERABILITIES}/l1tf": ""}, "empty"),
    Example("mitigations-chosen-by-hand", "pass", _BEFORE_4_15, "does not tell", gone=(_VULNERABILITIES,)),
    Example("mitigations-chosen-by-hand", "unknown", gone=(_VULNERABILITIES,)),
    Example("irq-routed-to-target", "unknown", gone=("/proc/irq/24/smp_affinity_list",)),
    Example("lockup-watchdog-on-target", "fail", {}, "CPUs 2-3", {2, 3}, gone=("/proc/sys/kernel/watchdog_cpumask",)),
    Example("disk-array-rebuilds", "unknown", {"/proc/mdstat": "Personalities : [raid1]\nmd0 : active\n"}, "unused"),
    Example("load-average-high", "unknown", gone=("/proc/self/mounts",), named="lxcfs"),
    Example("nmi-watchdog-runs", "unknown", gone=("/proc/sys",)),
    Example("own-load-on-target", "unknown", own_pids=(950,)),
    Example("swapping", "unknown", _served("meminfo"), "lxcfs"),
    Example("memory-short", "unknown", _served("meminfo"), "lxcfs"),
    Example("just-booted", "unknown", _served("uptime"), "lxcfs"),
    Example("profiler-runs", "unknown", gone=("/proc/interrupts",)),
    Example("no-housekeeping-cpu", "unknown", gone=(f"{CPUS}/cpu2/topology/thread_siblings_list",)),
    Example("job-scheduled", "unknown", _IN_DOCKER | process(2, "kthreadd", 1, 5, flags=0x0020_0000), "container"),
]
