"""Own ring buffers of the kernel's trace, beside whatever else is traced: an instance, which leaves with us.

    /sys/kernel/tracing/instances/noisewatch-4026531836-4711-8123/events/sched/sched_switch/enable
    /sys/kernel/tracing/instances/noisewatch-4026531836-4711-8123/per_cpu/cpu1/trace_pipe_raw

The global buffer, its clock and its events are neither read nor written. The name holds our pid, its namespace and when
we started, so that what a killed process has left is known as such. https://docs.kernel.org/trace/ftrace.html
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from noisewatch.errors import CannotMeasure

MOUNTS = "/proc/self/mounts"
_NAME = re.compile(
    r"noisewatch-(?P<namespace>\d{1,20})-(?P<pid>\d{1,10})-(?P<ticks>\d{1,20})-(?P<purpose>\w+)", re.ASCII
)
_LARGEST_PAGE = 1 << 16
_FIRST_PID_NAMESPACE = 0xEFFF_FFFC  # PROC_PID_INIT_INO in linux/proc_ns.h


def find_tracefs(mounts: str) -> Path | None:
    """Where the text of /proc/self/mounts says that tracefs is mounted."""
    for line in mounts.splitlines():
        fields = line.split()
        if len(fields) > 2 and fields[2] == "tracefs":
            return Path(fields[1])
    return None


class Instance:
    """A context manager: events of some CPUs, in time with CLOCK_MONOTONIC. Raises CannotMeasure."""

    def __init__(
        self, tracefs: Path, purpose: str, cpus: Iterable[int], buffer_kb: int, tracer: str | None = None
    ) -> None:
        self._tracefs = tracefs
        self._cpus = sorted(cpus)
        self._buffer_kb = buffer_kb
        self._tracer = tracer
        pid = os.getpid()
        self.path = tracefs / "instances" / f"noisewatch-{_namespace()}-{pid}-{_started_ticks(pid)}-{purpose}"
        self._pipes: dict[int, int] = {}

    def __enter__(self) -> Self:
        try:
            self.path.mkdir()
            self._write("tracing_on", "0")
            self._write("trace_clock", "mono")
            self._write("tracing_cpumask", _mask(self._cpus))
            self._write("buffer_size_kb", str(self._buffer_kb))
            if self._tracer is not None:  # before the pipes: it cannot be changed while there are readers
                self._write("current_tracer", self._tracer)
            for cpu in self._cpus:
                pipe = self.path / f"per_cpu/cpu{cpu}/trace_pipe_raw"
                self._pipes[cpu] = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            self.close()
            hint = " (tracing is for root)" if error.errno in (errno.EACCES, errno.EPERM) else ""
            raise CannotMeasure(f"{self._tracefs}: {(error.strerror or str(error)).lower()}{hint}") from error
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def enable(self, event: str, condition: str | None = None) -> bool:
        """Whether the kernel has the event (`sched/sched_switch`) and takes the filter."""
        try:
            if condition is not None:
                self._write(f"events/{event}/filter", condition)
            self._write(f"events/{event}/enable", "1")
        except OSError:
            return False
        return True

    def start(self) -> None:
        """From now on events are kept."""
        self._switch("1")

    def stop(self) -> None:
        """No more; what is there can still be read."""
        self._switch("0")

    def pages(self, cpu: int) -> Iterable[bytes]:
        """What has been written since the last time, a page of the ring buffer each."""
        while True:
            try:
                page = os.read(self._pipes[cpu], _LARGEST_PAGE)
            except (BlockingIOError, InterruptedError):
                return
            except OSError as error:
                if error.errno in (errno.ENODEV, errno.EBUSY):
                    return
                raise CannotMeasure(f"{self.path}: {(error.strerror or str(error)).lower()}") from error
            if not page:
                return
            yield page

    def lost(self, cpu: int) -> int | None:
        """How many events found no room, were written over, or have not been read; None is unknown."""
        try:
            text = (self.path / f"per_cpu/cpu{cpu}/stats").read_text()
        except OSError:
            return None
        counts = dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)
        found = [counts.get(name, "") for name in ("overrun", "commit overrun", "dropped events", "entries")]
        return sum(map(int, found)) if all(count.isdecimal() for count in found) else None

    def close(self) -> None:
        """Removes the instance."""
        for pipe in self._pipes.values():
            os.close(pipe)
        self._pipes = {}
        _remove(self.path)

    def _switch(self, word: str) -> None:
        try:
            self._write("tracing_on", word)
        except OSError as error:
            raise CannotMeasure(f"{self.path}: {(error.strerror or str(error)).lower()}") from error

    def _write(self, name: str, text: str) -> None:
        write_setting(self.path / name, text)


def remove_stale(tracefs: Path) -> frozenset[str]:
    """Removes the instances that processes of ours left behind which were killed; what they were for."""
    purposes: set[str] = set()
    with suppress(OSError):
        for name in os.listdir(tracefs / "instances"):
            match = _NAME.fullmatch(name)
            is_ours = match is not None and int(match["namespace"]) == _namespace()
            if match is not None and is_ours and _started_ticks(int(match["pid"])) != int(match["ticks"]):
                _remove(tracefs / "instances" / name)
                purposes.add(match["purpose"])
    return frozenset(purposes)


def write_setting(path: Path, text: str) -> None:
    """To a file that is there. Raises OSError."""
    file = os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC)
    try:
        os.write(file, text.encode())
    finally:
        os.close(file)


def _remove(instance: Path) -> None:
    """Events have to be off before the folder goes: it is busy while they are on."""
    for name in ("tracing_on", "events/enable"):
        with suppress(OSError):
            write_setting(instance / name, "0")
    with suppress(OSError):
        instance.rmdir()


def numbers_threads_as_we_do() -> bool:
    """Whether the thread numbers of a trace, which are the host's, are those of our own /proc."""
    return _namespace() == _FIRST_PID_NAMESPACE


def _namespace() -> int:
    """In which our pid is what it is; another container's may be anybody's."""
    try:
        return os.stat("/proc/self/ns/pid").st_ino
    except OSError:
        return 0


def _started_ticks(pid: int) -> int:
    """When the process started, in ticks since boot; 0 where there is none."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
        return int(stat.rpartition(")")[2].split()[19])
    except (OSError, IndexError, ValueError):
        return 0


def _mask(cpus: Iterable[int]) -> str:
    """The CPUs as the kernel reads masks: groups of 32 bits in hexadecimal."""
    bits = sum(1 << cpu for cpu in cpus)
    groups = [f"{bits >> shift & 0xFFFF_FFFF:08x}" for shift in range(0, max(bits.bit_length(), 1), 32)]
    return ",".join(reversed(groups))
