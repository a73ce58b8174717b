"""The idle probe's slices, its buffer and its processes: short runs, on any CPU."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise

import pytest

from noisewatch.machine.spinning.idle_probe.buffer import (
    BUFFER_WORDS,
    DUTY_SHARE,
    MOVED,
    PERIOD_NS,
    REFUSED,
    RESTING,
    SPIN_NS,
    SPINNING,
    TID,
    WARM_NS,
    ProbeBuffer,
    slice_start_ns,
)
from noisewatch.machine.spinning.idle_probe.run import Spinners
from noisewatch.machine.spinning.loops import PYTHON, load_core
from tests.plumbing.waiting import is_alive, wait_until

_CPU = max(os.sched_getaffinity(0))
_CORES = sorted({PYTHON, load_core().NAME})
_FOR_LONG_NS = 60 * 10**9


def _buffer() -> ProbeBuffer:
    return ProbeBuffer(memoryview(bytearray(8 * BUFFER_WORDS)).cast("q"))


@contextmanager
def _spinners(core: str = PYTHON, cpu: int = _CPU) -> Iterator[Spinners]:
    spinners = Spinners({cpu}, core)
    try:
        yield spinners
    finally:
        spinners.end()


@pytest.mark.parametrize("tick_ns", [1_000_000, 4_000_000, 10_000_000], ids=["1000 Hz", "250 Hz", "100 Hz"])
def test_slices_are_evenly_spread_over_the_ticks_period(tick_ns: int) -> None:
    tenths = Counter(slice_start_ns(number, 3) % tick_ns * 10 // tick_ns for number in range(1000))
    assert set(tenths) == set(range(10))
    assert max(tenths.values()) - min(tenths.values()) <= 10


def test_each_period_has_one_slice_within_it() -> None:
    starts = [slice_start_ns(number, 0) for number in range(1000)]
    assert [start // PERIOD_NS for start in starts] == list(range(1000))
    assert min(after - before for before, after in pairwise(starts)) > 0.3 * PERIOD_NS


def test_slices_take_no_more_than_the_documented_share() -> None:
    assert WARM_NS + SPIN_NS < DUTY_SHARE * PERIOD_NS


def test_two_cpus_seldom_spin_together() -> None:
    distances_ns = [abs(slice_start_ns(number, 0) - slice_start_ns(number, 1)) for number in range(100)]
    assert sum(distance_ns < WARM_NS + SPIN_NS for distance_ns in distances_ns) < 10


def test_slices_are_read_from_the_latest_back_to_the_requested_time() -> None:
    buffer = _buffer()
    for second in range(1, 5):
        buffer.add(second * 10**9, 1_700_000, 3_000 * second, second, 1_000 * second)
    slices = buffer.slices_since(3 * 10**9)
    assert [piece.start_ns for piece in slices] == [4 * 10**9, 3 * 10**9]
    assert (slices[0].spun_ns, slices[0].stolen_ns, slices[0].gap_count, slices[0].longest_gap_ns) == (
        1_700_000,
        12_000,
        4,
        4_000,
    )


def test_latest_slices_of_a_long_session_are_kept() -> None:
    buffer = _buffer()
    for number in range(5_000):
        buffer.add(number, 1, 0, 0, 0)
    starts = [piece.start_ns for piece in buffer.slices_since(0)]
    assert starts == list(range(4_999, 4_999 - len(starts), -1))
    assert len(starts) > 1_000


@pytest.mark.parametrize("core", _CORES)
def test_spinner_measures_during_its_lease_and_rests_afterwards(core: str) -> None:
    with _spinners(core) as spinners:
        assert spinners.report(_CPU, 0).slices == ()

        def has_slices() -> bool:
            spinners.renew_lease(_CPU, _FOR_LONG_NS)  # a busy host makes the spinner pause
            return len(spinners.report(_CPU, 0).slices) >= 3

        wait_until(has_slices)
        spinners.let_rest(_CPU)
        wait_until(lambda: spinners.report(_CPU, 0).state != SPINNING)
        slices = spinners.report(_CPU, 0).slices
    assert [piece for piece in slices if not 0 <= piece.longest_gap_ns <= piece.stolen_ns <= piece.spun_ns] == []
    assert sum(piece.spun_ns for piece in slices) > SPIN_NS


def test_spinner_rests_without_a_lease() -> None:
    with _spinners() as spinners:
        wait_until(lambda: spinners.report(_CPU, 0).state == RESTING)
        spinners.renew_lease(_CPU, 0)
        assert spinners.report(_CPU, 0).slices == ()


def test_spinner_is_pinned_and_idle_priority() -> None:
    with _spinners() as spinners:

        def has_begun() -> bool:
            spinners.renew_lease(_CPU, _FOR_LONG_NS)
            return spinners.report(_CPU, 0).state == SPINNING

        wait_until(has_begun)
        (pid,) = [pid for pid in spinners.pids if os.sched_getscheduler(pid) == os.SCHED_IDLE]
        assert os.sched_getaffinity(pid) == {_CPU}


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two CPUs")
def test_moved_spinner_reports_it_and_returns_with_its_next_lease() -> None:
    """The kernel moves a pinned process like this when its CPU goes offline."""
    with _spinners() as spinners:

        def is_now(state: int) -> bool:
            spinners.renew_lease(_CPU, _FOR_LONG_NS)
            return spinners.report(_CPU, 0).state == state

        wait_until(lambda: is_now(SPINNING))
        (pid,) = [pid for pid in spinners.pids if os.sched_getscheduler(pid) == os.SCHED_IDLE]

        def is_moved() -> bool:
            os.sched_setaffinity(pid, os.sched_getaffinity(0) - {_CPU})
            return spinners.report(_CPU, 0).state == MOVED or is_now(MOVED)  # it may just have paused

        wait_until(is_moved)
        wait_until(lambda: is_now(SPINNING))
        assert os.sched_getaffinity(pid) == {_CPU}


def test_cpu_that_cannot_be_pinned_to_is_refused() -> None:
    with _spinners(cpu=4095) as spinners:

        def is_refused() -> bool:
            spinners.renew_lease(4095, _FOR_LONG_NS)
            return spinners.report(4095, 0).state == REFUSED

        wait_until(is_refused)
        assert spinners.report(4095, 0).error == 22


def test_no_process_is_left_at_the_end() -> None:
    with _spinners() as spinners:
        wait_until(lambda: spinners.report(_CPU, 0).state == RESTING)
        pids = spinners.pids
    assert len(pids) == 2
    wait_until(lambda: not any(is_alive(pid) for pid in pids))


def test_killed_host_is_a_failure() -> None:
    with _spinners() as spinners:
        wait_until(lambda: spinners.report(_CPU, 0).state == RESTING)
        assert spinners.failure is None
        os.kill(min(spinners.pids), signal.SIGKILL)
        wait_until(lambda: spinners.failure is not None)
        assert spinners.failure == "it ended with status -9"


@pytest.mark.parametrize("spins", [False, True], ids=["resting", "spinning"])
def test_killed_sampler_leaves_no_spinner(spins: bool) -> None:
    program = (
        "import time\n"
        "from noisewatch.machine.spinning.idle_probe.run import Spinners\n"
        f"spinners = Spinners({{{_CPU}}}, 'python')\n"
        f"while spinners.report({_CPU}, 0).state == 0 and spinners.failure is None: time.sleep(0.01)\n"
        f"spinners.renew_lease({_CPU}, {_FOR_LONG_NS if spins else 0})\n"
        "print(*spinners.pids, flush=True)\n"
        "time.sleep(60)\n"
    )
    sampler = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    if sampler.stdout is None:
        raise AssertionError
    pids = [int(word) for word in sampler.stdout.readline().split()]
    assert len(pids) == 2
    sampler.kill()
    sampler.wait()
    sampler.stdout.close()
    wait_until(lambda: not any(is_alive(pid) for pid in pids))


def test_pids_of_spinners_are_read_from_the_buffer() -> None:
    with _spinners() as spinners:
        wait_until(lambda: len(spinners.pids) == 2)
        assert 0 not in spinners.pids
    assert _buffer().header[TID] == 0
