"""Threads of noisewatch next to the main one."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

# What may ask a program that waits for something to end, to stop or to look: others end it wherever they arrive.
FOR_MAIN_THREAD = frozenset(
    {
        *(signal.SIGINT, signal.SIGTERM, signal.SIGQUIT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2),
        *(signal.SIGWINCH, signal.SIGTSTP, signal.SIGCONT, signal.SIGCHLD),
    }
)


@contextmanager
def signals_left_to_us() -> Iterator[None]:
    """Block the main thread's signals within the context, so that threads started there never take them."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, FOR_MAIN_THREAD)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
