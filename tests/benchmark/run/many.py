"""The verdicts and the cost of many repetitions without a deliberate disturbance."""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import psutil

from tests.benchmark.run.work import NOISEWATCH, FixedWork
from tests.benchmark.shares import describe_trials
from tests.plumbing.receipts import lines_of

_QUIET_NS, _SHORT_NS = 30e6, 1e6
_EVERY_S = 0.5
_MAX_REASONS = 5
_MB, _KB = 1e6, 1e3


def print_quiet(work: FixedWork, repetitions: int, options: Sequence[str]) -> None:
    """Print how many repetitions are called disturbed or unknown; on a busy host this may be right."""
    print(f"{repetitions} repetitions of {_QUIET_NS / 1e6:g} ms without a deliberate disturbance:")
    lines, _ = _run(repetitions, work.command(_QUIET_NS), "--calibration", "2", *options)
    _print_verdicts(lines)


def print_short(work: FixedWork, repetitions: int, options: Sequence[str]) -> None:
    """Print time, memory and receipt size of a repetition."""
    print(f"{repetitions} repetitions of {_SHORT_NS / 1e6:g} ms:")
    lines, usage = _run(repetitions, work.command(_SHORT_NS), *options)
    length_ns = (lines[-1]["ended_ns"] - lines[0]["began_ns"]) / len(lines)
    command_ns = sum(line["wall_ns"] for line in lines) / len(lines)
    print(f"  {length_ns / 1e6:.2f} ms from one to the next, of which the command {command_ns / 1e6:.2f} ms")
    for tenth in (1, 5, 9):
        at = min(usage.resident, key=lambda count: abs(count - repetitions * tenth / 10))
        print(f"  {usage.resident[at] / _MB:.1f} MB after {at} repetitions")
    print(f"  {usage.peak / _MB:.1f} MB at most, also at the end; a receipt of {usage.receipt / _MB:.1f} MB,", end=" ")
    print(f"{usage.receipt / repetitions / _KB:.2f} kB a repetition")
    _print_verdicts(lines)


class _Usage:
    """Bytes of memory and receipt; `resident` is by the number of finished repetitions."""

    def __init__(self) -> None:
        self.resident: dict[int, int] = {}
        self.peak = 0
        self.receipt = 0


def _run(repetitions: int, command: Sequence[str], *options: str) -> tuple[Sequence[Mapping[str, Any]], _Usage]:
    """Run a series, and return the lines of its receipt and what it used."""
    usage = _Usage()
    with tempfile.TemporaryDirectory() as folder:
        receipt = Path(folder) / "receipt.jsonl"
        arguments = [*NOISEWATCH, *options, "--runs", str(repetitions), "--output", str(receipt), "--", *command]
        with subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            noisewatch, count = psutil.Process(process.pid), _LineCount(receipt)
            while process.poll() is None:
                usage.resident[count.now()] = resident = noisewatch.memory_info().rss
                usage.peak = max(usage.peak, resident)
                time.sleep(_EVERY_S)
        usage.receipt = receipt.stat().st_size
        return lines_of(receipt), usage


class _LineCount:
    """A count of the repetitions in a receipt that is still growing."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read = self._count = 0

    def now(self) -> int:
        if self._path.exists():
            with self._path.open("rb") as file:
                file.seek(self._read)
                new = file.read()
            self._read += len(new)
            self._count += new.count(b"\n")
        return max(self._count - 1, 0)  # without the header


def _print_verdicts(lines: Sequence[Mapping[str, Any]]) -> None:
    sources = Counter(line["attributed_by"] for line in lines)
    print("  attributed by " + ", ".join(f"{name} {count}" for name, count in sources.most_common()))
    counts = Counter(line["verdict"] for line in lines)
    for verdict, count in counts.most_common():
        print(f"  {verdict} {describe_trials(count, len(lines))}")
    reasons = Counter(line["reasons"][0]["name"] for line in lines if line["reasons"])
    for reason, count in reasons.most_common(_MAX_REASONS):
        print(f"  {count:>6} {reason}")
