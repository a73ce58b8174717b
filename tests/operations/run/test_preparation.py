"""Series on this host with warm-ups, side commands and a load on other CPUs."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest

from noisewatch.errors import CannotStart, UsageError
from noisewatch.judgement.run.reasons import RunOutcome
from noisewatch.kernel.snapshot.snapshot import Snapshot, read_snapshot
from noisewatch.kernel.tasks.run_status import RunStage
from noisewatch.machine.command.running import Commands, StartedCommand
from noisewatch.machine.command.start import CommandPlan
from noisewatch.machine.live import LiveMachine
from noisewatch.machine.spinning.load.host import NAME
from noisewatch.machine.spinning.load.run import BusyProcesses, busy_processes
from noisewatch.operations.machines import MachineOptions, snapshot_options
from noisewatch.operations.run import load
from noisewatch.operations.run.conclusion import gate_of_machine
from noisewatch.operations.run.judging import JudgedRepetition
from noisewatch.operations.run.load import RunningLoad, SeriesLoad, cpus_for_load
from noisewatch.operations.run.options import RunOptions
from noisewatch.operations.run.series import RunBeginning, RunSeries, run_series
from noisewatch.operations.run.status import RunStatusWriter
from tests.machine.spinning.test_load import load_below
from tests.operations.listening import SilentListener
from tests.plumbing.waiting import children_of, is_alive, wait_until
from tests.written.quiet_machine import quiet_files, quiet_machine

pytestmark = pytest.mark.usefixtures("restored_process")

_CPU = max(os.sched_getaffinity(0))
_OTHERS = os.sched_getaffinity(0) - {_CPU}
_needs_another_cpu = pytest.mark.skipif(not _OTHERS, reason="there is no other CPU")


class _Listener(SilentListener):
    def __init__(self) -> None:
        super().__init__()
        self.beginnings: list[RunBeginning] = []
        self.names: list[str] = []

    def on_begin(self, beginning: RunBeginning) -> None:
        self.beginnings.append(beginning)

    def on_repetition(self, judged: JudgedRepetition) -> None:
        self.names.append(judged.repetition.name)


def _run(*argv: str, listener: _Listener | None = None, **options: Any) -> RunSeries:
    machine = MachineOptions(cpus=str(_CPU))
    run_options = RunOptions(argv=argv, machine=machine, shows_output=False, **options)
    return run_series(LiveMachine([os.getpid()]), run_options, listener or _Listener())


def _writes(word: str, log: Path) -> tuple[str, ...]:
    return "sh", "-c", f"echo {word} $(grep Cpus_allowed_list /proc/$$/status | cut -f 2) >> {log}"


def _words(log: Path) -> list[str]:
    return [line.split()[0] for line in log.read_text().splitlines()]


def test_warm_ups_come_first_and_are_not_repetitions() -> None:
    listener = _Listener()
    series = _run("true", runs=2, warm_ups=2, listener=listener)
    assert listener.names == ["warm-up 1", "warm-up 2", "run 1", "run 2"]
    assert [judged.repetition.number for judged in series.repetitions] == [1, 2]
    assert [judged.repetition.number for judged in series.warm_ups] == [1, 2]
    assert not any(judged.is_undisturbed or judged.repetition.windows for judged in series.warm_ups)
    assert series.warm_ups[-1].repetition.ended_ns < series.repetitions[0].repetition.began_ns


def test_each_of_two_commands_is_warmed_up(tmp_path: Path) -> None:
    log = tmp_path / "log"
    series = _run(*_writes("a", log), against=_writes("b", log), runs=1, warm_ups=2)
    assert _words(log)[:4] == ["a", "b", "a", "b"]
    assert sorted(_words(log)[4:]) == ["a", "b"]
    assert [judged.repetition.command for judged in series.warm_ups] == [0, 1, 0, 1]


def test_side_commands_enclose_each_repetition_on_other_cpus(tmp_path: Path) -> None:
    log = tmp_path / "log"
    sides: dict[str, Any] = {"prepare": _writes("p", log), "conclude": _writes("c", log)}
    series = _run(*_writes("r", log), runs=2, warm_ups=1, **sides)
    assert _words(log) == ["p", "r", "c"] * 3
    cpus = {line.split()[0]: line.split()[1] for line in log.read_text().splitlines()}
    assert cpus["r"] == str(_CPU)
    assert not _OTHERS or str(_CPU) not in (cpus["p"], cpus["c"])
    assert series.side_commands == ()


def test_time_of_side_commands_is_not_the_repetitions() -> None:
    busy = ("sh", "-c", "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done")
    for judged in _run("sleep", "0.05", runs=3, prepare=busy, conclude=busy).repetitions:
        repetition = judged.repetition
        assert repetition.seconds < 0.4
        assert repetition.use.cpu_ns < 50_000_000
        assert repetition.span.length_ns < 500_000_000
        assert all(window.length_ns < repetition.length_ns + 300_000_000 for window in repetition.windows)
        assert not [unknown for unknown in judged.verdict.unknowns if "other than the target CPUs" in unknown]


def test_process_left_by_a_side_command_is_reported_and_is_not_the_commands(tmp_path: Path) -> None:
    busy = f"echo $$ >> {tmp_path}/pids; while :; do :; done"
    daemonise = (
        "sh",
        "-c",
        f"(setsid sh -c '{busy}' < /dev/null > /dev/null 2>&1 &); until [ -s {tmp_path}/pids ]; do :; done",
    )
    conclude = ("sh", "-c", f"kill -9 $(cat {tmp_path}/pids); rm {tmp_path}/pids")
    series = _run("sleep", "0.6", runs=2, prepare=daemonise, conclude=conclude)
    assert [(side.option, side.number, side.trouble) for side in series.side_commands] == [
        ("--prepare", 1, None),
        ("--prepare", 2, None),
    ]
    assert [list(side.name_by_left_pid.values()) for side in series.side_commands] == [["sh"], ["sh"]]
    for judged in series.repetitions:
        assert judged.repetition.use.left_ns == 0
        assert not judged.repetition.name_by_left_pid
        assert not [unknown for unknown in judged.verdict.unknowns if "other than the target CPUs" in unknown]


@pytest.mark.parametrize(("option", "runs"), [("prepare", 1), ("conclude", 2)])
def test_failed_side_command_ends_the_series(tmp_path: Path, option: str, runs: int) -> None:
    log = tmp_path / "log"
    script = f"echo >> {log}; [ $(wc -l < {log}) -ne 2 ] || exit 7"
    options: dict[str, Any] = {option: ("sh", "-c", script)}
    series = _run("true", runs=5, **options)
    assert (len(series.repetitions), series.failed, series.has_ended_early) == (runs, 2, True)
    side = series.failed_side_command
    assert side is not None
    assert (side.option, side.trouble, side.status) == (f"--{option}", "failed (status 7)", 7)


def test_ignored_failures_of_side_commands_are_reported_once() -> None:
    listener = _Listener()
    series = _run("true", runs=3, prepare=("false",), conclude=("/none",), stops_at_failure=False, listener=listener)
    assert (len(series.repetitions), series.failed) == (3, None)
    assert [side.name for side in series.side_commands][:2] == ["--prepare before run 1", "--conclude after run 1"]
    assert len(series.side_commands) == 6
    assert [text for text in listener.remarks if "--" in text] == ["--prepare before run 1: failed (status 1)"]


@pytest.mark.parametrize(
    ("options", "status", "message"),
    [
        ({"prepare": ("sh", "-c", "exit 7")}, 7, "--prepare before run 1: failed .status 7.; --show-output"),
        ({"prepare": ("sh", "-c", "kill -9 $$")}, 137, "--prepare before run 1: failed .signal 9."),
        ({"prepare": ("/none",)}, 127, "--prepare before run 1: cannot run '/none': no such file or directory"),
        ({"warm_ups": 2, "conclude": ("false",)}, 1, "--conclude after warm-up 1: failed"),
    ],
)
def test_failure_before_the_first_run_is_an_error(options: dict[str, Any], status: int, message: str) -> None:
    with pytest.raises(CannotStart, match=message) as caught:
        _run("true", **options)
    assert caught.value.status == status


def test_failed_warm_up_is_an_error_with_its_status(tmp_path: Path) -> None:
    with pytest.raises(CannotStart, match=r"warm-up 1 failed \(status 4\)") as caught:
        _run("sh", "-c", f"echo >> {tmp_path}/log; exit 4", warm_ups=2, runs=2)
    assert caught.value.status == 4
    assert (tmp_path / "log").read_text() == "\n"
    series = _run(
        "sh",
        "-c",
        f"[ $(wc -l < {tmp_path}/log) -ge 3 ] || echo >> {tmp_path}/log; exit 4",
        warm_ups=2,
        runs=2,
        stops_at_failure=False,
    )
    assert (len(series.warm_ups), len(series.repetitions)) == (2, 2)


@pytest.mark.parametrize(
    ("stage", "expected"), [(RunStage.PREPARING, ["p", "r", "c"]), (RunStage.RUNNING, ["p", "r", "c", "p"])]
)
def test_no_command_starts_after_a_signal_that_came_right_before_it(
    monkeypatch: pytest.MonkeyPatch, stage: RunStage, expected: list[str]
) -> None:
    """A terminal sends Ctrl-C only to commands that run already: a command started later would run to its end."""
    enter, start = RunStatusWriter.enter, Commands.start
    entered: list[RunStage] = []
    started: list[str] = []

    def enter_and_signal(writer: RunStatusWriter, now: RunStage) -> None:
        enter(writer, now)
        entered.append(now)
        if now == stage and entered.count(stage) == 2:
            signal.pthread_kill(threading.get_ident(), signal.SIGTERM)  # other threads do not block it

    def start_and_note(commands: Commands, plan: CommandPlan) -> StartedCommand:
        started.append(plan.argv[-1])
        return start(commands, plan)

    monkeypatch.setattr(RunStatusWriter, "enter", enter_and_signal)
    monkeypatch.setattr(Commands, "start", start_and_note)
    series = _run("true", "r", runs=3, prepare=("true", "p"), conclude=("true", "c"))
    assert started == expected
    assert (len(series.repetitions), series.ended_by) == (1, signal.SIGTERM)


@pytest.mark.parametrize(("option", "runs"), [("prepare", 1), ("conclude", 2)])
def test_signal_in_a_side_command_ends_the_series(tmp_path: Path, option: str, runs: int) -> None:
    """The side command of the second run sends the signal, which is forwarded to it."""
    log, receipt = tmp_path / "log", tmp_path / "receipt.json"
    script = f"echo >> {log}; [ $(wc -l < {log}) -ne 2 ] || {{ (kill -TERM $PPID); exec sleep 60; }}"
    side = [f"--{option}", shlex.join(["sh", "-c", script])]
    command = [sys.executable, "-m", "noisewatch", "run", "--cpus", str(_CPU), "--calibration", "0", "--runs", "5"]
    command += [*side, "--format", "json", "--output", str(receipt), "--", "true"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert result.returncode == 128 + signal.SIGTERM, result.stderr
    series = json.loads(receipt.read_text())
    assert series["footer"]["ended"]["name"] == "SIGTERM"
    assert all(side["trouble"] == "none" for side in series["footer"]["side_commands"])  # its shell may be left
    assert len(series["repetitions"]) == runs


def test_monitor_sees_the_stages(monkeypatch: pytest.MonkeyPatch) -> None:
    stages: list[tuple[RunStage, int | None]] = []
    write = RunStatusWriter._write

    def record(writer: RunStatusWriter) -> None:
        (text,) = writer.texts()
        status = json.loads(text)
        stages.append((status["stage"], status["number"]))
        write(writer)

    monkeypatch.setattr(RunStatusWriter, "_write", record)
    _run("true", runs=1, warm_ups=1, prepare=("true",), conclude=("true",))
    assert stages == [
        ("calibrating", None),
        ("preparing", None),
        ("warming up", None),
        ("concluding", None),
        ("preparing", None),
        ("running", 1),
        ("concluding", 1),
        ("ended", 1),
    ]


def _load() -> list[int]:
    return load_below(os.getpid())


class _LookingListener(_Listener):
    """A listener that looks at the busy processes, and may kill them."""

    def __init__(self, kills: bool = False) -> None:
        super().__init__()
        self.cpus: list[set[int]] = []
        self._kills = kills

    def on_repetition(self, judged: JudgedRepetition) -> None:
        host = _load()[0]
        self.cpus = [os.sched_getaffinity(pid) for pid in children_of(host)]
        if self._kills:
            os.kill(host, signal.SIGKILL)
            wait_until(lambda: not any(map(is_alive, children_of(host))))


@_needs_another_cpu
def test_load_runs_beside_the_series_on_other_cpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load, "_LEAST_SHARE", 0.0)  # other programs may use those CPUs during the tests
    listener = _LookingListener()
    series = _run("sleep", "0.3", load=2, listener=listener)
    assert listener.beginnings[0].load == SeriesLoad(2, frozenset().union(*listener.cpus))
    assert len(listener.cpus) == 2
    assert all(cpus <= _OTHERS for cpus in listener.cpus)
    assert series.load is not None
    assert series.load.trouble is None
    assert not any(remark.startswith("--load") for remark in listener.remarks)
    assert 0 < (series.load.busy_share or 0) <= 1
    assert _load() == []
    assert NAME not in {reason.name for judged in series.repetitions for reason in judged.verdict.reasons}


@_needs_another_cpu
def test_killed_load_is_reported() -> None:
    series = _run("true", load=1, listener=_LookingListener(kills=True))
    assert series.load is not None
    assert (series.load.busy_share, series.load.trouble) == (None, "the load ended before the measurement did")


class _StoppingListener(_Listener):
    """A listener that stops the busy processes while the command runs."""

    def on_begin(self, beginning: RunBeginning) -> None:
        super().on_begin(beginning)
        self._signal(signal.SIGSTOP)

    def on_repetition(self, judged: JudgedRepetition) -> None:
        super().on_repetition(judged)
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        for pid in children_of(_load()[0]):
            os.kill(pid, number)


@_needs_another_cpu
def test_stopped_load_is_reported() -> None:
    series = _run("sleep", "0.8", load=1, listener=_StoppingListener())
    assert series.load is not None
    assert series.load.busy_share is not None
    assert series.load.busy_share < 0.5
    assert re.fullmatch(
        r"each process had \d+% of its CPU on average, expected about 100%", series.load.trouble or "none"
    )
    assert gate_of_machine(series) == RunOutcome.UNKNOWN


class _MeasuredLoad:
    """Busy processes that end with the given mean share of their CPUs."""

    def __init__(self, share: float, cpus: tuple[int, ...]) -> None:
        self.cpus = cpus
        self._share = share

    def end(self) -> float:
        return self._share


@pytest.mark.parametrize(
    ("cpus", "share", "is_starved"),
    [
        ((0,), 0.77, False),
        ((0,), 0.5, False),
        ((0,), 0.49, True),
        ((0,), 0.0, True),
        ((0, 0), 0.4, False),  # two processes on one CPU
        ((0, 0), 0.24, True),
        ((0, 1), 0.4, True),
        ((0, 1, 0), 0.34, False),
        ((0, 1, 0), 0.32, True),
    ],
)
def test_load_with_less_than_half_of_its_share_is_trouble(
    cpus: tuple[int, ...], share: float, is_starved: bool
) -> None:
    series_load = RunningLoad(cast(BusyProcesses, _MeasuredLoad(share, cpus)), len(cpus)).end()
    assert (series_load.busy_share, series_load.trouble is not None) == (share, is_starved)


def test_missing_processes_are_named_before_a_small_share() -> None:
    series_load = RunningLoad(cast(BusyProcesses, _MeasuredLoad(0.0, (0,))), 2).end()
    assert series_load.trouble == "1 busy process could not be pinned to another CPU"


@_needs_another_cpu
def test_load_of_fewer_processes_than_requested_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load, "busy_processes", lambda places: busy_processes(places[:1]))
    listener = _Listener()
    series = _run("true", load=3, listener=listener)
    trouble = "2 busy processes could not be pinned to another CPU"
    assert series.load is not None
    assert (series.load.processes, series.load.trouble) == (1, trouble)
    assert f"--load: {trouble}" in listener.remarks


@_needs_another_cpu
def test_load_is_there_during_both_calibrations(monkeypatch: pytest.MonkeyPatch) -> None:
    counts: list[int] = []

    def calibrate(*_: object) -> tuple[None, str]:
        counts.append(len(_load()))
        return None, "not now"

    monkeypatch.setattr("noisewatch.operations.run.series._calibrate", calibrate)
    _run("true", load=1, calibration_s=1.0)
    assert counts == [2]


def _snapshot(topology: Mapping[str, str], target: str) -> Snapshot:
    machine = quiet_machine({**quiet_files(), **topology})
    return read_snapshot(machine, snapshot_options(MachineOptions(cpus=target), machine))


def test_load_is_on_no_target_cpu_and_no_sibling(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("noisewatch.operations.run.load.read_allowed_cpus", lambda: frozenset(range(4)))
    one_core = "/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"
    siblings = {one_core.format(cpu): "2,3\n" for cpu in (2, 3)}
    assert cpus_for_load(_snapshot({}, "3")) == {0, 1, 2}
    assert cpus_for_load(_snapshot(siblings, "3")) == {0, 1}
    monkeypatch.setattr("noisewatch.operations.run.load.read_allowed_cpus", lambda: frozenset({1, 3}))
    assert cpus_for_load(_snapshot({}, "3")) == {1}
    monkeypatch.setattr("noisewatch.operations.run.load.read_allowed_cpus", lambda: frozenset({3}))
    assert cpus_for_load(_snapshot({}, "3")) == {0, 1, 2}
    refused = "--load: expected an online CPU that is neither a target CPU nor a sibling"
    for topology, target in (({}, "0-3"), (siblings, "0-2")):
        with pytest.raises(UsageError, match=refused):
            cpus_for_load(_snapshot(topology, target))
