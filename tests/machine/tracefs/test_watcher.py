"""Removal of a trace whose maker was killed, in a folder that imitates tracefs; the kernel's own: `-m live`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from noisewatch.machine.tracefs.watcher import (
    NAME,
    WORKLOAD_OFF,
    Watcher,
    find_tracefs,
    instance_path,
    remove,
    remove_all_of,
    remove_stale,
)
from tests.plumbing.waiting import is_alive, wait_until

_SLASHES = "/sys/kernel/tracing"


def test_tracefs_is_where_it_is_mounted() -> None:
    mounts = f"proc /proc proc rw 0 0\nnodev {_SLASHES} tracefs rw,nosuid 0 0\n"
    assert find_tracefs(mounts) == Path(_SLASHES)
    assert find_tracefs("debugfs /sys/kernel/debug debugfs rw 0 0\nrubbish\n\n") is None


def test_only_instances_of_dead_processes_are_removed(tmp_path: Path) -> None:
    folder = tmp_path / "instances"
    own = instance_path(tmp_path, "target").name
    _, namespace, pid, ticks, _ = own.split("-")
    names = {
        "alive": own,
        "recycled number": f"noisewatch-{namespace}-{pid}-{int(ticks) + 1}-target",
        "dead": f"noisewatch-{namespace}-4194305-{ticks}-senders",
        "of another container": f"noisewatch-{int(namespace) + 1}-4194305-{ticks}-target",
        "of another tool": "rtla",
        "something else": f"noisewatch-{pid}",
    }
    for name in names.values():
        (folder / name).mkdir(parents=True)
    remove_stale(tmp_path)
    left = {kind for kind, name in names.items() if (folder / name).exists()}
    assert left == {"alive", "of another container", "of another tool", "something else"}


def test_missing_instances_need_no_removal(tmp_path: Path) -> None:
    remove_stale(tmp_path)


def test_unreadable_instance_is_not_ours(tmp_path: Path) -> None:
    assert remove(tmp_path / ("x" * 300))  # the name is too long, an error that root gets too


def test_unreaped_process_is_dead(tmp_path: Path) -> None:
    process = subprocess.Popen(["sleep", "600"])
    instance = instance_path(tmp_path, "target", process.pid)
    instance.mkdir(parents=True)
    remove_stale(tmp_path)
    assert instance.exists()
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    remove_stale(tmp_path)
    assert not instance.exists()
    process.wait()


def _make_osnoise(tracefs: Path, purpose: str = WORKLOAD_OFF, tracer: str = "osnoise") -> Path:
    instance = instance_path(tracefs, purpose)
    (tracefs / "osnoise").mkdir()
    (tracefs / "osnoise/options").write_text("NO_OSNOISE_WORKLOAD")
    (instance / "events").mkdir(parents=True)
    for name, text in (("tracing_on", "1"), ("events/enable", "1"), ("current_tracer", tracer)):
        (instance / name).write_text(text)
    return instance


def test_removal_switches_off_the_tracer_and_restores_the_workload(tmp_path: Path) -> None:
    instance = _make_osnoise(tmp_path)
    assert not remove(instance)  # rmdir fails: unlike a kernel's instance, this folder is not empty
    left = [(instance / name).read_text() for name in ("tracing_on", "events/enable", "current_tracer")]
    assert left == ["0", "0", "nop"]
    assert (tmp_path / "osnoise/options").read_text() == "OSNOISE_WORKLOAD"


def test_workload_that_another_program_switched_off_stays_off(tmp_path: Path) -> None:
    remove(_make_osnoise(tmp_path, purpose="target"))
    assert (tmp_path / "osnoise/options").read_text() == "NO_OSNOISE_WORKLOAD"


def test_workload_stays_off_while_the_tracer_still_runs(tmp_path: Path) -> None:
    instance = _make_osnoise(tmp_path)
    (instance / "current_tracer").unlink()
    (instance / "current_tracer").mkdir()  # nothing can be written to it
    remove(instance)
    assert (tmp_path / "osnoise/options").read_text() == "NO_OSNOISE_WORKLOAD"


_MAKER = """
import os, sys
from pathlib import Path
from noisewatch.machine.tracefs.watcher import instance_path
from noisewatch.machine.tracefs.watcher import Watcher
tracefs = Path(sys.argv[1])
with Watcher(tracefs) as watcher:
    for purpose in ("target", "senders"):
        instance_path(tracefs, purpose).mkdir()
    print(watcher.pid, flush=True)
    sys.stdin.read()
"""


def _start_maker(tracefs: Path) -> tuple[subprocess.Popen[str], int]:
    """Start a process that makes two instances. Return it and the PID of its watcher."""
    (tracefs / "instances").mkdir(exist_ok=True)
    command = [sys.executable, "-c", _MAKER, str(tracefs)]
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, start_new_session=True)
    assert process.stdout is not None
    return process, int(process.stdout.readline())


def _instances(tracefs: Path) -> list[str]:
    return os.listdir(tracefs / "instances")


@pytest.mark.parametrize("is_whole_group", [False, True])
def test_killed_process_leaves_no_instance(tmp_path: Path, is_whole_group: bool) -> None:
    process, watcher = _start_maker(tmp_path)
    assert Path(f"/proc/{watcher}/comm").read_text() == f"{NAME}\n"
    assert len(_instances(tmp_path)) == 2
    os.kill(watcher, signal.SIGTERM)  # as sent to each process of a service that is stopped
    (os.killpg if is_whole_group else os.kill)(process.pid, signal.SIGKILL)
    wait_until(lambda: _instances(tmp_path) == [])
    wait_until(lambda: not is_alive(watcher))
    process.communicate()


def test_next_process_removes_instances_if_the_watcher_is_killed_too(tmp_path: Path) -> None:
    process, watcher = _start_maker(tmp_path)
    for pid in (watcher, process.pid):
        os.kill(pid, signal.SIGKILL)
    process.communicate()
    assert len(_instances(tmp_path)) == 2
    remove_stale(tmp_path)
    assert _instances(tmp_path) == []


def test_process_that_exits_removes_its_instances_and_its_watcher(tmp_path: Path) -> None:
    process, watcher = _start_maker(tmp_path)
    process.communicate("")
    assert (process.returncode, _instances(tmp_path), is_alive(watcher)) == (0, [], False)


def test_killed_watcher_does_not_matter_at_the_end(tmp_path: Path) -> None:
    (tmp_path / "instances").mkdir()
    with Watcher(tmp_path) as watcher:
        instance_path(tmp_path, "target").mkdir()
        os.kill(watcher.pid or 0, signal.SIGKILL)
    assert _instances(tmp_path) == []


def test_instances_of_other_processes_stay(tmp_path: Path) -> None:
    other = instance_path(tmp_path, "target", os.getppid())
    for path in (other, instance_path(tmp_path, "target"), instance_path(tmp_path, "senders")):
        path.mkdir(parents=True)
    assert remove_all_of(tmp_path, instance_path(tmp_path, "").name)
    assert _instances(tmp_path) == [other.name]
