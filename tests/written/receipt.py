"""Writes the receipt of a made-up series: two commands in 20 pairs, of which two runs are disturbed.

`python -m tests.written.receipt receipt.json`
"""

from __future__ import annotations

import sys
from pathlib import Path
from random import Random

from msgspec.structs import replace

from noisewatch.machine.command.counting import CommandCounts, Event, EventCount
from noisewatch.operations.run.series import RunSeries
from noisewatch.units import NS_PER_S
from tests.surfaces.reports.run.written_series import UNDISTURBED, disturbed_by, render, timed, written_series

_RUNS, _DISTURBED = 40, {11: ("postgres", 2207), 28: ("backup", 3120)}
_SECONDS = (0.262, 0.271)  # of a run of each command
_LOST_S = 0.05
_KHZ, _INSTRUCTIONS = 3_000_000, (1.42e9, 1.47e9)
_BEGAN_S = 1_795_946_400  # 2026-11-29


def paired_series() -> RunSeries:
    """Return a series of two commands, which take turns in being first; the second takes 3% longer."""
    rng = Random(7)
    verdicts = [disturbed_by(*_DISTURBED[at]) if at in _DISTURBED else UNDISTURBED for at in range(_RUNS)]
    series = written_series(*verdicts, argv=("./sort-new",), has_two=True)
    options = replace(series.options, against=("./sort-old",))
    commands = [at % 2 ^ at // 2 % 2 for at in range(_RUNS)]
    times_s = [
        _SECONDS[command] * rng.gauss(1, 0.006) + (_LOST_S if at in _DISTURBED else 0.0)
        for at, command in enumerate(commands)
    ]
    series = timed(replace(series, options=options), times_s)
    judged = []
    for run, command, time_s in zip(series.repetitions, commands, times_s, strict=True):
        ran_s = time_s - (_LOST_S if run.repetition.number - 1 in _DISTURBED else 0.0)
        counts = {
            Event.CYCLES: ran_s * _KHZ * 1000,
            Event.INSTRUCTIONS: _INSTRUCTIONS[command],
            Event.USER_INSTRUCTIONS: _INSTRUCTIONS[command],
            Event.CPU_TIME: ran_s * NS_PER_S,
        }
        repetition = replace(
            run.repetition,
            command=command,
            began_wall_ns=_BEGAN_S * NS_PER_S,
            use=replace(run.repetition.use, user_ns=round(ran_s * NS_PER_S)),
            counts=CommandCounts(
                {event: EventCount(round(count), 1.0) for event, count in counts.items()}, False, None
            ),
        )
        judged.append(replace(run, repetition=repetition))
    return replace(series, repetitions=tuple(judged))


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(render("json", paired_series()), "utf-8")
