"""The mount points of cgroup hierarchies, and this process's groups in them.

    /proc/self/mounts   cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid,… 0 0
                        cgroup /sys/fs/cgroup/cpu cgroup rw,relatime,cpu 0 0
    /proc/self/mountinfo    30 23 0:26 / /sys/fs/cgroup rw shared:9 - cgroup2 cgroup2 rw
                        the fourth field is the mounted part, relative to this cgroup namespace's root; `/..` is
                        outside the namespace
    /proc/self/cgroup   0::/user.slice/session-1.scope     relative to the same root
                        1:cpu,cpuacct:/docker/4f…

https://man7.org/linux/man-pages/man7/cgroups.7.html, https://man7.org/linux/man-pages/man7/cgroup_namespaces.7.html
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import lru_cache

from msgspec import Struct

from noisewatch.errors import Malformed
from noisewatch.kernel.numbers import is_count, lines_of
from noisewatch.kernel.reader import Reader
from noisewatch.kernel.system.mounts import LONGEST_PATH, MOUNTS, OWN_MOUNTS, parse_mounts

MEMBERSHIP = "/proc/self/cgroup"
MOUNT_ROOTS = "/proc/self/mountinfo"
_FIELDS_BEFORE_DASH = 6


class CgroupMount(Struct, frozen=True):
    """One mounted hierarchy. `controllers` is empty for version 2."""

    folder: str
    version: int
    controllers: frozenset[str]
    root: str | None = None  # the mounted part of the hierarchy; None means unknown


@lru_cache(maxsize=4)
def parse_cgroup_mounts(text: str) -> tuple[CgroupMount, ...]:
    """Return the cgroup file systems among the mounts.

    Raise Malformed, also if there is no mount at all: a machine always has a root.
    """
    version_by_kind = {"cgroup": 1, "cgroup2": 2}
    return tuple(
        CgroupMount(mount.folder, version, frozenset(mount.options.split(",") if version == 1 else ()))
        for mount in parse_mounts(text)
        if (version := version_by_kind.get(mount.kind)) is not None
    )


@lru_cache(maxsize=4)
def parse_mount_roots(text: str) -> Mapping[str, str]:
    """Return each cgroup mount's root, by folder; of several mounts on a folder, the last counts. Raise Malformed."""
    if not text.strip():
        raise Malformed("mounts with their roots", "", 1)
    roots = {}
    for number, line in enumerate(lines_of(text), start=1):
        fields, dash, kind = line.partition(" - ")
        words = fields.split(" ")
        if not dash or len(words) < _FIELDS_BEFORE_DASH or max(map(len, words)) > LONGEST_PATH:
            raise Malformed("a mount with its root", line, number)
        if kind.startswith(("cgroup ", "cgroup2 ")):
            roots[words[4]] = words[3]
    return roots


def parse_membership(text: str) -> dict[str, str]:
    """Return a process's cgroup by controller; the unified hierarchy's key is the empty string. Raise Malformed."""
    paths: dict[str, str] = {}
    for number, line in enumerate(lines_of(text), start=1):
        fields = line.split(":", 2)
        is_path = len(fields) == 3 and fields[2].startswith("/") and len(fields[2]) <= LONGEST_PATH
        if not is_path or not is_count(fields[0]):
            raise Malformed("a line such as `0::/user.slice`", line, number)
        for controller in fields[1].split(","):
            paths[controller] = fields[2]
    if not paths:
        raise Malformed("a line such as `0::/user.slice`", "", 1)
    return paths


def read_cgroup_mounts(reader: Reader) -> tuple[CgroupMount, ...] | None:
    """Return the mounted hierarchies, or None if the mounts cannot be read."""
    own = reader.parse(OWN_MOUNTS, parse_cgroup_mounts, expected=False)
    mounts = own if own is not None else reader.parse(MOUNTS, parse_cgroup_mounts, expected=False)
    if mounts is None:
        return reader.parse(OWN_MOUNTS, parse_cgroup_mounts)  # notes the reason
    if not mounts:
        return mounts
    roots = reader.parse(MOUNT_ROOTS, parse_mount_roots) or {}
    return tuple(
        CgroupMount(mount.folder, mount.version, mount.controllers, roots.get(mount.folder)) for mount in mounts
    )


def find_hierarchy(
    reader: Reader, mounts: tuple[CgroupMount, ...], membership: dict[str, str], controller: str
) -> tuple[CgroupMount, str] | None:
    """Return the controller's mount and the process's path below it, or None if the controller is not mounted.

    Of several mounts, choose the one that contains the path: others may belong to another container.
    """
    if controller in membership:
        fitting = [mount for mount in mounts if mount.version == 1 and controller in mount.controllers]
        path = membership[controller]
    else:
        fitting = [mount for mount in mounts if mount.version == 2 and "" in membership]
        path = membership.get("", "/")
    placed = [(mount, _path_below_root(mount, path)) for mount in fitting]
    showing = [
        (mount, below)
        for mount, below in placed
        if reader.names_or_none(f"{mount.folder}{below}".rstrip("/"), expected=False)
    ]
    return next(iter(showing or placed), None)


def _path_below_root(mount: CgroupMount, path: str) -> str:
    """Return the path relative to the mount's root. Containers without a namespace only mount their own part."""
    root = (mount.root or "").rstrip("/")
    return path.removeprefix(root) or "/" if f"{path}/".startswith(f"{root}/") else path


def folders_up(mount: CgroupMount, path: str) -> list[str]:
    """Return the cgroup's folder and its parents up to the mount, innermost first; empty if the folder is unknown."""
    if ".." in [*path.split("/"), *(mount.root or "").split("/")]:
        return []
    parts = [part for part in path.removesuffix(" (deleted)").split("/") if part]
    return ["/".join([mount.folder, *parts[:count]]) for count in range(len(parts), -1, -1)]


def outside_reason(mount: CgroupMount, path: str) -> str | None:
    """Return why some of a process's groups are not visible in the mount; None if all are."""
    if ".." in path.split("/") or path.endswith(" (deleted)"):
        return f"{path} is outside the mounted part of the hierarchy"
    if mount.root is None:
        part = f"which part of the hierarchy {mount.folder} contains"
        return f"{MOUNT_ROOTS} does not show {part}: there may be groups outside it"
    if ".." in mount.root.split("/"):
        return f"{mount.folder} belongs to another cgroup namespace: the groups of this process in it are unknown"
    return None


def is_true_root(mount: CgroupMount, names: Collection[str]) -> bool:
    """Return whether the mount's folder, which contains `names`, is the hierarchy's root.

    In version 1 only the true root has release_agent; in version 2 only the true root lacks cgroup.events.
    """
    return "release_agent" in names if mount.version == 1 else bool(names) and "cgroup.events" not in names


def is_inside_namespace(reader: Reader) -> bool | None:
    """Return whether only a part of cgroup v2 is mounted, as shown by cgroup.events, which the true root lacks.

    False if cgroup v2 is not mounted, None if the mounts or the root's files are unknown.
    """
    root = read_unified_mount(reader)
    if not root:
        return None if root is None else False
    names = reader.names_or_none(root)
    return "cgroup.events" in names if names else None


def read_unified_mount(reader: Reader) -> str | None:
    """Return the folder where cgroup v2 is mounted; the empty string if it is not mounted, None if unknown."""
    mounts = read_cgroup_mounts(reader)
    if mounts is None:
        return None
    return next((mount.folder for mount in mounts if mount.version == 2), "")
