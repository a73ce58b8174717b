"""Starts threads of noisewatch next to the main thread."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

# Signals that may ask a waiting program to end, stop or look; all others end it in whatever thread they arrive.
FOR_MAIN_THREAD = frozenset(
    {
        *(signal.SIGINT, signal.SIGTERM, signal.SIGQUIT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2),
        *(signal.SIGWINCH, signal.SIGTSTP, signal.SIGCONT, signal.SIGCHLD),
    }
)


@contextmanager
def main_thread_signals_blocked() -> Iterator[None]:
    """Block the main thread's signals in the context, so that threads started in it never receive them."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, FOR_MAIN_THREAD)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
