"""Takes the machine's lock for the calling process, unless another process holds it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from msgspec.structs import replace

from noisewatch.errors import Malformed, Unreadable, UsageError
from noisewatch.kernel.reader import Reader
from noisewatch.kernel.snapshot.snapshot import Snapshot
from noisewatch.kernel.tasks.machine_lock import PATH, MachineLock, Owner, lock_of, parse_lock, read_owner
from noisewatch.machine import Machine
from noisewatch.machine.lock_file import FileHeld, claim, release
from noisewatch.operations.progress import ProgressListener


class Lock:
    """The machine's lock. It is ours if the process that started this one, or one of its ancestors, holds it."""

    def __init__(self, machine: Machine, path: str = PATH) -> None:
        """Find the calling process. Raise UsageError if it is not visible, or if the machine is not this host."""
        if not machine.is_live:
            raise UsageError("--lock: only this host can be locked")
        self._machine = machine
        self._path = path
        self._owner = _caller(machine)
        self._has_signed = False
        self.is_ours = False
        self._found: MachineLock | None = None
        self._unknown_reason: str | None = None

    def take(self) -> bool:
        """Take the lock; return whether it is ours now. Raise UsageError if the file is not a lock or not writable."""
        self._found, self._unknown_reason = None, None
        try:
            self.is_ours = claim(self._path, self._successor)
        except FileHeld as error:
            self._unknown_reason = str(error)
            self.is_ours = False
        return self.is_ours

    def give_back(self, listener: ProgressListener) -> None:
        """Release the lock unless our caller held it before. The listener gets a remark if it cannot be released."""
        if not self._has_signed:
            return
        try:
            release(self._path, self._owner.line())
        except UsageError as error:
            listener.on_remark(f"the lock stays until {self._owner.name} ends: {error}")

    def keep_if(self, may_start: bool, listener: ProgressListener) -> None:
        """Release the lock unless a benchmark may start; the listener gets a remark."""
        if not may_start:
            self.give_back(listener)
            listener.on_remark("lock not taken: the machine is not stable")

    def with_current_lock(self, snapshot: Snapshot) -> Snapshot:
        """Return the snapshot with the lock that the last `take` found; it may be newer than the snapshot's."""
        reasons = dict(snapshot.reason_by_path)
        if self._unknown_reason is not None:
            reasons[PATH] = self._unknown_reason
        return replace(snapshot, machine_lock=self._found, reason_by_path=reasons)

    def _successor(self, text: str) -> str | None:
        """Return the lock's new text: the same if the lock is ours already, None if another process holds it.

        Raise UsageError for a text that is not a lock; such a text is never overwritten.
        """
        try:
            lock = self._found = lock_of(Reader(self._machine), parse_lock(text))
        except Malformed as error:
            raise UsageError(f"{self._path}: {error}; remove the file if no benchmark is running") from error
        if lock.is_free:
            self._has_signed = True
            return self._owner.line()
        return text if lock.is_ours else None


def _caller(machine: Machine) -> Owner:
    pid = os.getppid()
    try:
        return read_owner(Reader(machine), pid)
    except (Unreadable, Malformed) as error:
        raise UsageError(f"--lock: the calling process is not visible ({error})") from error


@contextmanager
def lock_context(machine: Machine, is_requested: bool, listener: ProgressListener) -> Iterator[Lock | None]:
    """Return a context with the lock, or with None if it is not requested; an exception in it releases the lock."""
    lock = Lock(machine) if is_requested else None
    try:
        yield lock
    except BaseException:
        if lock is not None:
            lock.give_back(listener)
        raise
