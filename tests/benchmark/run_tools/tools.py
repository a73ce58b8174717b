"""Benchmark tools that measure the same command alone and with `noisewatch run` where a user would put it."""

from __future__ import annotations

import json
import shlex
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from noisewatch.patterns import regex

Words = Sequence[str]
_JSON = "out.json"
_LOOP = "x = 1\nfor i in range(100_000): x = x * 48271 % 2147483647"
_TIMED_LOOP = f"""
from time import perf_counter_ns
began = perf_counter_ns()
for _ in range(100):
{"".join(f"    {line}" + chr(10) for line in _LOOP.splitlines())}
print((perf_counter_ns() - began) / 100)
"""
_SUM_RESULT = regex(r"^(\d+) ns$", 8)  # re.MULTILINE
_GO_RESULT = regex(r"^Benchmark\S+\s+\d+\s+([\d.]+) ns/op", 8)  # re.MULTILINE


@dataclass(frozen=True, slots=True)
class BenchmarkTool:
    """A tool, run in a separate folder with the program, with a prefix before the benchmark.

    `figure` returns ns from its output and the folder. `prepare` is run once, and fails if the tool is missing.
    """

    name: str
    command: Callable[[Words], Words]
    figure: Callable[[str, Path], float]
    prepare: Words
    program: str | None = None  # a folder in programs/
    environment: Callable[[Words], Mapping[str, str]] = lambda prefix: {}


def _document(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))


def _of_hyperfine(_: str, folder: Path) -> float:
    return float(_document(folder / _JSON)["results"][0]["mean"]) * 1e9


def _of_pyperf(_: str, folder: Path) -> float:
    runs = _document(folder / _JSON)["benchmarks"][0]["runs"]
    return statistics.fmean(value for run in runs for value in run.get("values", [])) * 1e9


def _of_go(output: str, _: Path) -> float:
    return statistics.fmean(map(float, _GO_RESULT.findall(output)))


def _of_criterion(_: str, folder: Path) -> float:
    return float(_document(folder / "target/criterion/sum/new/estimates.json")["mean"]["point_estimate"])


def _of_meson(output: str, _: Path) -> float:
    return statistics.fmean(map(float, _SUM_RESULT.findall(output)))


def _of_google_benchmark(_: str, folder: Path) -> float:
    return statistics.fmean(row["real_time"] for row in _document(folder / _JSON)["benchmarks"])


def _pyperf(*options: str) -> Words:
    timeit = [sys.executable, "-m", "pyperf", "timeit", "--quiet", "-p", "6", "-n", "5", "-w", "1"]
    return [*timeit, *options, "-o", _JSON, _LOOP]


TOOLS = (
    BenchmarkTool(
        name="hyperfine",
        prepare=["hyperfine", "--version"],
        command=lambda prefix: [
            *(*prefix, "hyperfine", "-N", "--style", "none", "--warmup", "3", "--runs", "40"),
            *("--export-json", _JSON, shlex.join([sys.executable, "-S", "-c", _LOOP])),
        ],
        figure=_of_hyperfine,
    ),
    BenchmarkTool(
        name="pyperf",
        prepare=[sys.executable, "-m", "pyperf", "--help"],
        command=lambda prefix: [*prefix, *_pyperf()],
        figure=_of_pyperf,
    ),
    BenchmarkTool(
        name="pyperf --hook noisewatch",
        prepare=[sys.executable, "-m", "pyperf", "--help"],
        # On both sides: any hook's imports change where a worker's objects lie, which alone makes this loop 2 % faster.
        command=lambda prefix: [*prefix, *_pyperf("--hook", "noisewatch")],
        figure=_of_pyperf,
    ),
    BenchmarkTool(
        name="go test -exec",
        program="go",
        prepare=["go", "test", "-c", "-o", "unused", "."],
        command=lambda prefix: [
            *("go", "test", "-exec", shlex.join(prefix), "-bench", ".", "-count", "5", "-benchtime", "200ms", ".")
        ],
        figure=_of_go,
    ),
    BenchmarkTool(
        name="cargo's runner, criterion",
        program="rust",
        prepare=["cargo", "bench", "--quiet", "--no-run"],
        command=lambda prefix: [
            *("cargo", "bench", "--quiet", "--bench", "sum", "--"),
            *("--warm-up-time", "0.5", "--measurement-time", "2"),
        ],
        figure=_of_criterion,
        environment=lambda prefix: {"CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER": " ".join(prefix)},
    ),
    BenchmarkTool(
        name="google-benchmark",
        program="cpp",
        prepare=["g++", "-O2", "-o", "sum", "sum.cc", "-lbenchmark", "-lpthread"],
        command=lambda prefix: [
            *(*prefix, "./sum", "--benchmark_min_time=0.2", "--benchmark_repetitions=5"),
            *("--benchmark_report_aggregates_only=false", f"--benchmark_out={_JSON}", "--benchmark_out_format=json"),
        ],
        figure=_of_google_benchmark,
    ),
    BenchmarkTool(
        name="meson test --wrapper",
        program="meson",
        prepare=["meson", "setup", "build"],
        command=lambda prefix: [
            *("meson", "test", "-C", "build", "--benchmark", "--repeat", "5", "-v", "--wrapper", shlex.join(prefix))
        ],
        figure=_of_meson,
    ),
    BenchmarkTool(
        name="numactl --membind",
        prepare=["numactl", "--membind=0", "true"],
        command=lambda prefix: ["numactl", "--membind=0", *prefix, sys.executable, "-S", "-c", _TIMED_LOOP],
        figure=lambda output, _: float(output),
    ),
)
