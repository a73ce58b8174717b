"""The CPU bandwidth of this process's cgroups: their limits, how often they were throttled, and their weights.

    v2  cpu.max              50000 100000      (quota and period in µs; `max`: no quota)
        cpu.stat             nr_periods 40
                             nr_throttled 12
                             throttled_usec 600000
    v1  cpu.cfs_quota_us     50000             (-1: no quota)
        cpu.cfs_period_us    100000
        cpu.stat             nr_periods 40
                             nr_throttled 12
                             throttled_time 600000000  (ns)

A group only counts the effects of its own quota, not its parents'. The time is the sum over all CPUs.

https://docs.kernel.org/admin-guide/cgroup-v2.html (CPU), https://docs.kernel.org/scheduler/sched-bwc.html

The quotas of processes that use the target CPUs are read too, because they may be in other cgroups than noisewatch:

    /proc/4711/cgroup    0::/docker/4f…     then cpu.max and cpu.stat from there up, as for our own cgroup

https://man7.org/linux/man-pages/man7/cgroups.7.html

The weights, from this process's own cgroup up to the root, decide its share of a contended CPU:

    v2  cpu.weight       100           (1 to 10000; 100 is the default)
        cpu.idle         0             (1: only time that others leave, Linux 5.15)
        cpu.uclamp.max   max           (or a percentage of the CPU's capacity: 45.00, Linux 5.4)
    v1  cpu.shares       1024          (the default); the other two files are the same

https://docs.kernel.org/admin-guide/cgroup-v2.html#cpu-interface-files
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from noisewatch.cpus import CpuSet
from noisewatch.errors import Malformed, Unreadable
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
from noisewatch.kernel.numbers import integer_from, is_count, lines_of, parse_flag
from noisewatch.kernel.reader import Reader
from noisewatch.kernel.tasks.task import Tasks
from noisewatch.text import clean

UNLIMITED = float("inf")
NS_PER_US = 1_000
_NO_QUOTA_US = -1  # version 1
# https://docs.kernel.org/scheduler/sched-bwc.html: quotas and periods are at least 1 ms, periods at most 1 s.
_parse_quota_us = integer_from(1_000, 2**63 // NS_PER_US)
_parse_period_us = integer_from(1_000, 1_000_000)


class QuotaThrottling(Struct, frozen=True):
    """How often a group has exhausted its quota since its creation, and for how long its threads were stopped."""

    periods: int
    ns: int | None  # stopped time, summed over all CPUs; None means unknown
    enforced: int | None = None  # periods in which the group ran under a quota; None means unknown


class CgroupLevel(Struct, frozen=True):
    """One cgroup on the path to the root. None means unknown; `period_us` is also None without a quota."""

    folder: str
    quota_share: float | None  # in CPUs (0.5: half of one CPU); infinite without a quota
    throttling: QuotaThrottling | None
    limit_text: str | None = None
    period_us: int | None = None

    @property
    def described(self) -> str:
        """The folder and its quota, `/sys/fs/cgroup/ci: 50 ms in each 100 ms`; the folder alone without a quota."""
        folder = clean(self.folder)
        if self.quota_share is None or self.quota_share == UNLIMITED or self.period_us is None:
            return folder
        return f"{folder}: {_ms(self.quota_share * self.period_us)} ms in each {_ms(self.period_us)} ms"


def _ms(us: float) -> str:
    """Format as milliseconds, exact to the microsecond as in the files."""
    return f"{us / 1e3:.3f}".rstrip("0").rstrip(".")


class Cgroup(Struct, frozen=True):
    """The limits on the path from this process's cgroup to the root; None means unknown."""

    version: int | None
    cpu_quota_share: float | None  # in CPUs (0.5: half of one CPU); infinite without a quota
    throttled_periods: int | None  # sum of all levels, each since its cgroup was created
    limited_by: str | None  # the folder with the narrowest quota; None if no quota is known
    limit_text: str | None  # content of the quota file in that folder
    folder: str | None = None  # this process's own cgroup
    known_quota_share: float = UNLIMITED  # the narrowest quota of the readable levels
    levels: tuple[CgroupLevel, ...] = ()  # the visible levels, from this process's cgroup to the root of the mount
    reaches_root: bool = False  # False: groups of this process may be outside the mounted part

    @property
    def folders(self) -> tuple[str, ...]:
        return tuple(level.folder for level in self.levels)


_INVISIBLE = Cgroup(version=None, cpu_quota_share=None, throttled_periods=None, limited_by=None, limit_text=None)
_NEVER = QuotaThrottling(0, 0)


def read_cgroup(reader: Reader) -> Cgroup:
    """Return this process's bandwidth limits, which its children, including the benchmark, inherit."""
    mounts = read_cgroup_mounts(reader)
    membership = reader.parse(MEMBERSHIP, parse_membership)
    if mounts is None or membership is None:
        return _INVISIBLE
    hierarchy = find_hierarchy(reader, mounts, membership, "cpu")
    if hierarchy is None:
        reader.note(MEMBERSHIP, "no hierarchy with the cpu controller is mounted, so limits are unknown")
        return _INVISIBLE
    mount, path = hierarchy
    read_level = _read_v1 if mount.version == 1 else _read_v2
    levels = tuple(read_level(reader, folder, mount) for folder in folders_up(mount, path))
    reason = outside_reason(mount, path)
    if reason is not None:
        reader.note(MEMBERSHIP, reason)
    return _combine_levels(mount.version, levels, reaches_root=reason is None)


def read_levels(reader: Reader, membership_path: str) -> tuple[CgroupLevel, ...]:
    """Return the visible cgroups of another process, innermost first; empty if unknown."""
    mounts = read_cgroup_mounts(reader)
    membership = reader.parse(membership_path, parse_membership, expected=False)
    hierarchy = find_hierarchy(reader, mounts, membership, "cpu") if mounts and membership else None
    if hierarchy is None:
        return ()
    mount, path = hierarchy
    read_level = _read_v1 if mount.version == 1 else _read_v2
    return tuple(read_level(reader, folder, mount) for folder in folders_up(mount, path))


def _unlimited_level(folder: str) -> CgroupLevel:
    return CgroupLevel(folder, UNLIMITED, _NEVER)


def _unknown_level(folder: str) -> CgroupLevel:
    return CgroupLevel(folder, None, None)


def _read_v2(reader: Reader, folder: str, mount: CgroupMount) -> CgroupLevel:
    """Read one level. The true root and levels without the cpu controller have no bandwidth control."""
    names = reader.names_or_none(folder)
    controllers = reader.text_or_none(f"{folder}/cgroup.controllers", expected=False)
    if names is None:
        return _unknown_level(folder)
    if folder == mount.folder and is_true_root(mount, names) and "cpu.max" not in names and controllers is not None:
        return _unlimited_level(folder)
    if controllers is not None and "cpu" not in controllers.split() and "cpu.max" not in names:
        return _hide_outside_container(reader, _unlimited_level(folder), mount, names)
    limit = reader.parse(f"{folder}/cpu.max", parse_cpu_max)
    text = reader.text_or_none(f"{folder}/cpu.max")
    level = CgroupLevel(
        folder=folder,
        quota_share=limit[0] if limit is not None else None,
        throttling=reader.parse(f"{folder}/cpu.stat", parse_throttling),
        limit_text=text.strip() if text is not None else None,
        period_us=limit[1] if limit is not None else None,
    )
    return _hide_outside_container(reader, level, mount, names)


def _hide_outside_container(
    reader: Reader, level: CgroupLevel, mount: CgroupMount, names: Collection[str]
) -> CgroupLevel:
    """Return the level, with an unknown quota if it is a container's root without a quota of its own.

    The quotas of the cgroups outside the container are not visible.
    """
    if level.folder != mount.folder or is_true_root(mount, names):
        return level
    if level.quota_share is None or level.quota_share != UNLIMITED:
        return level
    reader.note(level.folder, "the root of a container: limits outside it are not visible")
    return replace(level, quota_share=None, throttling=None)


def _read_v1(reader: Reader, folder: str, mount: CgroupMount) -> CgroupLevel:
    """Read one level. A kernel without CONFIG_CFS_BANDWIDTH has no quota files, but still cpu.shares."""
    names = reader.names_or_none(folder)
    if names is None:
        return _unknown_level(folder)
    if reader.is_absent(f"{folder}/cpu.cfs_quota_us") and "cpu.shares" in names:
        return _hide_outside_container(reader, _unlimited_level(folder), mount, names)
    throttling = reader.parse(f"{folder}/cpu.stat", parse_throttling)
    quota_us = reader.parse(f"{folder}/cpu.cfs_quota_us", _parse_v1_quota_us)
    if quota_us is None or quota_us == _NO_QUOTA_US:
        level = CgroupLevel(folder, None if quota_us is None else UNLIMITED, throttling)
        return _hide_outside_container(reader, level, mount, names)
    period_us = reader.parse(f"{folder}/cpu.cfs_period_us", _parse_period_us)
    return CgroupLevel(
        folder=folder,
        quota_share=quota_us / period_us if period_us else None,
        throttling=throttling,
        limit_text=str(quota_us),
        period_us=period_us or None,
    )


def _parse_v1_quota_us(text: str) -> int:
    return _NO_QUOTA_US if text.strip() == str(_NO_QUOTA_US) else _parse_quota_us(text)


def parse_cpu_max(text: str) -> tuple[float, int | None]:
    """Return the quota (as a share of one CPU) and its period in µs; for `max`, infinity and None.

    Raise Malformed.
    """
    words = text.split()
    if len(words) != 2:
        raise Malformed("`max 100000` or `50000 100000`", text.strip())
    period_us = _parse_period_us(words[1])
    if words[0] == "max":
        return UNLIMITED, None
    return _parse_quota_us(words[0]) / period_us, period_us


def parse_throttling(text: str) -> QuotaThrottling:
    """Return the counters in cpu.stat. Raise Malformed, also if nr_throttled is missing, as in a truncated file."""
    counts = {}
    for number, line in enumerate(lines_of(text), start=1):
        name, _, count = line.partition(" ")
        if not name or not is_count(count.strip()):
            raise Malformed("a name and a count", line, number)
        counts[name] = int(count)
    if "nr_throttled" not in counts:
        raise Malformed("a line `nr_throttled 0`", text[-20:])
    usec = counts.get("throttled_usec")
    ns = usec * NS_PER_US if usec is not None else counts.get("throttled_time")
    return QuotaThrottling(counts["nr_throttled"], ns, counts.get("nr_periods"))


def _combine_levels(version: int, levels: tuple[CgroupLevel, ...], reaches_root: bool) -> Cgroup:
    """Return the path's limits: its quota is the narrowest quota of all levels, unknown if any level's is unknown."""
    readable = [level for level in levels if level.quota_share is not None]
    narrowest = min(readable, key=lambda level: level.quota_share or 0.0, default=_unlimited_level(""))
    is_complete = reaches_root and len(readable) == len(levels)
    is_limited = narrowest.quota_share != UNLIMITED
    periods = [level.throttling.periods if level.throttling is not None else None for level in levels]
    return Cgroup(
        version=version,
        cpu_quota_share=narrowest.quota_share if is_complete else None,
        throttled_periods=None if None in periods or not reaches_root else sum(count or 0 for count in periods),
        limited_by=narrowest.folder if is_limited else None,
        limit_text=narrowest.limit_text if is_limited else None,
        folder=levels[0].folder if levels else None,
        known_quota_share=UNLIMITED if narrowest.quota_share is None else narrowest.quota_share,
        levels=levels,
        reaches_root=reaches_root,
    )


_MOST_WORKERS = 4  # processes; each takes about twenty reads
_LEAST_NS = 5_000_000  # least run time since the previous snapshot; processes that ran less do not matter


def read_worker_cgroups(
    reader: Reader, tasks: Tasks | None, previous: Tasks | None, target: CpuSet, own_pids: frozenset[int]
) -> Mapping[int, tuple[CgroupLevel, ...]]:
    """Return, by pid, the cgroup levels of the processes with the most target CPU time since the last snapshot."""
    if tasks is None or previous is None:
        return {}
    ran_ns: Counter[int] = Counter()
    for tid, task in tasks.by_tid.items():
        before = previous.by_tid.get(tid)
        if task.cpu in target and not task.is_kernel and task.pid not in own_pids and before is not None:
            ran_ns[task.pid] += task.ran_ns - before.ran_ns
    workers = [pid for pid, ns in ran_ns.most_common(_MOST_WORKERS) if ns >= _LEAST_NS]
    return {pid: read_levels(reader, f"/proc/{pid}/cgroup") for pid in workers}


T = TypeVar("T")

DEFAULT_WEIGHT = 100
DEFAULT_SHARES = 1024
# cpu.shares always exists. A v2 level without the cpu controller has no cpu.weight, and the default weight.
_parse_weight, _parse_shares = integer_from(0, 10_000), integer_from(0, 1 << 18)
UNCLAMPED = 100.0


class CpuWeight(Struct, frozen=True):
    """The weight of one level. None means unknown. If the kernel lacks a file, the file's default applies."""

    folder: str
    weight: int | None  # in the kernel's units: the default is 100 in v2 and 1024 in v1
    is_idle: bool | None
    clamp_percent: float | None

    @property
    def is_known(self) -> bool:
        return None not in (self.weight, self.is_idle, self.clamp_percent)


class CpuWeights(Struct, frozen=True):
    """The weights of the visible levels, innermost first."""

    version: int
    levels: tuple[CpuWeight, ...]
    reaches_root: bool  # False: the path ends at a container's root

    @property
    def default(self) -> int:
        return DEFAULT_SHARES if self.version == 1 else DEFAULT_WEIGHT

    @property
    def file(self) -> str:
        return "cpu.shares" if self.version == 1 else "cpu.weight"


def parse_uclamp(text: str) -> float:
    """Return the percentage; 100 for `max`. Raise Malformed."""
    word = text.strip()
    if word == "max":
        return UNCLAMPED
    if re.fullmatch(r"\d{1,3}(\.\d{1,2})?", word, re.ASCII) is None:
        raise Malformed("`max` or a percentage such as 45.00", word)
    return float(word)


def read_cpu_weights(reader: Reader, cgroup: Cgroup) -> CpuWeights | None:
    """Return the weights of the levels in `cgroup`, or None if it has no levels."""
    if cgroup.version is None or not cgroup.folders:
        return None
    *inner, root = cgroup.folders
    if cgroup.version == 1:
        shares = {folder: reader.parse(f"{folder}/cpu.shares", _parse_shares) for folder in cgroup.folders}
        levels = tuple(_read_weight(reader, folder, weight) for folder, weight in shares.items())
        is_true_root = "release_agent" in (reader.names_or_none(root) or ())  # only the true root has it
        return CpuWeights(1, levels, cgroup.reaches_root and is_true_root)
    is_true_root = _is_true_root(reader, root)
    folders = inner if is_true_root else cgroup.folders  # the true root competes with no group
    weights = {folder: _read_or(reader, folder, "cpu.weight", _parse_weight, DEFAULT_WEIGHT) for folder in folders}
    levels = tuple(_read_weight(reader, folder, weight) for folder, weight in weights.items())
    return CpuWeights(2, levels, cgroup.reaches_root and is_true_root)


def _is_true_root(reader: Reader, root: str) -> bool:
    """Return whether cgroup.events is neither listed nor readable: only the true root lacks it."""
    names = reader.names_or_none(root) or []
    try:
        reader.bytes(f"{root}/cgroup.events", expected=False)
    except Unreadable as error:
        return error.is_missing and "cgroup.controllers" in names and "cgroup.events" not in names
    return False


def _read_weight(reader: Reader, folder: str, weight: int | None) -> CpuWeight:
    is_idle = _read_or(reader, folder, "cpu.idle", parse_flag, False)
    return CpuWeight(folder, weight, is_idle, _read_or(reader, folder, "cpu.uclamp.max", parse_uclamp, UNCLAMPED))


def _read_or(reader: Reader, folder: str, name: str, parse: Callable[[str], T], default: T) -> T | None:
    """Return the parsed file; the default if only the folder exists, None if unknown."""
    if reader.names_or_none(folder) is None:
        return None
    path = f"{folder}/{name}"
    return default if reader.is_absent(path) else reader.parse(path, parse)
