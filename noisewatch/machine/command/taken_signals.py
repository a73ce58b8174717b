"""Signals that are blocked and taken one by one, so that none is lost between two looks."""

from __future__ import annotations

import math
import os
import select
import signal
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType, ModuleType

from noisewatch.machine.command.plan import signal_bits
from noisewatch.machine.threads import FOR_MAIN_THREAD
from noisewatch.records import dataclass

FROM_KERNEL = 0x80  # si_code SI_KERNEL: the terminal's driver, which signals the whole process group
ENDING = frozenset({signal.SIGINT, signal.SIGTERM, signal.SIGQUIT, signal.SIGHUP})
_HEAD, _SIZE = struct.Struct("=IiiI"), 128  # of signalfd_siginfo, signalfd(2)


@dataclass(frozen=True, slots=True)
class TakenSignal:
    """A pending signal, with `si_code` and the pid of its sender."""

    number: signal.Signals
    code: int
    pid: int


class TakenSignals:
    """The signals that concern a command, taken from `begin` to `end`.

    Threads and processes begun meanwhile have them blocked.

    A signal ignored at noisewatch's start, like SIGHUP below nohup, stays ignored. Threads begun before would take the
    signals, unless they were begun as in machine/threads.py.
    """

    def __init__(self) -> None:
        self._mask: set[int] = set()
        self._note: Callable[[], None] | None = None
        self._child_handler: signal._HANDLER = None
        self._descriptor = -1
        self._poll = select.poll()

    def begin(self, core: ModuleType) -> None:
        """Block the signals; from here on they are pending until taken."""
        self._child_handler = signal.signal(signal.SIGCHLD, self._on_child)  # ignoring SIGCHLD leaves no zombies
        taken = {each for each in FOR_MAIN_THREAD if signal.getsignal(each) is not signal.SIG_IGN}
        self._descriptor = core.signalfd(signal_bits(taken))
        self._poll.register(self._descriptor, select.POLLIN)
        self._mask = set(signal.pthread_sigmask(signal.SIG_BLOCK, taken))

    def end(self) -> None:
        """Restore what was before `begin`."""
        default = self._child_handler == signal.SIG_DFL
        signal.signal(signal.SIGCHLD, _ignore if default else self._child_handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)
        self._poll.unregister(self._descriptor)
        os.close(self._descriptor)

    def wait(self, until_ns: int | None, ends: int | None = None) -> bool:
        """Wait until `until_ns` for a signal, or the end of the pidfd `ends`; return whether one came.

        `until_ns` is a time of CLOCK_MONOTONIC; None waits without a limit.
        """
        left_ms = None if until_ns is None else max(math.ceil((until_ns - time.monotonic_ns()) / 1e6), 0)
        if ends is not None:
            self._poll.register(ends, select.POLLIN)
        try:
            return bool(self._poll.poll(left_ms))
        finally:
            if ends is not None:
                self._poll.unregister(ends)

    @contextmanager
    def calling_for_children(self, note: Callable[[], None]) -> Iterator[None]:
        """Call `note` from the SIGCHLD handler while the caller works within the context instead of waiting.

        SIGCHLD is not among the pending signals meanwhile.
        """
        self._note = note
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
            self._note = None

    def _on_child(self, number: int, frame: FrameType | None) -> None:
        if self._note is not None:
            self._note()

    def pending(self) -> Iterator[TakenSignal]:
        """Yield the pending signals."""
        with suppress(BlockingIOError):
            while True:
                number, _, code, pid = _HEAD.unpack_from(os.read(self._descriptor, _SIZE))
                yield TakenSignal(signal.Signals(number), code, pid)


def _ignore(number: int, frame: FrameType | None) -> None:
    """Do nothing, as the default for SIGCHLD does: CPython reports an error for a signal that finds no handler.

    That happens where the handler is removed between the arrival of the signal, in any thread, and its delivery.
    """


def stop_as_by_terminal() -> None:
    """Stop this process, visibly to a shell, until it is continued. In an orphaned process group it goes on."""
    before = signal.signal(signal.SIGTSTP, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGTSTP)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTSTP})
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTSTP})
    if before is not None:
        signal.signal(signal.SIGTSTP, before)
