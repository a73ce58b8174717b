"""Whether a process's cgroups are frozen: their threads do not run, although no thread's state shows it.

    /proc/4711/cgroup            0::/bench
                                 6:freezer:/bench
    v2  cgroup.events            populated 1
                                 frozen 1            (also by an ancestor; the root cannot be frozen and has no file)
        cgroup.stat.local        frozen_usec 313496  (Linux 6.18: since the group was created, also by an ancestor,
                                                      including the time until all threads obeyed the request)
    v1  freezer.state            THAWED              (FREEZING, FROZEN: also by writing to an ancestor's file)

https://docs.kernel.org/admin-guide/cgroup-v2.html (core interface files),
https://docs.kernel.org/admin-guide/cgroup-v1/freezer-subsystem.html
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from msgspec import Struct

from noisewatch.errors import Absent, Malformed, NoisewatchError, Unreadable
from noisewatch.kernel.cgroup.bandwidth import NS_PER_US, parse_throttling
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
from noisewatch.kernel.numbers import is_count, lines_of
from noisewatch.kernel.reader import Reader, content_of
from noisewatch.kernel.system.mounts import OWN_MOUNTS
from noisewatch.machine import Machine

_V1, _V2 = "freezer", ""  # the hierarchies' names in /proc/PID/cgroup
_IN_STATES = {"THAWED": False, "FREEZING": True, "FROZEN": True}
_STATE = "freezer.state"
_ENTRY_FILES = frozenset({"cgroup.procs", "cgroup.threads", "tasks"})  # `tasks` exists only in version 1
_DELETED = b" (deleted)\n"
_MOST_CACHED = 64  # a command may have a new group each time
_T = TypeVar("_T")


class GroupFreeze(Struct, frozen=True):
    """The state of one cgroup at one moment.

    `frozen_ns` is the time for which the kernel has counted the group as frozen, or as throttled by its quota; None if
    the kernel does not count it. If this time is known, `is_frozen` is always False.
    """

    folder: str
    is_frozen: bool
    frozen_ns: int | None = None


class FreezeLook(Struct, frozen=True):
    """The state of a process's cgroups at one moment; `reason` is why some may be missing, or None."""

    taken_at_ns: int
    groups: tuple[GroupFreeze, ...] = ()
    reason: str | None = None


class Freezer(Struct, frozen=True):
    """A cgroup that can be frozen, or throttled by a CPU quota.

    `notices` are files that are written when it is frozen or thawed; empty if the kernel counts the time.
    """

    folder: str
    file: str
    parse: Callable[[str], bool | int]
    notices: tuple[str, ...] = ()

    @property
    def is_written_to_freeze(self) -> bool:
        """Whether the `notices` are written for no other reason than freezing and thawing."""
        return self.file == _STATE

    def read(self, machine: Machine) -> GroupFreeze:
        """Read the group's state. Raise Unreadable or Malformed."""
        value = _read_and_parse(machine, f"{self.folder}/{self.file}", self.parse)
        return GroupFreeze(self.folder, value) if isinstance(value, bool) else GroupFreeze(self.folder, False, value)


FindGroups = Callable[[Reader, str, dict[str, str]], Iterable[Freezer]]


class FreezeReader:
    """A reader of one process's cgroups. The process may move between groups.

    A look is one reading: of the process's membership, and of a file in each of its groups.
    """

    def __init__(self, machine: Machine, find: FindGroups | None = None) -> None:
        """Prepare to read the groups that `find` returns for a /proc/PID/cgroup; by default all freezable groups."""
        self._machine = machine
        self._find_groups = find or _freezers_of
        # A process's groups, by the content of its /proc/PID/cgroup.
        self._freezers_by_membership: dict[bytes, tuple[Freezer, ...]] = {}
        self._freezers: tuple[Freezer, ...] = ()

    def look(self, membership: str = MEMBERSHIP) -> FreezeLook | None:
        """Return the states of the process's groups, and of groups that it left since the last look.

        Return None if the process has ended.
        """
        taken_at_ns = self._machine.now_ns()
        reason = None
        for _ in range(2):  # between two reads the process may leave a group, which is then removed
            try:
                return FreezeLook(taken_at_ns, tuple(self._read(membership)))
            except Absent as error:
                if error.path == membership:
                    return None
                reason = str(error)
            except NoisewatchError as error:
                reason = str(error)
            self._freezers_by_membership.clear()
        return FreezeLook(taken_at_ns, reason=reason)

    @property
    def freezers(self) -> tuple[Freezer, ...]:
        """The process's groups at the last look."""
        return self._freezers

    def look_again(self) -> FreezeLook:
        """Return the current state of the last look's groups if they still exist, even if the process has ended."""
        return FreezeLook(self._machine.now_ns(), tuple(self._read_existing(self._freezers)))

    def enter(self, folder: str) -> None:
        """Replace the last look's v2 group by `folder`, in which the next process will run. Raise Unreadable."""
        of_v1 = [freezer for freezer in self._freezers if freezer.file == _STATE]
        self._freezers = (*of_v1, *_v2_freezers(Reader(self._machine), folder))

    def _read(self, membership: str) -> Iterator[GroupFreeze]:
        """Yield the groups' states. Raise Unreadable or Malformed."""
        content = self._machine.read_bytes(membership)
        if _DELETED in content:
            raise Absent(membership, "the process is gone")  # a living process is never in a removed group
        freezers = self._freezers_by_membership.get(content)
        if freezers is None:
            freezers = self._find(membership, content)
        before, self._freezers = self._freezers, freezers
        yield from self._read_existing(freezer for freezer in before if freezer not in freezers)
        for freezer in freezers:
            yield freezer.read(self._machine)

    def _find(self, membership: str, content: bytes) -> tuple[Freezer, ...]:
        """Find and cache the process's groups. Raise Unreadable or Malformed."""
        paths = parse_membership(content.decode("utf-8", "surrogateescape"))
        if len(self._freezers_by_membership) >= _MOST_CACHED:
            self._freezers_by_membership.clear()
        freezers = self._freezers_by_membership[content] = tuple(
            self._find_groups(Reader(self._machine), membership, paths)
        )
        return freezers

    def _read_existing(self, freezers: Iterable[Freezer]) -> Iterator[GroupFreeze]:
        for freezer in freezers:
            try:
                yield freezer.read(self._machine)
            except NoisewatchError:
                continue


def parse_is_frozen(text: str) -> bool:
    """Return whether cgroup.events reports the group as frozen. Raise Malformed."""
    return bool(_parse_count_named("frozen", text))


def parse_frozen_ns(text: str) -> int:
    """Return the frozen time (ns) in cgroup.stat.local. Raise Malformed."""
    return _parse_count_named("frozen_usec", text) * NS_PER_US


def parse_freezer_state(text: str) -> bool:
    """Return whether freezer.state reports the group as freezing or frozen. Raise Malformed."""
    state = _IN_STATES.get(text.strip())
    if state is None:
        raise Malformed("THAWED, FREEZING or FROZEN", text.strip())
    return state


def _parse_count_named(name: str, text: str) -> int:
    for line in lines_of(text):
        key, _, count = line.partition(" ")
        if key == name and is_count(count):
            return int(count)
    raise Malformed(f"a line `{name} 0`", text[-40:])


def _read_and_parse(machine: Machine, path: str, parse: Callable[[str], _T]) -> _T:
    text = content_of(machine, path).decode("utf-8", "replace")
    try:
        return parse(text)
    except Malformed as error:
        raise Unreadable(path, error.reason) from error


def entry_files(reader: Reader, with_v2: bool = True) -> Iterator[str]:
    """Yield the files of this process's groups that are written when another process is moved into one of them.

    A write shows that a process may have been moved out, frozen and moved back between two looks.
    """
    mounts, own = read_cgroup_mounts(reader), reader.parse(MEMBERSHIP, parse_membership)
    if mounts is None or own is None:
        return
    hierarchies = (_V1, "cpu", *([_V2] if with_v2 else ()))
    places = [
        find_hierarchy(reader, mounts, {controller: own[controller]}, controller or _V1)
        for controller in hierarchies
        if controller in own
    ]
    for mount, path in filter(None, places):
        folder = f"{mount.folder}{path}".rstrip("/")
        yield from (f"{folder}/{name}" for name in _ENTRY_FILES & frozenset(reader.names_or_none(folder) or ()))


def quotas_of(reader: Reader, membership: str, path_by_controller: dict[str, str]) -> Iterator[Freezer]:
    """Yield a process's groups with a CPU quota file, except groups that also contain noisewatch."""
    mounts, own = read_cgroup_mounts(reader), reader.parse(MEMBERSHIP, parse_membership)
    if mounts is None or own is None:
        return
    ours = find_hierarchy(reader, mounts, own, "cpu")
    hierarchy = find_hierarchy(reader, mounts, path_by_controller, "cpu")
    if hierarchy is None:
        return
    for folder in folders_up(*hierarchy):
        has_quota = not {"cpu.max", "cpu.cfs_quota_us"}.isdisjoint(reader.names_or_none(folder) or ())
        if has_quota and (ours is None or folder not in folders_up(*ours)):
            yield Freezer(folder, "cpu.stat", _parse_throttled_ns)


def _parse_throttled_ns(text: str) -> int:
    """Return the throttled time (ns) in cpu.stat. Raise Malformed."""
    ns = parse_throttling(text).ns
    if ns is None:
        raise Malformed("a line `throttled_usec 0` or `throttled_time 0`", text[-20:])
    return ns


def _freezers_of(reader: Reader, membership: str, path_by_controller: dict[str, str]) -> Iterator[Freezer]:
    """Yield a process's freezable groups. Raise Unreadable if a group is not visible."""
    mounts = read_cgroup_mounts(reader)
    for controller, version in ((_V2, 2), (_V1, 1)):
        path = path_by_controller.get(controller)
        if path is None:
            continue
        if mounts is None:
            raise Unreadable(OWN_MOUNTS, reader.reason_by_path.get(OWN_MOUNTS, "not read"))
        hierarchy = find_hierarchy(reader, mounts, {controller: path}, _V1)
        if hierarchy is not None:
            yield from _freezers_in(reader, *hierarchy)
        elif path != "/":
            raise Unreadable(membership, f"cgroup v{version} is not mounted")


def _freezers_in(reader: Reader, mount: CgroupMount, path: str) -> Iterator[Freezer]:
    reason = outside_reason(mount, path)
    if reason is not None:
        raise Unreadable(mount.folder, reason)
    folder = f"{mount.folder}{path}".rstrip("/")
    if folder == mount.folder and is_true_root(mount, reader.names(folder)):
        return
    if mount.version == 1:
        above = [at for at in folders_up(mount, path) if at != mount.folder or _STATE in reader.names(at)]
        yield Freezer(folder, _STATE, parse_freezer_state, tuple(f"{at}/{_STATE}" for at in above))
    else:
        yield from _v2_freezers(reader, folder)


def _v2_freezers(reader: Reader, folder: str) -> Iterator[Freezer]:
    """Yield the v2 group in the folder if it can be frozen (since Linux 5.2). Raise Unreadable."""
    if "cgroup.freeze" not in reader.names(folder):
        return
    has_frozen_time = reader.parse(f"{folder}/cgroup.stat.local", parse_frozen_ns, expected=False) is not None
    if has_frozen_time:
        yield Freezer(folder, "cgroup.stat.local", parse_frozen_ns)
    else:
        yield Freezer(folder, "cgroup.events", parse_is_frozen, (f"{folder}/cgroup.events",))
