"""The idle probe's slices, its buffer, and its processes: short ones, on whatever CPU there is."""

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
def test_slices_lie_evenly_over_the_ticks_period_although_it_divides_theirs(tick_ns: int) -> None:
    tenths = Counter(slice_start_ns(number, 3) % tick_ns * 10 // tick_ns for number in range(1000))
    assert set(tenths) == set(range(10))
    assert max(tenths.values()) - min(tenths.values()) <= 10


def test_each_period_has_a_slice_and_none_runs_into_the_next() -> None:
    starts = [slice_start_ns(number, 0) for number in range(1000)]
    assert [start // PERIOD_NS for start in starts] == list(range(1000))
    assert min(after - before for before, after in pairwise(starts)) > 0.3 * PERIOD_NS


def test_slices_take_no_more_than_the_share_that_is_told() -> None:
    assert WARM_NS + SPIN_NS < DUTY_SHARE * PERIOD_NS


def test_two_cpus_seldom_spin_together() -> None:
    apart = [abs(slice_start_ns(number, 0) - slice_start_ns(number, 1)) for number in range(100)]
    assert sum(each < WARM_NS + SPIN_NS for each in apart) < 10


def test_slices_are_read_back_the_latest_first_as_far_as_wanted() -> None:
    buffer = _buffer()
    for second in range(1, 5):
        buffer.add(second * 10**9, 1_700_000, 3_000 * second, second, 1_000 * second)
    found = buffer.slices_since(3 * 10**9)
    assert [each.start_ns for each in found] == [4 * 10**9, 3 * 10**9]
    assert (found[0].spun_ns, found[0].stolen_ns, found[0].gap_count, found[0].longest_gap_ns) == (
        1_700_000,
        12_000,
        4,
        4_000,
    )


def test_of_a_long_session_the_latest_slices_are_kept() -> None:
    buffer = _buffer()
    for number in range(5_000):
        buffer.add(number, 1, 0, 0, 0)
    starts = [each.start_ns for each in buffer.slices_since(0)]
    assert starts == list(range(4_999, 4_999 - len(starts), -1))
    assert len(starts) > 1_000


@pytest.mark.parametrize("core", _CORES)
def test_a_spinner_measures_while_it_may_and_rests_when_it_may_no_longer(core: str) -> None:
    with _spinners(core) as spinners:
        assert spinners.report(_CPU, 0).slices == ()

        def has_spun() -> bool:
            spinners.renew_lease(_CPU, _FOR_LONG_NS)  # a busy host makes it give way
            return len(spinners.report(_CPU, 0).slices) >= 3

        wait_until(has_spun)
        spinners.let_rest(_CPU)
        wait_until(lambda: spinners.report(_CPU, 0).state != SPINNING)
        slices = spinners.report(_CPU, 0).slices
    assert [each for each in slices if not 0 <= each.longest_gap_ns <= each.stolen_ns <= each.spun_ns] == []
    assert sum(each.spun_ns for each in slices) > SPIN_NS


def test_it_rests_until_it_is_let_and_when_nobody_puts_its_end_off() -> None:
    with _spinners() as spinners:
        wait_until(lambda: spinners.report(_CPU, 0).state == RESTING)
        spinners.renew_lease(_CPU, 0)
        assert spinners.report(_CPU, 0).slices == ()


def test_it_is_pinned_and_gives_way_to_all_others() -> None:
    with _spinners() as spinners:

        def has_begun() -> bool:
            spinners.renew_lease(_CPU, _FOR_LONG_NS)
            return spinners.report(_CPU, 0).state == SPINNING

        wait_until(has_begun)
        (pid,) = [pid for pid in spinners.pids if os.sched_getscheduler(pid) == os.SCHED_IDLE]
        assert os.sched_getaffinity(pid) == {_CPU}


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="it cannot be moved on a machine with one CPU")
def test_one_that_was_moved_says_so_and_goes_back_when_it_is_let_again() -> None:
    """The kernel moves a pinned process like this when its CPU goes offline."""
    with _spinners() as spinners:

        def is_now(state: int) -> bool:
            spinners.renew_lease(_CPU, _FOR_LONG_NS)
            return spinners.report(_CPU, 0).state == state

        wait_until(lambda: is_now(SPINNING))
        (pid,) = [pid for pid in spinners.pids if os.sched_getscheduler(pid) == os.SCHED_IDLE]

        def is_moved() -> bool:
            os.sched_setaffinity(pid, os.sched_getaffinity(0) - {_CPU})
            return spinners.report(_CPU, 0).state == MOVED or is_now(MOVED)  # it may just have given way

        wait_until(is_moved)
        wait_until(lambda: is_now(SPINNING))
        assert os.sched_getaffinity(pid) == {_CPU}


def test_a_cpu_that_cannot_be_pinned_to_says_so() -> None:
    with _spinners(cpu=4095) as spinners:

        def is_refused() -> bool:
            spinners.renew_lease(4095, _FOR_LONG_NS)
            return spinners.report(4095, 0).state == REFUSED

        wait_until(is_refused)
        assert spinners.report(4095, 0).error == 22


def test_nothing_is_left_when_it_is_ended() -> None:
    with _spinners() as spinners:
        wait_until(lambda: spinners.report(_CPU, 0).state == RESTING)
        pids = spinners.pids
    assert len(pids) == 2
    wait_until(lambda: not any(is_alive(pid) for pid in pids))


def test_a_host_that_is_gone_is_told() -> None:
    with _spinners() as spinners:
        wait_until(lambda: spinners.report(_CPU, 0).state == RESTING)
        assert spinners.failure is None
        os.kill(min(spinners.pids), signal.SIGKILL)
        wait_until(lambda: spinners.failure is not None)
        assert spinners.failure == "it ended with status -9"


@pytest.mark.parametrize("spins", [False, True], ids=["resting", "spinning"])
def test_a_killed_sampler_leaves_no_spinner_behind(spins: bool) -> None:
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


def test_whose_process_it_is_is_known_from_the_sheet() -> None:
    with _spinners() as spinners:
        wait_until(lambda: len(spinners.pids) == 2)
        assert 0 not in spinners.pids
    assert _buffer().header[TID] == 0
