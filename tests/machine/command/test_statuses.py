"""Exit status of a wrapper: its command's, or that of env(1) and timeout(1) if no command was started."""

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
from tests.machine.command.wrapped import CORES, ROOT, run, with_all_cores, wrap

_MISSING_CPU = 8191


@with_all_cores
@pytest.mark.parametrize("status", [0, 1, 77, 255])
def test_exit_status_is_the_commands(core: str, status: int) -> None:
    assert run(wrap(core, ["sh", "-c", f"exit {status}"])).returncode == status


@with_all_cores
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGPIPE, signal.SIGRTMIN])
def test_wrapper_dies_by_the_signal_that_killed_its_command(core: str, number: int) -> None:
    assert run(wrap(core, ["sh", "-c", f"kill -{int(number)} $$"])).returncode == -number


@with_all_cores
def test_wrapper_dies_by_a_signal_that_was_blocked_at_its_start(core: str) -> None:
    unblock = "import os, signal; signal.pthread_sigmask(signal.SIG_SETMASK, ()); os.kill(os.getpid(), signal.SIGTERM)"
    argv = wrap(core, [sys.executable, "-I", "-S", "-c", unblock])
    block = partial(signal.pthread_sigmask, signal.SIG_BLOCK, {signal.SIGTERM})
    assert run(argv, preexec_fn=block).returncode == -signal.SIGTERM


@with_all_cores
def test_crash_leaves_one_core_dump(core: str, tmp_path: Path) -> None:
    crash, report = ["sh", "-c", f"cd {tmp_path}; kill -ABRT $$"], tmp_path / "report"
    if not os.WCOREDUMP(_status_with_core_dumps(crash)):
        pytest.skip("no core dumps here")
    status = _status_with_core_dumps(wrap(core, crash, report=str(report)))
    assert json.loads(report.read_text())["has_dumped_core"]
    assert (os.WTERMSIG(status), os.WCOREDUMP(status)) == (signal.SIGABRT, False)


def _status_with_core_dumps(argv: list[str]) -> int:
    def allow() -> None:
        hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
        resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))

    process = subprocess.Popen(argv, cwd=ROOT, preexec_fn=allow)  # noqa: PLW1509 - no threads here
    status = os.waitpid(process.pid, 0)[1]
    process.returncode = status  # already reaped
    return status


@with_all_cores
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
def test_command_that_cannot_be_run_ends_like_with_env(core: str, command: str, status: int, words: str) -> None:
    result = run(wrap(core, [command]))
    assert (result.returncode, result.stdout) == (status, "")
    assert words in result.stderr
    assert run(["env", command], env={"PATH": os.defpath}).returncode == (status if command else 127)


@with_all_cores
def test_folder_of_the_path_without_permission_is_skipped(core: str, tmp_path: Path) -> None:
    locked = tmp_path / "locked"
    locked.mkdir()
    (locked / "tool").write_text("#!/bin/sh\n")
    (locked / "tool").chmod(0o755)
    locked.chmod(0)
    options = {} if os.getuid() else {"user": [65534, 65534, []]}  # root may search any folder
    for path in (f"{locked}", f"{locked}:{tmp_path}/none", f"{tmp_path}/none:{locked}"):
        result = run(wrap(core, ["tool"], **options), env=os.environ | {"PATH": path})
        assert (result.returncode, "cannot run 'tool': no such file" in result.stderr) == (127, True)
    assert run(wrap(core, [f"{locked}/tool"], **options)).returncode == 126
    locked.chmod(0o700)


@with_all_cores
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
def test_status_is_125_if_the_plan_cannot_be_applied(core: str, options: dict[str, object], words: str) -> None:
    result = run(wrap(core, ["echo", "ran"], **options))
    assert (result.returncode, result.stdout) == (125, "")
    assert result.stderr.startswith("'echo' was not started: ")
    assert words in result.stderr


@with_all_cores
def test_script_without_an_interpreter_is_run_by_sh(core: str, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text('echo "$0 $1"\n')
    script.chmod(0o755)
    assert run(wrap(core, [str(script), "a b"])).stdout == f"{script} a b\n"


@with_all_cores
def test_missing_interpreter_of_a_script_is_named(core: str, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    result = run(wrap(core, [str(script)]))
    assert result.returncode == 127
    assert "the interpreter in its first line" in result.stderr


@with_all_cores
def test_first_executable_of_the_path_is_run(core: str, tmp_path: Path) -> None:
    for name, mode in (("denied", 0o644), ("taken", 0o755), ("later", 0o755)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "tool").write_text(f"#!/bin/sh\necho {name}\n")
        (tmp_path / name / "tool").chmod(mode)
    path = ":".join(str(tmp_path / name) for name in ("none", "denied", "taken", "later"))
    assert run(wrap(core, ["tool"]), env=os.environ | {"PATH": path}).stdout == "taken\n"
    denied = os.environ | {"PATH": f"{tmp_path}/denied:{tmp_path}/none"}
    assert run(wrap(core, ["tool"]), env=denied).returncode == 126


_TOLERATED_FAULTS = 200  # a copy of this process causes 270 page faults or more


def _run(core: str, *argv: str) -> tuple[StartedCommand, EndedCommand]:
    with Commands(core=load_launching(core)) as commands:
        command = commands.start(CommandPlan(argv=argv))
        end = command.wait()
    assert end is not None
    return command, end


def test_usages_are_added_and_subtracted() -> None:
    one, other = ResourceUsage(1, 2, 3, 4, 5, 6, 7, 8), ResourceUsage(10, 20, 30, 40, 50, 60, 70, 80)
    assert one.plus(other) == ResourceUsage(11, 22, 33, 44, 55, 66, 77, 88)
    assert one.plus(other).less(one) == other
    assert (one.cpu_ns, ResourceUsage().cpu_ns) == (3, 0)


def test_page_faults_of_starting_a_command_are_not_counted() -> None:
    tries = range(5)  # the kernel may take pages away at any time, which only adds to them
    faults = [min(_run(core, "true")[1].usage.minor_faults for _ in tries) for core in CORES]
    assert max(faults) < min(faults) + _TOLERATED_FAULTS


@with_all_cores
def test_times_of_a_command_are_the_kernels(core: str) -> None:
    earlier_ns = time.monotonic_ns()
    command, end = _run(core, "sh", "-c", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done")
    assert earlier_ns < command.began_ns < end.ended_ns < time.monotonic_ns()
    assert 5_000_000 < end.usage.cpu_ns < end.ended_ns - command.began_ns
    assert 0 < command.launch_cpu_ns < 1_000_000_000
    assert (end.usage.major_faults, end.stop_count, end.stopped_ns) == (end.usage.major_faults, 0, 0)


@with_all_cores
def test_memory_below_that_of_the_own_process_is_unknown(core: str) -> None:
    own_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    assert _run(core, "true")[1].max_rss_bytes is None
    size_bytes = own_bytes + (64 << 20)
    grows = f"bytearray(b'x') * {size_bytes}"
    max_rss_bytes = _run(core, "python3", "-I", "-S", "-c", grows)[1].max_rss_bytes
    assert max_rss_bytes is not None
    assert size_bytes <= max_rss_bytes < size_bytes + (64 << 20)


@with_all_cores
def test_wait_returns_at_its_deadline(core: str) -> None:
    with Commands(core=load_launching(core)) as commands:
        command = commands.start(CommandPlan(argv=("sleep", "60")))
        until_ns = time.monotonic_ns() + 50_000_000
        assert command.wait(until_ns) is None
        assert until_ns <= time.monotonic_ns() < until_ns + 10_000_000_000
        assert command.wait(0) is None
        os.kill(command.pid, 9)
        end = command.wait()
        assert end is not None
        assert (end.signal_number, command.wait()) == (9, end)
        assert commands.pause(time.monotonic_ns() + 1_000_000)


@with_all_cores
def test_end_is_noticed_if_another_thread_receives_the_signal(core: str) -> None:
    is_over = threading.Event()
    thread = threading.Thread(target=is_over.wait)
    thread.start()
    try:
        with Commands(core=load_launching(core)) as commands:
            command = commands.start(CommandPlan(argv=("sleep", "0.05")))
            end = command.wait(time.monotonic_ns() + 10_000_000_000)
    finally:
        is_over.set()
        thread.join()
    assert end is not None
    assert end.ended_ns - command.began_ns < 5_000_000_000


@with_all_cores
def test_allowed_cpus_at_the_end_are_those_that_the_command_chose(core: str) -> None:
    own = frozenset(os.sched_getaffinity(0))
    chosen = min(own)
    script = f"import os; os.sched_setaffinity(0, {{{chosen}}})"
    assert _run(core, "true")[1].allowed == own
    ended = _run(core, "python3", "-I", "-S", "-c", script)[1]
    assert ended.allowed == frozenset({chosen})
    assert ended.affinities[-1].allowed == frozenset({chosen})
