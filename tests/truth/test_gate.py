"""The budgets at which a case is judged, and the figures of the gate's proof."""

from __future__ import annotations

import pytest

from noisewatch.judgement.terms import Outcome
from tests.truth.gate_report import (
    Effect,
    JudgedCase,
    base_rate_score,
    brier_score,
    case_lines,
    choose_budgets,
    measure_effect,
    quiet_time,
    reliability_lines,
    summary_lines,
)


def _case(
    size: float, budget: float, outcome: Outcome, chance: float | None = None, blocking: tuple[str, ...] = ()
) -> JudgedCase:
    sentences = tuple((name, f"why {name}") for name in blocking)
    return JudgedCase("idle", "sha256", budget, Effect(size, 0.0), outcome, chance, sentences, "CV 3 %")


@pytest.mark.parametrize(
    ("size", "budgets"),
    [
        (0.003, [0.01]),
        (0.007, [0.01, 0.02]),
        (0.01, [0.01, 0.02]),
        (0.03, [0.01, 0.02, 0.05, 0.10]),
        (0.04, [0.02, 0.05, 0.10]),
        (0.15, [0.05, 0.10, 0.20]),
        (0.30, [0.10, 0.20]),
        (0.50, [0.20]),
    ],
)
def test_budgets_are_the_nearest_and_those_twice_away_on_either_side(size: float, budgets: list[float]) -> None:
    assert choose_budgets(size) == budgets


def test_half_of_the_chosen_budgets_are_exceeded_over_effects_of_all_sizes() -> None:
    sizes = [0.01 * 20 ** ((step + 0.5) / 100) for step in range(100)]
    pairs = [(budget, size) for size in sizes for budget in choose_budgets(size)]
    exceeded = sum(size > budget for budget, size in pairs)
    assert exceeded / len(pairs) == pytest.approx(0.5, abs=0.05)


def test_the_quiet_time_is_the_median_of_the_quicker_half() -> None:
    assert quiet_time([1.0, 1.0, 1.0, 2.0, 3.0]) == 1.0
    assert quiet_time([5.0]) == 5.0


@pytest.mark.parametrize(
    ("samples", "is_quiet"),
    [([1.0, 1.0, 1.0], True), ([2.0, 2.0, 2.0], False), ([0.8, 0.8, 0.8], True), ([0.8, 1.0, 1.2], False)],
    ids=["quiet", "steady loss", "steady gain", "scattered"],
)
def test_a_steady_loss_exceeds_the_budget_as_scattered_samples_do(samples: list[float], is_quiet: bool) -> None:
    effect = measure_effect(samples, quiet=1.0)
    case = JudgedCase("idle", "sha256", 0.10, effect, Outcome.STABLE, None, (), "")
    assert case.is_quiet == is_quiet


@pytest.mark.parametrize(
    ("size", "is_far"), [(0.025, True), (0.026, False), (0.05, False), (0.09, False), (0.10, True)]
)
def test_a_case_is_twice_away_from_its_budget_on_either_side(size: float, is_far: bool) -> None:
    assert _case(size, 0.05, Outcome.STABLE).is_far == is_far


def test_brier_and_base_rate_scores_of_chances() -> None:
    forecasts = [(1.0, True), (0.5, False), (0.5, True), (0.0, False)]
    assert brier_score(forecasts) == pytest.approx(0.125)
    assert base_rate_score(forecasts) == 0.25


def test_each_chance_is_in_one_bin_of_the_reliability() -> None:
    header, *bins = reliability_lines([(0.0, False), (0.1, True), (0.9, True), (1.0, False)])
    assert header.split() == ["chance", "mean", "chance", "held"]
    assert [line.split() for line in bins] == [
        ["0%", "to", "10%", "0%", "0", "of", "1"],
        ["10%", "to", "25%", "10%", "1", "of", "1"],
        ["90%", "to", "100%", "95%", "1", "of", "2"],
    ]


def test_the_table_counts_verdicts_on_either_side_of_the_budget() -> None:
    cases = [
        _case(0.01, 0.05, Outcome.STABLE, 0.9),
        _case(0.04, 0.05, Outcome.UNSTABLE, 0.6, ("busy", "floor")),
        _case(0.04, 0.05, Outcome.UNKNOWN, 0.5, ("floor",)),
        _case(0.06, 0.05, Outcome.STABLE, 0.7),
        _case(0.50, 0.05, Outcome.UNSTABLE, 0.0),
    ]
    lines = list(summary_lines(cases))
    rows = {line[:20].strip(): line[20:].split() for line in lines[1:6]}
    assert lines[0].split() == ["stable", "unknown", "unstable", "cases"]
    assert rows == {
        "quiet": ["1", "1", "1", "3"],
        "noisy": ["1", "0", "1", "2"],
        "quiet, twice away": ["1", "0", "0", "1"],
        "noisy, twice away": ["0", "0", "1", "1"],
        "all": ["2", "1", "2", "5"],
    }
    text = "\n".join(lines)
    assert "quiet, cleared                  1 of 3" in text
    assert "noisy, passed                   1 of 2" in text
    assert "2  floor (alone in 1)" in text
    assert "1  busy (alone in 0)" in text
    assert "Brier score, by CV " in text


def test_without_chances_and_cases_there_are_no_scores() -> None:
    assert "the verdicts contain no chance" in "\n".join(summary_lines([_case(0.01, 0.05, Outcome.STABLE)]))
    assert "0 of 0" in "\n".join(summary_lines([]))


def test_wrong_answers_are_explained_below_their_lines() -> None:
    alarm = list(case_lines(_case(0.01, 0.05, Outcome.UNSTABLE, blocking=("busy",))))
    calm = list(case_lines(_case(0.09, 0.05, Outcome.STABLE)))
    assert alarm[1].strip() == "busy: why busy"
    assert calm[0].startswith("✗")
    assert "CV 3 %" in calm[1]
    assert len(list(case_lines(_case(0.01, 0.05, Outcome.STABLE)))) == 1
    assert len(list(case_lines(_case(0.09, 0.05, Outcome.UNSTABLE, blocking=("busy",))))) == 1
