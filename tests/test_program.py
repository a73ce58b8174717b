"""Advice that needs root starts the program that runs: sudo looks for it where pip and pipx do not install."""

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
from noisewatch.program import as_root, started_by
from noisewatch.surfaces.cli.parsers import build_parsers
from noisewatch.surfaces.reports.parts.culprits import root_lines
from tests.surfaces.conftest import run as run
from tests.surfaces.running import Run
from tests.written import WrittenMachine
from tests.written.quiet_machine import quiet_files


def _installed(folder: Path) -> Path:
    folder.mkdir(parents=True)
    program = folder / "noisewatch"
    program.write_text("#!/bin/sh\necho started: $*\n")
    program.chmod(0o755)
    return program


def test_a_program_started_by_its_path_is_named_by_all_of_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = _installed(tmp_path / "my venv/bin")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["my venv/bin/noisewatch", "trace"])
    assert started_by() == shlex.quote(str(program))
    command = as_root("trace --cpus 2", is_here=True).removeprefix("sudo ")
    assert subprocess.run(["sh", "-c", command], capture_output=True, text=True, cwd="/", check=True).stdout == (
        "started: trace --cpus 2\n"
    )


def test_a_program_found_on_the_path_is_named_by_where_it_was_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = _installed(tmp_path / "bin")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(sys, "argv", ["noisewatch"])
    assert started_by() == str(program)


def test_what_python_runs_as_a_module_is_named_by_the_program_beside_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = _installed(tmp_path / "bin")
    monkeypatch.setattr(sys, "argv", ["/somewhere/noisewatch/__main__.py"])
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bin/python3"))
    assert started_by() == str(program)
    program.unlink()
    assert started_by() == f"{tmp_path}/bin/python3 -m noisewatch"


def test_one_file_that_pex_made_is_named_and_not_what_it_unpacked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    unpacked, file = _installed(tmp_path / "cache/bin"), _installed(tmp_path / "my tools").rename(tmp_path / "n.pex")
    monkeypatch.setattr(sys, "executable", str(unpacked.with_name("python3")))
    monkeypatch.setattr(sys, "argv", [str(file)])
    monkeypatch.setenv("PEX", str(file))
    assert started_by() == str(file)
    file.chmod(0o644)
    assert started_by() == str(unpacked)


def test_a_program_that_a_pex_of_others_starts_is_itself(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = _installed(tmp_path / "bin")
    monkeypatch.setenv("PEX", str(_installed(tmp_path / "other")))
    monkeypatch.setattr(sys, "argv", [str(program)])
    assert started_by() == str(program)


def test_on_another_machine_it_is_wherever_it_is() -> None:
    assert as_root("trace", is_here=False) == "sudo noisewatch trace"


def test_who_was_not_seen_is_to_be_traced_by_the_program_that_runs() -> None:
    snapshot = read_snapshot(WrittenMachine(quiet_files()), SnapshotOptions(frozenset({2, 3})))
    culprit = Disturbance(
        kind=Kind.UNATTRIBUTED, name="threads that were not seen", cpu=2, stolen_ns=None, share=0.3, rate_per_s=None
    )
    there, here = (remedy_of(culprit, Case(replace(snapshot, is_live=is_live))).said for is_live in (False, True))
    assert there == "Usually short-lived threads; a trace names them: sudo noisewatch trace --cpus 2."
    assert here == f"Usually short-lived threads; a trace names them: sudo {started_by()} trace --cpus 2."


def test_a_trace_that_is_for_root_is_told_with_its_command_where_it_could_be_made() -> None:
    reason = f"/sys/kernel/tracing: permission denied ({FOR_ROOT})"
    assert root_lines(reason, "trace --cpus 2", is_live=True) == [f"    sudo {started_by()} trace --cpus 2"]
    assert root_lines(reason, "trace --cpus 2", is_live=False) == []
    assert root_lines("no such file", "trace --cpus 2", is_live=True) == []
    assert root_lines(None, "trace --cpus 2", is_live=True) == []


def test_help_and_pages_of_integrations_name_for_root_the_program_that_runs(run: Run) -> None:
    _, commands = build_parsers()
    for told in (commands["calibrate"].format_help(), run("integrations", "slurm", "--explain").out):
        assert f"sudo {started_by()} " in told
        assert "sudo noisewatch" not in told
