"""Processes that a command leaves behind: the kernel makes them children of this process, a subreaper (prctl(2)).

    /proc/4711/task/4711/children    4712 4713        Linux 3.5, CONFIG_PROC_CHILDREN

They are never killed, and never waited for before they exit. Zombies are reaped, as init would do.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress

from noisewatch.machine.command.ending import ResourceUsage


def children_of(pid: int | str) -> frozenset[int] | None:
    """Return the process's children, zombies included; for `self`, None if the kernel does not list children."""
    lists = list(_read_children_lists(f"/proc/{pid}/task"))
    if not lists and pid == "self":
        return None
    return frozenset(int(word) for text in lists for word in text.split())


def _read_children_lists(folder: str) -> Iterator[bytes]:
    """Yield the list of children of each thread that has not exited."""
    try:
        threads = os.listdir(folder)
    except (FileNotFoundError, ProcessLookupError):
        return
    for thread in threads:
        with suppress(FileNotFoundError, ProcessLookupError), open(f"{folder}/{thread}/children", "rb", 0) as file:
            yield file.read()


def living_children() -> frozenset[int]:
    """Return this process's children except zombies, which cannot start anything."""
    return frozenset(pid for pid in children_of("self") or () if is_running(pid))


def with_descendants(pids: Iterable[int]) -> frozenset[int]:
    """Return the processes and all their descendants."""
    family: set[int] = set()
    left = set(pids)
    while left:
        pid = left.pop()
        family.add(pid)
        left |= (children_of(pid) or frozenset()) - family
    return frozenset(family)


class AdoptedProcesses:
    """The children that this process did not start itself, across a series of commands."""

    def __init__(self, inherited: frozenset[int] = frozenset()) -> None:
        """Begin with this process's `inherited` children, which, unlike helpers, can leave processes behind."""
        self._inherited = inherited
        self._known: frozenset[int] = frozenset()  # left by earlier commands
        self._helpers: frozenset[int] | None = None  # our children before the first command
        self._ours: frozenset[int] | None = frozenset()
        self.may_be_others = False  # whether adopted processes may be from a process older than the command
        self._usage = ResourceUsage()

    def begin_command(self) -> frozenset[int]:
        """Return the processes left by earlier commands; existing processes are not attributed to the next command."""
        self.reap()
        children = children_of("self")
        self._helpers = children if self._helpers is None else self._helpers
        self._known = (children or frozenset()) - (self._helpers or frozenset())
        earlier = with_descendants(self._known)
        self.may_be_others = bool(self._known or self._inherited & (children or frozenset()))
        self._ours = None if children is None else children | earlier
        self._usage = ResourceUsage()
        return earlier

    def reap(self, command: int | None = None) -> None:
        """Reap adopted zombies; count the usage of zombies that `command` left behind."""
        self._known = frozenset(pid for pid in self._known if _reap(pid) is None)
        if command is None:
            return
        for pid in self._processes_left_by(command) or ():
            usage = _reap(pid)
            if usage is not None:
                self._usage = self._usage.plus(usage)

    def end_command(self, command: int) -> tuple[frozenset[int] | None, ResourceUsage | None]:
        """Return the command's living descendants, and the usage of its adopted processes that have exited.

        Both are None if the kernel lists no children.
        """
        self.reap(command)
        left = self._processes_left_by(command)
        if left is None:
            return None, None
        self._known |= left
        return with_descendants(left), self._usage

    def _processes_left_by(self, command: int) -> frozenset[int] | None:
        now = children_of("self")
        return None if now is None or self._ours is None else now - self._ours - {command}


def is_running(pid: int) -> bool:
    """Return whether the child is running; an ended child is not reaped, so its starter still gets the exit status."""
    try:
        return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
    except ChildProcessError:
        return False


def _reap(pid: int) -> ResourceUsage | None:
    """Reap the child and return its usage, or None while it runs; an already reaped child has used nothing."""
    try:
        reaped_pid, _, used = os.wait4(pid, os.WNOHANG)
    except ChildProcessError:  # already reaped
        return ResourceUsage()
    return ResourceUsage.of(used) if reaped_pid else None
