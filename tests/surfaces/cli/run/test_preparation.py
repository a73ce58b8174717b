"""`noisewatch run` with warm-ups, side commands and a load, from the command line."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pyperf
import pytest

from tests.machine.spinning.test_load import load_below
from tests.plumbing.waiting import is_alive, wait_until
from tests.surfaces.cli.run.test_progress import at_a_terminal
from tests.surfaces.reports.run.running import lines_of, ran, words

_CONTINUE = "--ignore-failure continues\n"
_HINT = f"--show-output shows its output, and {_CONTINUE}"
_needs_another_cpu = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="there is no other CPU")


def test_receipt_marks_warm_ups(tmp_path: Path) -> None:
    receipt = tmp_path / "receipt.jsonl"
    sides = ["--prepare", "true a", "--conclude", "true b"]
    result = ran("--runs", "2", "--warmup", "1", *sides, "--output", receipt, "--", "true")
    assert result.returncode == 0
    header, *runs, footer = lines_of(receipt)
    assert [(run["kind"], run["number"]) for run in runs] == [("warm-up", 1), ("repetition", 1), ("repetition", 2)]
    assert (header["options"]["warmup"], header["options"]["prepare"]) == (1, ["true"])
    assert sum(footer["counts"].values()) == footer["commands"][0]["all"]["count"] == 2
    assert footer["side_commands"] == []


def test_warm_ups_of_a_single_run_leave_it_a_series() -> None:
    """The command reads /dev/null if there are warm-ups, because these would read the original input."""
    result = ran("--warmup", "2", "--", "cat", input="not read\n")
    assert result.stdout.startswith("noisewatch run · ")
    assert "· 1 run after 2 warm-ups" in result.stdout
    assert "not read" not in result.stdout


def test_single_run_stays_transparent_with_side_commands(tmp_path: Path) -> None:
    side = f"sh -c 'cat; echo no; echo yes >> {tmp_path}/log'"
    result = ran("--prepare", side, "--conclude", side, "--", "cat", input="for the command\n")
    assert (result.returncode, result.stdout) == (0, "for the command\n")
    assert (tmp_path / "log").read_text() == "yes\n" * 2


def test_show_output_shows_the_output_of_side_commands() -> None:
    result = ran("--show-output", "--prepare", "echo before", "--conclude", "echo after", "--", "echo", "it")
    assert result.stdout == "before\nit\nafter\n"


@pytest.mark.parametrize(
    ("options", "status", "message"),
    [
        (["--prepare", "sh -c 'exit 7'"], 7, f"--prepare before run 1: failed (status 7); {_HINT}"),
        (
            ["--prepare", "/none"],
            127,
            f"--prepare before run 1: cannot run '/none': no such file or directory; {_CONTINUE}",
        ),
        (["--show-output", "--prepare", "false"], 1, f"--prepare before run 1: failed (status 1); {_CONTINUE}"),
        (["--conclude", "false"], 1, f"--conclude after run 1: failed (status 1); {_HINT}"),
        (["--runs", "3", "--conclude", "false"], 1, f"--conclude after run 1: failed (status 1); {_HINT}"),
        (["--warmup", "1", "--conclude", "false"], 1, f"--conclude after warm-up 1: failed (status 1); {_HINT}"),
    ],
)
def test_failed_side_command_is_reported_with_its_status(options: list[str], status: int, message: str) -> None:
    result = ran(*options, "--", "true")
    assert result.returncode == status
    assert result.stderr.endswith(f"noisewatch run: {message}")


def test_hint_to_show_the_output_of_a_failed_run_is_only_printed_if_it_is_hidden() -> None:
    for shown, hint in (([], _HINT), (["--show-output"], _CONTINUE)):
        result = ran("--runs", "2", *shown, "--", "false")
        assert result.stderr.endswith(f"noisewatch run: run 1 ended with status 1; {hint}")
        result = ran("--warmup", "1", *shown, "--", "false")
        assert result.stderr.endswith(f"noisewatch run: warm-up 1 failed (status 1); {hint}")


@pytest.mark.parametrize(
    "options",
    [
        ["--warmup", "-1"],
        ["--warmup", "x"],
        ["--prepare", ""],
        ["--prepare", "'"],
        ["--conclude", " "],
        ["--load", "-1"],
        ["--load", "many"],
        ["--load", "99999"],
    ],
)
def test_an_invalid_value_is_refused_before_anything_runs(tmp_path: Path, options: list[str]) -> None:
    result = ran(*options, "--", "touch", tmp_path / "made")
    assert (result.returncode, result.stdout, result.stderr.count("\n")) == (125, "", 1)
    assert options[0] in result.stderr
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("option", ["--prepare", "--conclude"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_in_a_side_command_ends_both(tmp_path: Path, option: str, number: signal.Signals) -> None:
    script = f"sh -c 'echo $$ > {tmp_path}/pid; exec sleep 60'"
    with subprocess.Popen(words("--runs", "3", option, script, "--", "true"), stderr=subprocess.PIPE) as process:
        wait_until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text().endswith("\n"))
        process.send_signal(number)
        _, errors = process.communicate(timeout=30)
    assert process.returncode == 128 + number
    assert not is_alive(int((tmp_path / "pid").read_text()))
    assert b"Traceback" not in errors


def test_killed_noisewatch_ends_the_side_command(tmp_path: Path) -> None:
    script = f"sh -c 'echo $$ > {tmp_path}/pid; exec sleep 60'"
    with subprocess.Popen(words("--prepare", script, "--", "true")) as process:
        wait_until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text().endswith("\n"))
        process.kill()
    pid = int((tmp_path / "pid").read_text())
    wait_until(lambda: not is_alive(pid))


def test_gate_of_a_run_that_a_signal_ends_afterwards_does_not_pass() -> None:
    """The signal comes after the command's end, while its side command runs."""
    result = ran("--gate", "--conclude", "sh -c '(kill -TERM $PPID); exec sleep 60'", "--", "true")
    assert result.returncode == 128 + signal.SIGTERM
    assert "interrupted by SIGTERM" in result.stderr


@_needs_another_cpu
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_load_ends_with_the_series_however_it_ends(tmp_path: Path, number: signal.Signals) -> None:
    command = words("--load", "2", "--", "sh", "-c", f"echo > {tmp_path}/began; exec sleep 60")
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        wait_until((tmp_path / "began").exists)
        load = load_below(process.pid)
        process.send_signal(number)
    assert len(load) == 3
    wait_until(lambda: not any(map(is_alive, load)))


@_needs_another_cpu
def test_load_is_in_report_and_receipt(tmp_path: Path) -> None:
    receipt = tmp_path / "receipt.jsonl"
    result = ran("--runs", "2", "--load", "1", "--output", receipt, "--", "sleep", "0.1")
    assert "under a load of 1 busy process on CPU" in result.stdout
    header, *_, footer = lines_of(receipt)
    assert header["load"]["processes"] == 1
    assert not set(header["load"]["cpus"]) & set(header["target"])
    assert 0 < footer["load"]["busy_share"] <= 1
    assert (footer["load"]["trouble"] == "none") == (footer["load"]["busy_share"] >= 0.5)


def test_progress_counts_warm_ups_separately() -> None:
    text = at_a_terminal(["--runs", "2", "--warmup", "2", "--", "sleep", "0.15"])
    draws = [line for line in text.replace("\x1b", " ").split("\r [K") if line]
    assert [word in draw for word, draw in zip(("0/2", "1/2", "2/2"), draws[-3:], strict=True)] == [True, True, True]
    assert [f"warming up ({done}/2)" in draw for done, draw in enumerate(draws[:3])] == [True, True, True]


def test_pyperf_reads_warm_ups(tmp_path: Path) -> None:
    file = tmp_path / "times.json"
    options = ["--runs", "3", "--retry", "9", "--min-undisturbed", "1%", "--warmup", "2", "--format", "pyperf"]
    if ran(*options, "--output", file, "--", "true").returncode:
        pytest.skip("no run was undisturbed")
    (benchmark,) = pyperf.BenchmarkSuite.load(str(file)).get_benchmarks()
    runs = benchmark.get_runs()
    assert [len(run.warmups) for run in runs[:2]] == [1, 1]
    assert sum(len(run.values) for run in runs) == benchmark.get_nvalue() <= len(runs) - 2
