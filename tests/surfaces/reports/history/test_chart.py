"""The chart of a figure over the entries: one column per entry, and a mark at each move."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from noisewatch.judgement.history.development import development_of
from noisewatch.kinds import Work
from noisewatch.model.history.entries import Entry
from noisewatch.model.history.figures import Figure
from noisewatch.surfaces.reports.history.text import chart_lines
from noisewatch.units import describe_minute

_LATENCY = Figure.LATENCY


def _chart(values: Sequence[float | None], width: int = 80, is_unicode: bool = True) -> list[str]:
    entries = [
        Entry(
            86_400.0 * number,
            "native",
            frozenset({2}),
            {Work.LATENCY: {1_000_000: 0.01}},
            {} if value is None else {_LATENCY: value},
        )
        for number, value in enumerate(values)
    ]
    return chart_lines(development_of(entries), width, is_unicode)


def test_start_of_a_level_is_marked() -> None:
    head, *rows, marks, _ = _chart([100.0, 100.1, 99.9] * 4 + [110.0, 110.1, 109.9, 110.0])
    assert head == "latency work: 16 entries"
    bars = [row.partition("┤")[2] for row in rows]
    assert bars == [f"{'':12}██▇█", *[f"{'':12}████"] * 2, "▁▂▁▁▂▁▁▂▁▁▂▁████"]
    assert marks.index("↑") == rows[0].index("┤") + 1 + 12
    assert [row.index("┤") for row in rows] == [rows[0].index("┤")] * 4


def test_a_steady_machine_is_a_flat_line() -> None:
    _, *rows, _ = _chart([100.0, 100.1, 99.9] * 5)
    assert [row.partition("┤")[2] for row in rows] == ["", "▁▁ ▁▁ ▁▁ ▁▁ ▁▁", *["█" * 15] * 2]
    assert "moved" not in "".join(rows)


def test_missing_value_is_a_question_mark() -> None:
    _, *rows, _ = _chart([100.0, None, 100.0])
    assert rows[-1].endswith("█?█")


@pytest.mark.parametrize("width", [20, 40, 80, 140])
def test_chart_fits_the_width_and_shows_the_newest_entries(width: int) -> None:
    lines = _chart([100.0 + number % 7 for number in range(300)], width)
    assert max(map(len, lines)) <= width
    if width == 80:
        assert lines[0].startswith("latency work: the newest 7")


def test_chart_without_unicode_is_ascii() -> None:
    assert "".join(_chart([100.0] * 12 + [110.0] * 5, is_unicode=False)).isascii()


def test_chart_without_values_or_room_is_empty() -> None:
    assert (_chart([]), _chart([None] * 4), _chart([1.0] * 4, width=12)) == ([], [], [])


def test_the_days_of_the_first_and_the_last_entry_are_at_the_ends() -> None:
    first, twelfth, last = (describe_minute(86_400.0 * day)[:10] for day in (0, 11, 39))
    *_, bar, days = _chart([100.0] * 40)
    begin = bar.index("┤") + 1
    assert days[begin:] == f"{first}{'':20}{last}"
    assert days[:begin].isspace()
    assert _chart([100.0] * 12)[-1].strip() == f"{first} to {twelfth}"
    assert (_chart([100.0])[0], _chart([100.0])[-1].strip()) == ("latency work: 1 entry", first)
    assert first not in "".join(_chart([100.0] * 12, width=22)), "there is no room for both dates"
