"""Signals of the main thread, held back while work must not be interrupted."""

from __future__ import annotations

import signal

import pytest

from noisewatch.machine.threads import main_thread_signals_blocked, signal_of_interrupt


def test_a_signal_is_handled_at_the_end_of_the_context() -> None:
    done = []

    def work() -> None:
        with main_thread_signals_blocked():
            signal.raise_signal(signal.SIGINT)
            done.append("work")

    with pytest.raises(KeyboardInterrupt) as interrupt:
        work()
    assert done == ["work"]
    assert signal_of_interrupt(interrupt.value) == signal.SIGINT
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def test_an_interrupt_by_another_signal_has_its_number() -> None:
    assert signal_of_interrupt(KeyboardInterrupt(signal.SIGTERM)) == signal.SIGTERM
