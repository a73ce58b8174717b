"""Holds back the signals of the main thread, while other threads start or while work must not be interrupted."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

# Signals that may ask a waiting program to end, stop or act; most others end it, whichever thread receives them.
FOR_MAIN_THREAD = frozenset(
    {
        *(signal.SIGINT, signal.SIGTERM, signal.SIGQUIT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2),
        *(signal.SIGWINCH, signal.SIGTSTP, signal.SIGCONT, signal.SIGCHLD),
    }
)


@contextmanager
def main_thread_signals_blocked() -> Iterator[None]:
    """Block the main thread's signals in the context: threads started in it never receive them.

    In the main thread itself they are handled at the end of the context.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        # During this call, a signal that has just arrived may still be handled.
        signal.pthread_sigmask(signal.SIG_BLOCK, FOR_MAIN_THREAD)
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def signal_of_interrupt(error: KeyboardInterrupt) -> int:
    """Return the signal that asked noisewatch to end: the exception's argument, or SIGINT from Python's own handler."""
    return int(next(iter(error.args), signal.SIGINT))
