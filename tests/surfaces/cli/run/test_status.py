"""How `noisewatch run` ends: as its command did, or with a status of its own that says who is meant."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.surfaces.reports.run.running import lines_of, ran, read
from tests.surfaces.running import NOISEWATCH, Run

_STOPS_ITSELF = ("sh", "-c", "(sleep 0.1; kill -CONT $$) & kill -STOP $$; wait")


@pytest.mark.parametrize(
    "options",
    [
        ["--bogus"],
        ["--runs", "0"],
        ["--runs"],
        ["--format", "bogus"],
        ["--cpus", "9999"],
        ["--cpus", "rubbish"],
        ["--sysroot", "/"],
        ["--filtered", "out.json"],
        ["--output", "/nowhere/receipt.jsonl"],
        ["--output", ""],
        ["--record", "/nowhere/run.nw"],
        ["--aa", "--against", "true"],
        ["--on-unknown", "pass"],
    ],
)
def test_what_cannot_be_meant_is_an_error_of_its_own_and_runs_nothing(
    run: Run, tmp_path: Path, options: list[str]
) -> None:
    said = run("run", *options, "--", "touch", tmp_path / "made")
    assert (said.status, said.out, said.err.count("\n")) == (125, "", 1)
    assert said.err.startswith("noisewatch run: ")
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("nodes", ["9999", "0-9999", "rubbish"])
def test_what_the_machine_cannot_do_is_refused_before_anything_takes_its_time(tmp_path: Path, nodes: str) -> None:
    receipt = tmp_path / "receipt.jsonl"
    said = ran("--runs", "2", "--calibration", "60", "--membind", nodes, "--output", receipt, "--", "true")
    assert (said.returncode, receipt.read_text(), said.stderr.count("\n")) == (125, "", 1)
    assert said.stderr.startswith(f"noisewatch run: --membind {nodes}")


def test_an_option_that_does_not_exist_points_to_the_help_of_its_command(run: Run) -> None:
    for words, of in ((["run"], " run"), (["show"], " show"), ([], "")):
        assert f"(see noisewatch{of} --help)" in run(*words, "--bogus").err


def test_too_few_open_files_are_refused() -> None:
    command = ["sh", "-c", 'ulimit -n 8; exec "$@"', "sh", *NOISEWATCH, "run", "--", "true"]
    said = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (said.returncode, "only 8 files may be open" in said.stderr) == (125, True)


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("--interval x run -- true", 125),
        ("run", 125),
        ("run --", 125),
        ("run --runs 3", 125),
        ("preflight --bogus", 2),
        ("--interval x show", 2),
    ],
)
def test_an_error_before_anything_is_run_has_the_status_of_its_command(run: Run, line: str, status: int) -> None:
    assert run(*line.split()).status == status


def test_a_fault_of_its_own_is_told_apart_from_the_command() -> None:
    code = "import sys; from noisewatch.surfaces.cli import report_internal_error as tell; sys.excepthook = tell; 1 / 0"
    ended = [
        subprocess.run([NOISEWATCH[0], "-c", code, command, "--", "true"], capture_output=True, check=False).returncode
        for command in ("run", "show")
    ]
    assert ended == [125, 2]


@pytest.mark.parametrize(
    ("word", "status", "options"),
    [
        ("no-such-command-here", 127, []),
        ("no-such-command-here", 127, ["--gate", "--runs", "3"]),
        ("/etc/passwd", 126, []),
        ("/", 126, ["--gate", "--runs", "3"]),
    ],
)
def test_what_cannot_be_run_ends_as_with_env(word: str, status: int, options: list[str]) -> None:
    said = ran(*options, "--", word)
    assert said.returncode == status
    assert f"cannot run '{word}'" in said.stderr


@pytest.mark.parametrize(("status", "runs"), [(1, "1"), (5, "2")])
def test_a_command_that_failed_keeps_its_status_also_at_the_gate(status: int, runs: str) -> None:
    assert ran("--gate", "--runs", runs, "--", "sh", "-c", f"exit {status}").returncode == status


@pytest.mark.parametrize("options", [["--against", "true"], ["--aa", "--gate"], ["--retry", "9", "--gate"]])
def test_a_failure_ends_all_that_may_repeat(tmp_path: Path, options: list[str]) -> None:
    log = tmp_path / "log"
    said = ran("--runs", "1", *options, "--", "sh", "-c", f"echo x >> {log}; exit 7")
    assert (said.returncode, log.read_text()) == (7, "x\n")


def test_unless_it_is_to_go_on(tmp_path: Path) -> None:
    log = tmp_path / "log"
    said = ran("--runs", "1", "--retry", "2", "--ignore-failure", "--", "sh", "-c", f"echo x >> {log}; exit 7")
    assert (said.returncode, log.read_text()) == (7, "x\n" * 3)


@pytest.mark.parametrize(
    ("on_unknown", "status"), [((), 3), (("--on-unknown", "fail"), 5), (("--on-unknown", "pass"), 0)]
)
def test_an_unknown_gate_ends_as_requested(tmp_path: Path, on_unknown: tuple[str, ...], status: int) -> None:
    results = tmp_path / "results.json"
    old = {"metadata": {"name": "old", "date": "2020-01-01 00:00:00", "duration": 0.1}, "runs": [{"values": [1.0]}]}
    results.write_text(json.dumps({"version": "1.0", "benchmarks": [old]}))  # no run of it was watched
    assert ran("--gate", *on_unknown, "--results", results, "--", "true").returncode == status


def test_a_disturbed_run_does_not_pass_the_gate_nor_does_a_report_that_is_missing(tmp_path: Path) -> None:
    assert ran("--", *_STOPS_ITSELF).returncode == 0
    assert ran("--gate", "--on-unknown", "pass", "--", *_STOPS_ITSELF).returncode == 5
    said = ran("--gate", "--on-unknown", "pass", "--results", tmp_path / "none.json", "--", "true")
    assert said.returncode == 125


@pytest.mark.parametrize(("form", "runs"), [("jsonl", "1"), ("jsonl", "2"), ("json", "1"), ("markdown", "2")])
def test_a_report_that_could_not_be_written_is_no_success(form: str, runs: str) -> None:
    said = ran("--runs", runs, "--format", form, "--output", "/dev/full", "--", "true")
    assert said.returncode == 125
    assert said.stderr.count("no space left on device") == 1


@pytest.mark.parametrize(("form", "runs"), [("jsonl", "2"), ("json", "1")])
def test_but_a_command_that_failed_is_what_is_told(form: str, runs: str) -> None:
    said = ran("--runs", runs, "--format", form, "--output", "/dev/full", "--", "sh", "-c", "exit 7")
    assert said.returncode == 7


def test_a_recording_that_fills_the_disk_costs_neither_the_command_nor_its_report(tmp_path: Path) -> None:
    receipt, log = tmp_path / "receipt.jsonl", tmp_path / "log"
    said = ran("--runs", "2", "--record", "/dev/full", "--output", receipt, "--", "sh", "-c", f"echo x >> {log}")
    assert said.returncode == 125
    assert said.stderr.count("no space left on device") == 1
    assert log.read_text() == "x\n" * 2
    assert [line["kind"] for line in lines_of(receipt)] == ["header", "repetition", "repetition", "footer"]


def test_json_tells_of_no_results_where_none_were_wanted(tmp_path: Path) -> None:
    ran("--format", "json", "--output", tmp_path / "series.json", "--", "true")
    assert read((tmp_path / "series.json").read_text())["footer"]["results"] is None


def test_where_pyperf_has_nothing_to_write_the_status_is_that_of_the_verdict(tmp_path: Path) -> None:
    output = tmp_path / "here.json"
    said = ran("--runs", "2", "--ignore-failure", "--format", "pyperf", "--output", output, "--", "false")
    assert said.returncode == 5
    assert "pyperf: 0 of 2 runs undisturbed, 2 failed (status 1)" in said.stderr
    assert not output.exists()


@pytest.mark.parametrize(
    ("options", "runs"), [(["--aa"], 30), (["--against", "true"], 25), (["--aa", "--runs", "2"], 2)]
)
def test_a_comparison_has_enough_pairs_by_default(tmp_path: Path, options: list[str], runs: int) -> None:
    ran(*options, "--tracer", "none", "--output", tmp_path / "receipt.jsonl", "--", "true")
    header, *rest = lines_of(tmp_path / "receipt.jsonl")
    assert (header["options"]["runs"], len(rest)) == (runs, 2 * runs + 1)
