"""A process that removes trace instances if their maker is killed, and the names of instances.

It waits for the end of a pipe, in its own session, so that it survives the end of a terminal or a process group. If the
pipe ends without a final byte, the maker was killed, or could not remove its instances. If the watcher is killed as
well, as with a whole container, the next noisewatch removes the instances.

    /sys/kernel/tracing/instances/noisewatch-4026531836-4711-8123-target

A name contains its maker's PID namespace, pid and start time, which show whether the maker was killed and the instance
is stale. Its last part shows if a setting outside the instance was changed; this setting is restored when the instance
is removed. Imports are few, for a quick start of the watcher.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from noisewatch.errors import CannotMeasure, system_reason
from noisewatch.machine import wait_readable
from noisewatch.machine.bare_interpreter import bare_interpreter
from noisewatch.patterns import regex

MOUNTS = "/proc/self/mounts"
WORKLOAD_OFF = "osnoise"  # purpose of an instance for which the osnoise tracer's own load is switched off
_WITH_WORKLOAD = "OSNOISE_WORKLOAD"
_NO_TRACER = "nop"
_NAME = regex(r"noisewatch-(?P<namespace>\d{1,20})-(?P<pid>\d{1,10})-(?P<ticks>\d{1,20})-(?P<purpose>\w+)", re.ASCII)
_FIRST_PID_NAMESPACE = 0xEFFF_FFFC  # PROC_PID_INIT_INO in linux/proc_ns.h


def find_tracefs(mounts: str) -> Path | None:
    """Return the mount point of tracefs in the text of /proc/self/mounts, or None."""
    for line in mounts.splitlines():
        fields = line.split()
        if len(fields) > 2 and fields[2] == "tracefs":
            return Path(fields[1])
    return None


def instance_path(tracefs: Path, purpose: str, pid: int | None = None) -> Path:
    """Return the path of a process's instance, by default this process's."""
    pid = os.getpid() if pid is None else pid
    return tracefs / "instances" / f"noisewatch-{_namespace()}-{pid}-{_state_and_start(pid)[1]}-{purpose}"


def remove_stale_where_mounted() -> None:
    """Remove instances left by killed noisewatch processes, if tracefs is mounted."""
    with suppress(OSError):
        tracefs = find_tracefs(Path(MOUNTS).read_text(errors="replace"))
        if tracefs is not None:
            remove_stale(tracefs)


def remove_stale(tracefs: Path) -> None:
    """Remove instances left by killed noisewatch processes."""
    for match in _own_instances(tracefs):
        if _has_exited(int(match["pid"]), int(match["ticks"])):
            remove(tracefs / "instances" / match[0])


def remove_all_of(tracefs: Path, owner: str) -> bool:
    """Remove all instances whose names begin with `owner`; return whether none is left."""
    paths = [tracefs / "instances" / match[0] for match in _own_instances(tracefs) if match[0].startswith(owner)]
    return not [path for path in paths if not remove(path)]


def remove(instance: Path) -> bool:
    """Switch off the instance, which is busy until then, and remove it; return whether it is gone.

    Settings outside the instance are restored first. A user without access to tracefs has created no instance.
    """
    _try(write_setting, instance / "tracing_on", "0")
    _try(write_setting, instance / "events/enable", "0")
    if instance.name.endswith(f"-{WORKLOAD_OFF}"):
        _try(write_setting, instance / "current_tracer", _NO_TRACER)
        if tracer_of(instance) == _NO_TRACER:  # otherwise the tracer would start its load
            _try(write_setting, instance.parents[1] / "osnoise/options", _WITH_WORKLOAD)
    _try(os.rmdir, instance)
    return not os.path.exists(instance)


def _try(change: Callable[..., None], *arguments: Path | str) -> None:
    """Apply the change; ignore a change that is impossible or already made."""
    with suppress(OSError):
        change(*arguments)


def write_setting(path: Path, text: str) -> None:
    """Write to an existing file. Raise OSError."""
    file = os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC)
    try:
        os.write(file, text.encode())
    finally:
        os.close(file)


def tracer_of(instance: Path) -> str:
    """Return the instance's current tracer; empty if the instance has just gone."""
    try:
        return (instance / "current_tracer").read_text().strip()
    except OSError:
        return ""


def numbers_threads_as_we_do() -> bool:
    """Return whether thread numbers in traces, which are the host's, match this process's /proc."""
    return _namespace() == _FIRST_PID_NAMESPACE


def maker_of(name: str) -> tuple[int, int, int] | None:
    """Return the pid, start time (ticks) and PID namespace in a noisewatch instance's name; None for other names."""
    match = _NAME.fullmatch(name)
    return None if match is None else (int(match["pid"]), int(match["ticks"]), int(match["namespace"]))


def _own_instances(tracefs: Path) -> list[re.Match[str]]:
    """Return the instances whose makers are in this process's PID namespace."""
    try:
        names = os.listdir(tracefs / "instances")
    except OSError:
        return []
    matches = (match for match in map(_NAME.fullmatch, names) if match is not None)
    return [match for match in matches if int(match["namespace"]) == _namespace()]


def _namespace() -> int:
    """Return the number of this process's PID namespace, or 0 if unknown. Pids are valid only in their namespace."""
    try:
        return os.stat("/proc/self/ns/pid").st_ino
    except OSError:
        return 0


def _has_exited(pid: int, started_ticks: int) -> bool:
    """Return whether the process with this start time is gone, or a zombie."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False  # a process of another user, hidden by /proc
    state, ticks = _state_and_start(pid)
    return ticks != started_ticks or state in ("Z", "X")


def _state_and_start(pid: int) -> tuple[str, int]:
    """Return a process's state and start time, in ticks since boot; "" and 0 if the process is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
        return fields[0], int(fields[19])
    except (OSError, IndexError, ValueError):
        return "", 0


NAME = "noisewatch-wait"  # 15 bytes
_READY, _FAREWELL = b"r", b"f"
_READY_DEADLINE_S = 10.0  # an interpreter without libraries takes 0.05 s
_END_DEADLINE_S = 2.0
_REMOVAL_DEADLINE_S = 10.0  # the dying process may keep its buffers open slightly longer than the pipe
_TRY_AGAIN_S = 0.02


class Watcher:
    """A context manager that guards the trace instances that this process creates.

    Entering it raises CannotMeasure if the watcher does not start.
    """

    def __init__(self, tracefs: Path) -> None:
        self._tracefs = tracefs
        self._owner = instance_path(tracefs, "").name
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        try:
            self._process = subprocess.Popen(
                bare_interpreter("noisewatch.machine.tracefs.watcher", str(self._tracefs), self._owner),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                bufsize=0,
                start_new_session=True,
            )
        except OSError as error:
            raise CannotMeasure(f"cannot start the trace's watcher: {system_reason(error)}") from error
        if not self._is_ready(self._process):
            self._end()
            raise CannotMeasure("the trace's watcher did not start")
        return self

    @property
    def pid(self) -> int | None:
        """The watcher's pid; None if it is not running."""
        return self._process.pid if self._process is not None else None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._end()

    def _is_ready(self, process: subprocess.Popen[bytes]) -> bool:
        """Wait until the watcher is ready, because its start would be noise in the trace; return False on a timeout."""
        output = process.stdout
        if output is None or not wait_readable(output.fileno(), _READY_DEADLINE_S):
            return False
        return output.read(1) == _READY

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        with suppress(OSError):  # it was killed
            if process.stdin is not None and remove_all_of(self._tracefs, self._owner):
                process.stdin.write(_FAREWELL)
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()
        try:
            process.wait(_END_DEADLINE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def main() -> None:
    """Wait for the end of standard input, then remove the maker's instances unless a final byte came first.

    `argv` contains the path of tracefs, and the prefix of the instances' names.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # stopping a service signals all its processes at once
    with suppress(OSError):
        Path("/proc/self/comm").write_text(NAME)
    os.write(1, _READY)
    if os.read(0, 1) == _FAREWELL:
        return
    tracefs, owner = Path(sys.argv[1]), sys.argv[2]
    give_up_s = time.monotonic() + _REMOVAL_DEADLINE_S
    while not remove_all_of(tracefs, owner) and time.monotonic() < give_up_s:
        time.sleep(_TRY_AGAIN_S)
