"""The machine's lock for a benchmark: a line in a file that names the lock's owner, valid while the owner is alive.

    /run/lock/noisewatch.lock      4711 81234567 4026531836 nightly.sh     pid, start time in ticks, namespace, name

The owner's descendants hold the lock too, so a script with the lock may call another script that takes it. The start
time distinguishes the owner from a later process with its PID, and the PID namespace, pid_namespaces(7), from a process
in another container. The name may change (execve), so it is not compared. An empty file is a released lock.
"""

from __future__ import annotations

import os
import re

from msgspec import Struct

from noisewatch.errors import Absent, Malformed, Unreadable
from noisewatch.kernel.numbers import require_match
from noisewatch.kernel.reader import Reader
from noisewatch.kernel.tasks.files import ThreadStat, parse_stat
from noisewatch.patterns import regex
from noisewatch.text import clean

PATH = "/run/lock/noisewatch.lock"
NAMESPACE = "pid namespace of this process"
_LINE = regex(r"(\d{1,10}) (\d{1,20}) (\d{1,20}) ([^\n]{0,100})\n?", re.ASCII)


class Owner(Struct, frozen=True):
    """The process that owns the lock."""

    pid: int
    started_ticks: int
    namespace: int
    name: str

    def line(self) -> str:
        """Return the lock file's content for this owner."""
        return f"{self.pid} {self.started_ticks} {self.namespace} {self.name}\n"


class MachineLock(Struct, frozen=True):
    """The state of the lock: free, or held by an owner that is alive, gone (a stale lock) or unknown.

    `is_ours`: whether the owner is this process or its ancestor, so that this process holds the lock; None if unknown.
    """

    owner: Owner | None
    is_alive: bool | None = None
    is_ours: bool | None = False

    @property
    def is_free(self) -> bool:
        """Whether the lock can be taken: it has no owner, or its owner is known to be gone."""
        return self.owner is None or self.is_alive is False


def parse_lock(text: str) -> Owner | None:
    """Parse the lock file. Return the owner, or None if the lock is released. Raise Malformed."""
    if not text.strip():
        return None
    match = require_match(_LINE.fullmatch(text), "`pid ticks namespace name`", text.strip())
    return Owner(int(match[1]), int(match[2]), int(match[3]), clean(match[4]))


def read_owner(reader: Reader, pid: int) -> Owner:
    """Return the process as an owner of the lock. Raise Unreadable (for example, no such process) or Malformed."""
    stat = _read_stat(reader, pid)
    namespace = _own_namespace(reader)
    if namespace is None:
        raise Unreadable(NAMESPACE, reader.reason_by_path.get(NAMESPACE, "not exported here"))
    return Owner(pid, stat.started_ticks, namespace, stat.name)


def _own_namespace(reader: Reader) -> int | None:
    """Return the number of this process's PID namespace, or None if unknown."""
    number = reader.ask(NAMESPACE, lambda: os.stat("/proc/self/ns/pid").st_ino)
    return number if type(number) is int else None


def read_machine_lock(reader: Reader) -> MachineLock | None:
    """Return the current state of the lock, or None if it cannot be read."""
    try:
        return lock_of(reader, parse_lock(reader.text(PATH, expected=False)))
    except Absent:
        return MachineLock(None)
    except Unreadable:
        return None
    except Malformed as error:
        reader.note(PATH, error.reason)
        return None


def lock_of(reader: Reader, owner: Owner | None) -> MachineLock:
    """Return the state of a lock with this owner (None: released)."""
    alive = owner is not None and is_alive(reader, owner)
    return MachineLock(owner, alive, _has_started_us(reader, owner) if owner is not None and alive else False)


def _has_started_us(reader: Reader, owner: Owner) -> bool | None:
    """Return whether the live owner is this process or its ancestor, or None if an ancestor is not visible."""
    pids, visited = set(reader.machine.own_pids), set[int]()
    while pids - visited:
        if owner.pid in pids:
            return True
        visited |= pids
        try:
            pids = {_read_stat(reader, pid).parent_pid for pid in pids} - {0}
        except (Unreadable, Malformed):
            return None
    return False


def _read_stat(reader: Reader, pid: int) -> ThreadStat:
    return parse_stat(reader.text(f"/proc/{pid}/stat", expected=False))


def is_alive(reader: Reader, owner: Owner) -> bool | None:
    """Return whether the owner still runs, or None if unknown, as for a process in another container.

    If /proc hides other users' processes (hidepid), kill(2) shows by its error whether the process exists.
    """
    if _own_namespace(reader) != owner.namespace:
        return None
    try:
        stat = _read_stat(reader, owner.pid)
        return stat.started_ticks == owner.started_ticks and not stat.has_exited
    except Absent:
        is_missing = reader.ask(f"process {owner.pid} is gone", lambda: _is_missing(owner.pid))
        return False if is_missing is True else None
    except Unreadable:
        return None
    except Malformed as error:
        reader.note(f"/proc/{owner.pid}/stat", error.reason)
        return None


def _is_missing(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False
