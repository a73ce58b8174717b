"""`noisewatch run` under signals, full disks, stopped commands and daemons, and interrupted during its imports."""

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
def test_a_signal_in_the_opening_calibration_is_reported_and_nothing_runs(
    tmp_path: Path, number: signal.Signals
) -> None:
    command = words("--calibration", "9", "--runs", "2", "--output", tmp_path / "receipt.jsonl")
    with subprocess.Popen([*command, "--", "touch", tmp_path / "ran"], stderr=subprocess.PIPE, text=True) as process:
        wait_until(lambda: children_of(process.pid) != [])
        process.send_signal(number)
        _, errors = process.communicate(timeout=30)
    assert process.returncode == 128 + number
    assert errors == "noisewatch run: interrupted before the first run: nothing was measured\n"
    assert not (tmp_path / "ran").exists()
    assert (tmp_path / "receipt.jsonl").read_text() == ""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_in_the_closing_calibration_is_recorded(tmp_path: Path, number: signal.Signals) -> None:
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


def test_an_interrupted_single_run_is_reported_as_cut_short(tmp_path: Path) -> None:
    script = f"touch {tmp_path}/began; exec sleep 60"
    with subprocess.Popen(words("--", "sh", "-c", script), stderr=subprocess.PIPE, text=True) as process:
        wait_until((tmp_path / "began").exists)
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=30)
    assert errors.startswith("noisewatch run: cut short, ")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_in_a_repetition_is_forwarded_and_ends_the_series(tmp_path: Path, number: signal.Signals) -> None:
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


def test_a_command_stopped_by_another_process_was_disturbed(tmp_path: Path) -> None:
    receipt, pid_file = tmp_path / "receipt.jsonl", tmp_path / "begun"
    command = words("--gate", "--output", receipt, "--", "sh", "-c", f"echo $$ > {pid_file}; sleep 0.5")
    with subprocess.Popen(command) as process:
        wait_until(lambda: pid_file.exists() and pid_file.read_text().endswith("\n"))
        os.kill(int(pid_file.read_text()), signal.SIGSTOP)
        time.sleep(0.2)
        os.kill(int(pid_file.read_text()), signal.SIGCONT)
        assert process.wait(30) == 5
    _, repetition, _ = lines_of(receipt)
    assert repetition["stopped_ns"] > 100_000_000
    assert "stopped" in [reason["kind"] for reason in repetition["reasons"]]


def test_a_command_that_closes_its_descriptors_is_measured(tmp_path: Path) -> None:
    receipt = tmp_path / "receipt.jsonl"
    result = ran("--output", receipt, "--", "sh", "-c", "exec 0<&- 1>&- 2>&-; sleep 0.05; exit 4")
    assert result.returncode == 4
    assert [line["kind"] for line in lines_of(receipt)] == ["header", "repetition", "footer"]


def test_a_daemon_is_named_and_not_waited_for(tmp_path: Path) -> None:
    """The daemon has its own session, and its parent exits at once."""
    receipt, log = tmp_path / "receipt.jsonl", tmp_path / "pid"
    script = f"(setsid sh -c 'echo $$ > {log}; exec sleep 300' < /dev/null > /dev/null 2>&1 &)"
    result = ran("--output", receipt, "--", "sh", "-c", f"{script}; until [ -s {log} ]; do sleep 0.01; done")
    daemon = int(log.read_text())
    os.kill(daemon, signal.SIGKILL)
    assert result.returncode == 0
    assert f"run 1 left running: sleep (pid {daemon})" in result.stderr or f"sh (pid {daemon})" in result.stderr
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
        result = ran("--runs", "30", "--output", small / "receipt.jsonl", "--", "true")
        kinds = [line["kind"] for line in lines_of(small / "receipt.jsonl")]
    finally:
        subprocess.run(["umount", small], check=True)
    assert result.returncode == 125
    assert "30 runs" in result.stdout
    assert result.stderr.count("the receipt ends here") == 1
    assert kinds == ["header"] + ["repetition"] * (len(kinds) - 1)


def test_an_exit_that_was_seen_late_is_not_called_undisturbed(tmp_path: Path) -> None:
    """A signal stops noisewatch but not the command, and noisewatch continues long after the command has exited."""
    receipt, pid_file = tmp_path / "receipt.jsonl", tmp_path / "begun"
    command = words("--output", receipt, "--", "sh", "-c", f"echo $$ > {pid_file}; sleep 0.3")
    with subprocess.Popen(command) as process:
        wait_until(lambda: pid_file.exists() and pid_file.read_text().endswith("\n"))
        process.send_signal(signal.SIGSTOP)
        wait_until(lambda: state_of(int(pid_file.read_text())) == "Z")
        time.sleep(0.4)
        process.send_signal(signal.SIGCONT)
        assert process.wait(30) == 0
    _, repetition, _ = lines_of(receipt)
    assert repetition["verdict"] != "undisturbed"
    assert [reason for reason in repetition["unknowns"] if "the command's end was seen up to" in reason]


_INTERRUPTS = """
import os, signal, sys

class Interrupts:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupts)
"""


def _run_and_interrupt(folder: Path, module: str, handling: signal.Handlers) -> subprocess.CompletedProcess[str]:
    (folder / "sitecustomize.py").write_text(_INTERRUPTS.format(module=module))
    command = [sys.executable, "-m", "noisewatch", "run", "--calibration", "0", "--", "echo", "ran"]
    return subprocess.run(
        command,
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
        env=os.environ | {"PYTHONPATH": str(folder)},
        preexec_fn=lambda: signal.signal(signal.SIGINT, handling),
    )


@pytest.mark.parametrize("module", ["noisewatch.surfaces.cli", "noisewatch.errors"])
def test_an_interrupt_while_importing_kills_by_signal(tmp_path: Path, module: str) -> None:
    result = _run_and_interrupt(tmp_path, module, signal.SIG_DFL)
    assert (result.returncode, result.stdout, result.stderr) == (-signal.SIGINT, "", "")


def test_an_interrupt_after_importing_sets_the_status(tmp_path: Path) -> None:
    result = _run_and_interrupt(tmp_path, "noisewatch.operations.run.series", signal.SIG_DFL)
    assert (result.returncode, result.stdout, result.stderr) == (128 + signal.SIGINT, "", "")


def test_an_ignored_interrupt_stays_ignored(tmp_path: Path) -> None:
    result = _run_and_interrupt(tmp_path, "noisewatch.surfaces.cli", signal.SIG_IGN)
    assert (result.returncode, result.stdout) == (0, "ran\n")
