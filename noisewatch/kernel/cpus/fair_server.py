"""The deadline server: CPU time that the scheduler reserves for ordinary tasks when real-time tasks never rest.

    /sys/kernel/debug/sched/fair_server/cpu3/runtime   50000000    (ns in each period of 1 s; 0: none), Linux 6.12

debugfs is root's. While the server waits for its turn it counts as a SCHED_DEADLINE task. With such a task the
scheduler keeps the tick, also on nohz_full CPUs (sched_can_stop_tick in kernel/sched/core.c). Commit d741f297bcea
("sched/fair: Fair server interface"); https://lkml.iu.edu/hypermail/linux/kernel/2601.0/07693.html
"""

from __future__ import annotations

from collections.abc import Mapping

from noisewatch.cpus import CpuSet
from noisewatch.kernel.numbers import integer_from
from noisewatch.kernel.reader import Reader

_FOLDER = "/sys/kernel/debug/sched/fair_server"
_parse_runtime_ns = integer_from(0)


def runtime_path(cpu: int) -> str:
    """Return the file with the CPU's reserved time."""
    return f"{_FOLDER}/cpu{cpu}/runtime"


def read_fair_servers(reader: Reader, cpus: CpuSet) -> Mapping[int, int]:
    """Return the reserved time (ns a period) by CPU; a CPU is missing if the kernel has no server or hides it."""
    runtimes = {cpu: reader.parsed(runtime_path(cpu), _parse_runtime_ns, expected=False) for cpu in sorted(cpus)}
    return {cpu: runtime_ns for cpu, runtime_ns in runtimes.items() if runtime_ns is not None}
