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
_MOST_REASONS = 5
_MB, _KB = 1e6, 1e3


def print_quiet(work: FixedWork, repetitions: int, options: Sequence[str]) -> None:
    """How many are called disturbed or unknown, which on a busy host they may have been."""
    print(f"{repetitions} repetitions of {_QUIET_NS / 1e6:g} ms with nobody on purpose:")
    lines, _ = _run(repetitions, work.command(_QUIET_NS), "--calibration", "2", *options)
    _print_verdicts(lines)


def print_short(work: FixedWork, repetitions: int, options: Sequence[str]) -> None:
    """What each takes and leaves behind, in time, in memory and in the receipt."""
    print(f"{repetitions} repetitions of {_SHORT_NS / 1e6:g} ms:")
    lines, used = _run(repetitions, work.command(_SHORT_NS), *options)
    length_ns = (lines[-1]["ended_ns"] - lines[0]["began_ns"]) / len(lines)
    command_ns = sum(line["wall_ns"] for line in lines) / len(lines)
    print(f"  {length_ns / 1e6:.2f} ms from one to the next, of which the command {command_ns / 1e6:.2f} ms")
    for tenth in (1, 5, 9):
        at = min(used.resident, key=lambda count: abs(count - repetitions * tenth / 10))
        print(f"  {used.resident[at] / _MB:.1f} MB after {at} repetitions")
    print(f"  {used.most / _MB:.1f} MB at most, also at the end; a receipt of {used.receipt / _MB:.1f} MB,", end=" ")
    print(f"{used.receipt / repetitions / _KB:.2f} kB a repetition")
    _print_verdicts(lines)


class _Used:
    """Bytes: `resident` by how many repetitions were over by then."""

    def __init__(self) -> None:
        self.resident: dict[int, int] = {}
        self.most = 0
        self.receipt = 0


def _run(repetitions: int, command: Sequence[str], *options: str) -> tuple[Sequence[Mapping[str, Any]], _Used]:
    """The lines of the receipt, and what was used meanwhile."""
    used = _Used()
    with tempfile.TemporaryDirectory() as folder:
        receipt = Path(folder) / "receipt.jsonl"
        words = [*NOISEWATCH, *options, "--runs", str(repetitions), "--output", str(receipt), "--", *command]
        with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
            watched, count = psutil.Process(running.pid), _LineCount(receipt)
            while running.poll() is None:
                used.resident[count.now()] = resident = watched.memory_info().rss
                used.most = max(used.most, resident)
                time.sleep(_EVERY_S)
        used.receipt = receipt.stat().st_size
        return lines_of(receipt), used


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
    by = Counter(line["attributed_by"] for line in lines)
    print("  attributed by " + ", ".join(f"{name} {count}" for name, count in by.most_common()))
    counts = Counter(line["verdict"] for line in lines)
    for verdict, count in counts.most_common():
        print(f"  {verdict} {describe_trials(count, len(lines))}")
    why = Counter(line["reasons"][0]["name"] for line in lines if line["reasons"])
    for reason, count in why.most_common(_MOST_REASONS):
        print(f"  {count:>6} {reason}")
