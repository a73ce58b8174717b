"""The measuring loops in Python, if there is no compiled core.

Both cores write into buffers of 64-bit words, which a parent may read at the same time:

- `gaps`: four words each: start (CLOCK_MONOTONIC), length, context switches, time spent waiting (-1: unknown);
- `totals`: words at the indices COUNT to SPUN_NS;
- `samples`: two words each, start and length; `count[0]` is the number of samples.

All times are nanoseconds.
"""

from __future__ import annotations

import os
import resource
from binascii import crc_hqx
from collections.abc import Callable
from functools import partial
from itertools import repeat
from time import monotonic_ns

GAP_WORDS, WORK_WORDS = 4, 2
_TURNS = 100  # iterations between two checks of the end, which take some 0.01 ms
LINE_BYTES = 64  # of a cache line on all common CPUs
COUNT, LOST_COUNT, LOST_NS, LOST_MAX, ITERATIONS, SPUN_NS, SPIN_WORDS = range(7)

NAME = "python"
THRESHOLD_NS = 1_000  # below it, the loop's own 0.1 µs per iteration occasionally looks like a gap
# About 0.2 ms each:
INTERPRETED_ROUNDS = 640
DENSE_ROUNDS = 160
CHAIN_LENGTH = 100_000  # bytes
CHASE_STEPS, FAR_STEPS = 1 << 23, 1 << 21  # bytes copied, within a cache and beyond it
STREAM_LINES = 1 << 15  # cache lines copied

Words = memoryview  # a memoryview of format "q"


def spin(
    gaps: Words,
    totals: Words,
    until_ns: int,
    threshold_ns: int,
    schedstat: int = -1,
    delay_ns: int = 0,
    delay_every_ns: int = 0,
) -> int:
    """Read the clock until `until_ns`, and note each gap of at least `threshold_ns`; see `loops.c`.

    With `delay_every_ns` it inserts delays of `delay_ns` at that interval, to prove that delays are detected, and
    returns their number.
    """
    if delay_every_ns > 0:
        return _spin_delayed(gaps, totals, until_ns, threshold_ns, schedstat, delay_ns, delay_every_ns)
    clock, rounds, account = monotonic_ns, 0, _Account(schedstat)
    begin = previous = now = clock()
    while now < until_ns:
        rounds += 1
        for _ in repeat(None, _TURNS):  # an iterator costs less than a counter, so the clock is read more often
            now = clock()
            if now - previous >= threshold_ns:
                account.note(gaps, totals, previous, now - previous)
                now = clock()
            previous = now
    totals[ITERATIONS] += rounds * _TURNS
    totals[SPUN_NS] += now - begin
    return 0


def _spin_delayed(
    gaps: Words, totals: Words, until_ns: int, threshold_ns: int, schedstat: int, delay_ns: int, every_ns: int
) -> int:
    """Run the spin loop with inserted delays; return their number."""
    clock, turns, account, delays = monotonic_ns, 0, _Account(schedstat), 0
    begin = previous = now = clock()
    next_delay = begin + every_ns
    while now < until_ns:
        now = clock()
        turns += 1
        if now - previous >= threshold_ns:
            account.note(gaps, totals, previous, now - previous)
            now = clock()
        previous = now
        if now >= next_delay:
            while clock() - now < delay_ns:
                pass
            delays += 1
            next_delay = now + every_ns
    totals[ITERATIONS] += turns
    totals[SPUN_NS] += now - begin
    return delays


class _Account:
    """The thread's context switches and waiting time until the last gap; a gap contains the increase since then."""

    def __init__(self, schedstat: int) -> None:
        self._schedstat = schedstat
        self._switches = _switches_so_far()
        self._waited_ns = _waited_so_far(schedstat)

    def note(self, gaps: Words, totals: Words, start_ns: int, length_ns: int) -> None:
        """Append a gap. The count is written last, because a parent may be reading."""
        count = totals[COUNT]
        if count * GAP_WORDS >= len(gaps):
            totals[LOST_COUNT] += 1
            totals[LOST_NS] += length_ns
            totals[LOST_MAX] = max(totals[LOST_MAX], length_ns)
            return
        switches = _switches_so_far()
        waited_ns = self._waited_ns if switches == self._switches else _waited_so_far(self._schedstat)
        at = count * GAP_WORDS
        gaps[at] = start_ns
        gaps[at + 1] = length_ns
        gaps[at + 2] = switches - self._switches
        gaps[at + 3] = -1 if waited_ns < 0 else waited_ns - self._waited_ns
        totals[COUNT] = count + 1
        self._switches, self._waited_ns = switches, waited_ns


def _switches_so_far() -> int:
    usage = resource.getrusage(resource.RUSAGE_THREAD)
    return usage.ru_nvcsw + usage.ru_nivcsw


def _waited_so_far(schedstat: int) -> int:
    """Return the time spent waiting, the second number of /proc/PID/schedstat (open as `schedstat`); -1 if unknown."""
    if schedstat < 0:
        return -1
    try:
        return int(os.pread(schedstat, 96, 0).split()[1])
    except (OSError, ValueError, IndexError):
        return -1


def interpret(samples: Words, count: Words, until_ns: int, rounds: int) -> None:
    """Repeat an interpreter's work until `until_ns`, or until `samples` is full."""
    _repeat(samples, count, until_ns, partial(_interpret, rounds))


def dense(samples: Words, count: Words, until_ns: int, rounds: int) -> None:
    """Repeat work with as many instructions per cycle as the core can execute: byte lookups.

    Ends under the same conditions as `interpret`.
    """
    _repeat(samples, count, until_ns, partial(_translate, bytearray(range(256)) * 16, rounds))


def chain(samples: Words, count: Words, until_ns: int, length: int) -> None:
    """Repeat work of dependent steps: a checksum, one step per byte.

    Ends under the same conditions as `interpret`. The compiled core multiplies instead.
    """
    _repeat(samples, count, until_ns, partial(crc_hqx, b"\1" * length, 0))


def _repeat(samples: Words, count: Words, until_ns: int, piece: Callable[[], object]) -> None:
    """Repeat the work and note the time of each repetition. A sample begins where the previous one ended."""
    done, capacity = count[0], len(samples) // WORK_WORDS
    start_ns = monotonic_ns()
    while start_ns < until_ns and done < capacity:
        piece()
        end_ns = monotonic_ns()
        samples[done * WORK_WORDS] = start_ns
        samples[done * WORK_WORDS + 1] = end_ns - start_ns
        done += 1
        count[0] = done
        start_ns = end_ns


def _interpret(rounds: int) -> list[str]:
    """Run short loops with small objects and calls into C; their times vary as much as Python benchmarks' times."""
    names = []
    for number in range(rounds):
        for other in range(8):
            number ^ other
        names.append(str(number))
    return names


def _translate(block: bytearray, rounds: int) -> None:
    for _ in range(rounds):
        block.translate(_OTHERS)


_OTHERS = bytes(range(255, -1, -1))


def chase(samples: Words, count: Words, until_ns: int, memory: memoryview, steps: int, at: int) -> int:
    """Copy `steps` bytes at a time between the halves of `memory` until `until_ns`; return the next `at`.

    The compiled core follows links through the memory instead, one per cache line, which measures latency rather than
    bandwidth.
    """
    half, place = len(memory) // 2, at

    def copy() -> None:
        nonlocal place
        left = steps
        while left > 0:
            size = min(left, half - place)
            memory[half + place : half + place + size] = memory[place : place + size]
            place, left = (place + size) % half, left - size

    _repeat(samples, count, until_ns, copy)
    return place


def stream(
    samples: Words, count: Words, until_ns: int, source: memoryview, target: memoryview, lines: int, at: int
) -> int:
    """Copy `lines` cache lines at a time from `source` to `target` until `until_ns`; return the next `at`.

    It reads `source` cyclically from byte `at` on. The compiled core writes past the caches if the CPU can do that.
    """
    place = at

    def copy() -> None:
        nonlocal place
        left = lines * LINE_BYTES
        while left > 0:
            size = min(left, len(source) - place, len(target))
            target[:size] = source[place : place + size]
            place, left = (place + size) % len(source), left - size

    _repeat(samples, count, until_ns, copy)
    return place


def chase_memory(size: int) -> bytearray:
    """Return the memory that `chase` copies back and forth."""
    return bytearray(b"\1") * size


def multiplications_ns(length: int) -> int | None:
    """Return None: Python cannot time `length` dependent multiplications."""
    return None


def additions_ns(length: int) -> int | None:
    """Return None: Python cannot time `length` dependent additions."""
    return None


def clock_readings_ns(count: int) -> int:
    """Return the time of `count` consecutive readings of the clock."""
    clock = monotonic_ns
    start = clock()
    for _ in range(count):
        clock()
    return clock() - start


def lock_memory(most_needed: Words) -> None:
    """Lock this process's memory against paging, or only `most_needed` if that is not allowed.

    The kernel reports in /proc/self/status how much is locked. The first import of ctypes takes longer than everything
    else, so `hosting.py` does it once for all spinners.
    """
    import ctypes

    libc = ctypes.CDLL(None)
    if libc.mlockall(_CURRENT_ON_FAULT) != 0:
        place = (ctypes.c_char * most_needed.nbytes).from_buffer(most_needed)
        libc.mlock(ctypes.c_void_p(ctypes.addressof(place)), ctypes.c_size_t(most_needed.nbytes))


_CURRENT_ON_FAULT = 1 | 4  # MCL_CURRENT | MCL_ONFAULT (Linux 4.4)
