"""The memory limits of this process's cgroups, and how often they have been reached.

    v2  memory.max, memory.high   4294967296      (bytes; `max`: no limit)
        memory.current            1073741824
        memory.stat               inactive_file 268435456
        memory.events.local       high 0
                                  max 12
    v1  memory.limit_in_bytes     9223372036854771712   (more than any machine has: no limit)
        memory.memsw.limit_in_bytes                 never below memory.limit_in_bytes (if swap is accounted)
        memory.usage_in_bytes, memory.failcnt, memory.stat

https://docs.kernel.org/admin-guide/cgroup-v2.html#memory, https://docs.kernel.org/admin-guide/cgroup-v1/memory.html
memory.events also counts descendant cgroups; memory.events.local (Linux 5.2) only counts this cgroup's own limit.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from noisewatch.errors import Malformed
from noisewatch.kernel.cgroup.mounts import (
    MEMBERSHIP,
    CgroupMount,
    find_hierarchy,
    folders_up,
    is_true_root,
    outside_reason,
    parse_membership,
    read_cgroup_mounts,
)
from noisewatch.kernel.memory.counters import parse_vmstat
from noisewatch.kernel.numbers import is_count, parse_count
from noisewatch.kernel.reader import Reader
from noisewatch.kernel.system.mounts import OWN_MOUNTS

UNLIMITED = 1 << 60  # a limit of this many bytes or more is none; v1 shows the largest number of whole pages
_CACHE_V2 = ("inactive_file", "active_file", "slab_reclaimable")
_CACHE_V1 = ("total_inactive_file", "total_active_file")
_OF_MEMORY = f"{MEMBERSHIP} (memory)"  # distinct from the cpu controller's reason
_HITS = ("high", "max", "oom")


class MemoryLimit(Struct, frozen=True):
    """One cgroup with a limit. None means unknown."""

    folder: str
    limit_bytes: int
    used_bytes: int | None  # including cached files
    cached_bytes: int | None  # memory that the kernel can reclaim
    hits: int | None  # how often the limit has been reached since the cgroup's creation
    text_by_file: Mapping[str, str]  # content of the files that set the limit


class MemoryLimits(Struct, frozen=True):
    """The limits from this process's cgroup up to the root. If a path is unreadable, there may be more limits."""

    limits: tuple[MemoryLimit, ...]
    unread: str | None  # the first unreadable path


_Level = tuple[MemoryLimit | None, str | None]  # the limit and an unreadable path; None if there is none


def read_memory_limits(reader: Reader) -> MemoryLimits:
    """Return this process's memory limits, which its children, including the benchmark, inherit."""
    mounts = read_cgroup_mounts(reader)
    membership = reader.parse(MEMBERSHIP, parse_membership)
    if mounts is None or membership is None:
        return MemoryLimits((), MEMBERSHIP if membership is None else OWN_MOUNTS)
    hierarchy = find_hierarchy(reader, mounts, membership, "memory")
    if hierarchy is None:
        reader.note(_OF_MEMORY, "no hierarchy with the memory controller is mounted, so limits are unknown")
        return MemoryLimits((), _OF_MEMORY)
    mount, path = hierarchy
    read_level = _read_v1 if mount.version == 1 else _read_v2
    levels = [read_level(reader, folder, mount) for folder in folders_up(mount, path)]
    reason = outside_reason(mount, path)
    if reason is not None:
        reader.note(MEMBERSHIP, reason)
        levels.append((None, MEMBERSHIP))
    return MemoryLimits(
        tuple(limit for limit, _ in levels if limit is not None),
        next((failed_path for _, failed_path in levels if failed_path is not None), None),
    )


def _read_v2(reader: Reader, folder: str, mount: CgroupMount) -> _Level:
    """Read one level. The true root and levels without the memory controller have no limit.

    Limits outside a container's root are not visible.
    """
    names = reader.names_or_none(folder)
    controllers = reader.text_or_none(f"{folder}/cgroup.controllers", expected=False)
    if names is None:
        return None, folder
    is_root = folder == mount.folder and is_true_root(mount, names)
    if is_root and "memory.max" not in names and controllers is not None:
        return None, None
    is_outside_hidden = folder == mount.folder and not is_root
    if controllers is not None and "memory" not in controllers.split() and "memory.max" not in names:
        return _hidden_outside_container(reader, folder) if is_outside_hidden else (None, None)
    return _read_limited_v2(reader, folder, is_outside_hidden)


def _read_limited_v2(reader: Reader, folder: str, is_outside_hidden: bool) -> _Level:
    texts = {name: reader.text_or_none(f"{folder}/{name}") for name in ("memory.max", "memory.high")}
    limits = {name: reader.parse(f"{folder}/{name}", parse_limit) for name in texts}
    set_bytes = [limit for limit in limits.values() if limit is not None and limit < UNLIMITED]
    failed_path = next((f"{folder}/{name}" for name, limit in limits.items() if limit is None), None)
    if not set_bytes:
        return (
            _hidden_outside_container(reader, folder)
            if is_outside_hidden and failed_path is None
            else (None, failed_path)
        )
    limit = MemoryLimit(
        folder=folder,
        limit_bytes=min(set_bytes),
        used_bytes=reader.parse(f"{folder}/memory.current", parse_count),
        cached_bytes=_sum_of(reader, f"{folder}/memory.stat", _CACHE_V2),
        hits=_read_hits(reader, folder),
        text_by_file={name: text.strip() for name, text in texts.items() if text is not None and text.strip() != "max"},
    )
    return limit, failed_path


def _hidden_outside_container(reader: Reader, folder: str) -> _Level:
    reader.note(folder, "the root of a container: limits outside it are not visible")
    return None, folder


def _read_hits(reader: Reader, folder: str) -> int | None:
    if not reader.is_absent(f"{folder}/memory.events.local"):
        return _sum_of(reader, f"{folder}/memory.events.local", _HITS)
    return _sum_of(reader, f"{folder}/memory.events", _HITS)


def _read_v1(reader: Reader, folder: str, mount: CgroupMount) -> _Level:
    limit_bytes = reader.parse(f"{folder}/memory.limit_in_bytes", parse_count)
    if limit_bytes is None:
        return None, f"{folder}/memory.limit_in_bytes"
    if limit_bytes >= UNLIMITED:
        is_root = folder != mount.folder or is_true_root(mount, reader.names_or_none(folder) or ())
        return (None, None) if is_root else _hidden_outside_container(reader, folder)
    with_swap = reader.parse(f"{folder}/memory.memsw.limit_in_bytes", parse_count, expected=False)
    limit = MemoryLimit(
        folder=folder,
        limit_bytes=limit_bytes,
        used_bytes=reader.parse(f"{folder}/memory.usage_in_bytes", parse_count),
        cached_bytes=_sum_of(reader, f"{folder}/memory.stat", _CACHE_V1),
        hits=reader.parse(f"{folder}/memory.failcnt", parse_count),
        text_by_file={
            **({} if with_swap is None else {"memory.memsw.limit_in_bytes": str(with_swap)}),
            "memory.limit_in_bytes": str(limit_bytes),
        },
    )
    return limit, None


def parse_limit(text: str) -> int:
    """Return the limit in bytes; UNLIMITED for `max`. Raise Malformed."""
    word = text.strip()
    if word != "max" and not is_count(word):
        raise Malformed("`max` or bytes", word)
    return UNLIMITED if word == "max" else int(word)


def _sum_of(reader: Reader, path: str, names: tuple[str, ...]) -> int | None:
    """Return the sum of the file's counts with these `names`, or None if one is missing."""
    counts = reader.parse(path, parse_vmstat)  # the same format
    if counts is None:
        return None
    values = [counts[name] for name in names if name in counts]
    if len(values) < len(names):
        reader.note(path, f"expected {', '.join(names)}, found {len(values)} of them")
        return None
    return sum(values)
