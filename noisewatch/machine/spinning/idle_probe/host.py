"""The spinners of the idle probe, one process per CPU, and the host process that forks them.

A spinner spins until its lease expires, which the sampler keeps extending; then it sleeps until the sampler wakes it.
`door` is the end of a pipe that only the sampler writes to: a byte asks the spinner to look at the lease again, and the
end of the pipe means that the sampler is gone. The host ends with the sampler, too. `run.py` starts the host with a
bare interpreter, because all imports here are in the memory of every spinner.
"""

from __future__ import annotations

import gc
import os
import select
import signal
import sys
from itertools import count
from time import monotonic_ns
from types import ModuleType

from noisewatch.machine.spinning.hosting import receive_plan, write_if_present
from noisewatch.machine.spinning.idle_probe.buffer import (
    BUFFER_WORDS,
    ERROR,
    LEASE_NS,
    MOVED,
    REFUSED,
    RESTING,
    SPIN_NS,
    SPINNING,
    STATE,
    TID,
    WARM_NS,
    YIELDED,
    ProbeBuffer,
    slice_start_ns,
)
from noisewatch.machine.spinning.loops.python_loops import (
    COUNT,
    GAP_WORDS,
    LOST_COUNT,
    LOST_MAX,
    LOST_NS,
    SPIN_WORDS,
    SPUN_NS,
)

THRESHOLD_NS = 1_000  # the same threshold as in the calibration
_MOST_GAPS = 512  # most gaps in one slice, which are kept individually until they are summed
# Kernel threads have a CPU for some 10 to 200 µs at a time; a task that has it for longer is at work there.
LONGEST_WAIT_NS = 1_000_000


class ProbeSpinner:
    """A spinner that measures on one CPU."""

    def __init__(self, core: ModuleType, buffer: ProbeBuffer, cpu: int, door: int) -> None:
        self._core = core
        self._buffer = buffer
        self._cpu = cpu
        self._door = door
        self._gaps = memoryview(bytearray(8 * GAP_WORDS * _MOST_GAPS)).cast("q")
        self._totals = memoryview(bytearray(8 * SPIN_WORDS)).cast("q")
        self._schedstat = -1
        self._waited_ns = 0

    def run(self) -> None:
        """Spin whenever the lease allows, until the sampler is gone."""
        header = self._buffer.header
        header[TID] = os.getpid()  # first, because an unknown process is reported as a disturbance
        if not self._prepare():
            return
        header[STATE] = RESTING
        while self._is_woken(None) is not None:
            if header[LEASE_NS] > monotonic_ns() and self._pin():
                header[STATE] = SPINNING
                header[STATE] = self._spin(monotonic_ns())

    def _prepare(self) -> bool:
        """Prepare to run with SCHED_IDLE; return False if that is refused.

        With SCHED_IDLE the spinner preempts no task, and any task that wakes up preempts it. So it does not delay a
        benchmark, and a wait for the CPU shows that one is running. Interrupts and the hypervisor take as much time
        from it as from other tasks, and kernel threads at least as much.
        """
        header = self._buffer.header
        try:
            os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
        except OSError as error:
            header[ERROR], header[STATE] = error.errno or 0, REFUSED
            return False
        self._core.lock_memory(self._buffer.words)
        try:
            self._schedstat = os.open("/proc/thread-self/schedstat", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            self._schedstat = -1
        return True

    def _pin(self) -> bool:
        header = self._buffer.header
        try:
            os.sched_setaffinity(0, {self._cpu})
        except OSError as error:
            header[ERROR], header[STATE] = error.errno or 0, REFUSED
            return False
        return True

    def _spin(self, begin_ns: int) -> int:
        """Spin slice after slice; return the state in which spinning ended."""
        self._waited_ns = self._total_wait()
        for number in count():
            if not self._sleep_until(begin_ns + slice_start_ns(number, self._cpu)):
                break
            if os.sched_getaffinity(0) != {self._cpu}:  # the kernel moves us when the CPU goes offline
                return MOVED
            if self._has_waited():
                return YIELDED
            self._measure()
            if self._has_waited():
                return YIELDED
        return RESTING

    def _sleep_until(self, start_ns: int) -> bool:
        """Sleep until `start_ns`; return whether the lease is still valid then and the sampler exists."""
        while (left_ns := start_ns - monotonic_ns()) > 0:
            if self._is_woken(left_ns / 1e9) is None:
                return False
        return monotonic_ns() < self._buffer.header[LEASE_NS]

    def _is_woken(self, timeout_s: float | None) -> bool | None:
        """Return whether the sampler wakes this process within `timeout_s`; None if the sampler is gone."""
        if not select.select([self._door], [], [], timeout_s)[0]:
            return False
        return True if os.read(self._door, 64) else None

    def _has_waited(self) -> bool:
        """Return whether this process has waited more than 1 ms for the CPU since the last call.

        A slice in which another task has the CPU is skipped. Nothing is missed: the slice in which a disturbance begins
        contains the whole disturbance.
        """
        before_ns, self._waited_ns = self._waited_ns, self._total_wait()
        return self._waited_ns - before_ns > LONGEST_WAIT_NS

    def _total_wait(self) -> int:
        """Return how long this process has waited for a CPU so far; 0 if the kernel does not report it.

        Without the report, the spinner never yields by itself: only the sampler stops it.
        """
        if self._schedstat < 0:
            return 0
        return int(os.pread(self._schedstat, 96, 0).split()[1])

    def _measure(self) -> None:
        """Spin one slice, and write it to the buffer."""
        core, gaps, totals = self._core, self._gaps, self._totals
        core.spin(gaps, totals, monotonic_ns() + WARM_NS, THRESHOLD_NS)
        for at in range(SPIN_WORDS):
            totals[at] = 0
        start_ns = monotonic_ns()
        core.spin(gaps, totals, start_ns + SPIN_NS, THRESHOLD_NS)
        lengths = gaps[1 : totals[COUNT] * GAP_WORDS : GAP_WORDS].tolist()
        self._buffer.add(
            start_ns,
            totals[SPUN_NS],
            sum(lengths) + totals[LOST_NS],
            totals[COUNT] + totals[LOST_COUNT],
            max([*lengths, totals[LOST_MAX]]),
        )


NAME = "noisewatch-sent"  # the process name that other programs see, `noisewatch preflight` among them: 15 bytes


def main() -> None:
    """Run the plan in the first line of standard input; the buffers are in the memory with the descriptor `argv[1]`."""
    plan, words, core = receive_plan(NAME)
    # SCHED_IDLE may only apply within our session (autogroup, sched(7)), so the session gets the smallest share.
    write_if_present("/proc/self/autogroup", "19")
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    gc.disable()
    gc.freeze()  # a collection would write to, and so copy, the pages that all spinners share
    doors = [door for _, door in plan["doors"]]
    for number, (cpu, door) in enumerate(plan["doors"]):
        if os.fork() == 0:
            for other in doors[number + 1 :]:
                os.close(other)
            buffer = ProbeBuffer(words[number * BUFFER_WORDS : (number + 1) * BUFFER_WORDS])
            ProbeSpinner(core, buffer, cpu, door).run()
            os._exit(0)
        os.close(door)
    sys.stdin.buffer.read(1)  # standard input ends when the parent ends
