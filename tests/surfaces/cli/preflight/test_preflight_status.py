"""The exit status of `preflight` is its verdict."""

from __future__ import annotations

from pathlib import Path

import pytest

from noisewatch.surfaces.reports.verdict.formats import FORMATS
from tests.surfaces.reports.verdicts import failed_verdict, unknown_verdict
from tests.surfaces.running import SETTINGS, Run
from tests.written.quiet_machine import CPUS

_GOVERNOR = f"{CPUS}/cpu2/cpufreq/scaling_governor"
_BOOST = f"{CPUS}/cpufreq/boost"
_WORDS = {0: "STABLE", 1: "UNSTABLE", 3: "UNKNOWN"}
_BATTERY = "/sys/class/power_supply/AC/online"


@pytest.mark.parametrize(
    ("change", "options", "status", "named"),
    [
        ({}, [], 0, "STABLE"),
        ({}, ["--strict"], 0, "STABLE"),
        ({_BOOST: "1\n"}, [], 0, "turbo-enabled"),
        ({_GOVERNOR: "powersave\n"}, [], 1, "governor powersave on CPU 2"),
        ({_GOVERNOR: "powersave\n"}, ["--cpus", "3"], 0, "STABLE"),
        ({_GOVERNOR: "powersave\n"}, ["--cpus", "2"], 1, "governor powersave on CPU 2"),
        ({_GOVERNOR: None}, [], 3, f"{_GOVERNOR}: no such file"),
        ({_GOVERNOR: None, _BATTERY: "0\n"}, [], 1, "governor-not-performance"),
        ({f"{CPUS}/online": "0-2\n", f"{CPUS}/offline": "3\n"}, ["--cpus", "2-3"], 1, "CPU 3: not online"),
        ({"/proc/self/mounts": ""}, [], 3, "quota"),
    ],
)
def test_the_last_line_is_the_verdict_with_its_exit_status(
    run: Run, change: dict[str, str | None], options: list[str], status: int, named: str
) -> None:
    result = run(*SETTINGS, *options, change)
    last = result.out.splitlines()[-1]
    assert last.startswith(f"{_WORDS[status]}: ")
    assert last.endswith(f"(exit {status})")
    assert named in result.words
    assert (result.status, result.err, result.out[-1:]) == (status, "", "\n")


def test_a_copied_tree_cannot_be_sampled(run: Run) -> None:
    result = run("preflight", {})
    assert result.status == 3
    assert "a copied tree of /proc and /sys is a single snapshot" in result.out


@pytest.mark.parametrize("change", [{_BOOST: "1\n"}, {_BOOST: None}, {_GOVERNOR: None}], ids=["warn", "minor", "grave"])
def test_strict_makes_warnings_and_unknowns_unstable(run: Run, change: dict[str, str | None]) -> None:
    assert run(*SETTINGS, "--strict", change).status == 1
    answer = run(*SETTINGS, "--strict", "--format", "json", change).json
    assert (answer["verdict"], answer["exit_status"]) == ("unstable", 1)


@pytest.mark.parametrize(
    ("change", "verdict"), [({_GOVERNOR: "powersave\n"}, "unstable"), ({_GOVERNOR: None}, "unknown"), ({}, "stable")]
)
def test_exit_zero_reports_only(run: Run, change: dict[str, str | None], verdict: str) -> None:
    result = run(*SETTINGS, "--exit-zero", "--format", "json", change)
    assert result.status == 0
    assert (result.json["verdict"], result.json["exit_status"]) == (verdict, 0)


@pytest.mark.parametrize(("on_unknown", "status"), [("fail", 1), ("pass", 0)])
@pytest.mark.parametrize("form", ["text", "json", "github"])
def test_an_unknown_verdict_ends_as_requested_and_stays_unknown(
    run: Run, on_unknown: str, status: int, form: str
) -> None:
    result = run(*SETTINGS, "--on-unknown", on_unknown, "--format", form, {_GOVERNOR: None})
    assert result.status == status
    if form == "json":
        assert (result.json["verdict"], result.json["exit_status"]) == ("unknown", status)
    else:
        line = result.out.splitlines()[-1 if form == "text" else 0]
        assert "UNKNOWN" in line
        assert line.endswith(f"exit {status})")


@pytest.mark.parametrize("on_unknown", ["fail", "pass"])
@pytest.mark.parametrize(("change", "status"), [({_GOVERNOR: "powersave\n"}, 1), ({}, 0)], ids=["unstable", "stable"])
def test_an_answered_verdict_ends_the_same_whatever_an_unknown_one_does(
    run: Run, on_unknown: str, change: dict[str, str | None], status: int
) -> None:
    assert run(*SETTINGS, "--on-unknown", on_unknown, change).status == status


@pytest.mark.parametrize("form", ["nagios", "problem-detector"])
def test_a_consumer_that_distinguishes_unknown_still_gets_it(run: Run, form: str) -> None:
    result = run(*SETTINGS, "--on-unknown", "pass", "--format", form, {_GOVERNOR: None})
    assert (result.status, "UNKNOWN" in result.out) == (3, True)


@pytest.mark.parametrize(("on_unknown", "unknown"), [(None, 4), (1, 1), (0, 0)])
def test_a_wait_that_ends_unknown_ends_as_an_unknown_verdict(on_unknown: int | None, unknown: int) -> None:
    text = FORMATS["text"]
    assert text.exit_status(unknown_verdict(), has_run_out=True, on_unknown=on_unknown) == unknown
    assert text.exit_status(failed_verdict(), has_run_out=True, on_unknown=on_unknown) == 4


def test_an_input_that_cannot_be_judged_is_not_an_unknown_verdict(run: Run, tmp_path: Path) -> None:
    assert run(*SETTINGS, "--on-unknown", "pass", "--replay", tmp_path / "none.nw").status == 2


def test_an_empty_tree_is_unknown_and_never_stable(run: Run, tmp_path: Path) -> None:
    (tmp_path / "sys").mkdir()
    assert run(*SETTINGS, "--sysroot", tmp_path).status == 3
    assert run("preflight", "--sysroot", tmp_path).status == 3


@pytest.mark.parametrize("text", ["", "\x00", "9999999999999999999999\n", "-1\n"])
@pytest.mark.parametrize("path", [f"{CPUS}/online", "/proc/interrupts", "/proc/self/mounts", "/proc/stat"])
def test_a_rubbish_file_is_never_a_traceback(run: Run, path: str, text: str) -> None:
    result = run(*SETTINGS, {path: text})
    assert result.status in (0, 1, 3)
    assert result.err == ""


@pytest.mark.parametrize("text", ["", "\x00", "x" * 100_000, "powersave\nperformance\n"])
def test_a_rubbish_governor_is_never_stable(run: Run, text: str) -> None:
    result = run(*SETTINGS, {_GOVERNOR: text})
    assert result.status in (1, 3)
