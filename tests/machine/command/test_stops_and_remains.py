"""Commands that are stopped, that leave processes behind, and wrappers that are killed."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from noisewatch.machine.command.adopted import AdoptedProcesses, children_of, with_descendants
from noisewatch.machine.command.start import inherited_state
from tests.machine.command.wrapped import RunningWrapper, state_of, with_all_cores
from tests.plumbing.waiting import is_alive, wait_until

_STOPPED_S = 0.15
_UNTIL_SIGUSR1 = "trap 'exit 5' USR1; echo ready; while :; do sleep 0.02; done"


@with_all_cores
def test_stopped_time_of_a_command_is_measured(core: str, tmp_path: Path) -> None:
    with RunningWrapper(core, tmp_path, _UNTIL_SIGUSR1) as wrapper:
        began_ns = time.monotonic_ns()
        for _ in range(2):
            os.kill(wrapper.pids[0], signal.SIGSTOP)
            wait_until(lambda: state_of(wrapper.pids[0]) == "T")
            time.sleep(_STOPPED_S)
            os.kill(wrapper.pids[0], signal.SIGCONT)
            wait_until(lambda: state_of(wrapper.pids[0]) != "T")
        assert state_of(wrapper.process.pid) != "T"
        wrapper.signal(signal.SIGUSR1)
        result = wrapper.end()
        most_ns = time.monotonic_ns() - began_ns
    assert result["stop_count"] == 2
    assert 2 * _STOPPED_S * 0.9 < result["stopped_ns"] / 1e9 < most_ns / 1e9


@with_all_cores
def test_command_that_is_killed_while_stopped_was_stopped_until_then(core: str, tmp_path: Path) -> None:
    with RunningWrapper(core, tmp_path, _UNTIL_SIGUSR1) as wrapper:
        os.kill(wrapper.pids[0], signal.SIGSTOP)
        wait_until(lambda: state_of(wrapper.pids[0]) == "T")
        time.sleep(_STOPPED_S)
        os.kill(wrapper.pids[0], signal.SIGKILL)
        result = wrapper.end()
    assert (result["signal_number"], result["stop_count"]) == (signal.SIGKILL, 1)
    assert result["stopped_ns"] > 0.9e9 * _STOPPED_S


@with_all_cores
def test_processes_that_a_command_leaves_are_listed_and_live_on(core: str, tmp_path: Path) -> None:
    """A background process, and a daemon with a child in a session of its own."""
    script = (
        f"sleep 60 & echo $! > {tmp_path}/a; "
        f"setsid sh -c 'sleep 60 & echo $! > {tmp_path}/c; echo $$ > {tmp_path}/b; echo ready; wait' & "
        f"until [ -s {tmp_path}/b ]; do sleep 0.01; done; exit 3"
    )
    with RunningWrapper(core, tmp_path, script) as wrapper:
        result = wrapper.end()
    left = [int((tmp_path / name).read_text()) for name in "abc"]
    assert (result["exit_status"], result["left_pids"]) == (3, sorted(left))
    assert [is_alive(pid) for pid in left] == [True] * 3
    for pid in left:
        os.kill(pid, signal.SIGKILL)


@with_all_cores
def test_orphans_that_end_before_the_command_are_counted_separately(core: str, tmp_path: Path) -> None:
    busy = "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done"
    until = f"until [ -s {tmp_path}/gone ]; do sleep 0.02; done; sleep 0.1"
    script = f"(sh -c '{busy}; echo $$ > {tmp_path}/gone' &); echo ready; {until}"
    with RunningWrapper(core, tmp_path, script) as wrapper:
        wait_until(lambda: (tmp_path / "gone").exists() and bool((tmp_path / "gone").read_text()))
        orphan = int((tmp_path / "gone").read_text())
        wait_until(lambda: not Path(f"/proc/{orphan}").exists())  # not even a zombie
        result = wrapper.end()
    assert result["left_pids"] == []
    usage, adopted = result["usage"], result["adopted_usage"]
    assert adopted["user_ns"] + adopted["system_ns"] > 10_000_000
    assert usage["user_ns"] + usage["system_ns"] < adopted["user_ns"] + adopted["system_ns"]


@with_all_cores
def test_processes_left_by_one_command_are_not_the_next_ones(core: str, tmp_path: Path) -> None:
    script = f"echo ready; [ -e {tmp_path}/left ] || {{ sleep 60 & echo $! > {tmp_path}/left; }}"
    with RunningWrapper(core, tmp_path, script, runs=2) as wrapper:
        last = wrapper.end()
        first = wrapper.reports[0]
    left = int((tmp_path / "left").read_text())
    os.kill(left, signal.SIGKILL)
    assert (first["left_pids"], last["left_pids"]) == ([left], [])


@with_all_cores
def test_owner_of_orphans_is_unknown_while_a_process_of_an_earlier_command_lives(core: str, tmp_path: Path) -> None:
    """A daemon starts orphans, as the command might."""
    busy = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"
    again = f"while :; do (({busy}; echo >> {tmp_path}/orphans) &); sleep 0.02; done"
    first_time = f"setsid sh -c 'echo $$ > {tmp_path}/left; {again}' & until [ -s {tmp_path}/left ]; do :; done"
    more = f"n=$(wc -l < {tmp_path}/orphans); until [ $(wc -l < {tmp_path}/orphans) -gt $((n+5)) ]; do sleep 0.02; done"
    script = f"echo ready; if [ -e {tmp_path}/left ]; then {more}; else {first_time}; fi"
    try:
        with RunningWrapper(core, tmp_path, script, runs=2) as wrapper:
            last = wrapper.end()
            first = wrapper.reports[0]
    finally:  # the daemon would run for ever
        os.kill(int((tmp_path / "left").read_text()), signal.SIGKILL)
    adopted = last["adopted_usage"]
    assert adopted["user_ns"] + adopted["system_ns"] > 0
    assert (first["may_be_others"], last["may_be_others"]) == (False, True)


def test_orphans_may_be_of_an_inherited_child() -> None:
    with subprocess.Popen(["sleep", "60"]) as child:
        inherited, fresh = AdoptedProcesses(inherited_state().children), AdoptedProcesses()
        inherited.begin_command()
        fresh.begin_command()
        child.kill()
    assert (inherited.may_be_others, fresh.may_be_others) == (True, False)


def test_inherited_child_that_has_ended_leaves_no_orphans() -> None:
    with subprocess.Popen(["true"]) as child:
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        adopted = AdoptedProcesses(inherited_state().children)
        adopted.begin_command()
        assert not adopted.may_be_others
        assert child.wait() == 0, "the process that started the child could not read its exit status"


_ANOTHER_USER = pytest.mark.skipif(os.geteuid() != 0, reason="only root can start a command as another user")


@with_all_cores
@pytest.mark.parametrize(
    "options", [{}, pytest.param({"user": [65534, 65534, []]}, marks=_ANOTHER_USER)], ids=["ours", "another user's"]
)
def test_killed_wrapper_ends_its_command(core: str, options: dict[str, Any], tmp_path: Path) -> None:
    with RunningWrapper(core, tmp_path, "echo ready; exec sleep 60", **options) as wrapper:
        (command,) = wrapper.pids
        wrapper.process.kill()
        wrapper.process.wait()
        wait_until(lambda: not is_alive(command), limit_s=5)


@with_all_cores
def test_killed_wrapper_ends_all_descendants_of_its_command(core: str, tmp_path: Path) -> None:
    script = "(setsid sleep 60 & exec sleep 60) & trap '' HUP TERM; echo ready; wait"
    with RunningWrapper(core, tmp_path, script) as wrapper:
        (command,) = wrapper.pids
        wait_until(lambda: len(with_descendants([command])) == 3)
        started = with_descendants([command])
        wrapper.process.kill()
        wrapper.process.wait()
        wait_until(lambda: not any(is_alive(pid) for pid in started), limit_s=5)


@with_all_cores
def test_guard_of_an_ended_wrapper_ends(core: str, tmp_path: Path) -> None:
    with RunningWrapper(core, tmp_path, _UNTIL_SIGUSR1) as wrapper:
        guards = (children_of(wrapper.process.pid) or frozenset()) - set(wrapper.pids)
        wrapper.signal(signal.SIGUSR1)
        wrapper.end()
    assert len(guards) == 1
    assert not any(is_alive(pid) for pid in guards)


def test_own_threads_that_end_meanwhile_hide_no_children() -> None:
    is_over = threading.Event()

    def come_and_go() -> None:
        while not is_over.is_set():
            thread = threading.Thread(target=int)
            thread.start()
            thread.join()

    starters = [threading.Thread(target=come_and_go) for _ in range(3)]
    for starter in starters:
        starter.start()
    children = [children_of("self") for _ in range(2_000)]
    is_over.set()
    for starter in starters:
        starter.join()
    assert None not in children
