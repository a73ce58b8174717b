"""Print how often `noisewatch compare` shows a difference where there is none, and how often it detects one.

python -m tests.benchmark.compare [CALIBRATIONS_OF_THIS_HOST]

The difference to detect is 3 % in speed; of many CPUs only one is slower. Calibrations and series of runs are drawn
from one distribution: levels vary between calibrations, blocks within one, gaps and noise floors as on a machine
between sessions. With a number, this many calibrations of 2 s are run on this host, and all pairs of them are compared.
"""

from __future__ import annotations

import itertools
import math
import random
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from noisewatch.judgement.comparison import SideComparison
from noisewatch.judgement.noise.drift import USUAL_DRIFT
from noisewatch.model.calibration.figures import spread_of
from noisewatch.operations.records.reader import compare_files
from tests.surfaces.reports.compare.documents import calibration, cpu, receipt, written

_TRIES = 400
_BLOCKS = 200
_KINDS = ("latency_work", "throughput", "interpreter", "cache", "memory")
_SLOWER = 1.03
_CPUS = (1, 16)


class _Machine(NamedTuple):
    """Standard deviations of logarithms: of a calibration's level from the previous one, and of its blocks."""

    name: str
    drift: float
    spread: float


_MACHINES = (
    _Machine("bare metal, quiet", 0.001, 0.002),
    _Machine("bare metal, untuned", 0.004, 0.006),
    _Machine("virtual machine", 0.01, 0.02),
)


def _calibration(machine: _Machine, cpus: int, rng: random.Random, slower: float = 1.0) -> dict[str, Any]:
    """Return the calibration of `cpus` CPUs: the first one is slower, and each drifts by itself."""
    deviation = math.log(USUAL_DRIFT.margin_at(10_000_000)) / 1.645
    cv = 0.002 * math.exp(rng.gauss(0, deviation / math.sqrt(2)))
    cpu_figures = [_cpu(number, machine, rng, slower if number == 0 else 1.0) for number in range(cpus)]
    document = calibration(*cpu_figures, cv=cv)
    document["noise_floor_drift"] = None
    return document


def _cpu(number: int, machine: _Machine, rng: random.Random, slower: float) -> dict[str, Any]:
    level = slower * math.exp(rng.gauss(0, machine.drift))
    works: dict[str, Any] = {kind: _work(level, machine.spread, rng) for kind in _KINDS}
    clock = {"effective_khz": 3e6 / level, "effective_khz_spread_share": 3.29 * machine.drift}
    return {**cpu(gaps_per_s=250 * math.exp(rng.gauss(0, 0.5)), **works, **clock), "cpu": number}


def _work(level: float, spread: float, rng: random.Random) -> Mapping[str, Any]:
    figures = spread_of([1e6 * level * math.exp(rng.gauss(0, spread)) for _ in range(_BLOCKS)], pieces=5)
    assert figures is not None
    return {key: getattr(figures, key) for key in ("count", "median_ns", "mad_share", "width_share", "pieces")}


def _runs(cv: float, count: int, rng: random.Random, slower: float = 1.0) -> list[dict[str, Any]]:
    level = slower * math.exp(rng.gauss(0, 0.002))
    return receipt([0.1 * level * math.exp(rng.gauss(0, cv)) for _ in range(count)])


def _no_recording(path: str) -> NoReturn:
    raise AssertionError(path)


def _share_shown(draw: Callable[[random.Random, float], object], slower: float, folder: Path, is_slow: bool) -> float:
    """Return the share of comparisons that show a difference, or with `is_slow` a difference in speed."""
    rng, hits = random.Random(11), 0
    for _ in range(_TRIES):
        first, second = (str(written(folder / name, draw(rng, factor))) for name, factor in (("a", 1.0), ("b", slower)))
        comparison = compare_files(first, second, _no_recording)
        hits += any(figure.traits.unit in ("ns", "kHz") or not is_slow for figure in comparison.different_figures)
    return hits / _TRIES


def _print_drawn(folder: Path) -> None:
    print(f"{'':34}  shown where nothing differs  found where CPU 0 is 3 % slower")
    for machine, cpus in itertools.product(_MACHINES, _CPUS):

        def draw(rng: random.Random, slower: float, machine: _Machine = machine, cpus: int = cpus) -> object:
            return _calibration(machine, cpus, rng, slower)

        _print_row(f"{machine.name}, {cpus} CPU{'s' if cpus > 1 else ''}", draw, folder)
    for cv, count in itertools.product((0.005, 0.01, 0.03), (10, 25)):

        def draw_runs(rng: random.Random, slower: float, cv: float = cv, count: int = count) -> object:
            return _runs(cv, count, rng, slower)

        _print_row(f"{count} runs, CV {cv:.1%}", draw_runs, folder)


def _print_row(name: str, draw: Callable[[random.Random, float], object], folder: Path) -> None:
    false_share, detected_share = _share_shown(draw, 1.0, folder, False), _share_shown(draw, _SLOWER, folder, True)
    print(f"{name:34}  {false_share:26.1%}  {detected_share:28.1%}", flush=True)


def _print_host(count: int, folder: Path) -> None:
    paths = [folder / f"{number}.json" for number in range(count)]
    for path in paths:
        command = [sys.executable, "-m", "noisewatch", "calibrate", "--duration", "2", "--format", "json"]
        subprocess.run([*command, "--output", str(path)], check=True)
    print_pairs(paths)


def print_pairs(paths: list[Path]) -> None:
    """Print how often two of these calibrations of one machine differ, and in which figures."""
    pairs = [compare_files(str(one), str(other), _no_recording) for one, other in itertools.combinations(paths, 2)]
    counts = Counter(figure.name for pair in pairs for figure in pair.different_figures)
    differing = sum(bool(pair.different_figures) for pair in pairs)
    print(f"\n{len(paths)} calibrations of this host: {differing} of {len(pairs)} pairs differ {dict(counts) or ''}")
    for name in dict.fromkeys(figure.name for pair in pairs for figure in pair.figures):
        print(f"  {name:24} smallest ratio that would have been shown: {_least_shown(pairs, name):.3g}")


def _least_shown(pairs: list[SideComparison], name: str) -> float:
    return statistics.median(
        figure.detectable_ratio for pair in pairs for figure in pair.figures if figure.name == name
    )


def main() -> None:
    """Print all shares."""
    with tempfile.TemporaryDirectory() as folder:
        _print_drawn(Path(folder))
        if sys.argv[1:]:
            _print_host(int(sys.argv[1]), Path(folder))


if __name__ == "__main__":
    main()
