"""How a wrapper ends: as its command, or as env(1) and timeout(1) do where there was none to start."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path

import pytest

from noisewatch.machine.command import load_launching
from noisewatch.machine.command.ending import EndedCommand, ResourceUsage
from noisewatch.machine.command.running import Commands, StartedCommand
from noisewatch.machine.command.start import CommandPlan
from tests.machine.command.wrapped import CORES, ROOT, each_core, run, wrapped

_MISSING_CPU = 8191


@each_core
@pytest.mark.parametrize("status", [0, 1, 77, 255])
def test_the_exit_status_is_the_commands(core: str, status: int) -> None:
    assert run(wrapped(core, ["sh", "-c", f"exit {status}"])).returncode == status


@each_core
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGPIPE, signal.SIGRTMIN])
def test_it_dies_by_the_signal_that_its_command_died_by(core: str, number: int) -> None:
    assert run(wrapped(core, ["sh", "-c", f"kill -{int(number)} $$"])).returncode == -number


@each_core
def test_it_dies_by_a_signal_that_it_was_started_with_blocked(core: str) -> None:
    unblock = "import os, signal; signal.pthread_sigmask(signal.SIG_SETMASK, ()); os.kill(os.getpid(), signal.SIGTERM)"
    argv = wrapped(core, [sys.executable, "-I", "-S", "-c", unblock])
    block = partial(signal.pthread_sigmask, signal.SIG_BLOCK, {signal.SIGTERM})
    assert run(argv, preexec_fn=block).returncode == -signal.SIGTERM


@each_core
def test_a_crash_leaves_one_core_dump(core: str, tmp_path: Path) -> None:
    crash, report = ["sh", "-c", f"cd {tmp_path}; kill -ABRT $$"], tmp_path / "report"
    if not os.WCOREDUMP(_status_with_core_dumps(crash)):
        pytest.skip("no core dumps here")
    status = _status_with_core_dumps(wrapped(core, crash, report=str(report)))
    assert json.loads(report.read_text())["has_dumped_core"]
    assert (os.WTERMSIG(status), os.WCOREDUMP(status)) == (signal.SIGABRT, False)


def _status_with_core_dumps(argv: list[str]) -> int:
    def allow() -> None:
        hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
        resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))

    process = subprocess.Popen(argv, cwd=ROOT, preexec_fn=allow)  # noqa: PLW1509 - no threads here
    status = os.waitpid(process.pid, 0)[1]
    process.returncode = status  # it has been waited for
    return status


@each_core
@pytest.mark.parametrize(
    ("command", "status", "words"),
    [
        ("no-such-command", 127, "cannot run 'no-such-command': no such file or directory"),
        ("/no/such/command", 127, "no such file or directory"),
        ("", 127, "cannot run '': no such file"),
        ("/etc/passwd", 126, "cannot run '/etc/passwd': permission denied"),
        ("/", 126, "permission denied"),
        ("/etc/passwd/below", 126, "not a directory"),
    ],
)
def test_what_cannot_be_run_ends_as_with_env(core: str, command: str, status: int, words: str) -> None:
    ran = run(wrapped(core, [command]))
    assert (ran.returncode, ran.stdout) == (status, "")
    assert words in ran.stderr
    assert run(["env", command], env={"PATH": os.defpath}).returncode == (status if command else 127)


@each_core
def test_a_folder_of_the_path_that_may_not_be_searched_has_no_command(core: str, tmp_path: Path) -> None:
    locked = tmp_path / "locked"
    locked.mkdir()
    (locked / "tool").write_text("#!/bin/sh\n")
    (locked / "tool").chmod(0o755)
    locked.chmod(0)
    options = {} if os.getuid() else {"user": [65534, 65534, []]}  # nothing is locked for root
    for path in (f"{locked}", f"{locked}:{tmp_path}/none", f"{tmp_path}/none:{locked}"):
        ran = run(wrapped(core, ["tool"], **options), env=os.environ | {"PATH": path})
        assert (ran.returncode, "cannot run 'tool': no such file" in ran.stderr) == (127, True)
    assert run(wrapped(core, [f"{locked}/tool"], **options)).returncode == 126
    locked.chmod(0o700)


@each_core
@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"cpus": [_MISSING_CPU]}, f"cannot pin it to CPU {_MISSING_CPU}: not all of them are online and allowed"),
        ({"cpus": [0, _MISSING_CPU]}, f"cannot pin it to CPU 0,{_MISSING_CPU}: not all of them"),
        ({"cpus": []}, "there is no CPU to pin it to"),
        ({"memory_nodes": [1023]}, "cannot bind its memory to node 1023: "),
        ({"memory_nodes": []}, "there is no node to bind its memory to"),
        ({"cgroup": "/no/such/group"}, "cannot move it to the cgroup /no/such/group: no such file"),
    ],
)
def test_what_is_ours_ends_with_125_and_nothing_was_run(core: str, options: dict[str, object], words: str) -> None:
    ran = run(wrapped(core, ["echo", "ran"], **options))
    assert (ran.returncode, ran.stdout) == (125, "")
    assert ran.stderr.startswith("'echo' was not started: ")
    assert words in ran.stderr


@each_core
def test_a_script_that_says_no_interpreter_is_run_by_sh(core: str, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text('echo "$0 $1"\n')
    script.chmod(0o755)
    assert run(wrapped(core, [str(script), "a b"])).stdout == f"{script} a b\n"


@each_core
def test_a_script_whose_interpreter_is_missing_says_so(core: str, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    ran = run(wrapped(core, [str(script)]))
    assert ran.returncode == 127
    assert "the interpreter in its first line" in ran.stderr


@each_core
def test_the_first_that_can_be_run_is_taken_of_the_path(core: str, tmp_path: Path) -> None:
    for name, mode in (("denied", 0o644), ("taken", 0o755), ("later", 0o755)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "tool").write_text(f"#!/bin/sh\necho {name}\n")
        (tmp_path / name / "tool").chmod(mode)
    path = ":".join(str(tmp_path / name) for name in ("none", "denied", "taken", "later"))
    assert run(wrapped(core, ["tool"]), env=os.environ | {"PATH": path}).stdout == "taken\n"
    denied = os.environ | {"PATH": f"{tmp_path}/denied:{tmp_path}/none"}
    assert run(wrapped(core, ["tool"]), env=denied).returncode == 126


_NOTHING_TO_RUN = 200  # page faults: a copy of this process makes 270 and more


def _run(core: str, *argv: str) -> tuple[StartedCommand, EndedCommand]:
    with Commands(core=load_launching(core)) as commands:
        command = commands.start(CommandPlan(argv=argv))
        ended = command.wait()
    assert ended is not None
    return command, ended


def test_usages_add_up() -> None:
    one, other = ResourceUsage(1, 2, 3, 4, 5, 6, 7, 8), ResourceUsage(10, 20, 30, 40, 50, 60, 70, 80)
    assert one.plus(other) == ResourceUsage(11, 22, 33, 44, 55, 66, 77, 88)
    assert one.plus(other).less(one) == other
    assert (one.cpu_ns, ResourceUsage().cpu_ns) == (3, 0)


def test_starting_it_is_not_counted() -> None:
    tries = range(5)  # the kernel may take pages away at any time, which only adds to them
    faults = [min(_run(core, "true")[1].usage.minor_faults for _ in tries) for core in CORES]
    assert max(faults) < min(faults) + _NOTHING_TO_RUN


@each_core
def test_its_times_are_those_of_the_kernel(core: str) -> None:
    earlier_ns = time.monotonic_ns()
    command, ended = _run(core, "sh", "-c", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done")
    assert earlier_ns < command.began_ns < ended.ended_ns < time.monotonic_ns()
    assert 5_000_000 < ended.usage.cpu_ns < ended.ended_ns - command.began_ns
    assert 0 < command.launch_cpu_ns < 1_000_000_000
    assert (ended.usage.major_faults, ended.stop_count, ended.stopped_ns) == (ended.usage.major_faults, 0, 0)


@each_core
def test_a_size_below_our_own_is_unknown(core: str) -> None:
    own_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    assert _run(core, "true")[1].max_rss_bytes is None
    wanted = own_bytes + (64 << 20)
    grows = f"bytearray(b'x') * {wanted}"
    found = _run(core, "python3", "-I", "-S", "-c", grows)[1].max_rss_bytes
    assert found is not None
    assert wanted <= found < wanted + (64 << 20)


@each_core
def test_it_is_waited_for_no_longer_than_wanted(core: str) -> None:
    with Commands(core=load_launching(core)) as commands:
        command = commands.start(CommandPlan(argv=("sleep", "60")))
        until_ns = time.monotonic_ns() + 50_000_000
        assert command.wait(until_ns) is None
        assert until_ns <= time.monotonic_ns() < until_ns + 10_000_000_000
        assert command.wait(0) is None
        os.kill(command.pid, 9)
        ended = command.wait()
        assert ended is not None
        assert (ended.signal_number, command.wait()) == (9, ended)
        assert commands.pause(time.monotonic_ns() + 1_000_000)


@each_core
def test_its_end_is_seen_though_another_thread_takes_the_signal(core: str) -> None:
    is_over = threading.Event()
    taker = threading.Thread(target=is_over.wait)
    taker.start()
    try:
        with Commands(core=load_launching(core)) as commands:
            command = commands.start(CommandPlan(argv=("sleep", "0.05")))
            ended = command.wait(time.monotonic_ns() + 10_000_000_000)
    finally:
        is_over.set()
        taker.join()
    assert ended is not None
    assert ended.ended_ns - command.began_ns < 5_000_000_000


@each_core
def test_the_cpus_that_it_could_run_on_in_the_end_are_those_that_it_chose_itself(core: str) -> None:
    own = frozenset(os.sched_getaffinity(0))
    chosen = min(own)
    chooses = f"import os; os.sched_setaffinity(0, {{{chosen}}})"
    assert _run(core, "true")[1].allowed == own
    assert _run(core, "python3", "-I", "-S", "-c", chooses)[1].allowed == frozenset({chosen})
