"""Print how often `noisewatch run --vary layout` blames layouts wrongly: `python -m tests.benchmark.run_layouts`.

Figures, no limits. The wall times are made up (tests/model/run/noises.py) and no layout has an effect. The two runs of
a layout are placed as in a series (`draw_turns`) or, for comparison, next to each other. An argument is the number of
series; the standard error of a share of 1000 series is 0.7 % near 5 %.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Sequence

import numpy as np

from noisewatch.model.run.layout import draw_turns, layout_effect
from tests.model.run.noises import NOISES, Noise

_LAYOUTS = 25


def _in_drawn_order(seed: int) -> list[int]:
    return [turn.layout for turn in draw_turns(_LAYOUTS, 0, seed)]


def _as_neighbours(seed: int) -> list[int]:
    return [run // 2 for run in range(2 * _LAYOUTS)]


def _blamed_share(noise: Noise, order: Callable[[int], Sequence[int]], series: int) -> float:
    rng, blamed = np.random.default_rng(1), 0
    for seed in range(series):
        times: dict[int, list[float]] = defaultdict(list)
        for layout, time in zip(order(seed), noise(rng, 2 * _LAYOUTS).tolist(), strict=True):
            times[layout].append(time)
        blamed += layout_effect([(first, second) for first, second in times.values()]).is_shown is True
    return blamed / series


def main() -> None:
    """Print the share of series that blame the layout, by kind of noise and by order."""
    series = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
    print(f"series of {_LAYOUTS} layouts without an effect that show one ({series} series)")
    print(f"{'noise':16}{'drawn order':>12}{'neighbours':>12}")
    for name, noise in NOISES.items():
        shares = [_blamed_share(noise, order, series) for order in (_in_drawn_order, _as_neighbours)]
        print(f"{name:16}" + "".join(f"{share:12.1%}" for share in shares))


if __name__ == "__main__":
    main()
