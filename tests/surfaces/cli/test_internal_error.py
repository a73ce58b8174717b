"""A fault in noisewatch is reported as an internal error, never as a verdict; Ctrl-C is reported as an interrupt."""

from __future__ import annotations

import os
import subprocess
import sys
from argparse import Namespace
from pathlib import Path

import pytest

from noisewatch.surfaces import cli

# The run of a command that goes wrong in a way that nobody has thought of.
_PROGRAM = """\
import sys
from noisewatch.surfaces.cli import report_internal_error
sys.excepthook = report_internal_error
raise ZeroDivisionError("division\\nby zero")
"""


@pytest.mark.parametrize(("form", "status"), [("text", 2), ("nagios", 3)])
def test_it_is_told_in_one_line_with_the_status_of_an_error(form: str, status: int) -> None:
    command = [sys.executable, "-c", _PROGRAM, "preflight", "--format", form]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    told = "internal error: ZeroDivisionError: division by zero (<string>:4)"
    assert (ran.returncode, ran.stderr) == (status, f"noisewatch: {told}; please report it\n")
    assert (told in ran.stdout) == (form == "nagios")  # which reads nothing else


def test_it_is_told_apart_from_what_the_command_says() -> None:
    ran = subprocess.run([sys.executable, "-c", _PROGRAM, "run", "true"], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr[:31]) == (125, "noisewatch run: internal error:")


@pytest.mark.parametrize(("words", "told", "status"), [
    (("preflight",), "noisewatch", 2), (("run", "true"), "noisewatch run", 125),
])  # fmt: skip
def test_a_library_that_is_gone_is_no_verdict(tmp_path: Path, words: tuple[str, ...], told: str, status: int) -> None:
    path = os.pathsep.join([str(tmp_path), *sys.path])
    (tmp_path / "argparse.py").write_text("raise ImportError('no\\nlibrary')\n")
    command = [sys.executable, "-m", "noisewatch", *words]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": path})
    assert (ran.returncode, ran.stdout, ran.stderr) == (status, "", f"{told}: cannot start: ImportError: no library\n")


def _interrupt(arguments: Namespace) -> int:
    raise KeyboardInterrupt


def _interrupt_a_class(arguments: Namespace) -> int:
    raise RuntimeError("Error calling __set_name__ on 'Field' instance") from KeyboardInterrupt()


def _go_wrong(arguments: Namespace) -> int:
    raise RuntimeError("Error calling __set_name__ on 'Field' instance") from ValueError()


def test_ctrl_c_while_a_class_is_made_is_no_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli, "command_of", lambda _: _interrupt_a_class)
    assert cli.main(["explain"]) == 130
    monkeypatch.setattr(cli, "command_of", lambda _: _go_wrong)
    with pytest.raises(RuntimeError):
        cli.main(["explain"])


@pytest.mark.parametrize(
    ("program", "words", "status"),
    [
        (["-c", _PROGRAM], ["preflight"], 2),
        (["-c", _PROGRAM], ["run", "true"], 125),
        (["-m", "noisewatch"], ["preflight", "--cpus", "x"], 2),
    ],
)
def test_where_nobody_can_be_told_the_status_is_the_same(program: list[str], words: list[str], status: int) -> None:
    with open("/dev/full", "w") as full:
        ran = subprocess.run([sys.executable, *program, *words], stderr=full, stdout=subprocess.DEVNULL, check=False)
    assert ran.returncode == status


@pytest.mark.parametrize("command", ["preflight", "calibrate", "trace"])
def test_a_measurement_that_is_interrupted_says_that_nothing_is_kept(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cli, "command_of", lambda _: _interrupt)
    assert cli.main([command]) == 130
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", "noisewatch: interrupted: no result\n")


def test_nothing_is_said_where_nothing_was_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cli, "command_of", lambda _: _interrupt)
    assert cli.main(["explain"]) == 130
    assert capsys.readouterr().err == ""
