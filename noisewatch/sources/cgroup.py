"""The CPU bandwidth that this process's cgroups leave it, and how often they ran out of it.

    v2  cpu.max              50000 100000      (quota and period in µs; `max` is no quota)
        cpu.stat             nr_throttled 12
    v1  cpu.cfs_quota_us     50000             (-1 is no quota)
        cpu.cfs_period_us    100000
        cpu.stat             nr_throttled 12

https://docs.kernel.org/admin-guide/cgroup-v2.html (CPU), https://docs.kernel.org/scheduler/sched-bwc.html
"""

from __future__ import annotations

from dataclasses import dataclass

from noisewatch.errors import Malformed
from noisewatch.sources.cgroup_mounts import MEMBERSHIP, CgroupMount, parse_membership, read_cgroup_mounts
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
    hierarchy = _hierarchy_of_cpu(mounts, membership)
    if hierarchy is None:
        return Cgroup(None, UNLIMITED, 0, None, None)
    mount, path = hierarchy
    read_level = _read_v1 if mount.version == 1 else _read_v2
    folders = _folders(reader, mount.folder, path)
    return _combined(mount.version, [(folder, read_level(reader, folder)) for folder in folders])


def _hierarchy_of_cpu(mounts: tuple[CgroupMount, ...], membership: dict[str, str]) -> tuple[CgroupMount, str] | None:
    """The mount that holds the cpu controller and the path in it; None where no mount holds it."""
    for mount in mounts:
        if mount.version == 1 and "cpu" in mount.controllers and "cpu" in membership:
            return mount, membership["cpu"]
    for mount in mounts:
        if mount.version == 2 and "" in membership:
            return mount, membership[""]
    return None


def _folders(reader: Reader, root: str, path: str) -> list[str]:
    """This process's folder and its parents up to the root, the innermost first.

    In a container the path may be the host's while the mount shows only the container's part.
    """
    parts = [part for part in path.split("/") if part and part != ".."]
    folders = ["/".join([root, *parts[:count]]) for count in range(len(parts), -1, -1)]
    return [folder for folder in folders if folder == root or not reader.is_absent(folder)]


def _read_v2(reader: Reader, folder: str) -> _Level:
    """The true root, and a level without the cpu controller, have no bandwidth control."""
    names = reader.names_or_none(folder)
    if names is None:
        return _UNKNOWN
    controllers = reader.text_or_none(f"{folder}/cgroup.controllers", expected=False)
    is_root = "cgroup.events" not in names  # which only the root of the hierarchy lacks
    is_without = is_root or (controllers is not None and "cpu" not in controllers.split())
    if "cpu.max" not in names and is_without:
        return _UNLIMITED
    limit = reader.text_or_none(f"{folder}/cpu.max")
    return _Level(
        reader.parsed(f"{folder}/cpu.max", parse_cpu_max),
        reader.parsed(f"{folder}/cpu.stat", parse_throttled),
        limit.strip() if limit is not None else None,
    )


def _read_v1(reader: Reader, folder: str) -> _Level:
    """A kernel without CONFIG_CFS_BANDWIDTH has no such files."""
    if reader.is_absent(f"{folder}/cpu.cfs_quota_us"):
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
    """The narrowest quota on the path; unknown where any level is."""
    quotas = [(level.quota_share, folder) for folder, level in levels]
    throttled = [level.throttled_periods for _, level in levels]
    known = [(quota, folder) for quota, folder in quotas if quota is not None]
    narrowest = min(known, default=(None, None))
    is_known = len(known) == len(quotas)
    is_limited = is_known and narrowest[0] != UNLIMITED
    return Cgroup(
        version,
        narrowest[0] if is_known else None,
        None if any(count is None for count in throttled) else sum(count or 0 for count in throttled),
        narrowest[1] if is_limited else None,
        next((level.limit_text for folder, level in levels if is_limited and folder == narrowest[1]), None),
        levels[0][0] if levels else None,
    )
