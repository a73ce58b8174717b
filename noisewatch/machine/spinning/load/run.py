"""Starts and ends busy processes, and measures which share of their CPUs' time they got."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from noisewatch.errors import CannotMeasure, system_reason
from noisewatch.machine import wait_readable
from noisewatch.machine.bare_interpreter import bare_interpreter, end_host

_ENDED_EARLY = "the load ended before the measurement did"
_DEADLINE_S = 10.0  # time until all processes are ready, and again until all have ended


class BusyProcesses:
    """Running busy processes. `cpus` lists the CPU of each process that could be pinned."""

    def __init__(self, host: subprocess.Popen[bytes], cpus: Sequence[int]) -> None:
        self._host = host
        self._received = b""
        states = self._wait_for(dict.fromkeys(range(len(cpus)), ("ready", "refused")))
        self._ready = [number for number, (state, _) in states.items() if state == "ready"]
        self.cpus = tuple(cpus[number] for number in self._ready)
        self._errors = [int(value) for state, value in states.values() if state == "refused"]
        if not self.cpus:
            raise CannotMeasure(f"no CPU can be kept busy: {os.strerror(self._errors[0]).lower()}")

    def end(self) -> float:
        """End the processes; return the mean share that they had of their CPUs.

        Raise CannotMeasure if a process ended early, because the load's duration is then unknown.
        """
        if self._host.poll() is not None:
            raise CannotMeasure(_ENDED_EARLY)
        if self._host.stdin is not None:
            self._host.stdin.close()
        replies = self._wait_for(dict.fromkeys(self._ready, ("had",)))
        return sum(int(value) for _, value in replies.values()) / len(replies) / 1e6

    def _wait_for(self, expected: dict[int, tuple[str, ...]]) -> dict[int, tuple[str, str]]:
        """Return each process's state and value, by its number. Raise CannotMeasure on an unexpected state."""
        replies: dict[int, tuple[str, str]] = {}
        given_up = time.monotonic() + _DEADLINE_S
        while expected.keys() - replies.keys():
            number, state, value = self._next_line(given_up).split()
            if int(number) not in expected or state not in expected[int(number)]:
                raise CannotMeasure(_ENDED_EARLY)
            replies[int(number)] = state, value
        return replies

    def _next_line(self, given_up: float) -> str:
        """Return the next line of any process. Raise CannotMeasure if none comes in time."""
        assert self._host.stdout is not None
        descriptor = self._host.stdout.fileno()
        while b"\n" not in self._received:
            left_s = given_up - time.monotonic()
            if left_s <= 0 or not wait_readable(descriptor, left_s):
                raise CannotMeasure(f"the busy processes did not answer within {_DEADLINE_S:g} s")
            piece = os.read(descriptor, 4096)
            if not piece:
                raise CannotMeasure(_ENDED_EARLY)
            self._received += piece
        line, _, self._received = self._received.partition(b"\n")
        return line.decode()


@contextmanager
def busy_processes(cpus: Sequence[int]) -> Iterator[BusyProcesses]:
    """Run a busy process for each of the CPUs (a CPU may be repeated) until the context is left.

    The processes also end when this process ends, for any reason. Raise CannotMeasure if they cannot be started.
    """
    try:
        host = subprocess.Popen(
            bare_interpreter("noisewatch.machine.spinning.load.host", ",".join(map(str, cpus))),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is for noisewatch; the load ends with it
        )
    except OSError as error:
        raise CannotMeasure(f"cannot start the load: {system_reason(error)}") from error
    with host:
        try:
            yield BusyProcesses(host, cpus)
        finally:
            end_host(host, _DEADLINE_S)
