"""Figures as text."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from noisewatch.units import (
    describe_chance,
    describe_clocks,
    describe_mhz,
    describe_rate,
    describe_size,
    describe_value,
    distinct_from_limit,
    format_in_one_unit,
    parse_duration,
    parse_frequency,
    parse_size,
    share_text,
    short_duration,
    short_noise,
    short_rate,
    short_share,
)

_COLUMNS = 7
_LOSSES = st.floats(0, 1e12)
_RATES = st.floats(0, 9e7)  # a thousand times what a CPU can take
_SHARES = st.floats(0, 99)


@pytest.mark.parametrize(
    ("chance", "words"),
    [
        (None, "?"), (0.0, "0%"), (1e-9, "<1%"), (0.01, "1%"), (0.29, "29%"), (0.8999, "89%"), (0.9, "90%"),
        (0.99, "99%"), (0.991, ">99%"), (1 - 1e-16, ">99%"), (1.0, "100%"),
    ],
)  # fmt: skip
def test_only_certainty_reads_as_certain(chance: float | None, words: str) -> None:
    assert describe_chance(chance) == words


@given(st.floats(0, 1), st.integers(1, 99))
def test_chance_never_reads_as_one_that_it_does_not_reach(chance: float, percent: int) -> None:
    if chance < percent / 100 - 1e-9:
        assert describe_chance(chance) != f"{percent}%"


@pytest.mark.parametrize(
    ("per_s", "words"),
    [(None, "?"), (0.0, "0/s"), (0.444, "0.444/s"), (13.04, "13/s"), (999.6, "1 000/s"), (41_234.5, "41 200/s")],
)
def test_rate_has_three_digits(per_s: float | None, words: str) -> None:
    assert describe_rate(per_s) == words


@pytest.mark.parametrize(
    ("value", "unit", "words"),
    [
        (0.05, "share", "5.0%"),
        (10.0, "per second", "10/s"),
        (300.0, "seconds", "300 s"),
        (1, "CPUs", "1 CPU"),
        (1, "µs", "1 µs"),
        (4_194_304, "kB", "4,194,304 kB"),
    ],
)
def test_value_has_its_unit(value: float, unit: str, words: str) -> None:
    assert describe_value(value, unit) == words


@given(_LOSSES)
def test_duration_fits_its_column(ns: float) -> None:
    assert cell_len(short_duration(ns)) <= _COLUMNS


@given(_RATES)
def test_rate_fits_its_column(per_s: float) -> None:
    assert cell_len(short_rate(per_s)) <= _COLUMNS


@given(_SHARES)
def test_share_fits_its_column(value: float) -> None:
    assert cell_len(short_share(value)) <= _COLUMNS


def _value_ns(text: str) -> float:
    """Return a duration's text in nanoseconds."""
    number, _, unit = text.partition(" ")
    return float(number) * {"": 1, "ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9}[unit]


@given(st.floats(1, 1e12))
def test_short_duration_is_close_to_the_exact_one(ns: float) -> None:
    assert _value_ns(short_duration(ns)) == pytest.approx(ns, rel=0.34 if ns < 10 else 0.051)


@given(_LOSSES, _LOSSES)
def test_longer_duration_never_reads_shorter(one: float, other: float) -> None:
    less, more = sorted((one, other))
    assert _value_ns(short_duration(less)) <= _value_ns(short_duration(more))


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
def test_short_duration(ns: float | None, text: str) -> None:
    assert short_duration(ns) == text


@pytest.mark.parametrize(
    ("per_s", "text"),
    [
        (None, "?"),
        (0, "0"),
        (0.5, "0.5"),
        (9.96, "10"),
        (250, "250"),
        (1_234, "1 230"),
        (99_949, "99 900"),
        (99_999, "100k"),
        (250_000, "250k"),
    ],
)
def test_short_rate(per_s: float | None, text: str) -> None:
    assert short_rate(per_s) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "?"), (0.0, "0.0%"), (0.0001, "<0.1%"), (0.0006, "0.1%"), (0.004, "0.4%"), (0.0996, "10%"), (1.0, "100%")],
)
def test_short_share(value: float | None, text: str) -> None:
    assert short_share(value) == text


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("10ms", 1e7),
        ("1.5 s", 1.5e9),
        ("100us", 1e5),
        ("100µs", 1e5),
        ("7ns", 7.0),
        ("10", None),
        ("ms", None),
        ("-1s", None),
    ],
)
def test_duration_is_parsed_with_its_unit(text: str, ns: float | None) -> None:
    assert parse_duration(text) == ns


@pytest.mark.parametrize(("khz", "words"), [(3_694_450, "3694"), (None, "?")])
def test_clock_is_in_whole_megahertz(khz: int | None, words: str) -> None:
    assert describe_mhz(khz) == words


def test_range_of_clocks_names_its_unit_once() -> None:
    assert describe_clocks(1_200_000, 2_300_000) == "1.2 to 2.3 GHz"


@pytest.mark.parametrize(
    ("values_ns", "unit", "figures"),
    [
        ([], "ns", []),
        ([None, None], "ns", ["?", "?"]),
        ([850.0, 12.4], "ns", ["850", "12"]),
        ([3_010.0, 62_900.0], "µs", ["3.01", "62.90"]),
        ([80_600.0, 5_220_000.0, None], "µs", ["80.6", "5220.0", "?"]),
        ([54_000.0, 10_470_300.0], "µs", ["54", "10470"]),
        ([3_000.0, 148e6], "ms", ["0.003", "148.000"]),
        ([0.0, 2e6], "ms", ["0.00", "2.00"]),
        ([3e9, 12e9], "s", ["3.00", "12.00"]),
    ],
)
def test_column_of_durations_has_one_unit(values_ns: list[float | None], unit: str, figures: list[str]) -> None:
    assert format_in_one_unit(values_ns) == (unit, figures)


@pytest.mark.parametrize(
    ("value", "limit", "text"), [(0.94, 0.9, "0.94"), (0.9004, 0.9, "0.9004"), (0.5, 0.3, "0.5"), (0.3, 0.3, "0.3")]
)
def test_value_has_enough_digits_to_differ_from_its_limit(value: float, limit: float, text: str) -> None:
    assert distinct_from_limit(value, limit) == text


@pytest.mark.parametrize(
    ("ns_per_s", "text"),
    [(None, "?/s"), (0.0, "0 µs/s"), (3.2e6, "3.2 ms/s"), (999.6e6, "1.0 s/s"), (2.5e9, "2.5 s/s")],
)
def test_noise_has_a_unit_per_second(ns_per_s: float | None, text: str) -> None:
    assert short_noise(ns_per_s) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.0, "0%"),
        (1e-9, "<0.01%"),
        (0.0021, "0.21%"),
        (0.01, "1%"),
        (0.0742, "7.42%"),
        (1.32, "132%"),
        (1e9, ">9900%"),
        (math.inf, "none"),
    ],
)
def test_share_has_three_digits(share: float, text: str) -> None:
    assert share_text(share) == text


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("16316412 kB", 16_316_412 * 1024),
        ("64 GiB", 64 << 30),
        ("64 GB", 64 << 30),
        ("64G", 64 << 30),
        ("1.5 TiB", 3 << 39),
        ("1024K", 1 << 20),
        ("64", None),
        ("-1 GB", None),
        ("GB", None),
        ("64 gigs", None),
        ("٤ GB", None),
    ],
)
def test_size_is_parsed_in_powers_of_1024(text: str, size: float | None) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize(
    ("size", "text"),
    [(64, "64 bytes"), (28160 * 1024, "27.5 MiB"), (1023 << 20, "0.999 GiB"), (16_316_412 * 1024, "15.6 GiB")],
)
def test_size_has_three_digits(size: float, text: str) -> None:
    assert describe_size(size) == text


@given(st.integers(min_value=1024, max_value=1 << 50))
def test_described_size_is_parsed_as_the_same_size(size: int) -> None:
    assert parse_size(describe_size(size)) == pytest.approx(size, rel=0.006)


@pytest.mark.parametrize(
    ("text", "khz"),
    [("3 GHz", 3e6), ("2100MHz", 2.1e6), ("1200000 kHz", 1.2e6), ("250 Hz", 0.25), ("3", None), ("3 ghz", None)],
)
def test_frequency_is_parsed_with_its_unit(text: str, khz: float | None) -> None:
    assert parse_frequency(text) == khz
