"""A compiled command of fixed work, of any length, and `noisewatch run` in front of it."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.live.noise import CPU

_KIND = "throughput"  # its loop is the shortest: some microseconds
_STARTS = 25
NOISEWATCH = [sys.executable, "-m", "noisewatch", "run", "--cpus", str(CPU)]
PINNED = ["taskset", "-c", str(CPU)]


@dataclass(frozen=True, slots=True)
class FixedWork:
    """A program, with the time of one of its loops and of its start, in ns."""

    program: Path
    loop_ns: int
    start_ns: int

    @staticmethod
    def of(program: Path) -> FixedWork:
        """Measure a program on the target CPU."""
        loop_ns = int(subprocess.run([*PINNED, program, _KIND], check=True, capture_output=True, text=True).stdout)
        start_times_ns = []
        for _ in range(_STARTS):
            begin_ns = time.monotonic_ns()
            subprocess.run([program, _KIND, "0", "1"], check=True)
            start_times_ns.append(time.monotonic_ns() - begin_ns)
        return FixedWork(program, loop_ns, round(statistics.median(start_times_ns)))

    def command(self, length_ns: float) -> list[str]:
        """Return a command that takes `length_ns` in all, its start included."""
        return self.of_loops(self.loops_in(length_ns - self.start_ns))

    def of_loops(self, loops: int) -> list[str]:
        return [str(self.program), _KIND, "0", str(loops)]

    def self_timed(self, length_ns: float) -> list[str]:
        """Return a command that works for `length_ns` twice, and prints the time of the second work in ns."""
        return [str(self.program), _KIND, "1", str(self.loops_in(length_ns))]

    def loops_in(self, length_ns: float) -> int:
        """Return how many loops take `length_ns`, and at least 1."""
        return max(round(length_ns / self.loop_ns), 1)


def series(*words: str) -> dict[str, Any]:
    """Return the series of `run --format json`. `words` are options, then `--` and the command."""
    result = subprocess.run([*NOISEWATCH, "--format", "json", *words], check=True, stdout=subprocess.PIPE)
    document: dict[str, Any] = json.loads(result.stdout)
    return document
