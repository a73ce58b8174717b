"""A process that ends a command, and all that it has started, once noisewatch has been killed.

The kernel does that for the command alone (PR_SET_PDEATHSIG, prctl(2)), as soon as noisewatch is dead; what the command
has started would run on, pinned to the target CPUs, and nobody could tell any more whose it was.
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
    """It sleeps until the pipe that this process holds closes, however this process ends.

    What has left the command to become a daemon, and been taken over by us, lives on. So does everything if the guard
    itself is killed before.
    """

    def __init__(self) -> None:
        self._guarded = mmap.mmap(-1, _PID.size)  # shared, so that it learns of a command without being woken up
        self._pid = 0
        self._alive = -1

    def begin(self) -> None:
        """With all signals that concern a command blocked: it is to outlive them."""
        ends, self._alive = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            try:
                self._guard(ends)
            finally:
                os._exit(0)
        os.close(ends)

    def watch(self, pid: int) -> None:
        """This is the command now."""
        _PID.pack_into(self._guarded, 0, pid)

    def rest(self) -> None:
        """It has ended."""
        self.watch(_NOBODY)

    def end(self) -> None:
        """Nothing is left to be guarded."""
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
    """Stopped first, as who runs could start more meanwhile."""
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
