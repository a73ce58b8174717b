"""Of which CPUs the history is, what else the file holds, and why and when the machine was accepted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from noisewatch.machine.history_file import machine_key
from noisewatch.surfaces.cli import main
from tests.surfaces.reports.history.store import BEGIN_S, entry_line, told_of, words_of, written

_KEY = {"machine": machine_key()}


def _of_two_sets(tmp_path: Path) -> str:
    weeks = [entry_line(number, 1e6, "") for number in range(20)]
    once = [entry_line(20, 2e6, "", cpus=[0, 1]), entry_line(21, 3e6, "", core="python")]
    return written(tmp_path, [*weeks, *once, entry_line(22, 2e6, "", cpus=[0, 1])])


def test_one_look_at_other_cpus_hides_no_history(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = _of_two_sets(tmp_path)
    told = words_of(told_of(capsys, "--file", path))
    assert "CPUs 0-1 · 2 entries" in told
    assert "not compared: 20 of CPUs 2-3 (--cpus 2-3); 1 of CPUs 2-3 by the python core (--cpus 2-3)" in told


def test_the_history_of_named_cpus_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, [*[entry_line(number, 1e6, "") for number in range(9)], entry_line(9, 2e6, "", cpus=[1])])
    told = words_of(told_of(capsys, "--cpus", "2,3", "--file", path))
    assert "CPUs 2-3 · 9 entries" in told
    assert "not compared: 1 of CPU 1 (--cpus 1)" in told
    entries = json.loads(told_of(capsys, "--cpus", "2-3", "--format", "json", "--file", path))["entries"]
    assert {tuple(entry["cpus"]) for entry in entries} == {(2, 3)}


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("--cpus", "5"), "no entry of CPU 5; there are entries of CPUs 0-1, CPUs 2-3"),
        (("--cpus", "x"), "--cpus x: wanted a CPU list"),
        (("--cpus", ""), "--cpus : wanted a CPU list"),
        (("accept", "--cpus", "2-3"), "--cpus: not with `noisewatch history accept`"),
    ],
)
def test_cpus_that_make_no_sense_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], line: str
) -> None:
    assert main(["history", *words, "--file", _of_two_sets(tmp_path)]) == 2
    (told,) = capsys.readouterr().err.splitlines()
    assert line in told


def test_of_an_acceptance_only_what_it_says_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    accepted: list[dict[str, object]] = [
        {"kind": "accepted", "at": BEGIN_S, "why": "first"},
        {"kind": "accepted", "at": "yesterday", "why": "\x1b[31mnew\nBIOS"},
    ]
    path = written(tmp_path, [*(each | _KEY for each in accepted), entry_line(1, 1e6, "")])
    told = told_of(capsys, "--file", path)
    assert "accepted: ·[31mnew BIOS" in told.splitlines()
    assert "first" not in told
    said = json.loads(told_of(capsys, "--format", "json", "--file", path))["accepted"]
    assert said == {"at": None, "why": "·[31mnew BIOS", "entries_before": 0}


def test_a_machine_that_was_never_accepted_says_nothing_of_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = _of_two_sets(tmp_path)
    assert "accepted" not in told_of(capsys, "--file", path)
    assert json.loads(told_of(capsys, "--format", "json", "--file", path))["accepted"] is None


def test_older_entries_that_are_thinned_out_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, [entry_line(number, 1e6, "") for number in range(1000)])
    said = json.loads(told_of(capsys, "--format", "json", "--file", path))
    assert len(said["entries"]) <= 200
    assert len(said["entries"]) + said["thinned_out"] == 1000
    told = words_of(told_of(capsys, "--file", path))
    assert f"not compared: {said['thinned_out']} older entries, thinned out evenly over time" in told
