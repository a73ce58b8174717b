"""Both cores of loops behave the same: the compiled one, if it was built, and `python_loops`."""

from __future__ import annotations

import mmap
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from noisewatch.machine.spinning.loops import CHOICE, NATIVE, PYTHON, load_core, python_loops
from noisewatch.machine.spinning.loops.python_loops import (
    COUNT,
    GAP_WORDS,
    ITERATIONS,
    LINE_BYTES,
    LOST_COUNT,
    LOST_NS,
    SPIN_WORDS,
    SPUN_NS,
)

_MS = 1_000_000
_CORES = [python_loops] if load_core(NATIVE) is python_loops else [python_loops, load_core(NATIVE)]


def _words(count: int) -> memoryview:
    return memoryview(bytearray(8 * count)).cast("q")


@pytest.fixture(params=_CORES, ids=lambda core: core.NAME)
def core(request: pytest.FixtureRequest) -> ModuleType:
    return request.param  # type: ignore[no-any-return]


def test_environment_can_decline_the_compiled_core(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CHOICE, PYTHON)
    assert load_core() is python_loops


def test_both_cores_have_the_same_interface() -> None:
    public = {"spin", "dense", "chain", "chase", "chase_memory", "lock_memory", "multiplications_ns", "additions_ns"}
    public |= {"NAME", "DENSE_ROUNDS", "CHAIN_LENGTH", "CHASE_STEPS", "FAR_STEPS", "STREAM_LINES", "stream"}
    assert all(public <= set(dir(module)) for module in _CORES)


def test_gaps_have_a_start_and_at_least_the_threshold(core: ModuleType) -> None:
    gaps, totals = _words(GAP_WORDS * 50_000), _words(SPIN_WORDS)
    begin = time.monotonic_ns()
    core.spin(gaps, totals, begin + 50 * _MS, 1_000)
    count = totals[COUNT]
    starts, lengths = (gaps[column : count * GAP_WORDS : GAP_WORDS].tolist() for column in (0, 1))
    assert starts == sorted(starts)
    assert all(start >= begin for start in starts)
    assert all(length >= 1_000 for length in lengths)
    assert totals[ITERATIONS] > 1_000
    assert totals[SPUN_NS] + 5 * _MS >= 50 * _MS
    assert sum(lengths) <= totals[SPUN_NS]


def test_deliberate_delays_are_detected(core: ModuleType) -> None:
    gaps, totals = _words(GAP_WORDS * 50_000), _words(SPIN_WORDS)
    until = time.monotonic_ns() + 60 * _MS
    made = core.spin(gaps, totals, until, 100_000, delay_ns=200_000, delay_every_ns=_MS)
    detected = sum(length >= 200_000 for length in gaps[1 : totals[COUNT] * GAP_WORDS : GAP_WORDS])
    assert made > 5
    assert detected >= made - 1  # the last one may end the loop


def test_gaps_that_do_not_fit_are_counted(core: ModuleType) -> None:
    gaps, totals = _words(GAP_WORDS), _words(SPIN_WORDS)
    made = core.spin(gaps, totals, time.monotonic_ns() + 30 * _MS, 100_000, delay_ns=200_000, delay_every_ns=_MS)
    assert made > 3
    assert (totals[COUNT], totals[LOST_COUNT] >= made - 2, totals[LOST_NS] >= (made - 2) * 200_000) == (1, True, True)


_Work = Callable[[memoryview, memoryview, int], None]


@pytest.fixture(params=["interpreted", "dense", "chain"])
def work(request: pytest.FixtureRequest, core: ModuleType) -> _Work:
    def piece(samples: memoryview, count: memoryview, until_ns: int) -> None:
        if request.param == "interpreted":
            python_loops.interpret(samples, count, until_ns, 20)
        elif request.param == "dense":
            core.dense(samples, count, until_ns, 20)
        else:
            core.chain(samples, count, until_ns, 2_000)

    return piece


def test_work_is_done_without_a_break(work: _Work) -> None:
    samples, count = _words(2 * 100_000), _words(1)
    work(samples, count, time.monotonic_ns() + 20 * _MS)
    done = count[0]
    starts, lengths = (samples[column : done * 2 : 2].tolist() for column in (0, 1))
    assert done > 10
    assert [start + length for start, length in zip(starts, lengths, strict=True)][:-1] == starts[1:]


def test_work_ends_when_its_buffer_is_full(work: _Work) -> None:
    samples, count = _words(2 * 5), _words(1)
    work(samples, count, time.monotonic_ns() + 10_000 * _MS)
    assert count[0] == 5


def test_chase_follows_the_links_of_the_memory(core: ModuleType) -> None:
    samples, count = _words(2 * 10_000), _words(1)
    memory = core.chase_memory(1 << 16)
    assert len(memory) == 1 << 16
    place = core.chase(samples, count, time.monotonic_ns() + 10 * _MS, memoryview(memory), 1 << 10, 0)
    assert count[0] > 1
    assert 0 <= place < len(memory)
    assert all(length > 0 for length in samples[1 : count[0] * 2 : 2])


def test_stream_copies_the_source_in_turn(core: ModuleType) -> None:
    """The source has 6 lines, the target 4; the second copy continues where the first one ended."""
    source = memoryview(bytes(at // LINE_BYTES for at in range(6 * LINE_BYTES)))
    target = memoryview(mmap.mmap(-1, mmap.PAGESIZE))[: 4 * LINE_BYTES]
    samples, count = _words(2), _words(1)
    place = core.stream(samples, count, time.monotonic_ns() + 10_000 * _MS, source, target, 4, 0)
    assert (count[0], place, bytes(target[::LINE_BYTES])) == (1, 4 * LINE_BYTES, bytes([0, 1, 2, 3]))
    count[0] = 0
    place = core.stream(samples, count, time.monotonic_ns() + 10_000 * _MS, source, target, 2, place)
    assert (count[0], place, bytes(target[: 2 * LINE_BYTES : LINE_BYTES])) == (1, 0, bytes([4, 5]))


def test_ring_visits_all_of_the_memory() -> None:
    core = load_core(NATIVE)
    if core is python_loops:
        pytest.skip("the compiled core is not built")
    memory = memoryview(core.chase_memory(1 << 12))
    links = memory.cast("I")[::16].tolist()
    samples, count, places = _words(2), _words(1), [0]
    for _ in links:  # samples of one step, each from the end of the last one
        count[0] = 0
        places.append(core.chase(samples, count, time.monotonic_ns() + 10_000 * _MS, memory, 1, places[-1]))
    assert places[1:] == [links[at] for at in places[:-1]]
    assert len(set(places)) == len(links) == 1 << 6


def test_multiplication_takes_a_whole_number_of_additions() -> None:
    core = load_core(NATIVE)
    if core.multiplications_ns(16) is None:
        pytest.skip("no compiled core for this processor")
    best_multiply = min(core.multiplications_ns(25_600) for _ in range(50))
    best_add = min(core.additions_ns(25_600) for _ in range(50))
    assert 2 <= best_multiply / best_add <= 7
    assert python_loops.multiplications_ns(25_600) is None


@pytest.mark.skipif(load_core(NATIVE) is python_loops, reason="the compiled core is not built")
def test_compiled_core_rejects_buffers_that_are_too_small() -> None:
    core = load_core(NATIVE)
    empty, small = _words(0), _words(SPIN_WORDS)
    with pytest.raises(ValueError, match="at least"):
        core.spin(empty, small, 0, 1_000)
    with pytest.raises(ValueError, match="at least"):
        core.spin(_words(GAP_WORDS), _words(1), 0, 1_000)
    with pytest.raises(ValueError, match="at least"):
        core.dense(empty, small, 0, 1)
    with pytest.raises(ValueError, match="at least"):
        core.chain(empty, small, 0, 1)
    with pytest.raises(ValueError, match="power of two"):
        core.chase(_words(2), small, 0, memoryview(bytes(192)), 1, 0)
    with pytest.raises(ValueError, match="power of two"):
        core.chase_memory(12)
    lines = memoryview(mmap.mmap(-1, mmap.PAGESIZE))
    for source, target, at in (
        (lines[:100], lines, 0),
        (lines, lines[:0], 0),
        (lines, lines[8:72], 0),
        (lines, lines, 8),
        (lines, lines, mmap.PAGESIZE),
    ):
        with pytest.raises(ValueError, match="cache lines"):
            core.stream(_words(2), _words(1), 0, source, target, 1, at)


@pytest.mark.parametrize(("text", "waited_ns"), [("5000 700 3\n", 700), ("5000\n", -1), ("a b c\n", -1)])
def test_waited_time_of_a_loop_is_the_second_number_of_schedstat(tmp_path: Path, text: str, waited_ns: int) -> None:
    (tmp_path / "schedstat").write_text(text)
    with (tmp_path / "schedstat").open("rb") as file:
        assert python_loops._waited_so_far(file.fileno()) == waited_ns
    assert python_loops._waited_so_far(-1) == -1
