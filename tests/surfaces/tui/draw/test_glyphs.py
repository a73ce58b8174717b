"""Figures fit their columns, and levels can be told apart."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from noisewatch.surfaces.tui.draw.glyphs import (
    ASCII,
    LEVELS_NS,
    UNICODE,
    Glyphs,
    duration,
    glyphs_for,
    level_of,
    rate,
    share,
    style_of,
)

_COLUMNS = 7
# A CPU loses a second a second at most; estimates of a broken counter may claim some more.
_LOSSES = st.floats(0, 1e12)
_RATES = st.floats(0, 9e7)  # a thousand times what a CPU can take
_SHARES = st.floats(0, 99)


@given(_LOSSES)
def test_a_duration_fits_its_column(ns: float) -> None:
    assert cell_len(duration(ns)) <= _COLUMNS


@given(_RATES)
def test_a_rate_fits_its_column(per_s: float) -> None:
    assert cell_len(rate(per_s)) <= _COLUMNS


@given(_SHARES)
def test_a_share_fits_its_column(value: float) -> None:
    assert cell_len(share(value)) <= _COLUMNS


@given(_LOSSES, _LOSSES)
def test_a_greater_loss_is_never_a_lower_level(one: float, other: float) -> None:
    less, more = sorted((one, other))
    assert level_of(less) <= level_of(more)


@given(_LOSSES)
def test_every_level_has_its_character(ns: float) -> None:
    assert len(UNICODE.ramp[level_of(ns)] + ASCII.ramp[level_of(ns)]) == 2


def _value_ns(text: str) -> float:
    """What the duration says, in nanoseconds."""
    number, _, unit = text.partition(" ")
    return float(number) * {"": 1, "ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9}[unit]


@given(st.floats(1, 1e12))
def test_a_duration_says_what_it_is_given(ns: float) -> None:
    assert _value_ns(duration(ns)) == pytest.approx(ns, rel=0.34 if ns < 10 else 0.051)


@given(_LOSSES, _LOSSES)
def test_a_longer_duration_never_reads_shorter(one: float, other: float) -> None:
    less, more = sorted((one, other))
    assert _value_ns(duration(less)) <= _value_ns(duration(more))


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (None, "?"),
        (0, "0"),
        (1, "1 ns"),
        (12_000, "12 µs"),
        (3_200_000, "3.2 ms"),
        (480_000_000, "480 ms"),
        (1e9, "1.0 s"),
    ],
)
def test_a_duration_reads(ns: float | None, text: str) -> None:
    assert duration(ns) == text


@pytest.mark.parametrize(
    ("per_s", "text"),
    [(None, "?"), (0, "0"), (0.5, "0.5"), (9.96, "10"), (250, "250"), (99_999, "99999"), (250_000, "250k")],
)
def test_a_rate_reads(per_s: float | None, text: str) -> None:
    assert rate(per_s) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "?"), (0.0, "0.0%"), (0.0001, "<0.1%"), (0.0006, "0.1%"), (0.004, "0.4%"), (0.0996, "10%"), (1.0, "100%")],
)
def test_a_share_reads(value: float | None, text: str) -> None:
    assert share(value) == text


def test_both_ramps_have_a_character_for_nothing_and_one_for_each_level() -> None:
    assert len(ASCII.ramp) == len(UNICODE.ramp) == len(LEVELS_NS) + 1


@pytest.mark.parametrize("glyphs", [UNICODE, ASCII])
def test_all_characters_of_a_ramp_differ_and_take_one_column(glyphs: Glyphs) -> None:
    characters = glyphs.ramp + glyphs.unknown
    assert len(set(characters)) == len(characters)
    assert {cell_len(each) for each in characters} == {1}


def test_nothing_beyond_ascii_is_drawn_without_unicode() -> None:
    drawn = ASCII.ramp + ASCII.unknown + ASCII.estimate + ASCII.dash + ASCII.bullet
    assert drawn.isascii()


@pytest.mark.parametrize(
    ("encoding", "glyphs"), [("utf-8", UNICODE), ("UTF8", UNICODE), ("ascii", ASCII), ("latin-1", ASCII), (None, ASCII)]
)
def test_the_encoding_decides(encoding: str | None, glyphs: Glyphs) -> None:
    assert glyphs_for(encoding) is glyphs


def test_an_unknown_loss_has_a_style_of_its_own() -> None:
    assert style_of(None) not in {style_of(lost) for lost in (0.0, 500_000.0, 5_000_000.0)}
