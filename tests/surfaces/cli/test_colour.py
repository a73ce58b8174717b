"""Colours follow --color, then the environment, and otherwise whether the output is a terminal."""

from __future__ import annotations

import io
import json
import re
import subprocess
from pathlib import Path

import pytest

from noisewatch.surfaces.cli.arguments import parse_arguments
from noisewatch.surfaces.cli.commands import monitor
from noisewatch.surfaces.cli.live import listener_of
from noisewatch.surfaces.output import in_colour
from tests import MACHINES
from tests.surfaces.running import NOISEWATCH, Run, record
from tests.written.quiet_machine import quiet_files


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("environment", "on_terminal", "in_pipe"),
    [
        ("", True, False),
        ("TERM=dumb", False, False),
        ("NO_COLOR=1", False, False),
        ("NO_COLOR=", True, False),
        ("FORCE_COLOR=1", True, True),
        ("FORCE_COLOR=3 TERM=dumb", True, True),
        ("FORCE_COLOR=0", True, False),
        ("FORCE_COLOR=", True, False),
        ("CLICOLOR_FORCE=1", True, True),
        ("CLICOLOR_FORCE=0", True, False),
        ("NO_COLOR=1 FORCE_COLOR=1 CLICOLOR_FORCE=1", False, False),
    ],
)
def test_the_environment_decides_unless_the_option_does(
    monkeypatch: pytest.MonkeyPatch, environment: str, on_terminal: bool, in_pipe: bool
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    for setting in environment.split():
        monkeypatch.setenv(*setting.split("="))
    assert (in_colour(_Terminal()), in_colour(io.StringIO())) == (on_terminal, in_pipe)
    for stream in (_Terminal(), io.StringIO()):
        assert in_colour(stream, "always")
        assert not in_colour(stream, "never")


@pytest.fixture
def commands(tmp_path: Path, unchanged_tree: Path, run: Run) -> list[list[str]]:
    """Commands whose text has colours."""
    recording, verdict = record(tmp_path / "machine.nw", quiet_files()), tmp_path / "verdict.json"
    run("preflight", {}, "--format", "json", "--output", verdict)
    tree = ["--sysroot", str(unchanged_tree)]
    return [
        ["preflight", *tree],
        ["plan", *tree],
        ["calibrate", "--cpus", "2", "--work", "latency", "--replay", str(recording)],  # the least to predict
        ["fleet", str(verdict)],
        ["explain", "layout"],
        ["compare", str(verdict), str(verdict)],
        ["trace", "--replay", str(MACHINES / "lab-disturbed.nw")],
        ["tune", "--dry-run", "--replay", str(MACHINES / "lab-disturbed.nw")],
    ]


def test_colours_of_reports_follow_option_and_environment(
    run: Run, commands: list[list[str]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for command in commands:
        plain, coloured = run(*command).out, run("--color", "always", *command).out
        assert ("\x1b" in plain, "\x1b[" in coloured) == (False, True), command
        assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == plain, command
        if command[0] == "tune":
            continue
        assert run(*command, "--color", "always").out == coloured
        if command[0] != "explain":
            run(*command, "--color", "always", "--output", tmp_path / "report")
            assert "\x1b[" in (tmp_path / "report").read_text()
    monkeypatch.setenv("FORCE_COLOR", "1")
    for command in commands:
        assert "\x1b[" in run(*command).out, command
        assert "\x1b" not in run("--color", "never", *command).out
        if command[0] not in ("explain", "tune"):
            run(*command, "--output", tmp_path / "report")
            assert "\x1b" not in (tmp_path / "report").read_text()


def test_json_has_no_colours(run: Run) -> None:
    json.loads(run("preflight", {}, "--format", "json", "--color", "always").out)


def test_a_series_and_its_progress_have_the_chosen_colours() -> None:
    series = [*NOISEWATCH, "run", "--runs", "2", "--calibration", "0", "--tracer", "none"]
    for options, is_coloured in ((["--color", "always"], True), ([], False)):
        report = subprocess.run([*series, *options, "--", "true"], capture_output=True, check=True).stdout
        assert (b"\x1b[" in report) == is_coloured
    assert listener_of(parse_arguments(["calibrate", "--color", "never"]))._color == "never"


def test_the_monitor_has_no_colours_with_never_or_no_color(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.environ", environment := {"NO_COLOR": "1"})
    monitor._choose_colours("auto")
    assert environment == {"NO_COLOR": "1"}
    monitor._choose_colours("always")
    assert environment == {}
    monitor._choose_colours("never")
    assert environment == {"NO_COLOR": "1"}


def test_another_choice_is_refused(run: Run) -> None:
    result = run("show", {}, "--color", "allways")
    assert (result.status, "did you mean always?" in result.err) == (2, True)
