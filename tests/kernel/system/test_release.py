"""The kernel: its release, boot options, uptime and live patches."""

from __future__ import annotations

import pytest

from noisewatch.kernel.system.release import (
    BUILD,
    COMMAND_LINE,
    NOT_SUPPORTED,
    parse_command_line,
    parse_uptime,
    read_build,
    read_command_line,
    read_livepatches,
    read_release,
    release_number,
)
from tests.written import reading

OSRELEASE = "/proc/sys/kernel/osrelease"

VERSION = "/proc/version"


def test_release_is_read_from_sysctl() -> None:
    assert read_release(reading({OSRELEASE: "6.1.0-18-amd64\n", VERSION: "Linux version 5.5.5\n"})) == "6.1.0-18-amd64"


def test_release_is_read_from_the_version_without_sysctl() -> None:
    assert read_release(reading({VERSION: "Linux version 6.8.0-rt8 (a@b) #1 SMP\n"})) == "6.8.0-rt8"


@pytest.mark.parametrize(
    ("files", "build"),
    [
        (
            {BUILD: "#1 SMP Debian 6.1.55-1 (2023-09-29)\n", VERSION: "Linux version 6 #9 SMP\n"},
            "#1 SMP Debian 6.1.55-1 (2023-09-29)",
        ),
        ({VERSION: "Linux version 6.8.0-rt8 (a#1@b) (gcc 12) #40~22.04-Ubuntu SMP Tue\n"}, "#40~22.04-Ubuntu SMP Tue"),
        ({VERSION: "Linux version 6.8.0-rt8\n"}, None),
        ({}, None),
    ],
)
def test_build_is_read_without_the_compiler_and_its_user(files: dict[str, str], build: str | None) -> None:
    assert read_build(reading(files)) == build


def test_overlong_command_line_is_rejected() -> None:
    reader = reading({COMMAND_LINE: "a=1 " * 1_000_000 + "\n"})
    assert read_command_line(reader) is None
    assert "a command line of at most" in reader.reason_by_path[COMMAND_LINE]


@pytest.mark.parametrize("text", ["\0\0\0\0", "\0\0\n", "quiet\0\0\0", "quiet\0idle=poll\n"])
def test_command_line_with_nuls_is_unknown(text: str) -> None:
    assert read_command_line(reading({COMMAND_LINE: text})) is None


def test_option_may_be_repeated_very_often() -> None:
    assert parse_command_line("a=1 " * 16_000)["a"] == ("1",) * 16_000


def test_missing_release_is_unknown() -> None:
    reader = reading({VERSION: "FreeBSD 14\n"})
    assert read_release(reader) is None
    assert VERSION in reader.reason_by_path


@pytest.mark.parametrize(
    ("release", "number"),
    [("6.1.0-18-amd64", (6, 1)), ("5.19", (5, 19)), ("10.123.4", (10, 123)), ("six", None), ("", None), (None, None)],
)
def test_release_number_is_its_first_two_numbers(release: str | None, number: tuple[int, int] | None) -> None:
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
def test_command_line_is_options_with_values_in_order(text: str, options: dict[str, tuple[str, ...]]) -> None:
    assert parse_command_line(text) == options


def test_unreadable_command_line_is_unknown() -> None:
    assert read_command_line(reading({})) is None


def test_uptime_is_the_first_number() -> None:
    assert parse_uptime("34521.77 66120.03\n") == 34521.77


def test_live_patches_are_listed_with_their_transitions() -> None:
    folder = "/sys/kernel/livepatch"
    files = {f"{folder}/a/transition": "1\n", f"{folder}/b/transition": "0\n", f"{folder}/c/enabled": "1\n"}
    assert read_livepatches(reading(files)) == {"a": True, "b": False, "c": None}
    assert read_livepatches(reading({})) == NOT_SUPPORTED
    assert read_livepatches(reading({}, is_copy=True)) is None
