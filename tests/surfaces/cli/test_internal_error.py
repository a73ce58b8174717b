"""A fault in noisewatch is reported as an internal error, never as a verdict; Ctrl-C is reported as an interrupt."""

from __future__ import annotations

import os
import subprocess
import sys
from argparse import Namespace
from pathlib import Path

import pytest

from noisewatch.surfaces import cli

# A command that raises an unexpected exception.
_PROGRAM = """\
import sys
from noisewatch.surfaces.cli import report_internal_error
sys.excepthook = report_internal_error
raise ZeroDivisionError("division\\nby zero")
"""


def _run(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    command, environment = [sys.executable, *arguments], os.environ | variables
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


@pytest.mark.parametrize(("form", "status"), [("text", 2), ("nagios", 3)])
def test_an_internal_error_is_one_line_with_the_status_of_an_error(form: str, status: int) -> None:
    result = _run("-c", _PROGRAM, "preflight", "--format", form)
    message = "internal error: ZeroDivisionError: division by zero (<string>:4)"
    assert (result.returncode, result.stderr) == (status, f"noisewatch: {message}; please report it\n")
    assert (message in result.stdout) == (form == "nagios")  # Nagios reads only standard output


def test_an_internal_error_of_run_has_its_own_status_and_prefix() -> None:
    result = _run("-c", _PROGRAM, "run", "true")
    assert (result.returncode, result.stderr[:31]) == (125, "noisewatch run: internal error:")


@pytest.mark.parametrize(("words", "prefix", "status"), [
    (("preflight",), "noisewatch", 2), (("run", "true"), "noisewatch run", 125),
])  # fmt: skip
def test_a_missing_library_is_not_a_verdict(tmp_path: Path, words: tuple[str, ...], prefix: str, status: int) -> None:
    path = os.pathsep.join([str(tmp_path), *sys.path])
    (tmp_path / "argparse.py").write_text("raise ImportError('no\\nlibrary')\n")
    result = _run("-m", "noisewatch", *words, PYTHONPATH=path)
    message = f"{prefix}: cannot start: ImportError: no library\n"
    assert (result.returncode, result.stdout, result.stderr) == (status, "", message)


def _interrupt(arguments: Namespace) -> int:
    raise KeyboardInterrupt


def _interrupt_a_class(arguments: Namespace) -> int:
    raise RuntimeError("Error calling __set_name__ on 'Field' instance") from KeyboardInterrupt()


def _raise_a_fault(arguments: Namespace) -> int:
    raise RuntimeError("Error calling __set_name__ on 'Field' instance") from ValueError()


def test_ctrl_c_while_a_class_is_created_is_not_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli, "command_of", lambda _: _interrupt_a_class)
    assert cli.main(["explain"]) == 130
    monkeypatch.setattr(cli, "command_of", lambda _: _raise_a_fault)
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
def test_the_status_is_the_same_without_a_writable_standard_error(
    program: list[str], words: list[str], status: int
) -> None:
    with open("/dev/full", "w") as full:
        result = subprocess.run([sys.executable, *program, *words], stderr=full, stdout=subprocess.DEVNULL, check=False)
    assert result.returncode == status


@pytest.mark.parametrize("command", ["preflight", "calibrate", "trace"])
def test_an_interrupted_measurement_reports_that_nothing_is_kept(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cli, "command_of", lambda _: _interrupt)
    assert cli.main([command]) == 130
    output = capsys.readouterr()
    assert (output.out, output.err) == ("", "noisewatch: interrupted, so there is no result\n")


def test_an_interrupt_without_a_measurement_prints_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cli, "command_of", lambda _: _interrupt)
    assert cli.main(["explain"]) == 130
    assert capsys.readouterr().err == ""
