"""Which command runs next: each in its turn, then again as long as too few runs were undisturbed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from noisewatch.model.run.mean_difference import drawn_order
from noisewatch.operations.run.judging import JudgedRepetition
from noisewatch.operations.run.options import RunOptions


def turns(options: RunOptions, seed: int, judged: Callable[[], Sequence[JudgedRepetition]]) -> Iterator[int]:
    """The number of the command, turn after turn: the same of one, of two in pairs, whose order the seed gives.

    Then again for those that were not undisturbed, as often as that is wanted; of two commands as pairs. `judged` gives
    all repetitions that are over.
    """
    count = len(options.commands)
    for is_first in drawn_order(options.runs, seed):
        yield from (0,) if count == 1 else (0, 1) if is_first else (1, 0)
    for is_first in drawn_order(options.most_retries, seed + 1):
        if _undisturbed_count(judged(), count) >= options.runs:
            return
        yield from (0,) if count == 1 else (0, 1) if is_first else (1, 0)


def _undisturbed_count(judged: Sequence[JudgedRepetition], count: int) -> int:
    """Of the repetitions, or of the pairs of two."""
    are_undisturbed = [each.is_undisturbed for each in judged]
    return sum(all(are_undisturbed[at : at + count]) for at in range(0, len(are_undisturbed), count))
