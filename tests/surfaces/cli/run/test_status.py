"""The exit status of `noisewatch run`: that of its command, or one of its own."""

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
def test_an_invalid_option_is_a_usage_error_and_runs_nothing(run: Run, tmp_path: Path, options: list[str]) -> None:
    result = run("run", *options, "--", "touch", tmp_path / "made")
    assert (result.status, result.out, result.err.count("\n")) == (125, "", 1)
    assert result.err.startswith("noisewatch run: ")
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("nodes", ["9999", "0-9999", "rubbish"])
def test_missing_memory_nodes_are_refused_before_the_calibration(tmp_path: Path, nodes: str) -> None:
    receipt = tmp_path / "receipt.jsonl"
    result = ran("--runs", "2", "--calibration", "60", "--membind", nodes, "--output", receipt, "--", "true")
    assert (result.returncode, receipt.read_text(), result.stderr.count("\n")) == (125, "", 1)
    assert result.stderr.startswith(f"noisewatch run: --membind {nodes}")


def test_an_option_that_does_not_exist_points_to_the_help_of_its_command(run: Run) -> None:
    for words, command in ((["run"], " run"), (["show"], " show"), ([], "")):
        assert f"(see noisewatch{command} --help)" in run(*words, "--bogus").err


def test_too_few_open_files_are_refused() -> None:
    command = ["sh", "-c", 'ulimit -n 8; exec "$@"', "sh", *NOISEWATCH, "run", "--", "true"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (result.returncode, "only 8 files may be open" in result.stderr) == (125, True)


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


def test_an_internal_error_of_run_has_its_own_status() -> None:
    code = "import sys; from noisewatch.surfaces.cli import report_internal_error as tell; sys.excepthook = tell; 1 / 0"
    statuses = [
        subprocess.run([NOISEWATCH[0], "-c", code, command, "--", "true"], capture_output=True, check=False).returncode
        for command in ("run", "show")
    ]
    assert statuses == [125, 2]


@pytest.mark.parametrize(
    ("word", "status", "options"),
    [
        ("no-such-command-here", 127, []),
        ("no-such-command-here", 127, ["--gate", "--runs", "3"]),
        ("/etc/passwd", 126, []),
        ("/", 126, ["--gate", "--runs", "3"]),
    ],
)
def test_a_command_that_cannot_run_has_the_status_of_env(word: str, status: int, options: list[str]) -> None:
    result = ran(*options, "--", word)
    assert result.returncode == status
    assert f"cannot run '{word}'" in result.stderr


@pytest.mark.parametrize(("status", "runs"), [(1, "1"), (5, "2")])
def test_a_command_that_failed_keeps_its_status_also_at_the_gate(status: int, runs: str) -> None:
    assert ran("--gate", "--runs", runs, "--", "sh", "-c", f"exit {status}").returncode == status


@pytest.mark.parametrize("options", [["--against", "true"], ["--aa", "--gate"], ["--retry", "9", "--gate"]])
def test_a_failure_ends_all_repetitions(tmp_path: Path, options: list[str]) -> None:
    log = tmp_path / "log"
    result = ran("--runs", "1", *options, "--", "sh", "-c", f"echo x >> {log}; exit 7")
    assert (result.returncode, log.read_text()) == (7, "x\n")


def test_an_ignored_failure_does_not_end_the_repetitions(tmp_path: Path) -> None:
    log = tmp_path / "log"
    result = ran("--runs", "1", "--retry", "2", "--ignore-failure", "--", "sh", "-c", f"echo x >> {log}; exit 7")
    assert (result.returncode, log.read_text()) == (7, "x\n" * 3)


@pytest.mark.parametrize(
    ("on_unknown", "status"), [((), 3), (("--on-unknown", "fail"), 5), (("--on-unknown", "pass"), 0)]
)
def test_an_unknown_gate_ends_as_requested(tmp_path: Path, on_unknown: tuple[str, ...], status: int) -> None:
    results = tmp_path / "results.json"
    old = {"metadata": {"name": "old", "date": "2020-01-01 00:00:00", "duration": 0.1}, "runs": [{"values": [1.0]}]}
    results.write_text(json.dumps({"version": "1.0", "benchmarks": [old]}))  # no run in this file was watched
    assert ran("--gate", *on_unknown, "--results", results, "--", "true").returncode == status


def test_disturbed_runs_and_missing_results_do_not_pass_the_gate(tmp_path: Path) -> None:
    assert ran("--", *_STOPS_ITSELF).returncode == 0
    assert ran("--gate", "--on-unknown", "pass", "--", *_STOPS_ITSELF).returncode == 5
    result = ran("--gate", "--on-unknown", "pass", "--results", tmp_path / "none.json", "--", "true")
    assert result.returncode == 125


@pytest.mark.parametrize(("form", "runs"), [("jsonl", "1"), ("jsonl", "2"), ("json", "1"), ("markdown", "2")])
def test_an_unwritable_report_is_not_a_success(form: str, runs: str) -> None:
    result = ran("--runs", runs, "--format", form, "--output", "/dev/full", "--", "true")
    assert result.returncode == 125
    assert result.stderr.count("no space left on device") == 1


@pytest.mark.parametrize(("form", "runs"), [("jsonl", "2"), ("json", "1")])
def test_the_status_of_a_failed_command_outranks_an_unwritable_report(form: str, runs: str) -> None:
    result = ran("--runs", runs, "--format", form, "--output", "/dev/full", "--", "sh", "-c", "exit 7")
    assert result.returncode == 7


def test_a_recording_that_fills_the_disk_spoils_neither_the_command_nor_its_report(tmp_path: Path) -> None:
    receipt, log = tmp_path / "receipt.jsonl", tmp_path / "log"
    result = ran("--runs", "2", "--record", "/dev/full", "--output", receipt, "--", "sh", "-c", f"echo x >> {log}")
    assert result.returncode == 125
    assert result.stderr.count("no space left on device") == 1
    assert log.read_text() == "x\n" * 2
    assert [line["kind"] for line in lines_of(receipt)] == ["header", "repetition", "repetition", "footer"]


def test_json_results_are_null_without_a_results_file(tmp_path: Path) -> None:
    ran("--format", "json", "--output", tmp_path / "series.json", "--", "true")
    assert read((tmp_path / "series.json").read_text())["footer"]["results"] is None


def test_without_results_for_pyperf_the_status_is_that_of_the_verdict(tmp_path: Path) -> None:
    output = tmp_path / "here.json"
    result = ran("--runs", "2", "--ignore-failure", "--format", "pyperf", "--output", output, "--", "false")
    assert result.returncode == 5
    assert "pyperf: 0 of 2 runs undisturbed, 2 failed (status 1)" in result.stderr
    assert not output.exists()


@pytest.mark.parametrize(
    ("options", "runs"), [(["--aa"], 30), (["--against", "true"], 25), (["--aa", "--runs", "2"], 2)]
)
def test_a_comparison_has_enough_pairs_by_default(tmp_path: Path, options: list[str], runs: int) -> None:
    ran(*options, "--tracer", "none", "--output", tmp_path / "receipt.jsonl", "--", "true")
    header, *rest = lines_of(tmp_path / "receipt.jsonl")
    assert (header["options"]["runs"], len(rest)) == (runs, 2 * runs + 1)


@pytest.mark.parametrize(
    ("options", "is_traced"),
    [([], False), (["--results", "none.json"], True), (["--results", "x", "--tracer", "none"], False)],
)
def test_a_single_run_is_traced_by_default_if_it_writes_results(
    tmp_path: Path, options: list[str], is_traced: bool
) -> None:
    ran(*options, "--output", tmp_path / "receipt.jsonl", "--", "true")
    attribution = lines_of(tmp_path / "receipt.jsonl")[0]["attribution"]
    assert (attribution["no_trace_reason"] != "nothing was traced") == is_traced
