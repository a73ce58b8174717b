"""A process that ends a command and all its descendants if noisewatch is killed.

The kernel does so for the command alone (PR_SET_PDEATHSIG, prctl(2)), as soon as noisewatch is dead. Its descendants
would run on, pinned to the target CPUs, without a sign of their origin.
"""

from __future__ import annotations

import mmap
import os
import signal
import struct
from contextlib import suppress

from noisewatch.machine.command.adopted import with_descendants

_PID = struct.Struct("=i")
_NOBODY = 0


class CommandGuard:
    """A guard process, which sleeps until the pipe held by noisewatch closes, however noisewatch ends.

    Daemons of the command, which noisewatch has adopted, live on. So does everything if the guard is killed first.
    """

    def __init__(self) -> None:
        self._guarded = mmap.mmap(-1, _PID.size)  # shared, so that it learns of a command without being woken up
        self._pid = 0
        self._alive = -1

    def begin(self) -> None:
        """Fork the guard.

        The caller has blocked all signals that concern a command, so that the guard outlives them.
        """
        ends, self._alive = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            try:
                self._guard(ends)
            finally:
                os._exit(0)
        os.close(ends)

    def watch(self, pid: int) -> None:
        """Guard this command from now on."""
        _PID.pack_into(self._guarded, 0, pid)

    def rest(self) -> None:
        """Guard no command, as the last one has ended."""
        self.watch(_NOBODY)

    def end(self) -> None:
        """End the guard process."""
        self.rest()
        os.close(self._alive)
        with suppress(ChildProcessError):
            os.waitpid(self._pid, 0)

    def _guard(self, ends: int) -> None:
        os.setsid()  # a signal to our process group is not for it
        os.closerange(0, ends)
        os.closerange(ends + 1, os.sysconf("SC_OPEN_MAX"))
        os.read(ends, 1)
        (pid,) = _PID.unpack_from(self._guarded, 0)
        if pid != _NOBODY:
            _end_all(pid)


def _end_all(pid: int) -> None:
    """Kill the process and its descendants. All are stopped first, as running ones could start more."""
    known: set[int] = set()
    while found := with_descendants([pid]) - known:
        for each in found:
            _send(each, signal.SIGSTOP)
        known |= found
    for each in known:
        _send(each, signal.SIGKILL)


def _send(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):  # it has ended, or become another user
        os.kill(pid, number)
