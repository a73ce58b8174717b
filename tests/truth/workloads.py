"""Benchmarks of each kind of work, other than those of the calibration: statements of Python, and programs in C."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from noisewatch.kinds import Work

_SOURCE = Path(__file__).with_name("programs.c")
VALUES = 5  # samples per process
_ONCE_S = 0.01
PROCESSES_BY_MS = {1: 20, 10: 20, 100: 6}


@dataclass(frozen=True, slots=True)
class Workload:
    """A statement of Python with its setup; without a statement, the compiled program of that kind of work."""

    work: Work
    name: str
    statement: str = ""
    setup: str = "pass"

    def once_s(self, program: Path) -> float:
        """Return the time of one loop without noise, as the minimum of many."""
        if not self.statement:
            return int(_output([str(program), self.work])) / 1e9
        timed = f"min(timeit.repeat({self.statement!r}, {self.setup!r}, number=5, repeat=40)) / 5"
        about_s = float(_output([sys.executable, "-c", f"import timeit; print({timed})"]))
        loops = max(round(_ONCE_S / about_s), 1)  # another process may have to allocate memory in each loop
        return min(self._pyperf_s(loops, processes=3)) / loops

    def samples_s(self, program: Path, cpu: int, ms: int, once_s: float, processes: int) -> list[float]:
        """Return the times of samples of `ms` milliseconds, VALUES a process, each process pinned to the CPU."""
        loops = max(round(ms / 1e3 / once_s), 1)
        if self.statement:
            return self._pyperf_s(loops, processes, f"--affinity={cpu}")
        command = ["taskset", "-c", str(cpu), str(program), self.work, str(VALUES), str(loops)]
        return [int(line) / 1e9 for _ in range(processes) for line in _output(command).split()]

    def _pyperf_s(self, loops: int, processes: int, *options: str) -> list[float]:
        """Return the times (s) of samples of `loops` loops each, measured by pyperf."""
        with tempfile.TemporaryDirectory() as folder:
            output = Path(folder) / "benchmark.json"
            command = [sys.executable, "-m", "pyperf", "timeit", "-q", *options, "--output", str(output)]
            command += ["-p", str(processes), "-n", str(VALUES), "-w", "1", "-l", str(loops)]
            _output([*command, "-s", self.setup, self.statement])
            (benchmark,) = json.loads(output.read_text())["benchmarks"]
        return [value * loops for run in benchmark["runs"] for value in run.get("values", [])]


def _output(command: list[str]) -> str:
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout


_HOPS = (  # random hops in a list with 4 MB of numbers
    "import random; order = list(range(1 << 17)); random.shuffle(order); at, hops = 0, range(100); "
    "after = dict(zip(order, order[1:] + order[:1])); places = [after[place] for place in range(len(order))]"
)
WORKLOADS = (
    Workload(Work.LATENCY, "sha256", "hashlib.sha256(data).digest()", "import hashlib; data = b'x' * 50_000"),
    Workload(Work.THROUGHPUT, "zlib", "zlib.compress(data, 1)", "import zlib; data = bytes(range(256)) * 40"),
    Workload(Work.INTERPRETER, "floats", "for number in range(500): number * 0.5 + 1.25"),
    Workload(Work.MEMORY, "copy", "target[:] = source", "source, target = bytearray(8 << 20), bytearray(8 << 20)"),
    Workload(Work.LATENCY, "recurrence in C"),
    Workload(Work.THROUGHPUT, "matrices in C"),
    Workload(
        Work.INTERPRETER, "json", "json.loads(json.dumps(data))", "import json; data = {str(n): n for n in range(99)}"
    ),
    Workload(Work.MEMORY, "walk in C"),
    Workload(
        Work.INTERPRETER,
        "regex",
        "found(text)",
        "import re; found = re.compile(r'(a|b)+c').findall; text = 'abcab' * 99",
    ),
    Workload(Work.THROUGHPUT, "big integers", "number * number", "number = 3 ** 9_000"),
    Workload(Work.INTERPRETER, "bytecodes in C"),
    Workload(
        Work.INTERPRETER,
        "sort",
        "sorted(numbers)",
        "import random; numbers = [random.random() for _ in range(200_000)]",
    ),
    Workload(Work.CACHE, "short walk in C"),
    Workload(Work.CACHE, "hops in a list", "for _ in hops: at = places[at]", _HOPS),
)


@contextmanager
def compiled_program() -> Iterator[Path]:
    """Compile the program of all kinds of work. Raise OSError if there is no C compiler."""
    compiler = shutil.which("cc")
    if compiler is None:
        raise OSError("no C compiler")
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "programs"
        subprocess.run([compiler, "-O2", "-o", str(program), str(_SOURCE)], check=True)
        yield program
