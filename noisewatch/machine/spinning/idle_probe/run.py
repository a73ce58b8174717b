"""Starts the idle probe's processes, sets how long they may spin, and reads their slices; only `end` waits."""

from __future__ import annotations

import json
import mmap
import os
import subprocess
import time
from collections.abc import Iterable
from contextlib import ExitStack, suppress

from msgspec import Struct

from noisewatch.errors import CannotMeasure, system_reason
from noisewatch.machine.bare_interpreter import bare_interpreter
from noisewatch.machine.spinning.idle_probe.buffer import (
    BUFFER_WORDS,
    ERROR,
    LEASE_NS,
    SPINNING,
    STATE,
    TID,
    ProbeBuffer,
    Slice,
)
from noisewatch.machine.spinning.loops import load_core

_LONGEST_ERROR = 1 << 16


class SpinnerReport(Struct, frozen=True):
    """A spinner's report: its state, the error number if the kernel refused it, and its latest slices."""

    state: int
    error: int
    slices: tuple[Slice, ...]


class Spinners:
    """The spinners, one per CPU; each rests until its lease is renewed. Starting them may raise CannotMeasure."""

    def __init__(self, cpus: Iterable[int], core: str | None = None) -> None:
        self.cpus = frozenset(cpus)
        self._doors: dict[int, int] = {}
        try:
            with ExitStack() as stack:
                self._start(stack, core or str(load_core().NAME))
                self._open = stack.pop_all()
        except OSError as error:
            raise CannotMeasure(system_reason(error)) from error

    def _start(self, stack: ExitStack, core: str) -> None:
        memory = _close_with(stack, os.memfd_create("noisewatch-idle-probe"))
        self._errors = _close_with(stack, os.memfd_create("noisewatch-idle-probe-errors"))
        os.ftruncate(memory, BUFFER_WORDS * 8 * len(self.cpus))
        words = memoryview(mmap.mmap(memory, 0)).cast("q")
        self._buffers = {
            cpu: ProbeBuffer(words[number * BUFFER_WORDS : (number + 1) * BUFFER_WORDS])
            for number, cpu in enumerate(sorted(self.cpus))
        }
        with ExitStack() as passed_on:
            inner_doors = []
            for cpu in self._buffers:
                inner, outer = os.pipe()
                inner_doors.append((cpu, _close_with(passed_on, inner)))
                self._doors[cpu] = _close_with(stack, outer)
                os.set_blocking(outer, False)
            self._host = self._start_host(memory, [door for _, door in inner_doors])
        stack.callback(_end, self._host)
        if self._host.stdin is not None:
            self._host.stdin.write(json.dumps({"core": core, "doors": inner_doors}).encode() + b"\n")
            self._host.stdin.flush()

    def _start_host(self, memory: int, doors: list[int]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            bare_interpreter("noisewatch.machine.spinning.idle_probe.host", str(memory)),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=self._errors,
            pass_fds=[memory, *doors],
            start_new_session=True,  # Ctrl-C is for the monitor; the spinners end when it does
        )

    @property
    def pids(self) -> frozenset[int]:
        """The processes of the idle probe."""
        return frozenset({self._host.pid, *(buffer.header[TID] for buffer in self._buffers.values())} - {0})

    @property
    def failure(self) -> str | None:
        """Why the spinners have ended, or None while they run."""
        if self._host.poll() is None:
            return None
        errors = os.pread(self._errors, _LONGEST_ERROR, 0).decode("utf-8", "replace").strip().splitlines()
        return errors[-1] if errors else f"it ended with status {self._host.returncode}"

    def renew_lease(self, cpu: int, for_ns: int) -> None:
        """Let the CPU's spinner spin for `for_ns` from now on."""
        header = self._buffers[cpu].header
        header[LEASE_NS] = time.monotonic_ns() + for_ns
        if header[STATE] != SPINNING:
            with suppress(BlockingIOError, BrokenPipeError):  # the pipe is full, or the spinner is gone
                os.write(self._doors[cpu], b".")

    def let_rest(self, cpu: int) -> None:
        """Stop the CPU's spinner after the current slice."""
        self._buffers[cpu].header[LEASE_NS] = 0

    def report(self, cpu: int, since_ns: int) -> SpinnerReport:
        """Return the report of the CPU's spinner, with its slices since `since_ns`."""
        buffer = self._buffers[cpu]
        return SpinnerReport(buffer.header[STATE], buffer.header[ERROR], tuple(buffer.slices_since(since_ns)))

    def end(self) -> None:
        """Kill the host and close the spinners' pipes. A spinner ends when its pipe has no writer left."""
        self._open.close()


def _close_with(stack: ExitStack, descriptor: int) -> int:
    stack.callback(os.close, descriptor)
    return descriptor


def _end(host: subprocess.Popen[bytes]) -> None:
    """Kill the host, which has nothing to clean up."""
    host.kill()
    host.wait()
    if host.stdin is not None:
        host.stdin.close()
