"""A trace instance: separate ring buffers of the kernel's trace, independent of all other tracing.

    /sys/kernel/tracing/instances/noisewatch-4026531836-4711-8123/events/sched/sched_switch/enable
    /sys/kernel/tracing/instances/noisewatch-4026531836-4711-8123/per_cpu/cpu1/trace_pipe_raw

The global buffer, its clock and its events are neither read nor written. The instance is removed at the end, even if
noisewatch is killed: see watcher.py. https://docs.kernel.org/trace/ftrace.html

With the osnoise tracer an instance observes a CPU without the tracer's own load: each interruption is reported when it
is over, without nested ones. One option switches the load for all users of the tracer, so noisewatch does not change
it while there are others. If noisewatch switches it off, the instance's name shows that, and the process that removes
the instance restores the option. https://docs.kernel.org/trace/osnoise-tracer.html
"""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

from noisewatch.errors import CannotMeasure, system_reason
from noisewatch.machine import wait_readable
from noisewatch.machine.reading import load_reading
from noisewatch.machine.reading.python_reading import PROGRESS_WORDS, read_whole
from noisewatch.machine.tracefs import buffer_resizer
from noisewatch.machine.tracefs.watcher import WORKLOAD_OFF, instance_path, remove, tracer_of, write_setting

OSNOISE = "osnoise"
_PURPOSE = "target"  # purpose of an instance that changed no option
_WITH_LOAD, _WITHOUT_LOAD = "OSNOISE_WORKLOAD", "NO_OSNOISE_WORKLOAD"
_FAMILY = frozenset({OSNOISE, "timerlat"})  # tracers that share the osnoise options
FOR_ROOT = "tracing requires root"
_ON = "tracing_on"
_SETTINGS = ("trace_clock", "tracing_cpumask", "current_tracer")
_LARGEST_PAGE = 1 << 16
_LARGEST = 1 << 20  # size of the largest file: a filter with many CPUs


def osnoise_setup(tracefs: Path) -> tuple[str, Callable[[], None]]:
    """Return the osnoise instance's purpose, and a function to call before its tracer is set.

    Raise CannotMeasure if the tracer is missing, in use, or always runs its own load.
    """
    options = tracefs / "osnoise/options"
    try:
        if OSNOISE not in (tracefs / "available_tracers").read_text().split():
            raise CannotMeasure("this kernel has no osnoise tracer (CONFIG_OSNOISE_TRACER)")
        if _is_in_use(tracefs):
            raise CannotMeasure("another program uses the osnoise tracer")
        has_workload = _WITH_LOAD in options.read_text().split()
    except FileNotFoundError as error:
        raise CannotMeasure(
            "the osnoise tracer of this kernel always runs its own load (optional since Linux 6.2)"
        ) from error
    except OSError as error:
        raise CannotMeasure(f"the osnoise tracer: {system_reason(error)}") from error
    return (WORKLOAD_OFF, partial(write_setting, options, _WITHOUT_LOAD)) if has_workload else (_PURPOSE, lambda: None)


def _is_in_use(tracefs: Path) -> bool:
    """Return whether a tracer of the osnoise family runs, or an instance is about to start it."""
    instances = list((tracefs / "instances").glob("*"))
    return any(tracer_of(folder) in _FAMILY for folder in (tracefs, *instances)) or any(
        folder.name.startswith("noisewatch-") and folder.name.endswith(f"-{WORKLOAD_OFF}") for folder in instances
    )


class Instance:
    """A context manager that traces events on some CPUs, with times of CLOCK_MONOTONIC. Methods raise CannotMeasure.

    `prepare` is called before the tracer begins; by then the instance's name shows what to restore.
    """

    def __init__(
        self,
        tracefs: Path,
        purpose: str,
        cpus: Iterable[int],
        buffer_kb: int,
        tracer: str | None = None,
        prepare: Callable[[], None] = lambda: None,
    ) -> None:
        self._tracefs = tracefs
        self._cpus = sorted(cpus)
        self._buffer_kb = buffer_kb
        self._tracer = tracer
        self._prepare = prepare
        self.path = instance_path(tracefs, purpose)
        self._pipes: dict[int, int] = {}
        self._enabled: list[str] = []
        self._switches = Switches(self.path)
        self._is_on = False

    def __enter__(self) -> Self:
        try:
            self.path.mkdir()
            self._write(_ON, "0")
            self._write("trace_clock", "mono")
            self._write("tracing_cpumask", _mask(self._cpus))
            resize_buffers(self.path, self._cpus, self._buffer_kb)
            self._prepare()
            # Set before the pipes are opened: it cannot be changed while there are readers.
            if self._tracer is not None:
                self._write("current_tracer", self._tracer)
            for cpu in self._cpus:
                pipe = self.path / f"per_cpu/cpu{cpu}/trace_pipe_raw"
                self._pipes[cpu] = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            self.close()
            hint = f" ({FOR_ROOT})" if error.errno in (errno.EACCES, errno.EPERM) else ""
            raise CannotMeasure(f"{self._tracefs}: {system_reason(error)}{hint}") from error
        except BaseException:  # Ctrl-C
            self.close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def enable(self, event: str, condition: str | None = None) -> bool:
        """Enable the event (such as `sched/sched_switch`); return whether the kernel has it and accepts the filter."""
        try:
            if condition is not None:
                self._write(f"events/{event}/filter", condition)
            self._write(f"events/{event}/enable", "1")
        except OSError:
            return False
        self._enabled.append(event)
        if self._is_on:
            self._watch(_switches_of(event))
        return True

    @property
    def is_writing(self) -> bool:
        """Whether tracing is unchanged since `start` and `enable`; root may change any instance."""
        return self._is_on and self._switches.are_unchanged

    def start(self) -> None:
        """Start recording events."""
        self._switch("1")
        self._is_on = True
        self._switches.close()
        self._watch([_ON, *_SETTINGS])
        for event in self._enabled:
            self._watch(_switches_of(event))

    def stop(self) -> None:
        """Stop recording; recorded events can still be read."""
        self._is_on = False
        self._switch("0")

    def pages(self, cpu: int) -> Iterable[bytes]:
        """Yield the pages of the ring buffer written since the last call."""
        while True:
            try:
                page = os.read(self._pipes[cpu], _LARGEST_PAGE)
            except (BlockingIOError, InterruptedError):
                return
            except OSError as error:
                raise self._trace_error(error) from error
            if not page:
                return
            yield page

    def lost(self, cpu: int) -> int | None:
        """Return the number of events that did not fit, were overwritten, or have not been read; None if unknown."""
        try:
            text = (self.path / f"per_cpu/cpu{cpu}/stats").read_text()
        except OSError:
            return None
        counts = dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)
        numbers = [counts.get(name, "") for name in ("overrun", "commit overrun", "dropped events", "entries")]
        return sum(map(int, numbers)) if all(count.isdecimal() for count in numbers) else None

    def close(self) -> None:
        """Remove the instance."""
        for pipe in self._pipes.values():
            os.close(pipe)
        self._pipes = {}
        self._switches.close()
        remove(self.path)

    def _switch(self, word: str) -> None:
        try:
            self._write(_ON, word)
        except OSError as error:
            raise self._trace_error(error) from error

    def _watch(self, names: Iterable[str]) -> None:
        try:
            self._switches.add(names)
        except OSError as error:
            raise self._trace_error(error) from error

    def _trace_error(self, error: OSError) -> CannotMeasure:
        return CannotMeasure(f"{self.path}: {system_reason(error)}")

    def _write(self, name: str, text: str) -> None:
        write_setting(self.path / name, text)


def _switches_of(event: str) -> tuple[str, str]:
    return f"events/{event}/enable", f"events/{event}/filter"


def _mask(cpus: Iterable[int]) -> str:
    """Return the mask as the kernel reads it: hexadecimal groups of 32 bits."""
    bits = sum(1 << cpu for cpu in cpus)
    groups = [f"{bits >> shift & 0xFFFF_FFFF:08x}" for shift in range(0, max(bits.bit_length(), 1), 32)]
    return ",".join(reversed(groups))


class Switches:
    """Files of an instance that are kept open, to detect in one call whether any has changed since `add`.

    Opening thirty files after each repetition of a command took four milliseconds. The folder cannot be removed before
    `close`.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._kept: list[tuple[int, bytes]] = []
        self._reread = load_reading().reread
        self._progress = memoryview(bytearray(8 * PROGRESS_WORDS)).cast("q")

    def add(self, names: Iterable[str]) -> None:
        """Open and read the named files of the folder. Raise OSError."""
        for name in names:
            descriptor = os.open(self._folder / name, os.O_RDONLY | os.O_CLOEXEC)
            self._kept.append((descriptor, b""))
            self._kept[-1] = (descriptor, read_whole(descriptor, _LARGEST))

    @property
    def are_unchanged(self) -> bool:
        """Whether all files are readable and unchanged since they were added."""
        return not self._reread(self._kept, self._progress, _LARGEST)

    def close(self) -> None:
        """Close all files."""
        for descriptor, _ in self._kept:
            os.close(descriptor)
        self._kept = []


_READY_DEADLINE_S = 10.0  # an interpreter without libraries takes 0.05 s
_CPU_DEADLINE_S = 2.0  # the move takes a second if a thousand threads share the CPU
_END_DEADLINE_S = 2.0


def resize_buffers(instance: Path, cpus: Iterable[int], size_kb: int) -> None:
    """Set the sizes (kB) of the CPUs' buffers, each from the CPU that writes to it.

    The kernel resizes another CPU's buffer in a kernel thread there, and waits uninterruptibly for it while holding the
    lock of all tracing: forever if a real-time task leaves no time for other threads. So a process moves to one CPU
    after the other. While it waits for a CPU it can be killed; once it runs there, other threads get time too.
    ring_buffer_resize in https://github.com/torvalds/linux/blob/master/kernel/trace/ring_buffer.c

    Buffers keep the kernel's size on CPUs to which this process may not move, and on all CPUs from the first that does
    not run the process in time. Raise OSError if no process can be started.
    """
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", buffer_resizer.__file__, str(instance), str(size_kb), *map(str, cpus)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        bufsize=0,
        start_new_session=True,
    )
    assert process.stdout is not None
    try:
        deadline_s = _READY_DEADLINE_S
        while wait_readable(process.stdout.fileno(), deadline_s) and process.stdout.read(1):
            deadline_s = _CPU_DEADLINE_S
    finally:
        _end_resizer(process)


def _end_resizer(process: subprocess.Popen[bytes]) -> None:
    """Kill the process, and move it to our CPUs so that it can end."""
    process.kill()  # killed before it is moved, so that it does not continue on another CPU
    with suppress(OSError):
        os.sched_setaffinity(process.pid, os.sched_getaffinity(0))
    with suppress(subprocess.TimeoutExpired):
        process.wait(_END_DEADLINE_S)
    if process.stdout is not None:
        process.stdout.close()
