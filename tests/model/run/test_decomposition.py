"""The factors of a run's time, for made-up programs whose causes are known."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Callable

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import replace

from noisewatch.machine.command.counting import CommandCounts, Event, EventCount
from noisewatch.model.run.decomposition import (
    Decomposition,
    Factor,
    Outlier,
    difference_of_factors,
    outlier_of,
    spread_of,
)
from noisewatch.model.run.repetition import Repetition
from tests.written.repetitions import ran, repeat

_RUN = repeat(ran(), ran(seconds=1.0))
_INSTRUCTIONS, _CPI, _GHZ = 3e9, 0.8, 3.0


def counted_run(
    instructions: float = _INSTRUCTIONS, cpi: float = _CPI, ghz: float = _GHZ, off_s: float = 0.0, unknown: str = ""
) -> Repetition:
    """Return a run with these counters, which takes as long as they require."""
    cycles = instructions * cpi
    cpu_ns = round(cycles / ghz)
    counts = {
        Event.CYCLES: cycles,
        Event.INSTRUCTIONS: instructions,
        Event.USER_INSTRUCTIONS: instructions * 0.9,
        Event.CPU_TIME: cpu_ns,
    }
    return replace(
        _RUN,
        ended_ns=_RUN.began_ns + cpu_ns + round(off_s * 1e9),
        use=replace(_RUN.use, user_ns=cpu_ns),
        counts=CommandCounts(
            {} if unknown else {event: EventCount(round(value), 1.0) for event, value in counts.items()},
            is_user_only=False,
            unknown=unknown or None,
        ),
    )


def _by_hash_seed(random_: random.Random) -> Repetition:
    return counted_run(instructions=_INSTRUCTIONS * random_.uniform(1, 1.1), cpi=_CPI * random_.uniform(1, 1.01))


def _beside_a_cache_hog(random_: random.Random) -> Repetition:
    return counted_run(cpi=_CPI * random_.uniform(1, 1.1), ghz=_GHZ * random_.uniform(1, 1.01))


def _at_a_lowered_clock(random_: random.Random) -> Repetition:
    return counted_run(ghz=_GHZ * random_.choice([0.9, 1.0]), cpi=_CPI * random_.uniform(1, 1.01))


def _waiting(random_: random.Random) -> Repetition:
    return counted_run(off_s=random_.uniform(0, 0.1), cpi=_CPI * random_.uniform(1, 1.01))


_Program = Callable[[random.Random], Repetition]
_PROGRAMS = [
    (_by_hash_seed, Factor.INSTRUCTIONS),
    (_beside_a_cache_hog, Factor.CYCLES_PER_INSTRUCTION),
    (_at_a_lowered_clock, Factor.CLOCK),
    (_waiting, Factor.OFF_CPU),
]


@pytest.mark.parametrize(("program", "cause"), _PROGRAMS)
@pytest.mark.parametrize("seed", range(20))
def test_main_cause_is_right_and_its_part_within_a_tenth(program: _Program, cause: Factor, seed: int) -> None:
    random_ = random.Random(seed)
    spread = spread_of([program(random_) for _ in range(30)])
    assert spread is not None
    assert spread.main == cause
    assert spread.parts[cause] / spread.total > 0.9


_CLOCKS = [counted_run(ghz=ghz) for ghz in (2.9, 3.0, 3.1)]
_RUNS = st.builds(counted_run, *(st.floats(low, high) for low, high in ((1e8, 1e10), (0.2, 5), (0.5, 6), (0, 2))))


@given(st.lists(_RUNS, min_size=2, max_size=20))
def test_parts_add_up_to_the_cv(runs: list[Repetition]) -> None:
    spread = spread_of(runs)
    assume(spread is not None)
    assert spread is not None
    assert math.fsum(spread.parts.values()) == pytest.approx(spread.total, rel=1e-6)
    times = [run.seconds for run in runs]
    assert spread.total == pytest.approx(statistics.stdev(times) / statistics.fmean(times))


@given(st.lists(st.tuples(_RUNS, _RUNS), min_size=1, max_size=20), st.floats(0.01, 2))
def test_parts_add_up_to_the_difference(pairs: list[tuple[Repetition, Repetition]], share: float) -> None:
    difference = difference_of_factors([a for a, _ in pairs], [b for _, b in pairs], share)
    assume(difference is not None)
    assert difference is not None
    assert math.fsum(difference.parts.values()) == pytest.approx(share, rel=1e-6)


def test_difference_is_assigned_to_its_factor() -> None:
    difference = difference_of_factors([counted_run()] * 3, [counted_run(instructions=1.1 * _INSTRUCTIONS)] * 3, 0.1)
    assert difference is not None
    assert difference.main == Factor.INSTRUCTIONS
    assert difference.parts[Factor.CYCLES_PER_INSTRUCTION] == pytest.approx(0, abs=1e-6)
    shorter = difference_of_factors([counted_run()] * 3, [counted_run(ghz=1.1 * _GHZ)] * 3, -0.1)
    assert shorter is not None
    assert shorter.main == Factor.CLOCK
    assert difference_of_factors([counted_run()], [counted_run()], 0.1) is None


def test_a_run_without_counters_leaves_cpu_time_and_waiting() -> None:
    runs = [counted_run(), counted_run(off_s=0.2), counted_run(off_s=0.4, unknown="no PMU")]
    spread = spread_of(runs)
    assert spread is not None
    assert set(spread.parts) == {Factor.CPU_TIME, Factor.OFF_CPU}
    assert (spread.main, spread.unknown, spread.instruction_spread) == (Factor.OFF_CPU, "no PMU", None)


def test_cpu_time_is_a_factor_without_counters() -> None:
    spread = spread_of([counted_run(ghz=ghz, unknown="no PMU") for ghz in (3.0, 3.1, 2.9)])
    assert spread is not None
    assert spread.main == Factor.CPU_TIME
    assert spread.parts[Factor.OFF_CPU] == pytest.approx(0, abs=1e-6)


def test_counts_of_zero_are_no_error() -> None:
    """A kernel that counts in ticks reports no CPU time for a short command."""
    idle = replace(counted_run(off_s=1), use=replace(_RUN.use, user_ns=0))
    nothing = replace(idle.counts, counts=dict.fromkeys(Event, EventCount(0, 1.0)))
    for run in (replace(idle, counts=nothing), replace(idle, counts=replace(nothing, unknown="no PMU"))):
        assert spread_of([run, counted_run()]) is not None


def test_counted_cpu_time_outranks_the_accounted_one() -> None:
    ticking = [replace(run, use=replace(run.use, user_ns=10**9)) for run in _CLOCKS]
    uncounted = [
        replace(run, counts=replace(run.counts, counts={**run.counts.counts, Event.CPU_TIME: EventCount(0, 1.0)}))
        for run in _CLOCKS
    ]
    for runs in (ticking, uncounted):
        spread = spread_of(runs)
        assert spread is not None
        assert spread.main == Factor.CLOCK


@pytest.mark.parametrize(("is_user_only", "is_same"), [(True, False), (False, True)])
def test_instructions_of_user_code_show_other_work(is_user_only: bool, is_same: bool) -> None:
    runs = []
    for instructions in (_INSTRUCTIONS, 1.1 * _INSTRUCTIONS):
        counts = counted_run(instructions).counts
        counts = replace(counts, counts={**counts.counts, Event.USER_INSTRUCTIONS: EventCount(10**9, 1.0)})
        runs.append(replace(counted_run(instructions), counts=replace(counts, is_user_only=is_user_only)))
    spread = spread_of(runs)
    assert spread is not None
    assert spread.is_same_work is is_same


def test_clock_includes_kernel_code_if_only_user_code_is_counted() -> None:
    runs = [replace(run, counts=replace(run.counts, is_user_only=True)) for run in (counted_run(), counted_run(ghz=2))]
    spread = spread_of(runs)
    assert spread is not None
    assert spread.main == Factor.CLOCK_AND_KERNEL


@pytest.mark.parametrize(("more", "is_same"), [(0.0013, True), (0.0015, False)])
def test_other_instructions_are_other_work(more: float, is_same: bool) -> None:
    """The standard deviation of two runs is their difference divided by the square root of 2."""
    spread = spread_of([counted_run(), counted_run(instructions=(1 + more) * _INSTRUCTIONS, off_s=1)])
    assert spread is not None
    assert spread.is_same_work is is_same


@pytest.mark.parametrize("runs", [[], [counted_run()], [counted_run()] * 3])
def test_runs_that_do_not_vary_have_no_parts(runs: list[Repetition]) -> None:
    assert spread_of(runs) is None


def test_no_factor_is_the_main_one_if_two_are_alike() -> None:
    assert Decomposition(0.02, {Factor.CLOCK: 0.01, Factor.OFF_CPU: 0.01}, None, None).main is None
    assert Decomposition(0.02, {Factor.CLOCK: 0.012, Factor.OFF_CPU: 0.008}, None, None).main == Factor.CLOCK
    assert Outlier(1, 4.0, {Factor.CPU_TIME: 2.0, Factor.OFF_CPU: 2.0}, None).main is None
    assert Outlier(1, 1.0, {Factor.CPU_TIME: 2.0, Factor.OFF_CPU: 0.5}, None).main is None


@pytest.mark.parametrize(("ratio", "is_large"), [(1.11, True), (1.09, False), (1 / 1.09, False), (1 / 1.11, True)])
def test_an_outlier_is_large_from_a_tenth_on(ratio: float, is_large: bool) -> None:
    assert Outlier(1, ratio, {Factor.CPU_TIME: ratio}, None).is_large is is_large


_USUAL = [counted_run(cpi=_CPI * (1 + at / 1000)) for at in range(4)]


@pytest.mark.parametrize(
    ("run", "main"),
    [
        (counted_run(instructions=3 * _INSTRUCTIONS), Factor.INSTRUCTIONS),
        (counted_run(cpi=3 * _CPI), Factor.CYCLES_PER_INSTRUCTION),
        (counted_run(ghz=_GHZ / 3), Factor.CLOCK),
        (counted_run(off_s=3.0), Factor.OFF_CPU),
        (counted_run(cpi=1.5 * _CPI, instructions=1.5 * _INSTRUCTIONS, ghz=_GHZ / 1.5), None),
    ],
)
def test_an_outlier_is_compared_with_the_others(run: Repetition, main: Factor | None) -> None:
    outlier = outlier_of(run, _USUAL)
    assert (outlier.number, outlier.main, outlier.unknown) == (run.number, main, None)
    mean_s = math.exp(sum(math.log(usual.seconds) for usual in _USUAL) / len(_USUAL))
    assert outlier.ratio == pytest.approx(run.seconds / mean_s)
    assert math.prod(outlier.factors.values()) == pytest.approx(outlier.ratio)
    if main is not None:
        assert outlier.factors[main] > 2


def test_an_outlier_without_counters_is_divided_by_cpu_time() -> None:
    outlier = outlier_of(counted_run(off_s=3.0, unknown="no PMU"), _USUAL)
    assert (set(outlier.factors), outlier.main) == ({Factor.CPU_TIME, Factor.OFF_CPU}, Factor.OFF_CPU)
    assert outlier.unknown == "no PMU"
