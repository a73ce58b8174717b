"""The kernel: its release, the options it was booted with, its uptime and live patches."""

from __future__ import annotations

import pytest

from noisewatch.errors import Malformed
from noisewatch.kernel.numbers import parse_flag, parse_integer, parse_word
from noisewatch.kernel.system.release import (
    COMMAND_LINE,
    NOT_SUPPORTED,
    parse_command_line,
    parse_uptime,
    read_command_line,
    read_livepatches,
    read_release,
    release_number,
)
from noisewatch.text import clean
from tests.written import reading

OSRELEASE = "/proc/sys/kernel/osrelease"

VERSION = "/proc/version"


def test_the_release_is_told_by_sysctl() -> None:
    assert read_release(reading({OSRELEASE: "6.1.0-18-amd64\n", VERSION: "Linux version 5.5.5\n"})) == "6.1.0-18-amd64"


def test_without_sysctl_the_version_tells_the_release() -> None:
    assert read_release(reading({VERSION: "Linux version 6.8.0-rt8 (a@b) #1 SMP\n"})) == "6.8.0-rt8"


def test_a_command_line_that_no_kernel_has_is_refused_at_once() -> None:
    reader = reading({COMMAND_LINE: "a=1 " * 1_000_000 + "\n"})
    assert read_command_line(reader) is None
    assert "a command line of at most" in reader.reason_by_path[COMMAND_LINE]


@pytest.mark.parametrize("text", ["\0\0\0\0", "\0\0\n", "quiet\0\0\0", "quiet\0idle=poll\n"])
def test_a_command_line_with_nuls_in_it_tells_nothing(text: str) -> None:
    assert read_command_line(reading({COMMAND_LINE: text})) is None


def test_an_option_may_be_given_very_often() -> None:
    assert parse_command_line("a=1 " * 16_000)["a"] == ("1",) * 16_000


def test_a_release_that_nobody_tells_is_unknown() -> None:
    reader = reading({VERSION: "FreeBSD 14\n"})
    assert read_release(reader) is None
    assert VERSION in reader.reason_by_path


@pytest.mark.parametrize(
    ("release", "number"),
    [("6.1.0-18-amd64", (6, 1)), ("5.19", (5, 19)), ("10.123.4", (10, 123)), ("six", None), ("", None), (None, None)],
)
def test_a_release_begins_with_two_numbers(release: str | None, number: tuple[int, int] | None) -> None:
    assert release_number(release) == number


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("quiet nohz_full=2-3\n", {"quiet": ("",), "nohz_full": ("2-3",)}),
        ("isolcpus=1 isolcpus=domain,2", {"isolcpus": ("1", "domain,2")}),
        ("console=ttyS0 console=tty0", {"console": ("ttyS0", "tty0")}),
        ('dyndbg="file a.c +p" quiet', {"dyndbg": ("file a.c +p",), "quiet": ("",)}),
        ("root=UUID=12-34 ro", {"root": ("UUID=12-34",), "ro": ("",)}),
        ("quiet -- isolcpus=1 single", {"quiet": ("",)}),
        ("  a   b \n", {"a": ("",), "b": ("",)}),
        ("a=1\n\0", {"a": ("1",)}),
        ("", {}),
        ("\n", {}),
    ],
)
def test_a_command_line_is_options_with_values_in_order(text: str, options: dict[str, tuple[str, ...]]) -> None:
    assert parse_command_line(text) == options


def test_a_command_line_that_cannot_be_read_is_unknown() -> None:
    assert read_command_line(reading({})) is None


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


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("kworker/0:1H", "kworker/0:1H"),
        ("Ünïcödé 日本", "Ünïcödé 日本"),
        ("a\x1b[31mb\x07", "a·[31mb·"),
        ("a\nb\tc\rd", "a·b·c·d"),
        ("a\u202eb\u200bc\x85d\x9be", "a·b·c·d·e"),
        ("a\udcffb", "a·b"),
        ("", ""),
    ],
)
def test_what_a_terminal_must_not_see_is_a_dot(name: str, shown: str) -> None:
    assert clean(name) == shown


def test_the_first_number_is_the_uptime() -> None:
    assert parse_uptime("34521.77 66120.03\n") == 34521.77


@pytest.mark.parametrize("text", ["", "34521.77", "34521.77 ", "1e9 2.0", "-1.0 2.0", "soon 2.0"])
def test_anything_else_is_malformed(text: str) -> None:
    with pytest.raises(Malformed):
        parse_uptime(text)


def test_patches_are_in_transition_or_not() -> None:
    folder = "/sys/kernel/livepatch"
    files = {f"{folder}/a/transition": "1\n", f"{folder}/b/transition": "0\n", f"{folder}/c/enabled": "1\n"}
    assert read_livepatches(reading(files)) == {"a": True, "b": False, "c": None}
    assert read_livepatches(reading({})) == NOT_SUPPORTED
    assert read_livepatches(reading({}, is_copy=True)) is None
