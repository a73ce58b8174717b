"""Where the cgroup hierarchies are mounted, and where in them this process is.

    /proc/self/mounts   cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid,… 0 0
                        cgroup /sys/fs/cgroup/cpu cgroup rw,relatime,cpu 0 0
    /proc/self/cgroup   0::/user.slice/session-1.scope
                        1:cpu,cpuacct:/docker/4f…

https://man7.org/linux/man-pages/man7/cgroups.7.html
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from noisewatch.errors import Malformed
from noisewatch.sources.numbers import is_count, lines_of
from noisewatch.sources.reader import Reader

MEMBERSHIP = "/proc/self/cgroup"
MOUNTS = "/proc/mounts"
OWN_MOUNTS = "/proc/self/mounts"


@dataclass(frozen=True, slots=True)
class CgroupMount:
    """One mounted hierarchy: version 2, or version 1 with its controllers."""

    folder: str
    version: int
    controllers: frozenset[str]


@lru_cache(maxsize=4)  # asked several times a snapshot, of machines with thousands of mounts
def parse_cgroup_mounts(text: str) -> tuple[CgroupMount, ...]:
    """The cgroup file systems among the mounts. Raises Malformed, also without any mount: there is always a root."""
    if not text.strip():
        raise Malformed("device, folder, type and options", "", 1)
    mounts = []
    for number, line in enumerate(lines_of(text), start=1):
        fields = line.split(" ")
        if len(fields) < 4:
            raise Malformed("device, folder, type and options", line, number)
        folder, kind, options = fields[1], fields[2], fields[3]
        if kind == "cgroup2":
            mounts.append(CgroupMount(folder, 2, frozenset()))
        elif kind == "cgroup":
            mounts.append(CgroupMount(folder, 1, frozenset(options.split(","))))
    return tuple(mounts)


def parse_membership(text: str) -> dict[str, str]:
    """This process's cgroup by controller; the unified hierarchy's controller is the empty string. Raises Malformed."""
    paths: dict[str, str] = {}
    for number, line in enumerate(lines_of(text), start=1):
        fields = line.split(":", 2)
        if len(fields) != 3 or not is_count(fields[0]) or not fields[2].startswith("/"):
            raise Malformed("a line such as `0::/user.slice`", line, number)
        for controller in fields[1].split(","):
            paths[controller] = fields[2]
    if not paths:
        raise Malformed("a line such as `0::/user.slice`", "", 1)
    return paths


def read_cgroup_mounts(reader: Reader) -> tuple[CgroupMount, ...] | None:
    """The mounted hierarchies; None where the mounts cannot be read."""
    own = reader.parsed(OWN_MOUNTS, parse_cgroup_mounts, expected=False)
    return own if own is not None else reader.parsed(MOUNTS, parse_cgroup_mounts)


def find_hierarchy(
    reader: Reader, mounts: tuple[CgroupMount, ...], membership: dict[str, str], controller: str
) -> tuple[CgroupMount, str] | None:
    """The mount that holds the controller, and the path in it; None where none is mounted.

    Where several mounts would do, the one that shows the path: others may belong to somebody else.
    """
    if controller in membership:
        fitting = [mount for mount in mounts if mount.version == 1 and controller in mount.controllers]
        path = membership[controller]
    else:
        fitting = [mount for mount in mounts if mount.version == 2 and "" in membership]
        path = membership.get("", "/")
    showing = [mount for mount in fitting if reader.names_or_none(f"{mount.folder}{path}".rstrip("/"), expected=False)]
    chosen = next(iter(showing or fitting), None)
    return None if chosen is None else (chosen, path)


def folders_up(root: str, path: str) -> list[str]:
    """This process's folder and its parents up to the root, the innermost first."""
    parts = [part for part in path.removesuffix(" (deleted)").split("/") if part and part != ".."]
    return ["/".join([root, *parts[:count]]) for count in range(len(parts), -1, -1)]


def lies_outside(path: str) -> bool:
    """Whether the path leads out of what is mounted."""
    return ".." in path.split("/") or path.endswith(" (deleted)")


def is_inside_namespace(reader: Reader) -> bool:
    """Whether what is mounted as the root of cgroup v2 is only a part of it: the true root has no cgroup.events."""
    root = read_unified_mount(reader)
    return bool(root) and "cgroup.events" in (reader.names_or_none(str(root), expected=False) or [])


def read_unified_mount(reader: Reader) -> str | None:
    """The folder of cgroup v2; the empty string where it is not mounted, None where that is unknown."""
    mounts = read_cgroup_mounts(reader)
    if mounts is None:
        return None
    return next((mount.folder for mount in mounts if mount.version == 2), "")
