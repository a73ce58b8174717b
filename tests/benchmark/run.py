"""Prints what `noisewatch run` finds and costs: `python -m tests.benchmark.run [TRIALS [REPETITIONS]]`.

A hog in one repetition of ten: how often it alone is found and named. Repetitions in which nobody disturbs on purpose:
how many are called disturbed or unknown, which on a busy host they may have been. And the time that a repetition takes
beside hyperfine's, where that is installed, each in turn.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.live.hog_in_a_run import BUSY, IDLE, SEVENTH, run_with_a_hog
from tests.live.noise import CPU

_SPIN_20_MS = "import time\nend = time.perf_counter() + 0.02\nwhile time.perf_counter() < end: pass"
_NOISEWATCH = [sys.executable, "-m", "noisewatch", "run", "--cpus", str(CPU), "--calibration", "0"]
_ROUNDS = 5
_FEWER, _MORE = 20, 220  # repetitions: the difference leaves out what a start costs


def main(trials: int, repetitions: int) -> None:
    """All of it, for some minutes."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for what, work in (("busy", BUSY), ("asleep", IDLE)):
            found = [run_with_a_hog(folder, work, "--calibration", "0") for _ in range(trials)]
            alone = sum(each.blamed == [SEVENTH] for each in found)
            seen = sum(SEVENTH in each.numbers_of("disturbed") for each in found)
            print(f"a hog in repetition {SEVENTH} of a command that is {what}: disturbed {seen} of {trials}, ", end="")
            print(f"named, and blamed for no other, {alone} of {trials}")
        _print_quiet(folder, repetitions)
    _print_costs()


def _print_quiet(folder: Path, repetitions: int) -> None:
    receipt = folder / "quiet.jsonl"
    options = ["--runs", str(repetitions), "--output", str(receipt), "--calibration", "2"]
    _run([*_NOISEWATCH, *options, "--", sys.executable, "-S", "-c", _SPIN_20_MS])
    lines = [json.loads(line) for line in receipt.read_text().splitlines()]
    counts = Counter(line["verdict"] for line in lines if line["kind"] == "repetition")
    print(f"{repetitions} repetitions of 30 ms with nobody on purpose: {dict(counts)}")
    why = Counter(line["reasons"][0]["name"] for line in lines if line.get("reasons"))
    for reason, count in why.most_common(5):
        print(f"  {count:>4} {reason}")


def _print_costs() -> None:
    ways: dict[str, Callable[[int], Sequence[str]]] = {
        "noisewatch run": lambda runs: [*_NOISEWATCH, "--runs", str(runs), "--", "true"],
    }
    if shutil.which("hyperfine"):
        pinned = ["taskset", "-c", str(CPU), "hyperfine", "-N", "--style", "none"]
        ways["hyperfine"] = lambda runs: [*pinned, "--runs", str(runs), "true"]
    costs: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(_ROUNDS):
        for way, command in ways.items():
            fewer, more = (_seconds(command(runs)) for runs in (_FEWER, _MORE))
            costs[way].append((more - fewer) / (_MORE - _FEWER) * 1e3)
    for way, found in costs.items():
        print(f"{way}: {statistics.median(found):.2f} ms a repetition of `true` ({min(found):.2f} to {max(found):.2f})")


def _seconds(command: Sequence[str]) -> float:
    began_s = time.monotonic()
    _run(command)
    return time.monotonic() - began_s


def _run(command: Sequence[str]) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=dict(os.environ))


if __name__ == "__main__":
    main(*(int(word) for word in [*sys.argv[1:], "20", "500"][:2]))
