"""The cost of a repetition compared with hyperfine, and the effect of noisewatch on the command itself."""

from __future__ import annotations

import random
import shutil
import statistics
import subprocess
import time
from collections.abc import Callable, Sequence

from tests.benchmark.run.work import NOISEWATCH, PINNED, FixedWork

_ROUNDS = 5
_FEWER, _MORE = 20, 220  # repetitions: the difference excludes the cost of a start
_WORK_NS = 1e9
_RESAMPLED = 2_000
_CONFIDENCE = 0.95


def print_costs(options: Sequence[str]) -> None:
    """Print the cost of a repetition for each tool, measured in turn."""
    fixed = [*NOISEWATCH, *options, "--calibration", "0"]
    ways: dict[str, Callable[[int], Sequence[str]]] = {
        "noisewatch run": lambda runs: [*fixed, "--runs", str(runs), "--", "true"],
        "noisewatch run --prepare true": lambda runs: [*fixed, "--prepare", "true", "--runs", str(runs), "--", "true"],
    }
    if shutil.which("hyperfine"):
        plain = [*PINNED, "hyperfine", "-N", "--style", "none"]
        ways["hyperfine"] = lambda runs: [*plain, "--runs", str(runs), "true"]
        ways["hyperfine --prepare true"] = lambda runs: [*plain, "--prepare", "true", "--runs", str(runs), "true"]
    costs: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(_ROUNDS):
        for way, command in ways.items():
            fewer, more = (_seconds(command(runs)) for runs in (_FEWER, _MORE))
            costs[way].append((more - fewer) / (_MORE - _FEWER) * 1e3)
    for way, times in costs.items():
        print(f"{way}: {statistics.median(times):.2f} ms a repetition of `true` ({min(times):.2f} to {max(times):.2f})")


def print_share(work: FixedWork, pairs: int, options: Sequence[str]) -> None:
    """Print the effect on fixed work of a second that measures itself, in pairs of changing order."""
    plain, watched = [*PINNED, *work.self_timed(_WORK_NS)], [*NOISEWATCH, *options, "--", *work.self_timed(_WORK_NS)]
    samples: list[tuple[int, int]] = []
    for number in range(pairs):
        if number % 2:
            watched_ns = _reported_ns(watched)
            samples.append((_reported_ns(plain), watched_ns))
        else:
            samples.append((_reported_ns(plain), _reported_ns(watched)))
    rng = random.Random(1)
    ratios = sorted(_ratio(rng.choices(samples, k=pairs)) for _ in range(_RESAMPLED))
    low, high = (ratios[round(share * (_RESAMPLED - 1))] for share in ((1 - _CONFIDENCE) / 2, (1 + _CONFIDENCE) / 2))
    print(
        f"fixed work of {_WORK_NS / 1e9:g} s with noisewatch over without, ratio of medians of {pairs} pairs: "
        f"{_ratio(samples) - 1:+.3%} (95 % confidence {low - 1:+.3%} to {high - 1:+.3%}, by the bootstrap)"
    )


def _ratio(pairs: Sequence[tuple[int, int]]) -> float:
    plain, watched = zip(*pairs, strict=True)
    return float(statistics.median(watched) / statistics.median(plain))


def _reported_ns(command: Sequence[str]) -> int:
    result = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return int(result.stdout)


def _seconds(command: Sequence[str]) -> float:
    start_s = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.monotonic() - start_s
