"""The cpuset partitions of cgroup v2: groups of CPUs that are taken out of the others' scheduling.

    /sys/fs/cgroup/cpuset.cpus.isolated             6-7          Linux 6.7, at the root of cgroup v2
    /sys/fs/cgroup/bench/cpuset.cpus.partition      isolated     or `root`, `member`, `isolated invalid (REASON)`
    /sys/fs/cgroup/bench/cpuset.cpus                2-3          what it is to have
    /sys/fs/cgroup/bench/cpuset.cpus.effective      2-3          what it has

https://docs.kernel.org/admin-guide/cgroup-v2.html (Cpuset). A write of `isolated` succeeds and may read back invalid;
a valid partition becomes invalid later, as when another one claims its CPUs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from noisewatch.errors import Malformed
from noisewatch.sources.cgroup_mounts import is_inside_namespace, read_unified_mount
from noisewatch.sources.cpulist import CpuSet, parse_cpu_list
from noisewatch.sources.names import clean
from noisewatch.sources.reader import Reader

ISOLATED, ROOT, _MEMBER = "isolated", "root", "member"
_KIND = re.compile(rf"({ISOLATED}|{ROOT})(?: invalid(?: \((.*)\))?)?")
_DEEPEST = 4  # partitions nest, but nobody nests them deeper by hand


@dataclass(frozen=True, slots=True)
class Partition:
    """One group that is, or was to be, a partition. `wanted` and `has` are None where they are unknown."""

    folder: str
    kind: str  # isolated or root
    invalid_reason: str | None  # the kernel's; None: it is valid
    wanted: CpuSet | None
    has: CpuSet | None


@dataclass(frozen=True, slots=True)
class PartitionRoot:
    """The root of a cgroup v2 hierarchy that has the cpuset controller."""

    folder: str
    delegates_cpuset: bool  # its children have the controller already


@dataclass(frozen=True, slots=True)
class Partitions:
    """`isolated` are the CPUs of valid isolated ones; None where they are unknown, as in a container."""

    isolated: CpuSet | None
    all: tuple[Partition, ...] = ()
    root: PartitionRoot | None = None  # where one could be made


def parse_partition_kind(text: str) -> tuple[str, str | None]:
    """What a group is (`member` too), and why it is not, where it is invalid. Raises Malformed."""
    said = text.strip()
    match = _KIND.fullmatch(said)
    if match is None and said != _MEMBER:
        raise Malformed("member, root or isolated", said)
    if match is None:
        return _MEMBER, None
    return match[1], clean(match[2] or "the kernel gives no reason") if "invalid" in said else None


def read_partitions(reader: Reader, previous: Partitions | None = None) -> Partitions:
    """The partitions now. After the first time only known ones, and the groups in and beside them, are looked at."""
    root = read_unified_mount(reader)
    if root is None:
        return Partitions(None)
    if root == "":
        return Partitions(frozenset())
    if is_inside_namespace(reader):
        reader.note(f"{root}/cpuset.cpus.isolated", "partitions outside of this container cannot be seen")
        return Partitions(None)
    listed = reader.parsed(f"{root}/cpuset.cpus.isolated", parse_cpu_list, expected=False)
    if listed is None and reader.names_or_none(root) is None:
        return Partitions(None)
    found = {each.folder: each for each in _walk(reader, root, _DEEPEST, is_thorough=previous is None)}
    for known in previous.all if previous is not None else ():
        if known.folder not in found:
            found.update((each.folder, each) for each in _read_partition(reader, known.folder)[1])
    valid = [each.has for each in found.values() if each.kind == ISOLATED and not each.invalid_reason]
    isolated = listed if listed is not None else None if None in valid else frozenset().union(*filter(None, valid))
    place = previous.root if previous is not None else _read_root(reader, root)
    return Partitions(isolated, tuple(found[folder] for folder in sorted(found)), place)


def _read_root(reader: Reader, folder: str) -> PartitionRoot | None:
    controllers = reader.text_or_none(f"{folder}/cgroup.controllers", expected=False) or ""
    delegated = reader.text_or_none(f"{folder}/cgroup.subtree_control", expected=False) or ""
    return PartitionRoot(folder, "cpuset" in delegated.split()) if "cpuset" in controllers.split() else None


def _walk(reader: Reader, folder: str, depth: int, is_thorough: bool) -> Iterator[Partition]:
    """Below a group without the controller there are no partitions; below a mere member hardly ever."""
    for name in reader.names_or_none(folder, expected=False) or []:
        if "." in name and not name.endswith((".slice", ".scope", ".service")):
            continue  # an interface file, not a child
        kind, found = _read_partition(reader, f"{folder}/{name}")
        yield from found
        if depth > 1 and (found or (is_thorough and kind == _MEMBER)):
            yield from _walk(reader, f"{folder}/{name}", depth - 1, is_thorough)


def _read_partition(reader: Reader, folder: str) -> tuple[str | None, list[Partition]]:
    """What the group is, None where it has no such file; and the partition, if it is one."""
    known = reader.parsed(f"{folder}/cpuset.cpus.partition", parse_partition_kind, expected=False)
    if known is None or known[0] == _MEMBER:
        return (known[0] if known is not None else None), []
    kind, invalid_reason = known
    wanted = reader.parsed(f"{folder}/cpuset.cpus", parse_cpu_list, expected=False)
    has = reader.parsed(f"{folder}/cpuset.cpus.effective", parse_cpu_list)
    return kind, [Partition(folder, kind, invalid_reason, wanted, has)]
