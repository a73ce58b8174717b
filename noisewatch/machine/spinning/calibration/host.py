"""The process that forks the spinners, and ends them when its parent is gone.

`run.py` starts it with a bare interpreter: what is imported here is in the memory of every spinner.
"""

from __future__ import annotations

import gc
import os
import select
import signal
from contextlib import suppress
from time import monotonic_ns

from noisewatch.machine.spinning.calibration.buffer import (
    CACHE,
    MEMORY,
    START_NS,
    CalibrationBuffer,
    buffer_words,
    starts_of,
)
from noisewatch.machine.spinning.calibration.worker import CalibrationSpinner
from noisewatch.machine.spinning.hosting import begun

NAME = "noisewatch-spin"  # what others, `noisewatch preflight` among them, call whom they see: 15 bytes

# Beyond most second-level caches and within the last level, which many share; and beyond most last-level caches.
_BYTES = {CACHE: 1 << 22, MEMORY: 1 << 26}
_LOOK_NS = 50_000_000
_BUSY_BEFORE_NS, _BUSY_AFTER_NS = 60_000_000, 30_000_000  # about as long as a benchmark takes to start


def main() -> None:
    """Run the plan in the first line of standard input; the buffers are in the memory with the descriptor `argv[1]`."""
    plan, words, core = begun(NAME)
    memories = {kind: core.chase_memory(size) for kind, size in _BYTES.items()}  # once for all spinners
    size = buffer_words(plan["capacities"])
    gc.disable()
    gc.freeze()  # a collection would write to, and so copy, the pages that all spinners share
    pids, own_pid = set(), os.getpid()
    for number, (cpu, slots) in enumerate(plan["slots"]):
        buffer = CalibrationBuffer(words[number * size : (number + 1) * size], plan["capacities"])
        pid = os.fork()
        if pid == 0:
            os.setpgid(0, 0)  # with what it starts, so that both can be ended together
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            CalibrationSpinner(core, buffer, cpu, memories, plan, own_pid).run(slots)
            os._exit(0)
        pids.add(pid)
    starts = sorted({begin for _, slots in plan["slots"] for begin, _ in starts_of(slots)})
    if os.sched_getaffinity(0) & {cpu for cpu, _ in plan["slots"]}:
        starts = []  # there is no other CPU to be busy on: we would be the noise
    _wait(pids, words, starts)


def _wait(pids: set[int], words: memoryview, starts: list[int]) -> None:
    """Wait until all spinners have ended. End them when standard input ends, as it does with the parent.

    A process that starts a benchmark is busy at that moment, and on a virtual machine that alone may slow the benchmark
    down: two CPUs that wake up together may get one core. To make this visible, the host is busy at the `starts` as
    well.
    """
    while pids:
        pid, status = os.waitpid(-1, os.WNOHANG)
        pids.discard(pid)
        if pid and os.WIFSIGNALED(status):
            _end_group(pid)
        now_ns = monotonic_ns() - (words[START_NS] or monotonic_ns())
        starts = [start for start in starts if start + _BUSY_AFTER_NS > now_ns]
        if starts and now_ns >= starts[0] - _BUSY_BEFORE_NS and words[START_NS]:
            _be_busy(words[START_NS] + starts[0] + _BUSY_AFTER_NS)
        elif pid == 0 and select.select([0], [], [], _pause_s(starts, now_ns))[0]:
            for each in pids:
                _end_group(each)
                with suppress(ProcessLookupError):
                    os.kill(each, signal.SIGKILL)  # it may not have its group yet
            return


def _pause_s(starts: list[int], now_ns: int) -> float:
    """Return the time until the next look, or until the next start if that is sooner."""
    next_ns = starts[0] - _BUSY_BEFORE_NS - now_ns if starts else _LOOK_NS
    return min(max(next_ns, 0), _LOOK_NS) / 1e9


def _be_busy(until_ns: int) -> None:
    while monotonic_ns() < until_ns:
        pass


def _end_group(pid: int) -> None:
    """Kill the spinner and what it has started."""
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
