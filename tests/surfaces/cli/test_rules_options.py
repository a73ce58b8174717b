"""Checks, severities and limits are set by options or by a file; a name that does not exist is an error."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.surfaces.running import SETTINGS, Run
from tests.written.quiet_machine import CPUS

_BOOSTED: dict[str, str | None] = {  # whose only fault is turbo
    f"{CPUS}/cpufreq/boost": "1\n"
}


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The current folder, without any options file."""
    folder = tmp_path / "work" / "inner"
    folder.mkdir(parents=True)
    (tmp_path / "work" / ".git").mkdir()
    monkeypatch.chdir(folder)


def _turbo(run: Run, *options: str) -> dict[str, Any]:
    result = run(*SETTINGS, _BOOSTED, "--format", "json", *options)
    (finding,) = [finding for finding in result.json["findings"] if finding["id"] == "turbo-enabled"]
    return {**finding, "exit": result.status, "profile": result.json["profile"], "file": result.json["configured_by"]}


def test_a_profile_is_chosen_by_name(run: Run) -> None:
    assert _turbo(run)["severity"] == "warning"
    strict = _turbo(run, "--profile", "strict")
    assert (strict["profile"], strict["severity"], strict["exit"]) == ("strict", "blocking", 1)


@pytest.mark.parametrize("options", [["--ignore", "turbo-enabled"], ["--ignore", "clock,frequency"]])
def test_ignored_checks_stay_visible(run: Run, options: list[str]) -> None:
    assert _turbo(run, *options)["status"] == "ignored"


def test_selected_areas_and_checks_add_up(run: Run) -> None:
    assert _turbo(run, "--select", "clock", "--select", "turbo-enabled")["status"] == "fail"
    assert _turbo(run, "--select", "clock")["reason"] == "not selected"


_FILE = """
profile = "strict"
ignore = ["clock"]
severity = { on-battery = "warning" }
[limit]
target-cpu-busy = "2%"
busy-sibling.passes = 0.5
"""


def test_options_are_read_from_a_file_here_or_in_a_parent_folder(run: Run) -> None:
    Path("../noisewatch.toml").write_text(_FILE)
    turbo = _turbo(run)
    assert (turbo["profile"], turbo["exit"]) == ("strict", 1)
    assert turbo["file"].endswith("work/noisewatch.toml")
    text = run("preflight", _BOOSTED, "--sample", "0").out
    assert f"with options of {turbo['file']}" in text


def test_the_command_line_outranks_the_file(run: Run) -> None:
    Path("noisewatch.toml").write_text(_FILE)
    assert _turbo(run, "--profile", "latency")["profile"] == "latency"
    assert _turbo(run, "--severity", "turbo-enabled=information")["exit"] == 0
    assert _turbo(run, "--no-config")["file"] is None


def test_cpus_before_the_command_outrank_the_file(run: Run) -> None:
    Path("noisewatch.toml").write_text('cpus = "3"\n')
    options = ("preflight", _BOOSTED, "--sample", "0", "--format", "json")
    assert run(*options).json["target"] == [3]
    assert run("--cpus", "2", *options).json["target"] == [2]


def test_options_are_read_from_a_table_in_pyproject(run: Run) -> None:
    Path("pyproject.toml").write_text('[tool.noisewatch]\nprofile = "io"\n')
    assert _turbo(run)["profile"] == "io"
    Path("pyproject.toml").write_text('[project]\nname = "x"\n')
    assert _turbo(run)["profile"] == "micro"


@pytest.mark.parametrize(("text", "is_kept"), [("history = true", True), ("history = false", False), ("", False)])
@pytest.mark.parametrize("file", ["noisewatch.toml", "pyproject.toml"])
def test_a_file_may_turn_on_the_history(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, is_kept: bool, file: str
) -> None:
    """The default history file is used, as with --history; here it is invalid, so that nothing is measured."""
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    history = tmp_path / "state" / "noisewatch" / "history.jsonl"
    history.parent.mkdir(parents=True)
    history.write_text("somebody else's")
    Path(file).write_text(text if file == "noisewatch.toml" else f"[tool.noisewatch]\n{text}\n")
    result = run(*SETTINGS, "--exit-zero")
    assert (result.status, f"{history}: not a history of noisewatch" in result.err) == (
        (2, True) if is_kept else (0, False)
    )


def test_a_file_may_name_the_exit_status_of_an_unknown_verdict(run: Run) -> None:
    Path("noisewatch.toml").write_text('on-unknown = "fail"\n')
    command = ("preflight", _BOOSTED, "--no-calibration")
    assert run(*command).status == 1
    assert run(*command, "--on-unknown", "pass").status == 0
    assert run(*command, "--no-config").status == 3


def test_files_above_the_repository_are_ignored(run: Run) -> None:
    Path("../../noisewatch.toml").write_text(_FILE)
    assert _turbo(run)["file"] is None


def test_outside_of_a_repository_files_in_parent_folders_are_ignored(run: Run) -> None:
    Path("../noisewatch.toml").write_text(_FILE)
    Path("../.git").rmdir()
    assert _turbo(run)["file"] is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("profil = 'io'", "unknown key 'profil'; did you mean profile?"),
        ("xyz = 1", "unknown key 'xyz'; keys: profile"),
        ("profile = 'quick'", "noisewatch.toml:1: profile: expected one of micro, parallel"),
        ("profile = [1]", "profile: expected a string or a number, found [1]"),
        ("strict = 'yes'", "strict: expected true or false, found 'yes'"),
        ("ignore = 'clock'", "ignore: expected a list of names, found 'clock'"),
        ("limit = 3", "limit: expected a table, found 3"),
        ("sample = 0.1", "noisewatch.toml:1: sample: expected 0 or at least 0.5"),
        ("ignore = ['clok']", "noisewatch.toml:1: ignore 'clok': no such check or area; did you mean clock"),
        ("[limit]\nnothing = 1", "noisewatch.toml:2: limit 'nothing': no such check"),
        ("ignore = [3]", "ignore: expected a list of names, found [3]"),
        ("machine = 3", "machine: expected the name of a file, found 3"),
        (
            "[severity]\nturbo-enabled = true",
            "noisewatch.toml:2: severity turbo-enabled: expected a string or a number",
        ),
        ("profile = ", "noisewatch.toml:1: expected TOML, found: Invalid value"),
        ("\n\xff", "noisewatch.toml:2: expected UTF-8, found the byte 0xff"),
    ],
)
def test_a_mistake_in_a_file_is_reported_with_its_name(run: Run, text: str, message: str) -> None:
    Path("noisewatch.toml").write_bytes(text.encode("latin-1"))
    result = run("preflight", _BOOSTED, "--sample", "0")
    assert (result.status, result.out) == (2, "")
    assert message in result.err
    assert "noisewatch.toml" in result.err


_MISTAKES = """
profil = "io"
samples = 25
at = "soon"
ignore = [
    "clock",
    "clok",
    "turbo-enabeld",
]
strict = "yes"
severity = { turbo-enabled = "grave", on-battery = "warning" }

[limit]
nothing = 1
target-cpu-busy = "2%"
busy-sibling.passes = "lots"
"""
_MESSAGES = (
    (2, "unknown key 'profil'; did you mean profile?"),
    (4, "at: expected a duration from 100us to 100s, such as 10ms, found 'soon'"),
    (7, "ignore 'clok': no such check or area; did you mean clock"),
    (8, "ignore 'turbo-enabeld': no such check or area; did you mean turbo-enabled"),
    (10, "strict: expected true or false, found 'yes'"),
    (11, "severity turbo-enabled 'grave': no such severity; expected blocking, warning, information"),
    (14, "limit 'nothing': no such check; `noisewatch explain` lists all"),
    (16, "limit busy-sibling.passes: expected a share such as 2% or 0.02, found 'lots'"),
)


@pytest.mark.parametrize(
    ("file", "above"), [("noisewatch.toml", ""), ("pyproject.toml", "[project]\nname = 'x'\n[tool.noisewatch]")]
)
def test_all_mistakes_of_a_file_are_reported_at_once_with_their_lines(run: Run, file: str, above: str) -> None:
    Path(file).write_text(above + _MISTAKES.replace("[limit]", "[tool.noisewatch.limit]" if above else "[limit]"))
    result = run("preflight", _BOOSTED, "--sample", "0")
    assert (result.status, result.out) == (2, "")
    messages = [f"noisewatch: {Path.cwd() / file}:{line + above.count(chr(10))}: {text}" for line, text in _MESSAGES]
    assert [line[: len(message)] for line, message in zip(result.err.splitlines(), messages, strict=True)] == messages


def test_nagios_gets_all_mistakes_of_a_file_in_one_line(run: Run) -> None:
    Path("noisewatch.toml").write_text("strict = 3\nhistory = 3\n")
    result = run("preflight", _BOOSTED, "--format", "nagios")
    assert (result.status, result.out.count("\n"), result.err.count("\n")) == (3, 1, 2)
    assert "strict: expected true or false, found 3; " in result.out


def test_a_mistake_on_the_command_line_does_not_name_the_file(run: Run) -> None:
    Path("noisewatch.toml").write_text(_FILE)
    assert "noisewatch.toml" not in run("preflight", _BOOSTED, "--ignore", "clok").err


def test_a_deleted_current_folder_has_no_options_file(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    assert _turbo(run)["file"] is None


@pytest.mark.parametrize("severity", ["info", "information"])
def test_a_severity_may_be_abbreviated(run: Run, severity: str) -> None:
    assert _turbo(run, "--severity", f"turbo-enabled={severity}")["severity"] == "information"


def test_a_requested_file_must_exist(run: Run) -> None:
    result = run("preflight", _BOOSTED, "--config", "none.toml")
    assert (result.status, result.err) == (2, "noisewatch: none.toml: no such file or directory\n")


def test_other_commands_read_no_file(run: Run) -> None:
    Path("noisewatch.toml").write_text("rubbish")
    assert run("show", _BOOSTED).status == 0
