"""Signals that are blocked and taken one by one, so that none is lost between two looks at what has happened."""

from __future__ import annotations

import os
import signal
import time

FROM_KERNEL = 0x80  # si_code SI_KERNEL: the terminal's driver, which tells the whole process group
ENDING = frozenset({signal.SIGINT, signal.SIGTERM, signal.SIGQUIT, signal.SIGHUP})
FORWARDED = ENDING | {signal.SIGUSR1, signal.SIGUSR2, signal.SIGWINCH}
_TAKEN = FORWARDED | {signal.SIGTSTP, signal.SIGCONT, signal.SIGCHLD}


class TakenSignals:
    """Those that concern a command, from `begin` to `end`. Threads and processes begun meanwhile have them blocked.

    What was ignored when noisewatch was started, as SIGHUP below nohup, stays ignored.
    """

    def __init__(self) -> None:
        self._taken: frozenset[signal.Signals] = frozenset()
        self._mask: set[int] = set()
        self._is_child_ignored = False

    def begin(self) -> None:
        """From here on they wait for `next`."""
        self._is_child_ignored = signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN
        if self._is_child_ignored:  # nobody could be waited for
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self._taken = frozenset(each for each in _TAKEN if signal.getsignal(each) is not signal.SIG_IGN)
        self._mask = set(signal.pthread_sigmask(signal.SIG_BLOCK, self._taken))

    def end(self) -> None:
        """As before `begin`."""
        signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)
        if self._is_child_ignored:
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)

    def next(self, until_ns: int | None = None) -> signal.struct_siginfo | None:
        """Waits for one until CLOCK_MONOTONIC says so; None if there was none by then. With 0 it does not wait."""
        if until_ns is None:
            return signal.sigwaitinfo(self._taken)
        left_ns = max(until_ns - time.monotonic_ns(), 0) if until_ns else 0
        return signal.sigtimedwait(self._taken, left_ns / 1e9)


def stop_as_by_terminal() -> None:
    """Stops this process, for a shell to see, until it is continued. In an orphaned process group it goes on."""
    before = signal.signal(signal.SIGTSTP, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGTSTP)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTSTP})
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTSTP})
    if before is not None:
        signal.signal(signal.SIGTSTP, before)
