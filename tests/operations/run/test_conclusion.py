"""Which runs and pairs of a series the conclusion uses: undisturbed ones first, whole ones only."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from noisewatch.judgement.run.reasons import RepetitionVerdict, RunOutcome
from noisewatch.model.run.energy import RunEnergy
from noisewatch.model.run.series import Bounds
from noisewatch.operations.run.conclusion import conclude, gate_of_run, remedy_in, unknown_speed_reason
from noisewatch.operations.run.series import RunSeries
from tests.judgement.noise.test_steadiness import calibration
from tests.operations.run.test_layouts import with_layouts
from tests.surfaces.reports.run.written_series import UNDISTURBED, UNKNOWN, disturbed_by, stacked, timed, written_series

_DISTURBED = disturbed_by("hog")


def _pairs(times: Sequence[tuple[float, float]], swapped: Sequence[int]) -> RunSeries:
    """Return a series of pairs with A's and B's times, in which B ran first in the pairs `swapped`."""
    series = timed(
        written_series(*[UNDISTURBED] * 2 * len(times), has_two=True), [time for pair in times for time in pair]
    )
    judged = list(series.repetitions)
    for at in swapped:
        judged[2 * at : 2 * at + 2] = judged[2 * at + 1], judged[2 * at]
    return replace(series, repetitions=tuple(judged))


def _with_energy(verdicts: Sequence[RepetitionVerdict], joules: Sequence[float]) -> RunSeries:
    series = written_series(*verdicts, has_two=True)
    judged = [
        replace(one, repetition=replace(one.repetition, energy=RunEnergy(10**9, {"package-0": value}, None)))
        for one, value in zip(series.repetitions, joules, strict=True)
    ]
    return replace(series, repetitions=tuple(judged))


def test_a_command_without_a_run_has_no_conclusion() -> None:
    conclusion = conclude(written_series(UNDISTURBED, has_two=True))
    assert [command.command for command in conclusion.commands] == [0]
    assert (conclusion.pairs, conclusion.difference, conclusion.of_all_pairs) == (1, None, None)


def test_a_difference_without_an_undisturbed_pair_is_refused() -> None:
    conclusion = conclude(written_series(UNDISTURBED, _DISTURBED, _DISTURBED, UNDISTURBED, has_two=True))
    assert not any(command.selected.is_refused for command in conclusion.commands)
    assert conclusion.is_refused


def test_a_difference_is_refused_if_one_commands_runs_were_disturbed() -> None:
    """Two of four layouts have an undisturbed pair, but only two of the first command's eight runs were undisturbed."""
    verdicts = [_DISTURBED, UNDISTURBED] * 4 + [_DISTURBED, *[UNDISTURBED] * 3] * 2
    conclusion = conclude(with_layouts(written_series(*verdicts, has_two=True), [at // 4 for at in range(16)]))
    assert [command.selected.is_refused for command in conclusion.commands] == [True, False]
    assert conclusion.difference is not None
    assert (conclusion.difference.pairs, conclusion.pairs) == (2, 4)
    assert conclusion.is_refused


@pytest.mark.parametrize(("first", "pairs", "share"), [(UNDISTURBED, 1, 1.0), (_DISTURBED, 2, 4.0)])
def test_energy_is_compared_in_undisturbed_pairs_if_there_are_any(
    first: RepetitionVerdict, pairs: int, share: float
) -> None:
    difference = conclude(
        _with_energy([first, UNDISTURBED, _DISTURBED, UNDISTURBED], [1.0, 2.0, 1.0, 8.0])
    ).energy_difference
    assert difference is not None
    assert (difference.pairs, difference.share) == (pairs, share)


def test_second_runs_that_take_longer_are_no_difference() -> None:
    difference = conclude(_pairs([(1.0, 1.1), (1.1, 1.0)] * 3, swapped=(1, 3, 5))).difference
    assert difference is not None
    assert difference.share == pytest.approx(0)
    assert difference.second_share == pytest.approx(0.1)


def test_single_pairs_of_layouts_keep_their_order() -> None:
    """A's times and B's differ only by the effect of the order, which is removed, so the interval is narrow."""
    series = _pairs([(1.0, 1.1)] * 3 + [(1.1, 1.0)] * 3, swapped=(3, 4, 5))
    difference = conclude(with_layouts(series, [at // 2 for at in range(12)])).difference
    assert difference is not None
    assert difference.interval is not None
    assert difference.interval.low == pytest.approx(0)
    assert difference.interval.high == pytest.approx(0)


def test_only_a_shown_difference_has_parts() -> None:
    shown = conclude(_pairs([(1.0 + at / 1000, 1.2) for at in range(6)], swapped=(1, 3, 5)))
    assert shown.difference is not None
    assert shown.decomposition is not None
    assert shown.decomposition.total == shown.difference.share == pytest.approx(0.2, abs=0.01)
    alike = conclude(_pairs([(1.0, 1.1), (1.1, 1.0), (1.0, 1.2), (1.25, 1.0)], swapped=(1, 2)))
    assert alike.difference is not None
    assert alike.difference.share
    assert alike.decomposition is None
    assert conclude(written_series(UNDISTURBED)).decomposition is None


def test_runs_that_were_cut_short_have_not_failed() -> None:
    series = written_series(UNDISTURBED, UNDISTURBED, UNDISTURBED, statuses=(0, 3, -2))
    *others, last = series.repetitions
    last = replace(last, repetition=replace(last.repetition, is_cut_short=True))
    selected = conclude(replace(series, repetitions=(*others, last))).commands[0].selected
    assert (selected.failed_statuses, selected.cut_short, selected.count) == ((3,), 1, 3)


@pytest.mark.parametrize("verdict", [_DISTURBED, UNKNOWN])
def test_without_undisturbed_runs_all_vary_and_none_is_an_outlier(verdict: RepetitionVerdict) -> None:
    times = [6.0, *[1 + at % 3 / 1000 for at in range(11)]]
    (command,) = conclude(timed(written_series(*[verdict] * 12), times)).commands
    assert (command.variances.count, command.outliers, command.advises_warm_up) == (12, (), False)


def test_placement_is_that_of_the_longest_measured_run() -> None:
    series = timed(written_series(*[UNDISTURBED] * 3), [1.0, 2.0, 3.0])
    usual, longest, cut = series.repetitions
    longest = replace(longest, placement=stacked(series).repetitions[0].placement)
    cut = replace(cut, repetition=replace(cut.repetition, is_cut_short=True))
    (command,) = conclude(replace(series, repetitions=(usual, longest, cut))).commands
    assert command.placement is longest.placement


@pytest.mark.parametrize(("seconds", "cv"), [(0.9, 0.02), (1.0, 0.03), (5.0, 0.03), (0.01, None)])
def test_machine_has_the_variation_of_the_next_shorter_samples(seconds: float, cv: float | None) -> None:
    opening = calibration()
    assert opening.floor is not None
    floors = [
        replace(opening.floor, sample_ns=length_ns, cv_low=low, cv_high=2 * low)
        for length_ns, low in ((20_000_000, 0.01), (500_000_000, 0.02), (1_000_000_000, 0.03))
    ]
    series = timed(written_series(*[UNDISTURBED] * 3), [seconds] * 3)
    (command,) = conclude(replace(series, opening=replace(opening, floors=tuple(floors)))).commands
    assert command.variances.of_machine == (None if cv is None else Bounds(cv, 2 * cv))
    assert conclude(series).commands[0].variances.of_machine is None


def test_a_series_that_ended_early_lacks_no_calibration() -> None:
    series = written_series(UNDISTURBED, ended_by=2)
    assert unknown_speed_reason(replace(series, options=replace(series.options, calibration_s=1.0))) is None


def test_a_disturbed_single_run_fails_the_gate() -> None:
    assert gate_of_run(written_series(_DISTURBED)) == RunOutcome.DISTURBED


def test_remedies_need_windows_of_the_last_repetition_only() -> None:
    series = written_series(_DISTURBED, UNDISTURBED)
    (culprit,) = conclude(series).culprits
    first, last = series.repetitions
    unseen = [replace(one, repetition=replace(one.repetition, windows=())) for one in (first, last)]
    assert remedy_in(replace(series, repetitions=(unseen[0], last)), culprit) is not None
    assert remedy_in(replace(series, repetitions=(first, unseen[1])), culprit) is None
