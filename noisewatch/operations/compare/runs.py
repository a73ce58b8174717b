"""What a receipt of `noisewatch run` comes to: the mean time of the undisturbed repetitions of each command.

Two series that ran at other times are independent samples, not pairs. Repetitions are taken one at a time, as there may
be a million of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from noisewatch.judgement.comparison.side import MeasuredFigure
from noisewatch.judgement.run.reasons import RunOutcome
from noisewatch.model.estimate import Estimate
from noisewatch.model.history.figures import TRAITS, Figure
from noisewatch.model.run.series import statistics_of
from noisewatch.operations.compare.calibrations import SPEED_DEVIATION
from noisewatch.operations.compare.values import mapping_of, mappings_of, number_of, positive, word_of

_RUN_TIME = {"a": "run time", "b": "run time of the other command"}
_TEST = "Welch's t-test of the means of the undisturbed runs"
_TRAITS = TRAITS[Figure.LATENCY]
_FEWEST = 3
_LEAST_UNDISTURBED = 0.5


class _Times:
    """Of one command."""

    def __init__(self) -> None:
        self.undisturbed_s: list[float] = []
        self.count = 0

    def take(self, repetition: Mapping[str, Any]) -> None:
        """What failed, was cut short or has no time counts, and is no measurement."""
        self.count += 1
        wall_ns = positive(repetition.get("wall_ns"))
        is_whole = mapping_of(repetition.get("ended")).get("status") == 0 and repetition.get("is_cut_short") is False
        if wall_ns is not None and is_whole and repetition.get("verdict") == RunOutcome.UNDISTURBED:
            self.undisturbed_s.append(wall_ns / 1e9)


def run_times(header: Mapping[str, Any], repetitions: Iterable[Mapping[str, Any]]) -> dict[str, MeasuredFigure]:
    """By name; unknown where too few repetitions were undisturbed."""
    times: dict[str, _Times] = {}
    for repetition in repetitions:
        command = repetition.get("command")
        if isinstance(command, str) and command in _RUN_TIME:
            times.setdefault(command, _Times()).take(repetition)
    wanted = number_of(mapping_of(header.get("options")).get("min_undisturbed"))
    least = _LEAST_UNDISTURBED if wanted is None else wanted
    commands = [command for command in _RUN_TIME if command in times or command in commands_of(header)]
    return {
        _RUN_TIME[command]: MeasuredFigure(_mean(times.get(command, _Times()), least), _TRAITS, _TEST)
        for command in commands
    }


def commands_of(header: Mapping[str, Any]) -> dict[str, str]:
    """What was run, as far as the receipt tells it: the program, or the whole command line."""
    found = {}
    for said in mappings_of(header.get("commands")):
        name, argv = said.get("command"), said.get("argv")
        words = (
            [word_of(word) or "?" for word in argv] if isinstance(argv, list) else [word_of(said.get("program")) or "?"]
        )
        if isinstance(name, str) and name in _RUN_TIME:
            found[name] = " ".join(words)
    return found


def _mean(times: _Times, least_share: float) -> Estimate | None:
    """Where the order of the runs mattered they are no independent samples, and their number makes no error smaller."""
    kept = times.undisturbed_s
    if len(kept) < _FEWEST or len(kept) < least_share * times.count:
        return None
    found = statistics_of(kept)
    spread = found.cv or 0.0
    error = spread if found.doubt is not None else spread / math.sqrt(found.count)
    return Estimate(found.mean_s * 1e9, math.hypot(error, SPEED_DEVIATION), found.count - 1)
