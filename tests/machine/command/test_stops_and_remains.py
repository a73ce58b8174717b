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
from tests.machine.command.wrapped import RunningWrapper, each_core, state_of
from tests.plumbing.waiting import is_alive, wait_until

_STOPPED_S = 0.15
_UNTIL_TOLD = "trap 'exit 5' USR1; echo ready; while :; do sleep 0.02; done"


@each_core
def test_it_is_known_how_long_a_command_was_stopped(core: str, tmp_path: Path) -> None:
    with RunningWrapper(core, tmp_path, _UNTIL_TOLD) as wrapper:
        began_ns = time.monotonic_ns()
        for _ in range(2):
            os.kill(wrapper.pids[0], signal.SIGSTOP)
            wait_until(lambda: state_of(wrapper.pids[0]) == "T")
            time.sleep(_STOPPED_S)
            os.kill(wrapper.pids[0], signal.SIGCONT)
            wait_until(lambda: state_of(wrapper.pids[0]) != "T")
        assert state_of(wrapper.process.pid) != "T"
        wrapper.signal(signal.SIGUSR1)
        ended = wrapper.end()
        most_ns = time.monotonic_ns() - began_ns
    assert ended["stop_count"] == 2
    assert 2 * _STOPPED_S * 0.9 < ended["stopped_ns"] / 1e9 < most_ns / 1e9


@each_core
def test_a_command_that_is_killed_while_it_is_stopped_was_stopped_until_then(core: str, tmp_path: Path) -> None:
    with RunningWrapper(core, tmp_path, _UNTIL_TOLD) as wrapper:
        os.kill(wrapper.pids[0], signal.SIGSTOP)
        wait_until(lambda: state_of(wrapper.pids[0]) == "T")
        time.sleep(_STOPPED_S)
        os.kill(wrapper.pids[0], signal.SIGKILL)
        ended = wrapper.end()
    assert (ended["signal_number"], ended["stop_count"]) == (signal.SIGKILL, 1)
    assert ended["stopped_ns"] > 0.9e9 * _STOPPED_S


@each_core
def test_what_a_command_leaves_behind_is_named_and_lives_on(core: str, tmp_path: Path) -> None:
    """One that it does not wait for, and a daemon with a child of its own, in a session of its own."""
    script = (
        f"sleep 60 & echo $! > {tmp_path}/a; "
        f"setsid sh -c 'sleep 60 & echo $! > {tmp_path}/c; echo $$ > {tmp_path}/b; echo ready; wait' & "
        f"until [ -s {tmp_path}/b ]; do sleep 0.01; done; exit 3"
    )
    with RunningWrapper(core, tmp_path, script) as wrapper:
        ended = wrapper.end()
    left = [int((tmp_path / name).read_text()) for name in "abc"]
    assert (ended["exit_status"], ended["left_pids"]) == (3, sorted(left))
    assert [is_alive(pid) for pid in left] == [True] * 3
    for pid in left:
        os.kill(pid, signal.SIGKILL)


@each_core
def test_orphans_that_end_before_the_command_are_counted_apart(core: str, tmp_path: Path) -> None:
    busy = "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done"
    until = f"until [ -s {tmp_path}/gone ]; do sleep 0.02; done; sleep 0.1"
    script = f"(sh -c '{busy}; echo $$ > {tmp_path}/gone' &); echo ready; {until}"
    with RunningWrapper(core, tmp_path, script) as wrapper:
        wait_until(lambda: (tmp_path / "gone").exists() and bool((tmp_path / "gone").read_text()))
        orphan = int((tmp_path / "gone").read_text())
        wait_until(lambda: not Path(f"/proc/{orphan}").exists())  # not even a zombie
        ended = wrapper.end()
    assert ended["left_pids"] == []
    usage, adopted = ended["usage"], ended["adopted_usage"]
    assert adopted["user_ns"] + adopted["system_ns"] > 10_000_000
    assert usage["user_ns"] + usage["system_ns"] < adopted["user_ns"] + adopted["system_ns"]


@each_core
def test_what_one_command_left_is_not_the_next_ones(core: str, tmp_path: Path) -> None:
    script = f"echo ready; [ -e {tmp_path}/left ] || {{ sleep 60 & echo $! > {tmp_path}/left; }}"
    with RunningWrapper(core, tmp_path, script, runs=2) as wrapper:
        last = wrapper.end()
        first = wrapper.reports[0]
    left = int((tmp_path / "left").read_text())
    os.kill(left, signal.SIGKILL)
    assert (first["left_pids"], last["left_pids"]) == ([left], [])


@each_core
def test_whose_orphans_are_is_not_known_while_one_lives_that_an_earlier_command_has_left(
    core: str, tmp_path: Path
) -> None:
    """A daemon starts them, as the command might."""
    busy = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"
    again = f"while :; do (({busy}; echo >> {tmp_path}/orphans) &); sleep 0.02; done"
    first_time = f"setsid sh -c 'echo $$ > {tmp_path}/left; {again}' & until [ -s {tmp_path}/left ]; do :; done"
    more = f"n=$(wc -l < {tmp_path}/orphans); until [ $(wc -l < {tmp_path}/orphans) -gt $((n+5)) ]; do sleep 0.02; done"
    script = f"echo ready; if [ -e {tmp_path}/left ]; then {more}; else {first_time}; fi"
    try:
        with RunningWrapper(core, tmp_path, script, runs=2) as wrapper:
            last = wrapper.end()
            first = wrapper.reports[0]
    finally:  # it would go on for ever
        os.kill(int((tmp_path / "left").read_text()), signal.SIGKILL)
    adopted = last["adopted_usage"]
    assert adopted["user_ns"] + adopted["system_ns"] > 0
    assert (first["may_be_others"], last["may_be_others"]) == (False, True)


def test_what_a_child_starts_that_this_process_was_begun_with_may_not_be_the_commands() -> None:
    with subprocess.Popen(["sleep", "60"]) as child:
        inherited, helped = AdoptedProcesses(inherited_state().children), AdoptedProcesses()
        inherited.begin_command()
        helped.begin_command()
        child.kill()
    assert (inherited.may_be_others, helped.may_be_others) == (True, False)


def test_a_child_that_had_ended_when_this_process_was_begun_starts_nothing() -> None:
    with subprocess.Popen(["true"]) as child:
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        adopted = AdoptedProcesses(inherited_state().children)
        adopted.begin_command()
        assert not adopted.may_be_others
        assert child.wait() == 0, "the process that started the child could not read its exit status"


_ANOTHER_USER = pytest.mark.skipif(os.geteuid() != 0, reason="another user is for root")


@each_core
@pytest.mark.parametrize(
    "options", [{}, pytest.param({"user": [65534, 65534, []]}, marks=_ANOTHER_USER)], ids=["ours", "another user's"]
)
def test_a_killed_wrapper_takes_the_command_with_it(core: str, options: dict[str, Any], tmp_path: Path) -> None:
    with RunningWrapper(core, tmp_path, "echo ready; exec sleep 60", **options) as wrapper:
        (command,) = wrapper.pids
        wrapper.process.kill()
        wrapper.process.wait()
        wait_until(lambda: not is_alive(command), limit_s=5)


@each_core
def test_a_killed_wrapper_takes_all_with_it_that_the_command_started(core: str, tmp_path: Path) -> None:
    script = "(setsid sleep 60 & exec sleep 60) & trap '' HUP TERM; echo ready; wait"
    with RunningWrapper(core, tmp_path, script) as wrapper:
        (command,) = wrapper.pids
        wait_until(lambda: len(with_descendants([command])) == 3)
        started = with_descendants([command])
        wrapper.process.kill()
        wrapper.process.wait()
        wait_until(lambda: not any(is_alive(pid) for pid in started), limit_s=5)


@each_core
def test_nobody_guards_a_wrapper_that_has_ended(core: str, tmp_path: Path) -> None:
    with RunningWrapper(core, tmp_path, _UNTIL_TOLD) as wrapper:
        guards = (children_of(wrapper.process.pid) or frozenset()) - set(wrapper.pids)
        wrapper.signal(signal.SIGUSR1)
        wrapper.end()
    assert len(guards) == 1
    assert not any(is_alive(pid) for pid in guards)


def test_threads_of_ours_that_end_meanwhile_hide_no_children() -> None:
    is_over = threading.Event()

    def come_and_go() -> None:
        while not is_over.is_set():
            thread = threading.Thread(target=int)
            thread.start()
            thread.join()

    comers = [threading.Thread(target=come_and_go) for _ in range(3)]
    for comer in comers:
        comer.start()
    found = [children_of("self") for _ in range(2_000)]
    is_over.set()
    for comer in comers:
        comer.join()
    assert None not in found
