"""The sentences on a series: its statistics, and where threads ran."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from noisewatch.judgement.run.placement import THREADS_NOT_OBSERVED, placement_advice, placement_reasons
from noisewatch.judgement.run.reasons import describe_reason
from noisewatch.model.run.mean_difference import MeanDifference, RunPair, difference_of
from noisewatch.model.run.placement import MemoryElsewhere, SpreadThreads
from noisewatch.model.run.series import Bounds, SeriesStatistics, parts_of, select_by_cause, statistics_of
from noisewatch.surfaces.reports.run.sentences import (
    advice_parts,
    against_itself_words,
    difference_words,
    doubt_words,
    mean_words,
    placement_lines,
    range_words,
    relative_to_second,
    selection_rows,
    selection_words,
    variance_words,
)
from tests.judgement.run.test_placement_reasons import SECOND_NS, placed
from tests.kernel.tasks.commands import thread_look
from tests.model.run.places import ONE_NODE, TWO_NODES

_FOUR = [1.22, 1.23, 1.24, 1.25]


@pytest.mark.parametrize(
    ("times", "mean", "facts"),
    [
        (
            _FOUR,
            "1.235 s ± 0.013 s (4 runs, CV 1.05%, 95% interval of the mean 1.214 to 1.256 s)",
            "median 1.235 s, runs from 1.220 to 1.250 s",
        ),
        (
            [time / 100 for time in _FOUR],
            "12.35 ms ± 0.13 ms (4 runs, CV 1.05%, 95% interval of the mean 12.14 to 12.56 ms)",
            "median 12.35 ms, runs from 12.20 to 12.50 ms",
        ),
        (
            [100.0, 300.0],
            "200 s ± 141 s (2 runs, CV 70.7%, 95% interval of the mean 0 to 1471 s)",
            "median 200 s, runs from 100 to 300 s",
        ),
        ([0.5], "500.0 ms (1 run: its variation is unknown)", "median 500.0 ms, runs from 500.0 to 500.0 ms"),
    ],
)
def test_mean_is_rounded_to_two_digits_of_its_deviation(times: list[float], mean: str, facts: str) -> None:
    assert (mean_words(statistics_of(times)), range_words(statistics_of(times))) == (mean, facts)


@given(st.lists(st.floats(1e-9, 1e6), min_size=1, max_size=30))
def test_any_series_can_be_described(times: list[float]) -> None:
    series = statistics_of(times)
    sentences = [
        mean_words(series),
        range_words(series),
        variance_words(parts_of(series, None)),
        *doubt_words(series, range(1, len(times) + 1)),
    ]
    assert all("nan" not in sentence and "None" not in sentence for sentence in sentences)


def _with_far_run(at: int) -> SeriesStatistics:
    times = [1 + (number * 7 % 10) / 1000 for number in range(20)]
    times[at] = 2.0
    return statistics_of(times)


def test_doubts_about_a_series_are_listed() -> None:
    rising = statistics_of([1 + number / 100 for number in range(10)])
    assert doubt_words(rising, range(1, 21)) == [
        "later runs took longer (the second half 4.9% more than the first), "
        "so the interval of the mean may be too narrow"
    ]
    falling = statistics_of([2 - number / 100 for number in range(10)])
    assert doubt_words(falling, range(1, 21))[0].startswith(
        "later runs took less time (the second half 2.53% less than the first)"
    )
    waves = statistics_of([1 + (number // 5 % 2) / 100 for number in range(40)])
    assert doubt_words(waves, range(1, 21)) == [
        "each run resembles the one before, so the interval of the mean may be too narrow"
    ]
    assert doubt_words(statistics_of(_FOUR), range(1, 21)) == [
        "fewer than 10 runs: cannot tell whether later runs take longer"
    ]
    assert doubt_words(_with_far_run(6), range(101, 121)) == ["far from the others: run 107"]
    assert doubt_words(_with_far_run(6), range(101, 121), explained=[107]) == []


def _difference(share: float, half: float) -> MeanDifference:
    return MeanDifference(25, share, Bounds(share - half, share + half), half * 1.4, 0.0)


@pytest.mark.parametrize(
    ("difference", "sentence"),
    [
        (_difference(0.02, 0.01), "new takes 2% more time than old (1% to 3% more: 95% interval, 25 pairs)"),
        (_difference(-0.02, 0.01), "new takes 2% less time than old (1% to 3% less: 95% interval, 25 pairs)"),
        (
            _difference(0.002, 0.01),
            "no difference shown: new takes between 0.8% less and 1.2% more time than old (95% interval, 25 pairs); "
            "a difference below 1.4% may be missed",
        ),
        (
            difference_of([RunPair(1, 1.5, True)]),
            "new took 50% more time than old in 1 pair: too few to tell "
            "(at least 3 pairs are needed, and each command must be first in at least one)",
        ),
    ],
)
def test_difference_is_described_with_its_interval(difference: MeanDifference, sentence: str) -> None:
    assert difference_words(difference, "old", "new") == sentence


def test_comparison_of_a_command_with_itself_states_the_detectable_difference() -> None:
    shown = "differences of 1.4% or more can be shown here with 25 pairs (5% false alarms, 80% power)"
    assert against_itself_words(_difference(0.002, 0.01)) == shown
    assert against_itself_words(_difference(0.02, 0.01)) == (
        f"{shown}; but the command differs from itself (1% to 3% more), which happens by chance in one of twenty "
        "series: measure again"
    )
    assert against_itself_words(difference_of([RunPair(1, 1.5, True)])) == (
        "cannot tell what difference can be shown here: 1 pair, but at least 3 are needed"
    )


@pytest.mark.parametrize(
    ("times", "of_machine", "sentence"),
    [
        (
            [1.0, 1.02] * 20,
            Bounds(0.002, 0.004),
            "varies 1% between processes; the machine explains 0.2% to 0.4%; the rest, 0.717% to 1.27%, is due to the "
            "program (layout, hash seeds, allocation), or to something that was not watched",
        ),
        (
            [1.0, 1.02] * 20,
            Bounds(0.02, 0.02),
            "varies 1% between processes, no more than the machine alone may cause (2%), so nothing points to "
            "the program",
        ),
        (
            [1.0, 1.02] * 2,
            Bounds(0.002, 0.01),
            "varies 1.14% between processes (0.648% to 4.26% from 4 runs); the machine explains 0.2% to 1%; "
            "too few runs to tell whether the program varies",
        ),
        (
            [1 + number / 100 for number in range(20)],
            Bounds(0.002, 0.004),
            "varies 5.4% between processes; the machine explains 0.2% to 0.4%; the rest depends on when "
            "a run took place, so it is not due to the program (layout, hash seeds, allocation)",
        ),
        (
            [1.0, 1.02] * 2,
            None,
            "varies 1.14% between processes; the part of the machine is unknown: "
            "no noise floor was measured for runs of this length",
        ),
        ([1.0], Bounds(0.002, 0.004), "one run: cannot tell how much processes vary"),
    ],
)
def test_variance_names_machine_and_program(times: list[float], of_machine: Bounds | None, sentence: str) -> None:
    assert variance_words(parts_of(statistics_of(times), of_machine)) == sentence


def test_selection_lists_undisturbed_and_all_runs_or_the_reason_for_no_result() -> None:
    enough = select_by_cause([*_FOUR, 9.0], [True, True, True, True, False], 0.8)
    assert selection_words(enough) == "4 of 5 runs undisturbed, 1 disturbed"
    assert selection_rows(enough) == [
        ("undisturbed runs", mean_words(statistics_of(_FOUR))),
        ("all runs", mean_words(statistics_of([*_FOUR, 9.0]))),
    ]
    few = select_by_cause(_FOUR, [True, False, None, False], 0.8)
    assert selection_words(few) == (
        "1 of 4 runs undisturbed, 2 disturbed, 1 unknown: no result, because 25% is too few (minimum 80%)"
    )
    failures = {
        "3 failed (status 1)": ((1, 1, 1), 0),
        "2 cut short": ((), 2),
        "1 failed (status 1), 1 cut short": ((1,), 1),
    }
    reasons = ["failed", "was cut short", "failed or was cut short"]
    for (counts, (statuses, cut)), reason in zip(failures.items(), reasons, strict=True):
        none = select_by_cause([], [], 0.5, statuses, cut)
        assert (
            selection_words(none)
            == f"0 of {none.count} runs undisturbed, {counts}: no result, because each run {reason}"
        )
    alone = select_by_cause([], [], 0.5, (1,), 0)
    assert selection_words(alone) == "0 of 1 run undisturbed, 1 failed (status 1): no result, because the run failed"
    none = select_by_cause(_FOUR, [None] * 4, 0.8)
    assert selection_rows(none) == [("all runs", "1.235 s ± 0.013 s (4 runs, CV 1.05%)")]


def test_difference_is_relative_to_the_second_command() -> None:
    relative = relative_to_second(MeanDifference(25, 0.25, Bounds(0.0, 1.0), 0.5, 0.0))
    assert relative.share == pytest.approx(-0.2)
    assert (relative.interval, relative.smallest_shown) == (Bounds(-0.5, 0.0), 0.4)


def test_interval_without_an_upper_bound_is_described_from_the_other_side() -> None:
    wide = MeanDifference(3, 0.5, Bounds(-1.2, 2.2), 3.0, 0.0)
    assert "between 68.8% less and >" in difference_words(relative_to_second(wide))


def test_thread_is_listed_with_its_shares_and_moves() -> None:
    placement = placed([thread_look(9, 1, 20, migrations=0)], [thread_look(9, 2, 100, migrations=1)], used_ns=110)
    assert placement_lines(placement) == [
        "1 thread on CPUs 1-2, observed twice (91% of the CPU time)",
        "bench (9): CPU 1 60%, CPU 2 40%; node 0 60%, node 1 40%; moved at least once, once to another memory node",
    ]


def test_single_node_is_not_listed() -> None:
    lines = placement_lines(placed([thread_look(9, 1, 20)], places=ONE_NODE, used_ns=20))
    assert lines[1:] == ["bench (9): CPU 1 100%; not seen to move"]


def test_busiest_of_many_threads_are_listed() -> None:
    placement = placed([thread_look(tid, 1, tid) for tid in range(1, 21)], places=ONE_NODE, used_ns=210)
    lines = placement_lines(placement, max_threads=2)
    assert [line.split(":")[0] for line in lines[1:]] == [
        "bench (20)",
        "bench (19)",
        "18 more, with 81% of the run time",
    ]


def test_stacked_threads_are_listed_with_the_free_cpu() -> None:
    threads = [thread_look(tid, 2, 5, state="R", waited_ns=SECOND_NS // 4) for tid in (8, 9)]
    placement = placed(threads, threads, places=ONE_NODE, target=frozenset({2, 3}), used_ns=10)
    assert placement_lines(placement)[-1] == (
        "up to 2 threads shared CPU 2 while CPU 3 had none, in 100% of the observations"
    )
    (own,) = placement_reasons(placement, SECOND_NS)[1]
    assert (
        describe_reason(own)
        == "2 of the command's threads on CPU 2 had to share it, although another target CPU was free: "
        "~500 ms (100.00%)"
    )


def test_a_thread_that_changed_nodes_is_named_as_the_reason() -> None:
    placement = placed([thread_look(9, 1, 20)], [thread_look(9, 2, 100)])
    (reason,) = placement_reasons(placement, SECOND_NS)[0]
    assert describe_reason(reason) == "bench (pid 9) moved to another memory node"


def test_memory_of_other_nodes_is_exact_bounded_or_unknown() -> None:
    placement = placed([thread_look(9, 2, 5)], target=frozenset({2, 3}))
    lines = [
        placement_lines(replace(placement, memory=memory))[-1]
        for memory in (
            MemoryElsewhere(0.25, 12_000_000, is_bound=True),
            MemoryElsewhere(0.25, 12_000_000),
            MemoryElsewhere(None, None, reason="no counters"),
        )
    ]
    assert lines == [
        "memory on other nodes: at most 12.0 MB (25.0%)",
        "memory on other nodes: 12.0 MB (25.0%)",
        "memory on other nodes: unknown (no counters)",
    ]


def test_unknown_placement_is_reported_with_the_reason() -> None:
    placement = replace(placed([thread_look(9, 1, 5)], used_ns=50), reason="no children")
    assert placement_lines(placement)[-2:] == [
        "unknown: no children",
        "unknown: where the command's threads ran is known for only 10% of their CPU time",
    ]
    assert placement_lines(placed(used_ns=50))[0] == THREADS_NOT_OBSERVED


def test_threads_pinned_by_spread_are_counted() -> None:
    placement = placed([thread_look(9, 2, 5)], places=ONE_NODE)
    assert not [line for line in placement_lines(placement) if "--spread" in line]
    for spread, expected in (
        (SpreadThreads(0, {}), "--spread pinned no thread"),
        (SpreadThreads(2, {}), "--spread pinned a busy thread to a CPU of its own twice"),
        (SpreadThreads(1, {"gone": 3}), "--spread pinned a busy thread to a CPU of its own once, left 3 alone: gone"),
    ):
        assert expected in placement_lines(replace(placement, spread=spread))


def test_cpus_outside_of_the_target_are_listed() -> None:
    placement = placed([thread_look(9, 7, 5)], places=ONE_NODE, target=frozenset({2, 3}))
    assert "the command also ran outside the target CPUs, on CPU 7" in placement_lines(placement)[-1]


def test_advice_is_a_line_for_the_shell() -> None:
    looks = [[thread_look(9, 1, 5)], [thread_look(9, 2, 50)], [thread_look(9, 2, 500)]]
    (advice,) = placement_advice(placed(*looks), SECOND_NS, TWO_NODES)
    before, argv = "numactl --cpunodebind=1 --membind=1", ("./bench", "a b")
    assert advice_parts(advice, argv, True) == ("threads moved between memory nodes", f"{before} ./bench 'a b'")
    assert advice_parts(advice, argv, False)[1] == f"{before} COMMAND"


def test_control_characters_of_names_are_removed() -> None:
    placement = placed([thread_look(9, 1, 5, name="a\x1b[31m")], places=ONE_NODE, used_ns=5)
    assert "\x1b" not in "".join(placement_lines(placement))


def test_placement_by_a_trace_is_exact() -> None:
    placement = replace(placed([thread_look(9, 1, 20)], places=ONE_NODE, used_ns=20), traced_share=1.0)
    assert placement_lines(placement) == [
        "1 thread on CPU 1, traced (100% of the CPU time)",
        "bench (9): CPU 1 100%; did not move",
    ]
    moved = replace(placement, threads=tuple(replace(thread, moves=2) for thread in placement.threads))
    assert placement_lines(moved)[1].endswith("moved twice")
