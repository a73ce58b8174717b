"""Moves of figures, and their attribution to facts that changed between the old and the new level."""

from __future__ import annotations

import random

import pytest

from noisewatch.judgement.history.development import Development, development_of, words_of_change
from noisewatch.kinds import Work
from noisewatch.model.history.entries import Entry, Past, boots_interleave
from noisewatch.model.history.facts import FactClass, Facts
from noisewatch.model.history.figures import TRAITS, Figure

_FACTS: Facts = {
    FactClass.FIRMWARE: {"microcode": "0x2b000590", "BIOS": None},
    FactClass.SETTINGS: {"governor": "performance"},
}


def _entry(number: int, value: float, facts: Facts = _FACTS, figure: Figure = Figure.LATENCY) -> Entry:
    return Entry(
        at_s=86_400.0 * number,
        core="native",
        cpus=frozenset({2, 3}),
        cvs={Work.LATENCY: {1_000_000: 0.01}},
        figures={figure: value},
        facts=facts,
        boot=f"boot {number // 10}",
    )


def _development(values: list[float], changed_at: int | None = None, figure: Figure = Figure.LATENCY) -> Development:
    new = {**_FACTS, FactClass.FIRMWARE: {"microcode": "0x2b0005c0", "BIOS": "1.2"}}
    facts = [new if changed_at is not None and number >= changed_at else _FACTS for number in range(len(values))]
    return development_of([_entry(number, value, facts[number], figure) for number, value in enumerate(values)])


def _around(middle: float, count: int) -> list[float]:
    rng = random.Random(7)
    return [middle * rng.gauss(1, 0.002) for _ in range(count)]


def test_a_move_lists_the_facts_that_changed_at_the_same_time() -> None:
    (move,) = _development(_around(100, 20) + _around(104.1, 6), changed_at=20).moves
    assert move.figure == Figure.LATENCY
    assert move.change == pytest.approx(0.041, abs=0.003)
    assert (move.last_old.at_s, move.first_new.at_s) == (86_400.0 * 19, 86_400.0 * 20)
    assert [str(change) for change in move.changed] == ["microcode: 0x2b000590 → 0x2b0005c0"]


def test_a_change_at_another_time_is_not_a_cause() -> None:
    (move,) = _development(_around(100, 20) + _around(104.1, 6), changed_at=10).moves
    assert move.changed == ()


def test_a_figure_that_alternates_did_not_move() -> None:
    pairs = zip(_around(100, 10), _around(130, 10), strict=True)
    development = _development([value for pair in pairs for value in pair])
    assert development.moves == ()
    assert [alternation.figure for alternation in development.alternations] == [Figure.LATENCY]


def test_changes_of_negligible_noise_are_not_a_move() -> None:
    assert _development([1e-9] * 10 + [5e-5] * 10, figure=Figure.NOISE_1MS).moves == ()


@pytest.mark.parametrize(
    ("figure", "change", "words"),
    [
        (Figure.LATENCY, 0.041, "4.1% slower"),
        (Figure.LATENCY, -0.041, "4.1% faster"),
        (Figure.CLOCK, -0.5, "50.0% slower"),
        (Figure.LATENCY, 1.5, "2.5 times as slow"),
        (Figure.LONG_GAPS, 1.5, "2.5 times as noisy"),
        (Figure.LONG_GAPS, -0.5, "2 times as calm"),
    ],
)
def test_a_change_in_words(figure: Figure, change: float, words: str) -> None:
    assert words_of_change(TRAITS[figure].nature, change) == words


def test_interleaved_boots_are_of_two_machines() -> None:
    entries = [_entry(number, 1.0) for number in (0, 1, 10, 11)]
    assert not boots_interleave(entries)
    assert boots_interleave([*entries, _entry(2, 1.0)])


def test_only_entries_of_the_same_cpus_and_core_since_acceptance_are_compared() -> None:
    others = Entry(5.0, "python", frozenset({2, 3}), {}, {Figure.LATENCY: 1.0})
    entries = (_entry(0, 1.0), _entry(1, 2.0), others, _entry(2, 3.0))
    assert Past(entries, accepted=1).like(entries[-1]) == (entries[1], entries[3])
