"""The status that a series publishes while it runs, and the commands and verdicts in its recording."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
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
from noisewatch.operations.record import recorded
from noisewatch.operations.run.judging import JudgedRepetition
from noisewatch.operations.run.options import RunOptions
from noisewatch.operations.run.series import RunSeries, run_series
from noisewatch.operations.run.status import RunStatusWriter
from noisewatch.operations.sampling import sample_frames
from tests.operations.listening import SilentListener

_CPU = max(os.sched_getaffinity(0))
_MACHINE = MachineOptions(cpus=str(_CPU))
_BUSY = (sys.executable, "-S", "-c", "import time\nend = time.monotonic() + 0.3\nwhile time.monotonic() < end: pass")


class _Listener(SilentListener):
    """Reads what a monitor would, whenever a repetition was judged."""

    def __init__(self) -> None:
        super().__init__()
        self.files = StatusFiles()
        self.told: list[dict[str, Any]] = []

    def on_begin(self, beginning: object) -> None:
        self._look()

    def on_repetition(self, judged: JudgedRepetition) -> None:
        self._look()

    def _look(self) -> None:
        self.told += self.texts()

    def texts(self) -> list[dict[str, Any]]:
        """Return the statuses of this process only, as other series may run on this host."""
        said = [json.loads(text) for text in self.files.texts()]
        return [each for each in said if each["owner"].startswith(f"{os.getpid()} ")]


@pytest.fixture(autouse=True)
def _unpinned() -> Iterator[None]:
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
    (text,) = writer.told()
    return parse_run_status(text)


def test_it_says_what_runs_and_what_became_of_each(judged: list[JudgedRepetition]) -> None:
    writer = _writer()
    writer.enter(RunStage.CALIBRATING)
    assert (_status(writer).stage, _status(writer).number) == (RunStage.CALIBRATING, None)
    writer.begin(1, 0)
    for each in judged:
        writer.add(each)
    said = _status(writer)
    assert (said.stage, said.number, said.wanted, said.programs, said.cpus) == ("running", 1, 10, ("bench",), {_CPU})
    assert "secret" not in writer.told()[0]
    assert sum(said.counts) == 3
    assert (said.repetitions[0].number, said.repetitions[-1].last) == (1, 3)
    assert said.repetitions[0].began_ns == judged[0].repetition.began_ns
    assert said.repetitions[-1].ended_ns == judged[-1].repetition.ended_ns


def test_the_status_of_very_many_repetitions_stays_small(judged: list[JudgedRepetition]) -> None:
    writer = _writer()
    for _ in range(100):
        for each in judged:
            writer.add(each)
    said = _status(writer)
    assert len(said.repetitions) <= MOST_REPETITIONS
    assert sum(said.counts) == 300


@pytest.mark.skipif(not os.access(os.path.dirname(own_folder()), os.W_OK), reason="no place for the file here")
def test_who_looks_while_it_runs_sees_the_repetitions_come_and_nothing_stays() -> None:
    listener = _Listener()
    run_series(LiveMachine([os.getpid()]), RunOptions(argv=_BUSY, machine=_MACHINE, runs=3), listener)
    assert {each["stage"] for each in listener.told} <= {"running", "calibrating"}
    numbers = [each["number"] or 0 for each in listener.told]
    assert numbers[0] == 0
    assert numbers[-1] == 3
    assert numbers == sorted(numbers)
    assert str(os.getpid()) not in os.listdir(own_folder())
    (ended,) = listener.texts()
    assert ended["stage"] == "ended"
    assert sum(ended["counts"]) == 3


@pytest.mark.skipif(not os.access(os.path.dirname(own_folder()), os.W_OK), reason="no place for the file here")
def test_a_run_that_is_killed_is_not_taken_for_one_that_runs() -> None:
    files = StatusFiles()
    argv = [sys.executable, "-m", "noisewatch", "run", "--cpus", str(_CPU), "--", "sleep", "60"]
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as run:
        try:
            until_s = time.monotonic() + 60
            while not any(each.number for each in _of(run.pid, files)) and time.monotonic() < until_s:
                time.sleep(0.05)
            (status,) = _of(run.pid, files)
            assert (status.is_alive, status.number, status.programs) == (True, 1, ("sleep",))
            children = Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text().split()
        finally:
            run.kill()
        run.wait()
    for pid in map(int, children):
        os.kill(pid, 9)
    assert _of(run.pid, files) == _of(run.pid, StatusFiles()) == []


def _of(pid: int, files: StatusFiles) -> list[Any]:
    return [each for each in read_run_statuses(Reader(LiveMachine()), files.texts) if each.owner.pid == pid]


def _replayed(path: Path) -> list[Frame]:
    return list(sample_frames(Recording(str(path)), SnapshotOptions(asks_runs=list), 1.0))


def test_a_replay_knows_the_command_and_what_became_of_each_repetition(tmp_path: Path) -> None:
    machine, path = LiveMachine([os.getpid()]), tmp_path / "run.nw"
    with path.open("wb") as sink, recorded(machine, sink) as recorder:
        options = RunOptions(argv=_BUSY, machine=_MACHINE, runs=3)
        series = run_series(machine, options, _Listener(), recorder)
    frames = _replayed(path)
    told = {each.number: each for frame in frames for run in frame.runs for each in run.repetitions}
    times_told = Counter(each for frame in frames for run in frame.runs for each in run.repetitions)
    assert max(times_told.values()) == 1
    for judged in series.repetitions:
        at = max(number for number in told if number <= judged.repetition.number)
        assert told[at].outcome == judged.verdict.outcome
        assert told[at].began_ns <= judged.repetition.began_ns < judged.repetition.ended_ns <= told[at].ended_ns
    assert frames[-1].runs[0].stage == "ended"
    assert frames[-1].runs[0].counts[0] == sum(
        each.verdict.outcome == RunOutcome.UNDISTURBED for each in series.repetitions
    )
    shares = [share for frame in frames for run in frame.runs for cpu, share in run.share_by_cpu if cpu == _CPU]
    assert max(shares) > 0.2
    commands = {each for frame in _commands(path) for each in frame}
    assert commands
    assert not [each for frame in frames for each in frame.culprits if each.cpu == _CPU and each.pid in commands]


def _commands(path: Path) -> list[frozenset[int]]:
    """The processes below the one that ran them, look after look."""
    recording, found = Recording(str(path)), []
    task_reader, previous = TaskReader(), None
    while previous is None or recording.advance():
        previous = read_snapshot(recording, SnapshotOptions(), task_reader, previous)
        assert previous.tasks is not None
        found.append(descendants_in(parents_in(previous.tasks), [os.getpid()]) - {os.getpid()})
    return found


def test_what_is_recorded_for_others_changes_nothing_of_what_is_judged(tmp_path: Path) -> None:
    machine, path = LiveMachine([os.getpid()]), tmp_path / "run.nw"
    with path.open("wb") as sink, recorded(machine, sink) as recorder:
        options = RunOptions(argv=_BUSY, machine=_MACHINE)
        series = run_series(machine, options, _Listener(), recorder)
    windows = series.repetitions[0].repetition.windows
    assert windows
    assert not any(window.after.runs or window.after.commands for window in windows)
