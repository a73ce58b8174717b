"""What a repetition takes beside one of hyperfine, and what the command itself feels of noisewatch."""

from __future__ import annotations

import random
import shutil
import statistics
import subprocess
import time
from collections.abc import Callable, Sequence

from tests.benchmark.run.work import NOISEWATCH, PINNED, FixedWork

_ROUNDS = 5
_FEWER, _MORE = 20, 220  # repetitions: the difference leaves out what a start costs
_WORK_NS = 1e9
_RESAMPLED = 2_000
_CONFIDENCE = 0.95


def print_costs(options: Sequence[str]) -> None:
    """Each in turn, round after round."""
    ways: dict[str, Callable[[int], Sequence[str]]] = {
        "noisewatch run": lambda runs: [*NOISEWATCH, *options, "--calibration", "0", "--runs", str(runs), "--", "true"],
    }
    if shutil.which("hyperfine"):
        ways["hyperfine"] = lambda runs: [*PINNED, "hyperfine", "-N", "--style", "none", "--runs", str(runs), "true"]
    costs: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(_ROUNDS):
        for way, command in ways.items():
            fewer, more = (_seconds(command(runs)) for runs in (_FEWER, _MORE))
            costs[way].append((more - fewer) / (_MORE - _FEWER) * 1e3)
    for way, found in costs.items():
        print(f"{way}: {statistics.median(found):.2f} ms a repetition of `true` ({min(found):.2f} to {max(found):.2f})")


def print_share(work: FixedWork, pairs: int, options: Sequence[str]) -> None:
    """Fixed work of a second, which tells its own time, in pairs whose order changes."""
    plain, watched = [*PINNED, *work.telling(_WORK_NS)], [*NOISEWATCH, *options, "--", *work.telling(_WORK_NS)]
    found: list[tuple[int, int]] = []
    for number in range(pairs):
        if number % 2:
            later = _told_ns(watched)
            found.append((_told_ns(plain), later))
        else:
            found.append((_told_ns(plain), _told_ns(watched)))
    rng = random.Random(1)
    ratios = sorted(_ratio(rng.choices(found, k=pairs)) for _ in range(_RESAMPLED))
    low, high = (ratios[round(share * (_RESAMPLED - 1))] for share in ((1 - _CONFIDENCE) / 2, (1 + _CONFIDENCE) / 2))
    print(
        f"fixed work of {_WORK_NS / 1e9:g} s with noisewatch over without, ratio of medians of {pairs} pairs: "
        f"{_ratio(found) - 1:+.3%} (95 % confidence {low - 1:+.3%} to {high - 1:+.3%}, by the bootstrap)"
    )


def _ratio(pairs: Sequence[tuple[int, int]]) -> float:
    plain, watched = zip(*pairs, strict=True)
    return float(statistics.median(watched) / statistics.median(plain))


def _told_ns(command: Sequence[str]) -> int:
    ran = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return int(ran.stdout)


def _seconds(command: Sequence[str]) -> float:
    began_s = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.monotonic() - began_s
