"""The pairs of runs in the difference between two commands: without one of its runs, a pair is left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from msgspec.structs import replace

from noisewatch.judgement.run.reasons import RepetitionVerdict
from noisewatch.operations.run.conclusion import conclude
from noisewatch.operations.run.series import RunSeries
from tests.operations.run.test_layouts import with_layouts
from tests.surfaces.reports.run.written_series import UNDISTURBED, UNKNOWN, disturbed_by, timed, written_series

_DISTURBED = disturbed_by("hog")
_LONGER = 1.1  # B takes 10% longer than A in each pair
_SPOILT_S = 100.0  # time of a disturbed run, which only counts among all pairs


def _series(orders: str, spoilt: Mapping[int, RepetitionVerdict] | None = None) -> RunSeries:
    """Return a series with a pair for each letter of `orders`, `A` or `B`: the command that ran first.

    A takes 1 s in the first pair, 2 s in the second, and so on. `spoilt` are verdicts of runs, by position in the
    series, that took much longer; all other runs were undisturbed.
    """
    verdicts = [(spoilt or {}).get(at, UNDISTURBED) for at in range(2 * len(orders))]
    series = written_series(*verdicts, has_two=True)
    commands = [command for first in orders for command in ((0, 1) if first == "A" else (1, 0))]
    times = [
        _SPOILT_S if at in (spoilt or {}) else (1 + at // 2) * (_LONGER if command else 1)
        for at, command in enumerate(commands)
    ]
    judged = [
        replace(run, repetition=replace(run.repetition, command=command))
        for run, command in zip(timed(series, times).repetitions, commands, strict=True)
    ]
    return replace(series, repetitions=tuple(judged), options=replace(series.options, runs=len(orders)))


def _differences(series: RunSeries) -> Sequence[tuple[int, float]]:
    """Return the number of pairs and the share of both differences: of undisturbed pairs, and of all pairs."""
    conclusion = conclude(series)
    assert conclusion.difference is not None
    assert conclusion.of_all_pairs is not None
    return [(mean.pairs, round(mean.share, 6)) for mean in (conclusion.difference, conclusion.of_all_pairs)]


@pytest.mark.parametrize("half", [0, 1])
@pytest.mark.parametrize("first", "AB")
@pytest.mark.parametrize("verdict", [_DISTURBED, UNKNOWN])
def test_pair_with_a_run_that_is_not_undisturbed_counts_only_among_all_pairs(
    verdict: RepetitionVerdict, first: str, half: int
) -> None:
    undisturbed, of_all = _differences(_series(f"A{first}BA", {2 + half: verdict}))
    assert undisturbed == (3, 0.1)
    assert of_all[0] == 4
    assert abs(of_all[1]) > 1 / 2


@pytest.mark.parametrize("half", [0, 1])
@pytest.mark.parametrize("change", [{"status": 1}, {"status": -9}, {"is_cut_short": True}], ids=str)
def test_pair_with_a_run_that_failed_or_was_cut_short_counts_nowhere(change: Mapping[str, object], half: int) -> None:
    series = _series("ABBA", {2 + half: UNDISTURBED})
    judged = list(series.repetitions)
    judged[2 + half] = replace(judged[2 + half], repetition=replace(judged[2 + half].repetition, **change))
    assert _differences(replace(series, repetitions=tuple(judged))) == [(3, 0.1), (3, 0.1)]


def test_first_run_of_a_pair_without_a_second_one_counts_nowhere() -> None:
    series = _series("ABBA")
    series = replace(series, repetitions=series.repetitions[:-1], ended_by=2)
    assert _differences(series) == [(3, 0.1), (3, 0.1)]
    assert conclude(series).pairs == 4


def test_retried_pairs_replace_disturbed_ones_without_joining_halves() -> None:
    """Two of four pairs lack a different half each; three pairs follow, of which one has an unknown run."""
    spoilt = {0: _DISTURBED, 5: _DISTURBED, 8: UNKNOWN}
    undisturbed, of_all = _differences(_series("ABABABA", spoilt))
    assert undisturbed == (4, 0.1)
    assert of_all[0] == 7


def test_without_a_whole_pair_there_is_no_difference() -> None:
    conclusion = conclude(_series("AB", {0: _DISTURBED, 3: _DISTURBED}))
    assert conclusion.difference is None
    assert conclusion.is_refused


def test_pair_of_a_layout_is_left_out_but_not_the_layouts_other_pair() -> None:
    """Layout 1 has one undisturbed pair, layout 2 has none."""
    layouts = [0, 1, 2, 1, 0, 2, 3, 3]
    series = _series("ABABBABA", {2: _DISTURBED, 4: _DISTURBED, 11: UNKNOWN})
    series = with_layouts(series, [layout for layout in layouts for _ in range(2)])
    undisturbed, of_all = _differences(series)
    assert undisturbed == (3, 0.1)
    assert of_all[0] == 4
    assert conclude(series).pairs == 4
