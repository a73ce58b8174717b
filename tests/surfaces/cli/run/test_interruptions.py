"""What `noisewatch run` keeps whatever happens to it, to its command or to the disk, and while it is imported."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.live.noise import CPU
from tests.machine.command.wrapped import state_of
from tests.plumbing.waiting import children_of, wait_until
from tests.surfaces.reports.run.running import lines_of, ran, words

_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_in_the_opening_calibration_runs_nothing_and_says_so(tmp_path: Path, number: signal.Signals) -> None:
    command = words("--calibration", "9", "--runs", "2", "--output", tmp_path / "receipt.jsonl")
    with subprocess.Popen([*command, "--", "touch", tmp_path / "ran"], stderr=subprocess.PIPE, text=True) as process:
        wait_until(lambda: children_of(process.pid) != [])
        process.send_signal(number)
        _, said = process.communicate(timeout=30)
    assert process.returncode == 128 + number
    assert said == "noisewatch run: interrupted before the first run: nothing was measured\n"
    assert not (tmp_path / "ran").exists()
    assert (tmp_path / "receipt.jsonl").read_text() == ""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_in_the_closing_calibration_is_told_as_what_it_was(tmp_path: Path, number: signal.Signals) -> None:
    receipt = tmp_path / "receipt.jsonl"
    command = words("--calibration", "1", "--runs", "2", "--output", receipt, "--", "true")
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        wait_until(
            lambda: receipt.exists() and receipt.read_bytes().count(b"\n") == 3 and children_of(process.pid) != []
        )
        process.send_signal(number)
        process.communicate(timeout=30)
    assert process.returncode == 128 + number
    assert lines_of(receipt)[-1]["ended"] == {"by": "signal", "number": number, "name": number.name}


def test_a_single_run_that_is_cut_short_is_told_as_that(tmp_path: Path) -> None:
    script = f"touch {tmp_path}/began; exec sleep 60"
    with subprocess.Popen(words("--", "sh", "-c", script), stderr=subprocess.PIPE, text=True) as process:
        wait_until((tmp_path / "began").exists)
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=30)
    assert said.startswith("noisewatch run: cut short, ")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_in_a_repetition_is_handed_on_and_ends_the_series(tmp_path: Path, number: signal.Signals) -> None:
    receipt, log = tmp_path / "receipt.jsonl", tmp_path / "log"
    script = f"echo x >> {log}; [ $(wc -l < {log}) -lt 2 ] || exec sleep 60"
    with subprocess.Popen(words("--runs", "9", "--output", receipt, "--", "sh", "-c", script)) as process:
        wait_until(lambda: log.exists() and log.read_text() == "x\n" * 2)
        process.send_signal(number)
        assert process.wait(30) == 128 + number
    _, first, second, footer = lines_of(receipt)
    assert (first["ended"]["by"], second["ended"]) == ("exit", {"by": "signal", "number": number, "name": number.name})
    assert (first["is_cut_short"], second["is_cut_short"]) == (False, True)
    assert (footer["commands"][0]["all"]["count"], footer["counts"]["cut_short"]) == (1, 1)
    assert footer["ended"] == {"by": "signal", "number": number, "name": number.name}


def test_a_command_that_somebody_else_stops_was_disturbed(tmp_path: Path) -> None:
    receipt, begun = tmp_path / "receipt.jsonl", tmp_path / "begun"
    command = words("--gate", "--output", receipt, "--", "sh", "-c", f"echo $$ > {begun}; sleep 0.5")
    with subprocess.Popen(command) as process:
        wait_until(lambda: begun.exists() and begun.read_text().endswith("\n"))
        os.kill(int(begun.read_text()), signal.SIGSTOP)
        time.sleep(0.2)
        os.kill(int(begun.read_text()), signal.SIGCONT)
        assert process.wait(30) == 5
    _, repetition, _ = lines_of(receipt)
    assert repetition["stopped_ns"] > 100_000_000
    assert "stopped" in [reason["kind"] for reason in repetition["reasons"]]


def test_a_command_that_closes_its_descriptors_is_measured_as_any_other(tmp_path: Path) -> None:
    receipt = tmp_path / "receipt.jsonl"
    said = ran("--output", receipt, "--", "sh", "-c", "exec 0<&- 1>&- 2>&-; sleep 0.05; exit 4")
    assert said.returncode == 4
    assert [line["kind"] for line in lines_of(receipt)] == ["header", "repetition", "footer"]


def test_a_daemon_is_named_and_not_waited_for(tmp_path: Path) -> None:
    """A double fork and a session of its own; the parent ends at once."""
    receipt, log = tmp_path / "receipt.jsonl", tmp_path / "pid"
    script = f"(setsid sh -c 'echo $$ > {log}; exec sleep 300' < /dev/null > /dev/null 2>&1 &)"
    said = ran("--output", receipt, "--", "sh", "-c", f"{script}; until [ -s {log} ]; do sleep 0.01; done")
    daemon = int(log.read_text())
    os.kill(daemon, signal.SIGKILL)
    assert said.returncode == 0
    assert f"run 1 left running: sleep (pid {daemon})" in said.stderr or f"sh (pid {daemon})" in said.stderr
    assert lines_of(receipt)[1]["left_processes"] == [daemon]


def test_a_command_that_moves_itself_is_not_called_undisturbed(tmp_path: Path) -> None:
    others = sorted(os.sched_getaffinity(0) - {CPU})
    if not others:
        pytest.skip("there is no other CPU")
    receipt = tmp_path / "receipt.jsonl"
    busy = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done"
    ran("--output", receipt, "--", "taskset", "-c", str(others[0]), "sh", "-c", busy)
    assert lines_of(receipt)[1]["verdict"] != "undisturbed"


@_ROOT
def test_a_disk_that_fills_keeps_whole_lines_and_the_series(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "none", small], check=True)
    try:
        said = ran("--runs", "30", "--output", small / "receipt.jsonl", "--", "true")
        kinds = [line["kind"] for line in lines_of(small / "receipt.jsonl")]
    finally:
        subprocess.run(["umount", small], check=True)
    assert said.returncode == 125
    assert "30 runs" in said.stdout
    assert said.stderr.count("the receipt ends there") == 1
    assert kinds == ["header"] + ["repetition"] * (len(kinds) - 1)


def test_an_end_that_nobody_could_see_in_time_is_not_called_undisturbed(tmp_path: Path) -> None:
    """A signal stops noisewatch but not the command, and noisewatch continues long after the command has exited."""
    receipt, begun = tmp_path / "receipt.jsonl", tmp_path / "begun"
    command = words("--output", receipt, "--", "sh", "-c", f"echo $$ > {begun}; sleep 0.3")
    with subprocess.Popen(command) as process:
        wait_until(lambda: begun.exists() and begun.read_text().endswith("\n"))
        process.send_signal(signal.SIGSTOP)
        wait_until(lambda: state_of(int(begun.read_text())) == "Z")
        time.sleep(0.4)
        process.send_signal(signal.SIGCONT)
        assert process.wait(30) == 0
    _, repetition, _ = lines_of(receipt)
    assert repetition["verdict"] != "undisturbed"
    assert [each for each in repetition["unknowns"] if "its end was seen up to" in each]


_INTERRUPTS = """
import os, signal, sys

class Interrupts:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupts)
"""


def _start(folder: Path, module: str, handling: signal.Handlers) -> subprocess.CompletedProcess[str]:
    (folder / "sitecustomize.py").write_text(_INTERRUPTS.format(module=module))
    words = [sys.executable, "-m", "noisewatch", "run", "--calibration", "0", "--", "echo", "ran"]
    return subprocess.run(
        words,
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
        env=os.environ | {"PYTHONPATH": str(folder)},
        preexec_fn=lambda: signal.signal(signal.SIGINT, handling),
    )


@pytest.mark.parametrize("module", ["noisewatch.surfaces.cli", "noisewatch.errors"])
def test_it_ends_as_any_program_does(tmp_path: Path, module: str) -> None:
    ended = _start(tmp_path, module, signal.SIG_DFL)
    assert (ended.returncode, ended.stdout, ended.stderr) == (-signal.SIGINT, "", "")


def test_later_it_is_handled(tmp_path: Path) -> None:
    ended = _start(tmp_path, "noisewatch.operations.run.series", signal.SIG_DFL)
    assert (ended.returncode, ended.stdout, ended.stderr) == (128 + signal.SIGINT, "", "")


def test_where_it_was_ignored_it_stays_ignored(tmp_path: Path) -> None:
    ended = _start(tmp_path, "noisewatch.surfaces.cli", signal.SIG_IGN)
    assert (ended.returncode, ended.stdout) == (0, "ran\n")
