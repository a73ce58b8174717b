"""Ways to a false calm that a review found: what is hidden, cut or the container's own."""

from __future__ import annotations

from tests.judgement.example import Example
from tests.quiet_machine import CPUS, process, quiet_files

_MOUNTS = quiet_files()["/proc/self/mounts"]
_IN_DOCKER = {"/.dockerenv": ""}


def _served(name: str) -> dict[str, str]:
    return {"/proc/self/mounts": _MOUNTS + f"lxcfs /proc/{name} fuse.lxcfs rw 0 0\n"}


EXAMPLES = [
    Example("swapping", "unknown", _served("meminfo"), "lxcfs"),
    Example("memory-short", "unknown", _served("meminfo"), "lxcfs"),
    Example("just-booted", "unknown", _served("uptime"), "lxcfs"),
    Example("profiler-runs", "unknown", gone=("/proc/interrupts",)),
    Example("no-housekeeping-cpu", "unknown", gone=(f"{CPUS}/cpu2/topology/thread_siblings_list",)),
    Example("job-scheduled", "unknown", _IN_DOCKER | process(2, "kthreadd", 1, 5, flags=0x0020_0000), "container"),
]
