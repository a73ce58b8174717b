"""The CPU quotas of whoever works on the target CPUs, which may be in other cgroups than this process.

    /proc/4711/cgroup    0::/docker/4f…     then cpu.max and cpu.stat from there up, as for our own (cgroup.py)

https://man7.org/linux/man-pages/man7/cgroups.7.html
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from noisewatch.cpus import CpuSet
from noisewatch.kernel.cgroup.bandwidth import CgroupLevel, read_levels
from noisewatch.kernel.reader import Reader
from noisewatch.kernel.tasks.threads import Tasks

_MOST_WORKERS = 4  # processes; each costs some twenty reads
_LEAST_NS = 5_000_000  # since the snapshot before: who hardly runs is not what the CPUs are there for


def read_worker_cgroups(
    reader: Reader, tasks: Tasks | None, previous: Tasks | None, target: CpuSet, own_pids: frozenset[int]
) -> Mapping[int, tuple[CgroupLevel, ...]]:
    """By process, the groups that it is in, of those that had most of the target CPUs since the snapshot before."""
    if tasks is None or previous is None:
        return {}
    ran_ns: Counter[int] = Counter()
    for tid, task in tasks.by_tid.items():
        before = previous.by_tid.get(tid)
        if task.cpu in target and not task.is_kernel and task.pid not in own_pids and before is not None:
            ran_ns[task.pid] += task.ran_ns - before.ran_ns
    workers = [pid for pid, ns in ran_ns.most_common(_MOST_WORKERS) if ns >= _LEAST_NS]
    return {pid: read_levels(reader, f"/proc/{pid}/cgroup") for pid in workers}
