"""`--quiet` prints only the answer, and for `preflight` only the verdict."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from noisewatch.surfaces.cli.arguments import parse_arguments
from noisewatch.surfaces.cli.live import listener_of
from tests.surfaces.running import NOISEWATCH, Run


@pytest.mark.parametrize("option", ["-q", "--quiet"])
def test_a_quiet_preflight_prints_its_last_line_and_keeps_its_status(
    run: Run, unchanged_tree: Path, option: str
) -> None:
    command = ("preflight", "--sysroot", unchanged_tree)
    full, quiet = run(*command), run(*command, option)
    assert len(full.out.splitlines()) > 3
    assert quiet.out == full.out.splitlines()[-1] + "\n"
    assert quiet.out.startswith("UNKNOWN: ")
    assert (quiet.status, quiet.err) == (full.status, "")


def test_files_and_other_formats_are_complete(run: Run, unchanged_tree: Path, tmp_path: Path) -> None:
    command = ("preflight", "--sysroot", unchanged_tree, "-q")
    assert run(*command, "--output", tmp_path / "report").out == ""
    assert (tmp_path / "report").read_text() == run(*command[:-1]).out
    assert json.loads(run(*command, "--format", "json").out)["findings"]


def test_quiet_and_verbose_exclude_each_other(run: Run) -> None:
    assert "not allowed with argument" in run("preflight", "-q", "-v").err


@pytest.mark.parametrize("command", ["preflight", "calibrate", "trace", "record r.nw"])
def test_quiet_omits_remarks(capsys: pytest.CaptureFixture[str], command: str) -> None:
    for options, remarks in (("", "noisewatch: so it is\n"), ("-q", "")):
        listener = listener_of(parse_arguments([*command.split(), *options.split()]))
        listener.on_sampling("sampling", 1.0, 3.0)
        listener.on_waiting("calm", 3.0)
        capsys.readouterr()
        listener.on_remark("so it is")
        assert capsys.readouterr().err == remarks


def test_quiet_keeps_errors(run: Run, tmp_path: Path) -> None:
    assert "no such file" in run("calibrate", "-q", "--replay", tmp_path / "none").err


def test_a_quiet_recording_is_not_reported(tmp_path: Path) -> None:
    command = [*NOISEWATCH, "record", "-q", "--duration", "0", str(tmp_path / "r.nw")]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert (result.stdout, result.stderr) == ("", "")
    assert (tmp_path / "r.nw").stat().st_size > 0


def test_a_quiet_single_run_reports_nothing(tmp_path: Path) -> None:
    receipt = tmp_path / "r.json"
    result = _run_quietly("--output", str(receipt), "--format", "json", "--", "sh", "-c", "echo hello; exit 7")
    assert (result.returncode, result.stdout, result.stderr) == (7, "hello\n", "")
    assert json.loads(receipt.read_text())


def test_a_quiet_series_has_its_report() -> None:
    result = _run_quietly("--runs", "2", "--calibration", "0", "--tracer", "none", "--", "true")
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout


def _run_quietly(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `noisewatch run -q` in a separate process, because it pins its own process."""
    return subprocess.run([*NOISEWATCH, "run", "-q", *arguments], capture_output=True, text=True, check=False)
