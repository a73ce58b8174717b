"""A process that takes a trace's instances away if the one that made them is killed.

It sleeps at the end of a pipe, in a session of its own, so that what ends a terminal's processes, or a group of them,
leaves it alone. The end of the pipe without a farewell is the other's death. Where it is killed as well, as with a
whole container, whoever comes next removes what is left.

The instances of the kernel's trace by their names: who made them, what for, and how one is taken away.

    /sys/kernel/tracing/instances/noisewatch-4026531836-4711-8123-target

A name holds its maker's pid, the namespace of that, and when it started: of whoever was killed it is known that nobody
needs it any more. What else was switched on goes with the instance that was made for it, and after it, so that nothing
is on that no name tells of. Light on imports, for the watcher's sake.
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

import noisewatch
from noisewatch.errors import CannotMeasure
from noisewatch.machine import is_readable_within
from noisewatch.patterns import regex

MOUNTS = "/proc/self/mounts"
WORKLOAD_OFF = "osnoise"  # what an instance is for that has the osnoise tracer's own load switched off
_WITH_WORKLOAD = "OSNOISE_WORKLOAD"
_NO_TRACER = "nop"
_NAME = regex(r"noisewatch-(?P<namespace>\d{1,20})-(?P<pid>\d{1,10})-(?P<ticks>\d{1,20})-(?P<purpose>\w+)", re.ASCII)
_FIRST_PID_NAMESPACE = 0xEFFF_FFFC  # PROC_PID_INIT_INO in linux/proc_ns.h


def find_tracefs(mounts: str) -> Path | None:
    """Where the text of /proc/self/mounts says that tracefs is mounted."""
    for line in mounts.splitlines():
        fields = line.split()
        if len(fields) > 2 and fields[2] == "tracefs":
            return Path(fields[1])
    return None


def instance_path(tracefs: Path, purpose: str, pid: int | None = None) -> Path:
    """The instance of the process, this one if no other is named."""
    pid = os.getpid() if pid is None else pid
    return tracefs / "instances" / f"noisewatch-{_namespace()}-{pid}-{_started_ticks(pid)}-{purpose}"


def remove_stale_where_mounted() -> None:
    """What processes of ours have left behind that were killed, if this kernel is asked to trace at all."""
    with suppress(OSError):
        tracefs = find_tracefs(Path(MOUNTS).read_text(errors="replace"))
        if tracefs is not None:
            remove_stale(tracefs)


def remove_stale(tracefs: Path) -> None:
    """Removes the instances that processes of ours left behind which were killed."""
    for match in _own_instances(tracefs):
        if _has_ended(int(match["pid"]), int(match["ticks"])):
            remove(tracefs / "instances" / match[0])


def remove_all_of(tracefs: Path, owner: str) -> bool:
    """Removes the instances whose names begin so; whether none is left."""
    paths = [tracefs / "instances" / match[0] for match in _own_instances(tracefs) if match[0].startswith(owner)]
    return not [path for path in paths if not remove(path)]


def remove(instance: Path) -> bool:
    """Switches off what is on, then takes the folder away, which is busy until then; whether it is gone.

    Who may not even look has made none.
    """
    _try(write_setting, instance / "tracing_on", "0")
    _try(write_setting, instance / "events/enable", "0")
    if instance.name.endswith(f"-{WORKLOAD_OFF}"):
        _try(write_setting, instance / "current_tracer", _NO_TRACER)
        if tracer_of(instance) == _NO_TRACER:  # else the load would begin to run
            _try(write_setting, instance.parents[1] / "osnoise/options", _WITH_WORKLOAD)
    _try(os.rmdir, instance)
    return not os.path.exists(instance)


def _try(change: Callable[..., None], *arguments: Path | str) -> None:
    """What cannot be done, or has been done already, is left."""
    with suppress(OSError):
        change(*arguments)


def write_setting(path: Path, text: str) -> None:
    """To a file that is there. Raises OSError."""
    file = os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC)
    try:
        os.write(file, text.encode())
    finally:
        os.close(file)


def tracer_of(instance: Path) -> str:
    """Empty of an instance that has just gone."""
    try:
        return (instance / "current_tracer").read_text().strip()
    except OSError:
        return ""


def numbers_threads_as_we_do() -> bool:
    """Whether the thread numbers of a trace, which are the host's, are those of our own /proc."""
    return _namespace() == _FIRST_PID_NAMESPACE


def maker_of(name: str) -> tuple[int, int, int] | None:
    """Return the pid, start time (ticks) and PID namespace of the noisewatch that named an instance so, or None."""
    match = _NAME.fullmatch(name)
    return None if match is None else (int(match["pid"]), int(match["ticks"]), int(match["namespace"]))


def _own_instances(tracefs: Path) -> list[re.Match[str]]:
    """Those whose makers have their numbers where we have ours."""
    try:
        names = os.listdir(tracefs / "instances")
    except OSError:
        return []
    matches = (match for match in map(_NAME.fullmatch, names) if match is not None)
    return [match for match in matches if int(match["namespace"]) == _namespace()]


def _namespace() -> int:
    """In which our pid is what it is; another container's may be anybody's."""
    try:
        return os.stat("/proc/self/ns/pid").st_ino
    except OSError:
        return 0


def _has_ended(pid: int, started_ticks: int) -> bool:
    """Whether the process that started then is gone, or only waits for its parent to ask for its exit status."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False  # of another user, whom /proc may hide
    state, ticks = _state_and_start(pid)
    return ticks != started_ticks or state in ("Z", "X")


def _started_ticks(pid: int) -> int:
    return _state_and_start(pid)[1]


def _state_and_start(pid: int) -> tuple[str, int]:
    """When the process started, in ticks since boot; 0 where there is none."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
        return fields[0], int(fields[19])
    except (OSError, IndexError, ValueError):
        return "", 0


NAME = "noisewatch-wait"  # 15 bytes
_READY, _FAREWELL = b"r", b"f"
_READY_WITHIN_S = 10.0  # an interpreter without libraries takes 0.05 s
_ENDS_WITHIN_S = 2.0
_REMOVES_WITHIN_S = 10.0  # the dying process may hold its buffers open for a moment longer than the pipe
_TRY_AGAIN_S = 0.02
_BOOT = "import sys; sys.path.insert(0, sys.argv[1]); from noisewatch.machine.tracefs.watcher import main; main()"


class Watcher:
    """A context manager, around all instances that this process makes meanwhile. Raises CannotMeasure."""

    def __init__(self, tracefs: Path) -> None:
        self._tracefs = tracefs
        self._owner = instance_path(tracefs, "").name
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        root = str(Path(noisewatch.__file__).resolve().parent.parent)
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _BOOT, root, str(self._tracefs), self._owner],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                bufsize=0,
                start_new_session=True,
            )
        except OSError as error:
            raise CannotMeasure(
                f"cannot start the trace's watcher: {(error.strerror or str(error)).lower()}"
            ) from error
        if not self._is_ready(self._process):
            self._end()
            raise CannotMeasure("the trace's watcher did not start")
        return self

    @property
    def pid(self) -> int | None:
        """The process; None before and after."""
        return self._process.pid if self._process is not None else None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._end()

    def _is_ready(self, process: subprocess.Popen[bytes]) -> bool:
        """It is waited for: to start would be noise in what is traced."""
        said = process.stdout
        if said is None or not is_readable_within(said.fileno(), _READY_WITHIN_S):
            return False
        return said.read(1) == _READY

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        with suppress(OSError):  # it has been killed
            if process.stdin is not None and remove_all_of(self._tracefs, self._owner):
                process.stdin.write(_FAREWELL)
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()
        try:
            process.wait(_ENDS_WITHIN_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def main() -> None:
    """Waits for the end of standard input; `argv` has the tracefs, and what the names of the instances begin with."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # a service that is stopped tells all of its processes at once
    with suppress(OSError):
        Path("/proc/self/comm").write_text(NAME)
    os.write(1, _READY)
    if os.read(0, 1) == _FAREWELL:
        return
    tracefs, owner = Path(sys.argv[2]), sys.argv[3]
    give_up_s = time.monotonic() + _REMOVES_WITHIN_S
    while not remove_all_of(tracefs, owner) and time.monotonic() < give_up_s:
        time.sleep(_TRY_AGAIN_S)
