"""`preflight --lock`: the machine is taken for the script that called us, if nobody else has it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from noisewatch.errors import Malformed, Unreadable, UsageError
from noisewatch.machine import Machine
from noisewatch.machine.lock_file import claim, release
from noisewatch.sources.machine_lock import PATH, Owner, is_alive, parse_lock, read_machine_lock, read_owner
from noisewatch.sources.reader import Reader


class Lock:
    """The lock, in the name of the process that started this one."""

    def __init__(self, machine: Machine) -> None:
        """Raises UsageError where there is nobody to take it for."""
        if not machine.is_live:
            raise UsageError("--lock: only this host can be locked")
        self._machine = machine
        self._owner = _caller(machine)
        self._was_ours = self._current() == self._owner
        self.is_taken = False

    def take(self) -> bool:
        """Whether it is ours now. Raises UsageError where it cannot be written."""
        self.is_taken = self.is_taken or claim(PATH, self._owner.line(), self._is_free)
        return self.is_taken

    def give_back(self) -> None:
        """Leaves it as it was; one that our caller had before stays."""
        if self.is_taken and not self._was_ours:
            release(PATH, self._owner.line())

    def _current(self) -> Owner | None:
        lock = read_machine_lock(Reader(self._machine))
        return None if lock is None else lock.owner

    def _is_free(self, text: str) -> bool:
        """Empty, our caller's already, or of a process that has ended; a text that is none of ours never."""
        try:
            owner = parse_lock(text)
        except Malformed as error:
            raise UsageError(f"{PATH}: {error}; if no benchmark runs: rm {PATH}") from error
        return owner is None or owner == self._owner or is_alive(Reader(self._machine), owner) is False


def _caller(machine: Machine) -> Owner:
    pid = os.getppid()
    try:
        return read_owner(Reader(machine), pid)
    except (Unreadable, Malformed) as error:
        raise UsageError(f"--lock: the process that called noisewatch cannot be seen ({error})") from error


@contextmanager
def locked(machine: Machine, is_wanted: bool) -> Iterator[Lock | None]:
    """The lock, if it is wanted; given back where something goes wrong."""
    lock = Lock(machine) if is_wanted else None
    try:
        yield lock
    except BaseException:
        if lock is not None:
            lock.give_back()
        raise
