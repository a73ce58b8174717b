"""A watch of whether the cgroup of a command is frozen, or has used up its CPU quota."""

from __future__ import annotations

from collections import deque
from types import TracebackType
from typing import Self

from noisewatch.errors import NoisewatchError, Unreadable
from noisewatch.kernel.cgroup.freezing import (
    FindGroups,
    FreezeLook,
    Freezer,
    FreezeReader,
    GroupFreeze,
    entrances_of,
)
from noisewatch.kernel.reader import Reader
from noisewatch.machine import Machine
from noisewatch.machine.file_changes import FileChanges
from noisewatch.model.run.freezing import FreezeTally, Freezing


class FreezeWatch:
    """A context manager that watches the cgroups of commands, one command after the other.

    Call `prepare` before it is started, `sample` while it runs, and `end`. A look finds the groups of the command. On
    this host the kernel notifies of writes that may freeze or thaw them.
    """

    def __init__(self, machine: Machine, find: FindGroups | None = None) -> None:
        """Begin without a command; `find` is as in FreezeReader."""
        self._machine = machine
        self._reader = FreezeReader(machine, find)
        self._tally = FreezeTally(FreezeLook(0))
        self._changes = FileChanges(self.note) if machine.is_live else None
        self._freezer_by_notice: dict[str, Freezer] = {}
        self._entrances: frozenset[str] = frozenset()
        self._noted: deque[tuple[int, GroupFreeze | None, bool]] = deque()  # filled by another thread; None: a move

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._changes is not None:
            self._changes.close()

    def prepare(self, cgroup: str | None = None) -> None:
        """Watch the groups of the next command: this process's own, and the cgroup v2 to which it is moved."""
        self._noted.clear()
        look = self._reader.look() or FreezeLook(self._machine.now_ns())
        if cgroup is not None:
            try:
                self._reader.enter(cgroup)
                look = self._reader.look_again()
            except Unreadable as error:
                look = FreezeLook(look.taken_at_ns, reason=str(error))
        self._watch_groups()
        if self._changes is not None:
            entrances = entrances_of(Reader(self._machine), with_v2=cgroup is None)  # it enters that group itself
            self._entrances = frozenset(filter(self._changes.watch, entrances))
        self._tally = FreezeTally(look)

    def sample(self, pid: int) -> None:
        """Look at the groups of the command's first process."""
        look = self._reader.look(f"/proc/{pid}/cgroup")
        if look is not None:
            self._take_noted(look.taken_at_ns)
            self._tally.add(look)
            self._watch_groups()

    def end(self, length_ns: int) -> Freezing:
        """Return for how long the groups of the command were frozen; it has ended after `length_ns`."""
        look = self._reader.look_again()
        self._take_noted(look.taken_at_ns)
        self._tally.add(look)
        return self._tally.freezing(length_ns)

    def note(self, path: str) -> None:
        """Note what a write to the file may have changed, from any thread: a group's state, or its members."""
        if path in self._entrances:
            self._noted.append((self._machine.now_ns(), None, False))
        freezer = self._freezer_by_notice.get(path)
        if freezer is None:
            return
        at_ns = self._machine.now_ns()
        try:
            group = freezer.read(self._machine)
        except NoisewatchError:
            return  # it is gone
        self._noted.append((at_ns, group, freezer.is_written_to_freeze))

    def _take_noted(self, until_ns: int) -> None:
        while self._noted and self._noted[0][0] <= until_ns:
            at_ns, group, is_certain = self._noted.popleft()
            if group is None:
                self._tally.move(at_ns)
            else:
                self._tally.change(group, at_ns, is_certain)

    def _watch_groups(self) -> None:
        for freezer in self._reader.freezers:
            for path in freezer.notices:
                if self._changes is not None and self._changes.watch(path):
                    self._freezer_by_notice[path] = freezer
