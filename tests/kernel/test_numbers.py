"""Files of one number, flag or word."""

from __future__ import annotations

import pytest

from noisewatch.errors import Malformed
from noisewatch.kernel.numbers import parse_flag, parse_integer, parse_word


@pytest.mark.parametrize(
    ("text", "number"), [("5\n", 5), ("-1\n", -1), (" 0 ", 0), ("18446744073709551615", 2**64 - 1)]
)
def test_a_file_of_one_number_is_that_number(text: str, number: int) -> None:
    assert parse_integer(text) == number


@pytest.mark.parametrize("text", ["", "\n", "5 6", "x", "1_000", "0x5", "1.5", "--5", "-", "+5", "٣", "²"])
def test_a_file_of_anything_else_is_no_number(text: str) -> None:
    with pytest.raises(Malformed):
        parse_integer(text)


def test_a_flag_is_one_or_zero() -> None:
    assert (parse_flag("1\n"), parse_flag("0\n")) == (True, False)


@pytest.mark.parametrize("text", ["", "2", "yes", "-1", "01"])
def test_a_flag_is_nothing_else(text: str) -> None:
    with pytest.raises(Malformed):
        parse_flag(text)


@pytest.mark.parametrize(("text", "word"), [("tsc\n", "tsc"), ("tsc hpet \n", "tsc hpet"), ("a\0", "a")])
def test_a_word_is_the_line_of_its_file(text: str, word: str) -> None:
    assert parse_word(text) == word


@pytest.mark.parametrize("text", ["", "\n", "\0\n", "a\nb\n", "a\0\0", "a\0\n\0"])
def test_a_file_without_a_line_or_with_several_holds_no_word(text: str) -> None:
    with pytest.raises(Malformed):
        parse_word(text)
