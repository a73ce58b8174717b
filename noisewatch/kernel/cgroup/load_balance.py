"""The CPUs that cgroup v1 excludes from the scheduler's load balancing.

    /proc/self/cgroup                                          4:cpuset:/      (version 2 has no such line)
    /sys/fs/cgroup/cpuset/cpuset.sched_load_balance            0               of the root
    /sys/fs/cgroup/cpuset/system/cpuset.sched_load_balance     1
    /sys/fs/cgroup/cpuset/system/cpuset.effective_cpus         0-1             Linux 3.17; before, cpuset.cpus

With 1 in the root, load is balanced among all CPUs. Otherwise it is balanced among the CPUs of each group that has 1,
whatever the groups below that have: a CPU of no such group is isolated (generate_sched_domains in
kernel/cgroup/cpuset.c of Linux 5.14). https://docs.kernel.org/admin-guide/cgroup-v1/cpusets.html, section 1.7
"""

from __future__ import annotations

from noisewatch.cpus import CpuSet, parse_cpu_list
from noisewatch.errors import Unreadable
from noisewatch.kernel.cgroup.mounts import MEMBERSHIP, is_true_root, parse_membership, read_cgroup_mounts
from noisewatch.kernel.numbers import parse_flag
from noisewatch.kernel.reader import Reader
from noisewatch.kernel.system.mounts import OWN_MOUNTS

BALANCE = "cpuset.sched_load_balance"
_MOST_GROUPS = 1024
_INTERFACES = ("cpuset.", "cgroup.", "notify_on_release", "release_agent", "tasks")


def read_unbalanced(reader: Reader, online: CpuSet | None) -> CpuSet | None:
    """Return the online CPUs that cgroup v1 excludes from load balancing, or None if unknown."""
    membership = reader.parsed(MEMBERSHIP, parse_membership)
    if membership is None:
        return frozenset() if reader.is_absent(MEMBERSHIP) else None
    if "cpuset" not in membership:
        return frozenset()
    mounts = read_cgroup_mounts(reader)
    if mounts is None:
        return None
    mount = next((mount for mount in mounts if mount.version == 1 and "cpuset" in mount.controllers), None)
    if mount is None:
        reader.note(OWN_MOUNTS, "cgroup v1 has the cpuset controller, but it is not mounted here")
        return None
    if not is_true_root(mount, reader.names_or_none(mount.folder) or ()):
        reader.note(f"{mount.folder}/{BALANCE}", "not the root of the hierarchy, which is not visible")
        return None
    balanced = _read_balanced(reader, mount.folder)
    return None if balanced is None or online is None else online - balanced


def _read_balanced(reader: Reader, root: str) -> CpuSet | None:
    """Return the CPUs of the topmost groups that balance load, or None if a group is unreadable or there are many."""
    balanced: frozenset[int] = frozenset()
    pending, count = [root], 0
    while pending:
        folder = pending.pop()
        try:
            names = reader.names(folder, expected=False)
        except Unreadable as error:
            if error.is_missing:
                continue  # it is a file, or the group was removed
            return None
        count += 1
        if count > _MOST_GROUPS:
            reader.note(f"{root}/{BALANCE}", f"there are more than {_MOST_GROUPS} groups")
            return None
        balances = reader.parsed(f"{folder}/{BALANCE}", parse_flag)
        if balances is None:
            return None
        if balances:
            cpus = _read_cpus(reader, folder)
            if cpus is None:
                return None
            balanced |= cpus
        else:
            pending += [f"{folder}/{name}" for name in names if not name.startswith(_INTERFACES)]
    return balanced


def _read_cpus(reader: Reader, folder: str) -> CpuSet | None:
    effective = reader.parsed(f"{folder}/cpuset.effective_cpus", parse_cpu_list, expected=False)
    return effective if effective is not None else reader.parsed(f"{folder}/cpuset.cpus", parse_cpu_list)
