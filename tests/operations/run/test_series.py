"""Short series of repetitions on this host."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from noisewatch.errors import CannotStart, UsageError
from noisewatch.judgement.run.foreign_time import UNSEEN
from noisewatch.judgement.run.reasons import ReasonKind, RunReason
from noisewatch.kernel.snapshot.snapshot import SnapshotOptions, read_snapshot
from noisewatch.kernel.trace.own_threads import StateTimes, TracedThread
from noisewatch.kernel.trace.runs import TracedSource, TracedTime, TraceWindow
from noisewatch.kinds import Kind
from noisewatch.machine.command.running import Commands
from noisewatch.machine.copied import CopiedTree
from noisewatch.machine.live import LiveMachine
from noisewatch.machine.recording.replay import Recording
from noisewatch.operations.machines import MachineOptions
from noisewatch.operations.record import recording_machine
from noisewatch.operations.run.conclusion import conclude
from noisewatch.operations.run.judging import JudgedRepetition, without_snapshots
from noisewatch.operations.run.options import RunOptions, usual_paths
from noisewatch.operations.run.placement_watch import PlacementWatch
from noisewatch.operations.run.series import RunBeginning, RunSeries, run_series
from noisewatch.operations.run.tracing import RunTrace
from tests.operations.listening import SilentListener

pytestmark = pytest.mark.usefixtures("restored_process")

_CPU = max(os.sched_getaffinity(0))
_MACHINE = MachineOptions(cpus=str(_CPU))


class Listener(SilentListener):
    def __init__(self) -> None:
        super().__init__()
        self.numbers: list[int] = []
        self.beginnings: list[RunBeginning] = []

    def on_begin(self, beginning: RunBeginning) -> None:
        self.beginnings.append(beginning)

    def on_repetition(self, judged: JudgedRepetition) -> None:
        self.numbers.append(judged.repetition.number)


def _run(options: RunOptions, listener: Listener | None = None) -> RunSeries:
    return run_series(LiveMachine([os.getpid()]), options, listener or Listener())


def _python(code: str) -> Sequence[str]:
    return (sys.executable, "-S", "-c", code)


def test_no_thread_watches_files_after_the_series() -> None:
    _run(RunOptions(argv=("true",), machine=_MACHINE))
    assert [thread.name for thread in threading.enumerate() if "_report" in thread.name] == []


def test_end_before_the_first_wait_is_noticed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Noisewatch prepares to look at the threads, which takes it a second here."""

    def begin(watch: PlacementWatch, pid: int, spreads: bool = False) -> None:
        until_s = time.monotonic() + 1
        while time.monotonic() < until_s:
            sum(range(1000))
        begin_watch(watch, pid, spreads)

    begin_watch = PlacementWatch.begin
    monkeypatch.setattr(PlacementWatch, "begin", begin)
    (judged,) = _run(RunOptions(argv=("true",), machine=_MACHINE)).repetitions
    assert judged.repetition.seconds < 0.5


def test_each_repetition_is_a_process_reported_in_order() -> None:
    listener = Listener()
    series = _run(RunOptions(argv=("true",), machine=_MACHINE, runs=5), listener)
    assert [beginning.options.runs for beginning in listener.beginnings] == [5]
    assert listener.numbers == [1, 2, 3, 4, 5]
    assert [judged.repetition.status for judged in series.repetitions] == [0] * 5
    times = [(judged.repetition.began_ns, judged.repetition.ended_ns) for judged in series.repetitions]
    assert times == sorted(times)
    assert all(began < ended for began, ended in times)


def test_the_command_runs_on_the_target_cpus_and_its_own_time_balances_there() -> None:
    code = f"import os\nassert os.sched_getaffinity(0) == {{{_CPU}}}\nfor _ in range(3_000_000): pass"
    series = _run(RunOptions(argv=tuple(_python(code)), machine=_MACHINE))
    repetition = series.repetitions[0].repetition
    assert repetition.status == 0
    books = repetition.books
    assert books.own_ns == repetition.use.cpu_ns > 20_000_000
    assert books.foreign_ns is not None
    assert books.reason is None


_OTHERS = sorted(os.sched_getaffinity(0) - {_CPU})
_LEAVES = {
    "process": f"import os; os.sched_setaffinity(0, {_OTHERS}); sum(range(6_000_000))",
    "child": f"import os\nif os.fork(): os.wait()\nelse: os.sched_setaffinity(0, {_OTHERS}); sum(range(6_000_000))",
    "thread": f"""import os, threading
def work(): os.sched_setaffinity(0, {_OTHERS}); sum(range(12_000_000))
thread = threading.Thread(target=work); thread.start(); thread.join()""",
}
_STAYS = {
    "forks": "import os\nfor _ in range(100): os.fork() and os.wait() or os._exit(0)",
    "threads": """import threading
threads = [threading.Thread(target=sum, args=(range(2_000_000),)) for _ in range(4)]
for thread in threads: thread.start()""",
}


def _left(code: str) -> list[RunReason]:
    judged = _run(RunOptions(argv=tuple(_python(code)), machine=_MACHINE)).repetitions[0]
    reasons = [reason for reason in judged.verdict.reasons if reason.kind == ReasonKind.LEFT_TARGET]
    assert reasons == ([judged.left.reason] if judged.left is not None and judged.left.reason is not None else [])
    return reasons


@pytest.mark.skipif(not _OTHERS, reason="there is no other CPU")
@pytest.mark.parametrize("who", _LEAVES)
def test_a_command_that_leaves_its_cpus_is_judged_as_such(who: str) -> None:
    (reason,) = _left(_LEAVES[who])
    assert reason.cpus
    assert reason.cpus <= {*_OTHERS}


@pytest.mark.parametrize("how", _STAYS)
def test_a_command_that_stays_has_not_left(how: str) -> None:
    assert _left(_STAYS[how]) == []


def test_a_stop_of_a_child_of_the_command_disturbs() -> None:
    """The kernel notifies only the parent of a stopped process."""
    code = "sleep 60 & kill -STOP $!; sleep 0.6; kill -KILL $!; wait"
    judged = _run(RunOptions(argv=("sh", "-c", code), machine=_MACHINE)).repetitions[0]
    assert judged.repetition.use.stopped_ns > 100_000_000
    assert ReasonKind.STOPPED in [reason.kind for reason in judged.verdict.reasons]


def test_a_failure_ends_a_series_unless_it_shall_continue() -> None:
    argv = ("sh", "-c", "exit 3")
    series = _run(RunOptions(argv=argv, machine=_MACHINE, runs=4))
    assert (len(series.repetitions), series.failed) == (1, 1)
    series = _run(RunOptions(argv=argv, machine=_MACHINE, runs=4, stops_at_failure=False))
    assert [judged.repetition.status for judged in series.repetitions] == [3, 3, 3, 3]


def test_two_commands_run_equally_often_in_pairs() -> None:
    series = _run(RunOptions(argv=("true",), against=("sh", "-c", ":"), machine=_MACHINE, runs=6))
    commands = [judged.repetition.command for judged in series.repetitions]
    assert [sorted(commands[at : at + 2]) for at in range(0, 12, 2)] == [[0, 1]] * 6
    assert commands[::2].count(0) == 3


def test_retries_are_bounded() -> None:
    """No repetition of a command that stops itself is undisturbed."""
    argv = ("sh", "-c", "(sleep 0.1; kill -CONT $$) & kill -STOP $$")
    series = _run(RunOptions(argv=argv, machine=_MACHINE, runs=2, most_retries=3, stops_at_failure=False))
    assert len(series.repetitions) == 5


def test_a_command_that_cannot_start_is_an_error_with_its_status() -> None:
    with pytest.raises(CannotStart) as caught:
        _run(RunOptions(argv=("no-such-command-here",), machine=_MACHINE))
    assert caught.value.status == 127


def test_a_copy_runs_no_command() -> None:
    with pytest.raises(UsageError, match="only run on this host"):
        run_series(CopiedTree("/"), RunOptions(argv=("true",)), Listener())


def test_a_series_waits_no_longer_than_requested() -> None:
    began_s = time.monotonic()
    series = _run(RunOptions(argv=("true",), machine=_MACHINE, wait_s=0.4))
    assert len(series.repetitions) == 1
    assert time.monotonic() - began_s < 30


@pytest.mark.parametrize("wait", [1, 2])
def test_a_signal_while_waiting_ends_the_series(wait: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    waits = 0

    def wait_with_signal(_watch: object, commands: Commands, _wait_s: float, _listener: object) -> None:
        nonlocal waits
        waits += 1
        if waits == wait:
            signal.raise_signal(signal.SIGTERM)  # to this thread only: the test runner's threads do not expect it
            commands.pause(time.monotonic_ns() + 5_000_000_000)

    monkeypatch.setattr("noisewatch.operations.run.series.wait_for_quiet", wait_with_signal)
    options = RunOptions(argv=("touch", f"{tmp_path}/ran"), machine=_MACHINE, runs=3, wait_s=60)
    if wait == 1:
        with pytest.raises(KeyboardInterrupt) as caught:
            _run(options)
        assert caught.value.args == (signal.SIGTERM,)
        assert not (tmp_path / "ran").exists()
    else:
        series = _run(options)
        assert (len(series.repetitions), series.ended_by) == (1, signal.SIGTERM)


def test_memory_of_an_unknown_node_is_refused() -> None:
    with pytest.raises(UsageError, match="--membind"):
        _run(RunOptions(argv=("true",), machine=_MACHINE, membind="rubbish"))


def test_as_user_without_sudo_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SUDO_UID", raising=False)
    with pytest.raises(UsageError, match="--as-user"):
        _run(RunOptions(argv=("true",), machine=_MACHINE, is_as_user=True))


def test_a_series_has_the_statistics_of_both_commands() -> None:
    series = _run(RunOptions(argv=("true",), against=("sleep", "0.3"), machine=_MACHINE, runs=4))
    conclusion = conclude(series)
    assert [command.selected.of_all and command.selected.of_all.count for command in conclusion.commands] == [4, 4]
    assert conclusion.of_all_pairs is not None
    assert conclusion.of_all_pairs.share > 0


def test_a_recording_of_a_series_has_its_looks(tmp_path: Path) -> None:
    machine = LiveMachine([os.getpid()])
    with open(tmp_path / "run.nw", "wb") as sink, recording_machine(machine, sink) as recorder:
        run_series(machine, RunOptions(argv=("true",), machine=_MACHINE, runs=3), Listener(), recorder)
    recording = Recording(str(tmp_path / "run.nw"))
    recording.go_to_end()
    assert recording.damage is None
    assert read_snapshot(recording, SnapshotOptions()).tasks is None


_TWO_THREADS = """
import hashlib, threading
def work():
    for _ in range(600): hashlib.sha256(bytes(1_000_000)).digest()
threads = [threading.Thread(target=work) for _ in range(2)]
for each in threads: each.start()
for each in threads: each.join()
"""


def test_a_series_has_the_placement_of_the_commands_threads() -> None:
    cpus = ",".join(map(str, sorted(os.sched_getaffinity(0))))
    options = RunOptions(argv=tuple(_python(_TWO_THREADS)), machine=MachineOptions(cpus=cpus), spreads=True)
    placement = _run(options).repetitions[0].placement
    assert placement.looks > 0
    assert len({thread.tid for thread in placement.threads}) >= 2
    assert placement.spread is not None
    assert placement.spread.pinned >= 1


def test_a_process_left_running_is_own_and_disturbs_the_next_repetition(tmp_path: Path) -> None:
    """The process left running is a busy daemon in a session of its own."""
    spin = f"echo $$ > {tmp_path}/pid; while :; do :; done"
    daemonise = f"(setsid sh -c '{spin}' < /dev/null > /dev/null 2>&1 &)"
    script = f"[ -e {tmp_path}/pid ] || {daemonise}; sleep 0.8"
    try:
        series = _run(RunOptions(argv=("sh", "-c", script), machine=_MACHINE, runs=2))
    finally:
        daemon = int((tmp_path / "pid").read_text())
        os.kill(daemon, signal.SIGKILL)
    first, second = series.repetitions
    assert without_snapshots(first, first.repetition.span).repetition.name_by_left_pid == {daemon: "sh"}
    assert first.repetition.use.left_ns > 1_000_000
    assert daemon not in [reason.pid for reason in first.verdict.reasons]
    assert second.repetition.earlier_pids == {daemon}
    assert second.repetition.name_by_left_pid == {}
    assert second.verdict.outcome == "disturbed"
    assert (daemon, True) in [(reason.pid, "earlier" in reason.name) for reason in second.verdict.reasons]


def test_children_of_a_process_left_running_are_not_the_next_repetitions_own(tmp_path: Path) -> None:
    """noisewatch adopts orphans of the process and of the command, but does not add their time to the command's."""
    busy = "i=0; while [ $i -lt 40000 ]; do i=$((i+1)); done"
    again = f"echo $$ > {tmp_path}/pid; while :; do ({busy} &); sleep 0.1; done"
    daemonise = f"(setsid sh -c '{again}' < /dev/null > /dev/null 2>&1 &)"
    script = f"[ -e {tmp_path}/pid ] || {daemonise}; i=0; while [ $i -lt 500000 ]; do i=$((i+1)); done"
    try:
        series = _run(RunOptions(argv=("sh", "-c", script), machine=_MACHINE, runs=2))
    finally:
        os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)
    second = series.repetitions[1]
    use = second.repetition.use
    assert use.unsure_ns > 1_000_000
    assert (use.left_ns, use.ran_alone) == (0, True)
    assert second.repetition.books.own_ns == use.cpu_ns
    assert second.repetition.books.doubt_ns >= use.unsure_ns
    assert second.verdict.outcome != "undisturbed"


def test_windows_of_the_last_repetitions_only_are_kept() -> None:
    repetitions = [
        judged.repetition for judged in _run(RunOptions(argv=("true",), machine=_MACHINE, runs=60)).repetitions
    ]
    assert [repetition.number for repetition in repetitions if repetition.windows] == list(range(11, 61))
    assert len({id(repetition.span) for repetition in repetitions[:10]}) == 1
    assert len({repetition.began_ns for repetition in repetitions}) == 60


def test_all_windows_are_kept_if_parts_of_repetitions_are_judged() -> None:
    options = RunOptions(argv=("true",), machine=_MACHINE, runs=60, has_frequent_snapshots=True)
    assert all(judged.repetition.windows for judged in _run(options).repetitions)


@pytest.mark.parametrize("is_whole", [True, False])
def test_a_rejected_trace_gives_no_placement(is_whole: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless `is_whole`, one of the target CPUs was not traced."""
    target = sorted(os.sched_getaffinity(0))
    traced = dict.fromkeys(target if is_whole else target[:-1], 10**10)
    window = TraceWindow(0, 9, traced, (), threads=(TracedThread(1, "told", traced, {}),))
    monkeypatch.setattr(RunTrace, "end", lambda trace, ended_ns: window)
    options = RunOptions(argv=("true",), machine=MachineOptions(cpus=",".join(map(str, target))))
    (judged,) = _run(options).repetitions
    assert judged.placement.is_traced is is_whole
    assert ("told" in [thread.name for thread in judged.placement.threads]) is is_whole


@pytest.mark.parametrize(("stopped_ns", "is_reason"), [(10_000, False), (10**9, True)])
def test_a_stop_only_in_the_trace_is_a_reason_unless_it_is_short(
    stopped_ns: int, is_reason: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """strace stops a child for 10 µs to check that it can."""
    monkeypatch.setattr(
        RunTrace, "end", lambda trace, ended_ns: TraceWindow(0, 9, {}, (), states=StateTimes(stopped_ns))
    )
    (judged,) = _run(RunOptions(argv=("sleep", "0.05"), machine=_MACHINE)).repetitions
    assert (ReasonKind.STOPPED in [reason.kind for reason in judged.verdict.reasons]) is is_reason


def test_a_trace_without_looks_is_kept_empty() -> None:
    (judged,) = _run(RunOptions(argv=("true",), machine=_MACHINE)).repetitions
    time_of_others = TracedTime(_CPU, TracedSource(Kind.THREAD, "hog"), 5, 1, 0, 5)
    traced = replace(judged, repetition=replace(judged.repetition, trace=TraceWindow(0, 9, {}, (time_of_others,))))
    assert without_snapshots(traced, judged.repetition.span).repetition.trace == TraceWindow(0, 9, {}, ())
    assert without_snapshots(judged, judged.repetition.span).repetition.trace == judged.repetition.trace


_REAPED = """
import os, signal, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
if not os.fork():
    until = time.thread_time() + 0.25
    while time.thread_time() < until: pass
    os._exit(0)
time.sleep(1)
"""


def test_the_time_of_an_unreaped_child_is_not_an_unobserved_tasks() -> None:
    argv = (sys.executable, "-S", "-c", _REAPED)
    culprits = set()
    for _ in range(3):  # unobserved tasks of this host do not run each time
        (judged,) = _run(RunOptions(argv=argv, machine=_MACHINE)).repetitions
        assert not judged.repetition.use.ran_alone
        culprits = {reason.name for reason in judged.verdict.reasons}
        if UNSEEN not in culprits:
            break
    assert UNSEEN not in culprits


def test_each_command_has_the_file_server_of_its_files(monkeypatch: pytest.MonkeyPatch) -> None:
    def served(reader: object, folders: Sequence[str]) -> str | None:
        return "nfs4" if os.path.realpath(shutil.which("true") or "") in folders else None

    monkeypatch.setattr("noisewatch.operations.run.series.find_served_type", served)
    series = _run(RunOptions(argv=("true",), against=("sleep", "0"), machine=_MACHINE, runs=2))
    assert {judged.repetition.command: judged.repetition.served for judged in series.repetitions} == {
        0: "nfs4",
        1: None,
    }


def test_folders_are_those_of_program_arguments_and_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    expected = (os.path.realpath(tmp_path), os.path.realpath("/bin/sh"), os.path.realpath("/srv/data"), "/")
    assert usual_paths(("sh", "-c", "/srv/data")) == expected


def test_a_removed_working_directory_or_an_unknown_program_is_not_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    removed = tmp_path / "gone"
    removed.mkdir()
    monkeypatch.chdir(removed)
    removed.rmdir()
    assert usual_paths(("no-such-program",))[-1] == "/"
