"""The CPU bandwidth that this process's cgroups leave it, and how often they ran out of it.

    v2  cpu.max              50000 100000      (quota and period in µs; `max` is no quota)
        cpu.stat             nr_throttled 12
    v1  cpu.cfs_quota_us     50000             (-1 is no quota)
        cpu.cfs_period_us    100000
        cpu.stat             nr_throttled 12

https://docs.kernel.org/admin-guide/cgroup-v2.html (CPU), https://docs.kernel.org/scheduler/sched-bwc.html
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from noisewatch.errors import Malformed
from noisewatch.sources.cgroup_mounts import (
    MEMBERSHIP,
    find_hierarchy,
    folders_up,
    lies_outside,
    parse_membership,
    read_cgroup_mounts,
)
from noisewatch.sources.numbers import are_counts, is_count, lines_of, parse_integer
from noisewatch.sources.reader import Reader

UNLIMITED = float("inf")


@dataclass(frozen=True, slots=True)
class Cgroup:
    """The limits on the whole path from this process's cgroup to the root; None is unknown."""

    version: int | None
    cpu_quota_share: float | None  # of one CPU; infinite without a quota
    throttled_periods: int | None  # since the cgroup was made
    limited_by: str | None  # the folder of the narrowest quota
    limit_text: str | None  # what the quota's file there says
    folder: str | None = None  # this process's own
    known_quota_share: float = UNLIMITED  # of the levels that could be read
    folders: tuple[str, ...] = ()  # from this process's own to the root of what is mounted
    reaches_root: bool = False  # False: this process lies outside of what is mounted


@dataclass(frozen=True, slots=True)
class _Level:
    quota_share: float | None
    throttled_periods: int | None
    limit_text: str | None = None


_UNLIMITED = _Level(UNLIMITED, 0)
_UNKNOWN = _Level(None, None)


def read_cgroup(reader: Reader) -> Cgroup:
    """The bandwidth limits of the observing process; its children, the benchmark among them, inherit them."""
    mounts = read_cgroup_mounts(reader)
    membership = reader.parsed(MEMBERSHIP, parse_membership)
    if mounts is None or membership is None:
        return Cgroup(None, None, None, None, None)
    hierarchy = find_hierarchy(reader, mounts, membership, "cpu")
    if hierarchy is None:
        reader.note(MEMBERSHIP, "no hierarchy with the cpu controller is mounted, so limits cannot be seen")
        return Cgroup(None, None, None, None, None)
    mount, path = hierarchy
    read_level = _read_v1 if mount.version == 1 else _read_v2
    folders = folders_up(mount.folder, path)
    levels = [(folder, read_level(reader, folder, folder == mount.folder)) for folder in folders]
    is_outside = lies_outside(path)
    if is_outside:
        reader.note(MEMBERSHIP, f"{path} lies outside of what is mounted")
        levels.append((mount.folder, _UNKNOWN))
    return replace(_combined(mount.version, levels), folders=tuple(folders), reaches_root=not is_outside)


def _read_v2(reader: Reader, folder: str, is_mounted_root: bool) -> _Level:
    """The true root, and a level without the cpu controller, have no bandwidth control.

    A mount's root that has cgroup.events is not the true one: what limits it from outside cannot be seen.
    """
    listed = reader.names_or_none(folder)
    controllers = reader.text_or_none(f"{folder}/cgroup.controllers", expected=False)
    if listed is None:
        return _UNKNOWN
    names = set(listed)
    is_true_root = is_mounted_root and not names & {"cgroup.events", "cpu.max"}
    if is_true_root and controllers is not None:
        return _UNLIMITED
    if controllers is not None and "cpu" not in controllers.split() and "cpu.max" not in names:
        return _outside(reader, folder) if is_mounted_root else _UNLIMITED
    limit = reader.text_or_none(f"{folder}/cpu.max")
    level = _Level(
        reader.parsed(f"{folder}/cpu.max", parse_cpu_max),
        reader.parsed(f"{folder}/cpu.stat", parse_throttled),
        limit.strip() if limit is not None else None,
    )
    return _outside(reader, folder, level) if is_mounted_root else level


def _outside(reader: Reader, folder: str, level: _Level = _UNLIMITED) -> _Level:
    """The level of a container's root: a quota there is known, but not that there is none."""
    if level.quota_share is not None and level.quota_share != UNLIMITED:
        return level
    reader.note(folder, "the root of a container: limits outside of it cannot be seen")
    return _UNKNOWN


def _read_v1(reader: Reader, folder: str, is_mounted_root: bool) -> _Level:
    """A kernel without CONFIG_CFS_BANDWIDTH has no such files, but always cpu.shares."""
    names = reader.names_or_none(folder)
    if names is None:
        return _UNKNOWN
    if reader.is_absent(f"{folder}/cpu.cfs_quota_us") and "cpu.shares" in names:
        return _UNLIMITED
    throttled = reader.parsed(f"{folder}/cpu.stat", parse_throttled)
    quota_us = reader.parsed(f"{folder}/cpu.cfs_quota_us", parse_integer)
    if quota_us is None or quota_us < 0:
        return _Level(None if quota_us is None else UNLIMITED, throttled)
    period_us = reader.parsed(f"{folder}/cpu.cfs_period_us", parse_integer)
    return _Level(quota_us / period_us if period_us else None, throttled, str(quota_us))


def parse_cpu_max(text: str) -> float:
    """The quota as a share of one CPU; infinite for `max`. Raises Malformed."""
    words = text.split()
    if len(words) != 2 or not are_counts(words[1:]) or int(words[1]) == 0:
        raise Malformed("`max 100000` or `50000 100000`", text.strip())
    if words[0] == "max":
        return UNLIMITED
    if not is_count(words[0]):
        raise Malformed("`max 100000` or `50000 100000`", text.strip())
    return int(words[0]) / int(words[1])


def parse_throttled(text: str) -> int:
    """How many periods were throttled. Raises Malformed, also where the line is missing: it was cut off."""
    for number, line in enumerate(lines_of(text), start=1):
        name, _, count = line.partition(" ")
        if not name or not is_count(count.strip()):
            raise Malformed("a name and a count", line, number)
        if name == "nr_throttled":
            return int(count)
    raise Malformed("a line `nr_throttled 0`", text[-20:])


def _combined(version: int, levels: list[tuple[str, _Level]]) -> Cgroup:
    """The narrowest quota on the path; unknown where any level is, but what is known to limit limits all the same."""
    limits = [
        (level.quota_share, folder, level.limit_text) for folder, level in levels if level.quota_share is not None
    ]
    narrowest = min(limits, key=lambda limit: limit[0], default=(UNLIMITED, None, None))
    is_known = len(limits) == len(levels)
    is_limited = narrowest[0] != UNLIMITED
    throttled = [level.throttled_periods for _, level in levels]
    return Cgroup(
        version=version,
        cpu_quota_share=narrowest[0] if is_known else None,
        throttled_periods=None if None in throttled else sum(count or 0 for count in throttled),
        limited_by=narrowest[1] if is_limited else None,
        limit_text=narrowest[2] if is_limited else None,
        folder=levels[0][0],
        known_quota_share=narrowest[0],
    )
