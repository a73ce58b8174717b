"""The CPUs that cpusets keep free of other tasks: in partitions of cgroup v2, or unbalanced in cgroup v1.

    /sys/fs/cgroup/cpuset.cpus.isolated             6-7          Linux 6.7, at the root of cgroup v2
    /sys/fs/cgroup/bench/cpuset.cpus.partition      isolated     or `root`, `member`, `isolated invalid (REASON)`
    /sys/fs/cgroup/bench/cpuset.cpus                2-3          the requested CPUs
    /sys/fs/cgroup/bench/cpuset.cpus.effective      2-3          the actual CPUs

https://docs.kernel.org/admin-guide/cgroup-v2.html (Cpuset). Writing `isolated` succeeds even if the partition is
invalid. A valid partition may become invalid later, for example when another partition claims its CPUs.

    /proc/self/cgroup                                          4:cpuset:/      (version 2 has no such line)
    /sys/fs/cgroup/cpuset/cpuset.sched_load_balance            0               (the root)
    /sys/fs/cgroup/cpuset/system/cpuset.sched_load_balance     1
    /sys/fs/cgroup/cpuset/system/cpuset.effective_cpus         0-1             Linux 3.17; before, cpuset.cpus

With 1 in the root, load is balanced among all CPUs. Otherwise it is balanced within each topmost group that has 1,
whatever its subgroups have, and all other CPUs are isolated (generate_sched_domains in kernel/cgroup/cpuset.c of
Linux 5.14). https://docs.kernel.org/admin-guide/cgroup-v1/cpusets.html, section 1.7
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from msgspec import Struct

from noisewatch.cpus import CpuSet, parse_cpu_list
from noisewatch.errors import Malformed, Unreadable
from noisewatch.kernel.cgroup.mounts import (
    MEMBERSHIP,
    is_inside_namespace,
    is_true_root,
    parse_membership,
    read_cgroup_mounts,
    read_unified_mount,
)
from noisewatch.kernel.numbers import parse_flag
from noisewatch.kernel.reader import Reader
from noisewatch.kernel.system.mounts import OWN_MOUNTS
from noisewatch.patterns import regex
from noisewatch.text import clean

ISOLATED, ROOT, _MEMBER = "isolated", "root", "member"
_KIND = regex(rf"({ISOLATED}|{ROOT})(?: invalid(?: \((.*)\))?)?")
_DEEPEST = 32  # levels; nested containers in pods reach about twelve
_LONGEST_NS = 2_000_000_000  # time limit for one walk: enough to read about 30,000 groups
_GROUPS_BETWEEN = 256  # groups between two checks of the time


class Partition(Struct, frozen=True):
    """A group that is, or was requested to be, a partition; with its requested and actual CPUs (None: unknown)."""

    folder: str
    kind: str  # isolated or root
    invalid_reason: str | None  # the kernel's reason; None: the partition is valid
    wanted: CpuSet | None
    has: CpuSet | None


class PartitionRoot(Struct, frozen=True):
    """The root of a cgroup v2 hierarchy that has the cpuset controller."""

    folder: str
    delegates_cpuset: bool  # whether its children already have the controller


class Partitions(Struct, frozen=True):
    """All partitions. `isolated` are the CPUs in valid isolated partitions; None if unknown, as in a container."""

    isolated: CpuSet | None
    all: tuple[Partition, ...] = ()
    root: PartitionRoot | None = None  # where a partition could be created
    unseen: str | None = None  # why there may be more partitions; None: all are known
    interface_files: frozenset[str] = frozenset()  # names with a dot that turned out to be files, not groups


def parse_partition_kind(text: str) -> tuple[str, str | None]:
    """Return a group's kind (`member`: not a partition) and why it is invalid, None if it is valid. Raise Malformed."""
    state = text.strip()
    match = _KIND.fullmatch(state)
    if match is None and state != _MEMBER:
        raise Malformed("member, root or isolated", state)
    if match is None:
        return _MEMBER, None
    return match[1], clean(match[2] or "the kernel gives no reason") if "invalid" in state else None


def read_partitions(reader: Reader, previous: Partitions | None = None) -> Partitions:
    """Return the current partitions.

    With `previous` partitions, only these, the topmost groups, and the groups in partitions are read.
    """
    root = read_unified_mount(reader)
    if root is None:
        return Partitions(None)
    if root == "":
        return Partitions(frozenset() if _has_no_partitions(reader) else None)
    if is_inside_namespace(reader):
        reader.note(f"{root}/cpuset.cpus.isolated", "partitions outside this container are not visible")
        return Partitions(None)
    listed = reader.parse(f"{root}/cpuset.cpus.isolated", parse_cpu_list, expected=False)
    if listed is None and not reader.names_or_none(root):
        reader.note(root, "nothing in it")
        return Partitions(None)
    walk = _Walk(reader, previous)
    by_folder = {partition.folder: partition for partition in walk.below(root)}
    for earlier in previous.all if previous is not None else ():
        if earlier.folder not in by_folder:
            by_folder.update((partition.folder, partition) for partition in _read_partition(reader, earlier.folder)[1])
    place = previous.root if previous is not None else _read_root(reader, root)
    isolated = listed if listed is not None or walk.gap_reason is not None else _isolated_cpus(by_folder.values())
    everything = tuple(by_folder[folder] for folder in sorted(by_folder))
    return Partitions(
        isolated=isolated,
        all=everything,
        root=place,
        unseen=walk.gap_reason,
        interface_files=frozenset(walk.interface_files),
    )


def _has_no_partitions(reader: Reader) -> bool:
    """Return whether there are certainly no partitions, given that cgroup v2 is not mounted in this chroot.

    Once cgroup v2 has been mounted anywhere, each process has a group in it. Version 1 may own the controller instead.
    """
    membership = reader.parse(MEMBERSHIP, parse_membership)
    if membership is None:
        return reader.is_absent(MEMBERSHIP)
    if "" in membership and "cpuset" not in membership:
        reader.note(OWN_MOUNTS, "cgroup v2 is in use, but not mounted here")
        return False
    return True


def _isolated_cpus(partitions: Iterable[Partition]) -> CpuSet | None:
    valid = [partition.has for partition in partitions if partition.kind == ISOLATED and not partition.invalid_reason]
    return None if None in valid else frozenset().union(*filter(None, valid))


def _read_root(reader: Reader, folder: str) -> PartitionRoot | None:
    controllers = reader.text_or_none(f"{folder}/cgroup.controllers", expected=False) or ""
    delegated = reader.text_or_none(f"{folder}/cgroup.subtree_control", expected=False) or ""
    return PartitionRoot(folder, "cpuset" in delegated.split()) if "cpuset" in controllers.split() else None


@dataclass(slots=True)
class _Walk:
    """A walk through the groups: all of them if there are no `previous` partitions.

    `gap_reason` is why the walk is incomplete, or None.
    """

    reader: Reader
    previous: Partitions | None
    gap_reason: str | None = None
    interface_files: set[str] = field(init=False)
    _begin_ns: int = field(init=False)
    _groups: int = 0

    def __post_init__(self) -> None:
        self.interface_files = set(self.previous.interface_files if self.previous is not None else ())
        self.gap_reason = self.previous.unseen if self.previous is not None else None
        self._begin_ns = self.reader.machine.now_ns()

    def below(self, folder: str, depth: int = 0) -> Iterator[Partition]:
        """Yield the partitions below a folder.

        Groups below a group without the controller are skipped, because they cannot be partitions. With `previous`
        partitions, groups below a group of kind `member` are skipped too, because they are hardly ever partitions.
        """
        for name in self._names(folder):
            path = f"{folder}/{name}"
            if name in self.interface_files or self._is_over():
                continue
            kind, partitions = _read_partition(self.reader, path)
            if kind is None and "." in name and self.reader.names_or_none(path, expected=False) is None:
                self.interface_files.add(name)  # every group has the same files, so the name need not be tried again
            elif kind is None and self.previous is None:
                self._note_missing_file(path)
            yield from partitions
            if not partitions and (kind != _MEMBER or self.previous is not None):
                continue
            if depth < _DEEPEST:
                yield from self.below(path, depth + 1)
            else:
                self.gap_reason = f"{path}: groups more than {_DEEPEST} levels deep are not read"

    def _note_missing_file(self, folder: str) -> None:
        """Count the partition file as hidden if the folder is empty, or contains cpuset.cpus without it."""
        names = self.reader.names_or_none(folder, expected=False)
        if names is not None and (not names or "cpuset.cpus" in names):
            self.gap_reason = self.gap_reason or f"{folder}/cpuset.cpus.partition: missing, as if hidden or not copied"

    def _names(self, folder: str) -> list[str]:
        try:
            return self.reader.names(folder, expected=False)
        except Unreadable as error:
            if not error.is_missing:  # missing: the group has been removed
                self.gap_reason = str(error)
        return []

    def _is_over(self) -> bool:
        """Return whether the walk takes too long; a recording replays the decision."""
        if self._groups < 0:
            return True
        self._groups += 1
        if self._groups % _GROUPS_BETWEEN:
            return False
        try:
            if self.reader.machine.ask(f"whether {self._groups} cgroups were looked at in time", self._is_in_time):
                return False
        except Unreadable:
            return False  # a copy has no time limit
        self.gap_reason = f"not all cgroups could be read for partitions within {_LONGEST_NS / 1e9:g} s"
        self._groups = -1
        return True

    def _is_in_time(self) -> bool:
        return self.reader.machine.now_ns() - self._begin_ns < _LONGEST_NS


def _read_partition(reader: Reader, folder: str) -> tuple[str | None, list[Partition]]:
    """Return the group's kind (None without a partition file), and a list with its partition, empty for a member."""
    state = reader.parse(f"{folder}/cpuset.cpus.partition", parse_partition_kind, expected=False)
    if state is None or state[0] == _MEMBER:
        return (state[0] if state is not None else None), []
    kind, invalid_reason = state
    requested = reader.parse(f"{folder}/cpuset.cpus", parse_cpu_list, expected=False)
    has = reader.parse(f"{folder}/cpuset.cpus.effective", parse_cpu_list)
    return kind, [Partition(folder=folder, kind=kind, invalid_reason=invalid_reason, wanted=requested, has=has)]


BALANCE = "cpuset.sched_load_balance"
_MOST_GROUPS = 1024
_INTERFACES = ("cpuset.", "cgroup.", "notify_on_release", "release_agent", "tasks")


def read_unbalanced(reader: Reader, online: CpuSet | None) -> CpuSet | None:
    """Return the online CPUs that cgroup v1 excludes from load balancing, or None if unknown."""
    membership = reader.parse(MEMBERSHIP, parse_membership)
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
    """Return the CPUs of the topmost load-balancing groups; None if a group is unreadable or there are too many."""
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
        balances = reader.parse(f"{folder}/{BALANCE}", parse_flag)
        if balances is None:
            return None
        if balances:
            cpus = reader.parse(f"{folder}/cpuset.effective_cpus", parse_cpu_list, expected=False)
            if cpus is None:
                cpus = reader.parse(f"{folder}/cpuset.cpus", parse_cpu_list)
            if cpus is None:
                return None
            balanced |= cpus
        else:
            pending += [f"{folder}/{name}" for name in names if not name.startswith(_INTERFACES)]
    return balanced
