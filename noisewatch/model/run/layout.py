"""Memory layouts that a series draws, and how much of the variation between runs they cause.

The kernel puts the environment and argv[0] on the stack, so their sizes shift all other data there. Each layout is run
twice, so that the variance between layouts can be separated from the variance within one. The order of all these runs
is drawn at random: if the two runs of a layout were neighbours, noise that makes neighbours alike would look like an
effect of the layout (with a correlation of 0.5 in 79 of 100 series; tests.benchmark.run_layouts).
"""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Sequence
from typing import NamedTuple

from msgspec import Struct

from noisewatch.model.distributions import POWER, SIGNIFICANCE, f_outside, f_quantile
from noisewatch.model.run.mean_difference import draw_order

VARIABLE = "NOISEWATCH_LAYOUT"
RUNS_PER_LAYOUT = 2
FEWEST_LAYOUTS = 3
MOST_ENVIRONMENT_BYTES = 4096
_PADDING, _MOST_PADDING = "./", 32
_LONGEST_PATH = 4095  # bytes: PATH_MAX, without the NUL


class Layout(Struct, frozen=True):
    """A layout: its number in the series, and by how many bytes it makes the variable's value and argv[0] longer."""

    number: int
    environment_bytes: int
    argv0_bytes: int

    @property
    def variable(self) -> bytes:
        """The variable to add to the environment."""
        return f"{VARIABLE}={'x' * self.environment_bytes}".encode()

    def padded(self, argv0: str) -> str:
        """Return argv[0], lengthened after its last slash."""
        folder, slash, name = argv0.rpartition("/")
        return f"{folder}{slash}{_PADDING * (self.argv0_bytes // len(_PADDING))}{name}"


def draw_layout(seed: int, number: int, argv0: str) -> Layout:
    """Draw a layout for this argv[0], reproducibly. An argv[0] without a slash, looked up in PATH, is not changed."""
    draw = random.Random(f"{seed} {number}")
    environment_bytes, padding = draw.randint(0, MOST_ENVIRONMENT_BYTES), draw.randint(0, _MOST_PADDING)
    room = max(_LONGEST_PATH - len(argv0.encode(errors="surrogateescape")), 0) // len(_PADDING)
    return Layout(number, environment_bytes, len(_PADDING) * min(padding, room) if "/" in argv0 else 0)


class LayoutTurn(NamedTuple):
    """A turn of a layout, in which each command runs once."""

    layout: int
    is_a_first: bool


def draw_turns(layouts: int, retries: int, seed: int) -> tuple[LayoutTurn, ...]:
    """Draw the order of turns, reproducibly: two for each layout, one of them with A first.

    The turns of further layouts, which replace disturbed ones, follow layout by layout.
    """
    turns = [LayoutTurn(layout, is_a_first) for layout in range(layouts) for is_a_first in (True, False)]
    random.Random(seed).shuffle(turns)
    for layout, is_a_first in enumerate(draw_order(retries, seed + 1), start=layouts):
        turns += LayoutTurn(layout, is_a_first), LayoutTurn(layout, not is_a_first)
    return tuple(turns)


class LayoutEffect(Struct, frozen=True):
    """How much times vary between layouts and within one, as standard deviations divided by the mean.

    `probability` is the probability of at least this ratio of the variances if the layout has no effect.
    `smallest_shown` is the smallest `between` that this number of layouts shows with 80% power. All of these are None
    for fewer than three layouts.
    """

    layouts: int
    between: float | None
    within: float | None
    probability: float | None
    smallest_shown: float | None

    @property
    def is_shown(self) -> bool | None:
        """Whether the layout has an effect, at a false-alarm rate of 5%; None means unknown."""
        return None if self.probability is None else self.probability <= SIGNIFICANCE


def layout_effect(times_s: Sequence[tuple[float, float]]) -> LayoutEffect:
    """Return the effect of layouts from the two times (s, > 0) of each layout.

    A one-way analysis of variance with random effects: NIST/SEMATECH e-Handbook of Statistical Methods, 7.4.3 and
    3.2.3; Searle, Casella and McCulloch, "Variance Components", 1992, ch. 3.
    """
    count = len(times_s)
    if count < FEWEST_LAYOUTS:
        return LayoutEffect(count, None, None, None, None)
    means = [statistics.fmean(pair) for pair in times_s]
    mean = statistics.fmean(means)
    within = math.fsum((first - second) ** 2 for first, second in times_s) / 2 / count
    between = RUNS_PER_LAYOUT * statistics.variance(means)
    ratio = between / within if within else math.inf if between else 0.0
    least, usual = (f_quantile(share, count - 1, count) for share in (1 - SIGNIFICANCE, 1 - POWER))
    return LayoutEffect(
        layouts=count,
        between=math.sqrt(max(between - within, 0.0) / RUNS_PER_LAYOUT) / mean,
        within=math.sqrt(within) / mean,
        probability=f_outside(ratio, count - 1, count),
        smallest_shown=math.sqrt(within * (least / usual - 1) / RUNS_PER_LAYOUT) / mean,
    )
