"""The status that a series publishes while it runs, and the commands and verdicts in its recording."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from noisewatch.judgement.run.reasons import RunOutcome
from noisewatch.kernel.reader import Reader
from noisewatch.kernel.snapshot.snapshot import SnapshotOptions, read_snapshot
from noisewatch.kernel.tasks.run_status import MOST_REPETITIONS, RunStage, parse_run_status, read_run_statuses
from noisewatch.kernel.tasks.task import descendants_in, parents_in
from noisewatch.kernel.tasks.threads import TaskReader
from noisewatch.machine.live import LiveMachine
from noisewatch.machine.recording.replay import Recording
from noisewatch.machine.status_files import StatusFile, StatusFiles, own_folder
from noisewatch.operations.frame.frame import Frame
from noisewatch.operations.machines import MachineOptions
from noisewatch.operations.record import recording_machine
from noisewatch.operations.run.judging import JudgedRepetition
from noisewatch.operations.run.options import RunOptions
from noisewatch.operations.run.series import RunSeries, run_series
from noisewatch.operations.run.status import RunStatusWriter
from noisewatch.operations.sampling import sample_frames
from tests.operations.listening import SilentListener
from tests.plumbing.waiting import children_of, wait_until

_CPU = max(os.sched_getaffinity(0))
_MACHINE = MachineOptions(cpus=str(_CPU))
_BUSY = (sys.executable, "-S", "-c", "import time\nend = time.monotonic() + 0.3\nwhile time.monotonic() < end: pass")


class _Listener(SilentListener):
    """A listener that reads the published status, as a monitor does, after each repetition."""

    def __init__(self) -> None:
        super().__init__()
        self.files = StatusFiles()
        self.statuses: list[dict[str, Any]] = []

    def on_begin(self, beginning: object) -> None:
        self._look()

    def on_repetition(self, judged: JudgedRepetition) -> None:
        self._look()

    def _look(self) -> None:
        self.statuses += self.texts()

    def texts(self) -> list[dict[str, Any]]:
        """Return the statuses of this process only, as other series may run on this host."""
        statuses = [json.loads(text) for text in self.files.texts()]
        return [status for status in statuses if status["owner"].startswith(f"{os.getpid()} ")]


@pytest.fixture(autouse=True)
def _restored_affinity() -> Iterator[None]:
    before = os.sched_getaffinity(0)
    yield
    os.sched_setaffinity(0, before)


def _series(runs: int, *argv: str, **options: Any) -> RunSeries:
    return run_series(
        LiveMachine([os.getpid()]), RunOptions(argv=argv, machine=_MACHINE, runs=runs, **options), _Listener()
    )


@pytest.fixture
def judged() -> list[JudgedRepetition]:
    return list(_series(3, "true").repetitions)


def _writer(runs: int = 10) -> RunStatusWriter:
    options = RunOptions(argv=("/opt/with space/bench", "--secret"), machine=_MACHINE, runs=runs)
    return RunStatusWriter.of(LiveMachine(), options, frozenset({_CPU}), StatusFile("/proc/none"))


def _status(writer: RunStatusWriter) -> Any:
    (text,) = writer.texts()
    return parse_run_status(text)


def test_a_status_has_the_stage_the_program_and_the_outcomes(judged: list[JudgedRepetition]) -> None:
    writer = _writer()
    writer.enter(RunStage.CALIBRATING)
    assert (_status(writer).stage, _status(writer).number) == (RunStage.CALIBRATING, None)
    writer.begin(1, 0)
    for judged_repetition in judged:
        writer.add(judged_repetition)
    status = _status(writer)
    assert (status.stage, status.number, status.wanted, status.programs, status.cpus) == (
        "running",
        1,
        10,
        ("bench",),
        {_CPU},
    )
    assert "secret" not in writer.texts()[0]
    assert sum(status.counts) == 3
    assert (status.repetitions[0].number, status.repetitions[-1].last) == (1, 3)
    assert status.repetitions[0].began_ns == judged[0].repetition.began_ns
    assert status.repetitions[-1].ended_ns == judged[-1].repetition.ended_ns


def test_the_status_of_very_many_repetitions_stays_small(judged: list[JudgedRepetition]) -> None:
    writer = _writer()
    for _ in range(100):
        for judged_repetition in judged:
            writer.add(judged_repetition)
    status = _status(writer)
    assert len(status.repetitions) <= MOST_REPETITIONS
    assert sum(status.counts) == 300


@pytest.mark.skipif(not os.access(os.path.dirname(own_folder()), os.W_OK), reason="no place for the file here")
def test_the_status_counts_repetitions_and_its_file_is_removed() -> None:
    listener = _Listener()
    run_series(LiveMachine([os.getpid()]), RunOptions(argv=_BUSY, machine=_MACHINE, runs=3), listener)
    assert {status["stage"] for status in listener.statuses} <= {"running", "calibrating"}
    numbers = [status["number"] or 0 for status in listener.statuses]
    assert numbers[0] == 0
    assert numbers[-1] == 3
    assert numbers == sorted(numbers)
    assert str(os.getpid()) not in os.listdir(own_folder())
    (last,) = listener.texts()
    assert last["stage"] == "ended"
    assert sum(last["counts"]) == 3


@pytest.mark.skipif(not os.access(os.path.dirname(own_folder()), os.W_OK), reason="no place for the file here")
def test_a_killed_run_has_no_status() -> None:
    files = StatusFiles()
    argv = [sys.executable, "-m", "noisewatch", "run", "--cpus", str(_CPU), "--", "sleep", "60"]
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as run:
        try:
            wait_until(lambda: any(run_status.number for run_status in _statuses_of(run.pid, files)), limit_s=60)
            wait_until(lambda: "sleep" in map(_name_of, children_of(run.pid)), limit_s=60)  # begins after the status
            (status,) = _statuses_of(run.pid, files)
            assert (status.is_alive, status.number, status.programs) == (True, 1, ("sleep",))
            children = children_of(run.pid)
        finally:
            run.kill()
        run.wait()
    for pid in children:
        with suppress(ProcessLookupError):  # noisewatch's own helpers end by themselves
            os.kill(pid, signal.SIGKILL)
    assert _statuses_of(run.pid, files) == _statuses_of(run.pid, StatusFiles()) == []


def _name_of(pid: int) -> str:
    """Return the process's name, or an empty text if it has ended."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def _statuses_of(pid: int, files: StatusFiles) -> list[Any]:
    return [status for status in read_run_statuses(Reader(LiveMachine()), files.texts) if status.owner.pid == pid]


def _replay(path: Path) -> list[Frame]:
    return list(sample_frames(Recording(str(path)), SnapshotOptions(asks_runs=list), 1.0))


def test_a_replay_has_the_command_and_the_outcome_of_each_repetition(tmp_path: Path) -> None:
    machine, path = LiveMachine([os.getpid()]), tmp_path / "run.nw"
    with path.open("wb") as sink, recording_machine(machine, sink) as recorder:
        options = RunOptions(argv=_BUSY, machine=_MACHINE, runs=3)
        series = run_series(machine, options, _Listener(), recorder)
    frames = _replay(path)
    rows = {row.number: row for frame in frames for run in frame.runs for row in run.repetitions}
    counts = Counter(row for frame in frames for run in frame.runs for row in run.repetitions)
    assert max(counts.values()) == 1
    for judged in series.repetitions:
        at = max(number for number in rows if number <= judged.repetition.number)
        assert rows[at].outcome == judged.verdict.outcome
        assert rows[at].began_ns <= judged.repetition.began_ns < judged.repetition.ended_ns <= rows[at].ended_ns
    assert frames[-1].runs[0].stage == "ended"
    assert frames[-1].runs[0].counts[0] == sum(
        judged.verdict.outcome == RunOutcome.UNDISTURBED for judged in series.repetitions
    )
    used_s = sum(judged.repetition.use.cpu_ns for judged in series.repetitions) / 1e9  # little on a busy machine
    shown_s = sum(frame.seconds * dict(run.share_by_cpu).get(_CPU, 0.0) for frame in frames for run in frame.runs)
    assert shown_s == pytest.approx(used_s, rel=0.5)
    commands = {pid for frame in _commands(path) for pid in frame}
    assert commands
    assert not [
        culprit for frame in frames for culprit in frame.culprits if culprit.cpu == _CPU and culprit.pid in commands
    ]


def _commands(path: Path) -> list[frozenset[int]]:
    """Return the PIDs of the commands at each look."""
    recording, pids = Recording(str(path)), []
    task_reader, previous = TaskReader(), None
    while previous is None or recording.advance():
        previous = read_snapshot(recording, SnapshotOptions(), task_reader, previous)
        assert previous.tasks is not None
        pids.append(descendants_in(parents_in(previous.tasks), [os.getpid()]) - {os.getpid()})
    return pids


def test_recording_does_not_change_the_judged_snapshots(tmp_path: Path) -> None:
    machine, path = LiveMachine([os.getpid()]), tmp_path / "run.nw"
    with path.open("wb") as sink, recording_machine(machine, sink) as recorder:
        options = RunOptions(argv=_BUSY, machine=_MACHINE)
        series = run_series(machine, options, _Listener(), recorder)
    windows = series.repetitions[0].repetition.windows
    assert windows
    assert not any(window.after.runs or window.after.commands for window in windows)
