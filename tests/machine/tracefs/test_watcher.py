"""What is left of a trace whose maker was killed, in a folder that looks like tracefs; the kernel's own: `-m live`."""

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


def test_what_a_dead_process_has_left_is_removed_and_nothing_else(tmp_path: Path) -> None:
    folder = tmp_path / "instances"
    mine = instance_path(tmp_path, "target").name
    _, namespace, pid, ticks, _ = mine.split("-")
    names = {
        "alive": mine,
        "recycled number": f"noisewatch-{namespace}-{pid}-{int(ticks) + 1}-target",
        "dead": f"noisewatch-{namespace}-4194305-{ticks}-senders",
        "of another container": f"noisewatch-{int(namespace) + 1}-4194305-{ticks}-target",
        "of another tool": "rtla",
        "something else": f"noisewatch-{pid}",
    }
    for name in names.values():
        (folder / name).mkdir(parents=True)
    remove_stale(tmp_path)
    left = {what for what, name in names.items() if (folder / name).exists()}
    assert left == {"alive", "of another container", "of another tool", "something else"}


def test_without_instances_there_is_nothing_to_remove(tmp_path: Path) -> None:
    remove_stale(tmp_path)


def test_an_instance_that_cannot_be_looked_at_is_none_of_ours(tmp_path: Path) -> None:
    assert remove(tmp_path / ("x" * 300))  # refused as without privilege, but to root as well


def test_a_process_that_nobody_has_asked_for_its_exit_status_is_dead(tmp_path: Path) -> None:
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


def _osnoise(tracefs: Path, purpose: str = WORKLOAD_OFF, tracer: str = "osnoise") -> Path:
    instance = instance_path(tracefs, purpose)
    (tracefs / "osnoise").mkdir()
    (tracefs / "osnoise/options").write_text("NO_OSNOISE_WORKLOAD")
    (instance / "events").mkdir(parents=True)
    for name, text in (("tracing_on", "1"), ("events/enable", "1"), ("current_tracer", tracer)):
        (instance / name).write_text(text)
    return instance


def test_what_is_on_is_switched_off_and_the_load_that_was_left_out_is_put_back(tmp_path: Path) -> None:
    instance = _osnoise(tmp_path)
    assert not remove(instance)  # a folder of files is none of the kernel's
    left = [(instance / name).read_text() for name in ("tracing_on", "events/enable", "current_tracer")]
    assert left == ["0", "0", "nop"]
    assert (tmp_path / "osnoise/options").read_text() == "OSNOISE_WORKLOAD"


def test_a_load_that_somebody_else_had_left_out_stays_so(tmp_path: Path) -> None:
    remove(_osnoise(tmp_path, purpose="target"))
    assert (tmp_path / "osnoise/options").read_text() == "NO_OSNOISE_WORKLOAD"


def test_while_the_tracer_still_runs_its_load_is_not_let_in(tmp_path: Path) -> None:
    instance = _osnoise(tmp_path)
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


def _maker(tracefs: Path) -> tuple[subprocess.Popen[str], int]:
    """A process that has made two instances, and its watcher's number."""
    (tracefs / "instances").mkdir(exist_ok=True)
    command = [sys.executable, "-c", _MAKER, str(tracefs)]
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, start_new_session=True)
    assert process.stdout is not None
    return process, int(process.stdout.readline())


def _instances(tracefs: Path) -> list[str]:
    return os.listdir(tracefs / "instances")


@pytest.mark.parametrize("is_whole_group", [False, True])
def test_who_is_killed_leaves_no_instance(tmp_path: Path, is_whole_group: bool) -> None:
    process, watcher = _maker(tmp_path)
    assert Path(f"/proc/{watcher}/comm").read_text() == f"{NAME}\n"
    assert len(_instances(tmp_path)) == 2
    os.kill(watcher, signal.SIGTERM)  # as each process of a service that is stopped gets it
    (os.killpg if is_whole_group else os.kill)(process.pid, signal.SIGKILL)
    wait_until(lambda: _instances(tmp_path) == [])
    wait_until(lambda: not is_alive(watcher))
    process.communicate()


def test_where_the_watcher_is_killed_too_the_next_one_clears_up(tmp_path: Path) -> None:
    process, watcher = _maker(tmp_path)
    for pid in (watcher, process.pid):
        os.kill(pid, signal.SIGKILL)
    process.communicate()
    assert len(_instances(tmp_path)) == 2
    remove_stale(tmp_path)
    assert _instances(tmp_path) == []


def test_who_ends_takes_its_instances_and_its_watcher_along(tmp_path: Path) -> None:
    process, watcher = _maker(tmp_path)
    process.communicate("")
    assert (process.returncode, _instances(tmp_path), is_alive(watcher)) == (0, [], False)


def test_a_watcher_that_was_killed_is_no_trouble_at_the_end(tmp_path: Path) -> None:
    (tmp_path / "instances").mkdir()
    with Watcher(tmp_path) as watcher:
        instance_path(tmp_path, "target").mkdir()
        os.kill(watcher.pid or 0, signal.SIGKILL)
    assert _instances(tmp_path) == []


def test_another_processes_instances_stay(tmp_path: Path) -> None:
    other = instance_path(tmp_path, "target", os.getppid())
    for path in (other, instance_path(tmp_path, "target"), instance_path(tmp_path, "senders")):
        path.mkdir(parents=True)
    assert remove_all_of(tmp_path, instance_path(tmp_path, "").name)
    assert _instances(tmp_path) == [other.name]
