"""Advice that needs root names the running program by its path, as sudo does not search where pip and pipx install."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from noisewatch.judgement.case import Case
from noisewatch.judgement.remedies import remedy_of
from noisewatch.kernel.snapshot.snapshot import SnapshotOptions, read_snapshot
from noisewatch.kinds import Kind
from noisewatch.machine.tracefs.instance import FOR_ROOT
from noisewatch.model.interval.disturbance import Disturbance
from noisewatch.program import as_root, start_command
from noisewatch.surfaces.cli.parsers import build_parsers
from noisewatch.surfaces.reports.parts.culprits import root_lines
from tests.surfaces.conftest import run as run
from tests.surfaces.running import Run
from tests.written import WrittenMachine
from tests.written.quiet_machine import quiet_files


def _install(folder: Path) -> Path:
    folder.mkdir(parents=True)
    program = folder / "noisewatch"
    program.write_text("#!/bin/sh\necho started: $*\n")
    program.chmod(0o755)
    return program


def test_program_started_by_its_path_is_named_by_its_full_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = _install(tmp_path / "my venv/bin")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["my venv/bin/noisewatch", "trace"])
    assert start_command() == shlex.quote(str(program))
    command = as_root("trace --cpus 2", is_here=True).removeprefix("sudo ")
    assert subprocess.run(["sh", "-c", command], capture_output=True, text=True, cwd="/", check=True).stdout == (
        "started: trace --cpus 2\n"
    )


def test_program_found_on_the_path_is_named_by_its_full_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = _install(tmp_path / "bin")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(sys, "argv", ["noisewatch"])
    assert start_command() == str(program)


def test_python_module_is_named_by_the_program_next_to_python(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = _install(tmp_path / "bin")
    monkeypatch.setattr(sys, "argv", ["/somewhere/noisewatch/__main__.py"])
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bin/python3"))
    assert start_command() == str(program)
    program.unlink()
    assert start_command() == f"{tmp_path}/bin/python3 -m noisewatch"


def test_file_made_by_pex_is_named_and_not_its_unpacked_program(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    unpacked, file = _install(tmp_path / "cache/bin"), _install(tmp_path / "my tools").rename(tmp_path / "n.pex")
    monkeypatch.setattr(sys, "executable", str(unpacked.with_name("python3")))
    monkeypatch.setattr(sys, "argv", [str(file)])
    monkeypatch.setenv("PEX", str(file))
    assert start_command() == str(file)
    file.chmod(0o644)
    assert start_command() == str(unpacked)


def test_program_started_by_another_pex_is_named_itself(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = _install(tmp_path / "bin")
    monkeypatch.setenv("PEX", str(_install(tmp_path / "other")))
    monkeypatch.setattr(sys, "argv", [str(program)])
    assert start_command() == str(program)


def test_program_on_another_machine_has_no_path() -> None:
    assert as_root("trace", is_here=False) == "sudo noisewatch trace"


def test_remedy_for_unattributed_time_names_the_running_program() -> None:
    snapshot = read_snapshot(WrittenMachine(quiet_files()), SnapshotOptions(frozenset({2, 3})))
    culprit = Disturbance(
        kind=Kind.UNATTRIBUTED, name="threads that were not seen", cpu=2, stolen_ns=None, share=0.3, rate_per_s=None
    )
    copied, live = (remedy_of(culprit, Case(replace(snapshot, is_live=is_live))).said for is_live in (False, True))
    assert copied == "Short-lived threads are the usual cause; a trace names them: sudo noisewatch trace --cpus 2."
    assert (
        live == f"Short-lived threads are the usual cause; a trace names them: sudo {start_command()} trace --cpus 2."
    )


def test_trace_that_needs_root_has_its_command_on_a_live_machine() -> None:
    reason = f"/sys/kernel/tracing: permission denied ({FOR_ROOT})"
    assert root_lines(reason, "trace --cpus 2", is_live=True) == [f"    sudo {start_command()} trace --cpus 2"]
    assert root_lines(reason, "trace --cpus 2", is_live=False) == []
    assert root_lines("no such file", "trace --cpus 2", is_live=True) == []
    assert root_lines(None, "trace --cpus 2", is_live=True) == []


def test_help_and_pages_of_integrations_name_the_running_program(run: Run) -> None:
    _, commands = build_parsers()
    for text in (commands["calibrate"].format_help(), run("integrations", "slurm", "--explain").out):
        assert f"sudo {start_command()} " in text
        assert "sudo noisewatch" not in text
