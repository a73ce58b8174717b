"""The cost of a repetition: compared with hyperfine, in noisewatch's own CPU time, and its effect on the command."""

from __future__ import annotations

import os
import random
import shutil
import statistics
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from unittest.mock import patch

from noisewatch.kinds import Tracer
from noisewatch.machine.live import LiveMachine
from noisewatch.operations.machines import MachineOptions
from noisewatch.operations.run import series
from noisewatch.operations.run.judging import JudgedRepetition
from noisewatch.operations.run.options import RunOptions
from noisewatch.units import describe_ns
from tests.benchmark.run.work import NOISEWATCH, PINNED, FixedWork
from tests.live.noise import CPU
from tests.operations.listening import SilentListener

_ROUNDS = 5
_FEWER, _MORE = 20, 220  # repetitions of two series: their difference has no start
_WORK_NS = 1e9
_LENGTHS_NS = (10e6, 50e6, 200e6, 1e9)
_ROUND_NS = 3e9  # time of the commands in a round
_MOST_RUNS = 200
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


def print_own(work: FixedWork, tracer: Tracer) -> None:
    """Print noisewatch's own CPU time in a repetition, with and without its early polls, in turn."""
    commands: dict[str, tuple[tuple[str, ...], int]] = {"true": (("true",), _MOST_RUNS)}
    for length_ns in _LENGTHS_NS:
        runs = min(round(_ROUND_NS / length_ns), _MOST_RUNS)
        commands[describe_ns(round(length_ns))] = (tuple(work.command(length_ns)), runs)
    for name, (argv, runs) in commands.items():
        options = RunOptions(
            argv=argv, machine=MachineOptions(cpus=str(CPU)), runs=runs, shows_output=False, tracer=tracer
        )
        costs: dict[bool, list[tuple[float, float]]] = {True: [], False: []}
        for number in range(2 * _ROUNDS):
            polls_early = number % 4 in (1, 2)
            with nullcontext() if polls_early else patch.object(series, "_FIRST_POLLS_NS", ()):
                costs[polls_early].append(_own_ms(options))
        usual, less = (_describe_own(costs[polls_early]) for polls_early in (True, False))
        print(f"{name}: own CPU time of a repetition {usual}; without early polls {less}", flush=True)


class _OwnCost(SilentListener):
    """A listener that notes noisewatch's CPU time (ns) of all repetitions, and while their commands ran."""

    def __init__(self) -> None:
        super().__init__()
        self.began_ns = self.ended_ns = self.within_ns = 0

    def on_begin(self, beginning: series.RunBeginning) -> None:
        self.began_ns = time.process_time_ns()

    def on_repetition(self, judged: JudgedRepetition) -> None:
        self.within_ns += judged.repetition.own_cpu_ns
        self.ended_ns = time.process_time_ns()


def _own_ms(options: RunOptions) -> tuple[float, float]:
    """Return the own CPU time of a repetition in this process: from its start to its end, and with its judgement."""
    listener, cpus = _OwnCost(), os.sched_getaffinity(0)
    try:
        series.run_series(LiveMachine(), options, listener)
    finally:
        os.sched_setaffinity(0, cpus)
    return listener.within_ns / options.runs / 1e6, (listener.ended_ns - listener.began_ns) / options.runs / 1e6


def _describe_own(costs: Sequence[tuple[float, float]]) -> str:
    within, whole = zip(*costs, strict=True)
    return (
        f"{statistics.median(within):.2f} ms ({min(within):.2f} to {max(within):.2f}), "
        f"with its judgement {statistics.median(whole):.2f}"
    )


def print_share(work: FixedWork, pairs: int, options: Sequence[str]) -> None:
    """Print noisewatch's effect on a second of fixed work that times itself, in pairs of changing order."""
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
        f"time of {_WORK_NS / 1e9:g} s of fixed work with / without noisewatch, ratio of medians of {pairs} pairs: "
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
