"""Who has the machine for a benchmark: a line in a file, for as long as the process lives that it names.

    /run/lock/noisewatch.lock      4711 81234567 4026531836 nightly.sh     pid, start time in ticks, namespace, name

The start time tells the process from a later one that got its number, and the pid namespace, pid_namespaces(7), from
that of another container. An empty file is a lock that was given back.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from noisewatch.errors import Absent, Malformed, Unreadable
from noisewatch.sources.names import clean
from noisewatch.sources.reader import Reader
from noisewatch.sources.task_files import parse_stat

PATH = "/run/lock/noisewatch.lock"
NAMESPACE = "pid namespace of this process"
_LINE = re.compile(r"(\d{1,10}) (\d{1,20}) (\d{1,20}) ([^\n]{0,100})\n?")


@dataclass(frozen=True, slots=True)
class Owner:
    """The process that a lock names."""

    pid: int
    started_ticks: int
    namespace: int
    name: str

    def line(self) -> str:
        """What stands in the file."""
        return f"{self.pid} {self.started_ticks} {self.namespace} {self.name}\n"


@dataclass(frozen=True, slots=True)
class MachineLock:
    """Nobody's, or its owner's: alive, gone (a stale lock), or nobody knows."""

    owner: Owner | None
    is_alive: bool | None = None


def parse_lock(text: str) -> Owner | None:
    """The owner; None where the lock was given back. Raises Malformed."""
    if not text.strip():
        return None
    match = _LINE.fullmatch(text)
    if match is None:
        raise Malformed("`pid ticks namespace name`", text.strip())
    return Owner(int(match[1]), int(match[2]), int(match[3]), clean(match[4]))


def read_owner(reader: Reader, pid: int) -> Owner:
    """The process as it may sign a lock. Raises Unreadable where there is none, and Malformed."""
    stat = parse_stat(reader.text(f"/proc/{pid}/stat", expected=False))
    namespace = _own_namespace(reader)
    if namespace is None:
        raise Unreadable(NAMESPACE, reader.reason_by_path.get(NAMESPACE, "not told by this machine"))
    return Owner(pid, stat.started_ticks, namespace, stat.name)


def _own_namespace(reader: Reader) -> int | None:
    """Of which the processes that we see have their numbers; None where nobody can say."""
    number = reader.ask(NAMESPACE, lambda: os.stat("/proc/self/ns/pid").st_ino)
    return number if type(number) is int else None


def read_machine_lock(reader: Reader) -> MachineLock | None:
    """The lock now; None where it cannot be read."""
    try:
        owner = parse_lock(reader.text(PATH, expected=False))
    except Absent:
        return MachineLock(None)
    except Unreadable:
        return None
    except Malformed as error:
        reader.note(PATH, error.reason)
        return None
    return MachineLock(owner, owner is not None and is_alive(reader, owner))


def is_alive(reader: Reader, owner: Owner) -> bool | None:
    """Whether the process still runs; None where nobody can say, as of one in another container.

    Where /proc hides the processes of others (hidepid), a signal that may not be sent tells that there is one.
    """
    if _own_namespace(reader) != owner.namespace:
        return None
    try:
        return read_owner(reader, owner.pid).started_ticks == owner.started_ticks
    except Absent:
        is_gone = reader.ask(f"process {owner.pid} is gone", lambda: _is_gone(owner.pid))
        return False if is_gone is True else None
    except Unreadable:
        return None
    except Malformed as error:
        reader.note(f"/proc/{owner.pid}/stat", error.reason)
        return None


def _is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False
