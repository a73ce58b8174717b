"""Starts the sentinel's processes, says how long they may spin, and reads what they wrote; never waits for them."""

from __future__ import annotations

import json
import mmap
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import noisewatch
from noisewatch.errors import CannotMeasure
from noisewatch.machine.core import load_core
from noisewatch.machine.sentinel.sheet import ERROR, LEASE_NS, SHEET_WORDS, SPINNING, STATE, TID, Sheet, Slice

_BOOT = "import sys; sys.path.insert(0, sys.argv[2]); from noisewatch.machine.sentinel.host import main; main()"


@dataclass(frozen=True, slots=True)
class Spun:
    """What one spinner says: how it is, with the kernel's error number if it was refused, and its latest slices."""

    state: int
    error: int
    slices: tuple[Slice, ...]


class Spinners:
    """A spinner on each of the CPUs; they rest until they are let spin. Raises CannotMeasure."""

    def __init__(self, cpus: Iterable[int], core: str | None = None) -> None:
        self.cpus = frozenset(cpus)
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - it is as long-lived as the processes that write to it
        self._descriptor = os.memfd_create("noisewatch-sentinel")
        os.ftruncate(self._descriptor, max(SHEET_WORDS * 8 * len(self.cpus), 8))
        words = memoryview(mmap.mmap(self._descriptor, 0)).cast("q")
        self._sheets = {
            cpu: Sheet(words[number * SHEET_WORDS : (number + 1) * SHEET_WORDS])
            for number, cpu in enumerate(sorted(self.cpus))
        }
        pipes = {cpu: os.pipe() for cpu in self._sheets}
        self._doors = {cpu: write_end for cpu, (_, write_end) in pipes.items()}
        for door in self._doors.values():
            os.set_blocking(door, False)
        inner_doors = {cpu: read_end for cpu, (read_end, _) in pipes.items()}
        try:
            self._host = self._start(inner_doors, core or str(load_core().NAME))
        except OSError as error:
            raise CannotMeasure((error.strerror or str(error)).lower()) from error
        finally:
            for door in inner_doors.values():
                os.close(door)

    def _start(self, doors: dict[int, int], core: str) -> subprocess.Popen[bytes]:
        root = str(Path(noisewatch.__file__).resolve().parent.parent)
        host = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _BOOT, str(self._descriptor), root],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=self._said,
            pass_fds=[self._descriptor, *doors.values()],
            start_new_session=True,  # Ctrl-C is for the monitor; the spinners end when it does
        )
        if host.stdin is not None:
            host.stdin.write(json.dumps({"core": core, "doors": list(doors.items())}).encode() + b"\n")
            host.stdin.flush()
        return host

    @property
    def pids(self) -> frozenset[int]:
        """The processes, which are ours."""
        return frozenset({self._host.pid, *(sheet.header[TID] for sheet in self._sheets.values())} - {0})

    @property
    def failure(self) -> str | None:
        """Why there are no spinners any more; None while there are."""
        if self._host.poll() is None:
            return None
        self._said.seek(0)
        said = self._said.read().decode("utf-8", "replace").strip().splitlines()
        return said[-1] if said else f"it ended with status {self._host.returncode}"

    def let_spin(self, cpu: int, for_ns: int) -> None:
        """From now on for so long; until then it may be put off again."""
        header = self._sheets[cpu].header
        header[LEASE_NS] = time.monotonic_ns() + for_ns
        if header[STATE] != SPINNING:
            with suppress(BlockingIOError, BrokenPipeError):  # it has been asked often enough, or is gone
                os.write(self._doors[cpu], b".")

    def let_rest(self, cpu: int) -> None:
        """No slice is begun any more."""
        self._sheets[cpu].header[LEASE_NS] = 0

    def spun(self, cpu: int, since_ns: int) -> Spun:
        """What the CPU's spinner has written since then."""
        sheet = self._sheets[cpu]
        return Spun(sheet.header[STATE], sheet.header[ERROR], tuple(sheet.slices_since(since_ns)))

    def end(self) -> None:
        """Ends the processes: each of them when the pipe that only we can write to has an end."""
        for door in self._doors.values():
            os.close(door)
        self._doors = {}
        self._host.kill()  # it has nothing to put in order, and so need not be waited for
        self._host.wait()
        if self._host.stdin is not None:
            self._host.stdin.close()
        os.close(self._descriptor)
        self._said.close()
