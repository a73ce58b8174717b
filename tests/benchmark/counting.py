"""Print what the counters of `noisewatch run` cost: `python -m tests.benchmark.counting`.

Without a PMU, seven counters of the CPU time stand in for the hardware events: the same system calls and the same work
at each fork, but no registers to save at a context switch. Figures, no limits.
"""

from __future__ import annotations

import statistics
import time
from contextlib import nullcontext
from unittest.mock import patch

from noisewatch.machine.command import counting
from noisewatch.machine.command.counting import CommandCounter
from noisewatch.machine.command.running import Commands
from noisewatch.machine.command.start import CommandPlan, inherited_state

_ROUNDS = 300
_FORKS = 200
_FORKING = ("sh", "-c", f"i=0; while [ $i -lt {_FORKS} ]; do (:); i=$((i+1)); done")
_CPU_TIME = (1, 1, False)  # PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK


def main() -> None:
    """Print the medians."""
    has_pmu = CommandCounter().__enter__().unknown is None
    stand_in = nullcontext() if has_pmu else patch.dict(counting._EVENTS, dict.fromkeys(counting._EVENTS, _CPU_TIME))
    with stand_in, Commands(inherited_state()) as commands, CommandCounter() as counter:
        print(f"{len(counter._events)} events, {'hardware' if has_pmu else 'stand-ins: no PMU here'}")
        print(f"one repetition: {_median_us(commands, counter, ('true',))[0]:.0f} µs to open and read the counters")
        with_us, without_us = _elapsed_us(commands, counter), _elapsed_us(commands, None)
        print(f"{_FORKS} forks: {(with_us - without_us) / _FORKS:.1f} µs more per fork ({with_us / without_us:.3f} ×)")


def _median_us(commands: Commands, counter: CommandCounter, argv: tuple[str, ...]) -> tuple[float, float]:
    """Return the medians of the counters' own time, and of the command's."""
    own, elapsed = [], []
    for _ in range(_ROUNDS):
        began = time.perf_counter_ns()
        counter.begin()
        opened = time.perf_counter_ns()
        commands.start(CommandPlan(argv=argv)).wait()
        ended = time.perf_counter_ns()
        counter.end()
        own.append(opened - began + time.perf_counter_ns() - ended)
        elapsed.append(ended - opened)
    return statistics.median(own) / 1e3, statistics.median(elapsed) / 1e3


def _elapsed_us(commands: Commands, counter: CommandCounter | None) -> float:
    """Return the median time of a command that forks, with or without counters."""
    times = []
    for _ in range(_ROUNDS // 10):
        if counter is not None:
            counter.begin()
        began = time.perf_counter_ns()
        commands.start(CommandPlan(argv=_FORKING)).wait()
        times.append(time.perf_counter_ns() - began)
        if counter is not None:
            counter.end()
    return statistics.median(times) / 1e3


if __name__ == "__main__":
    main()
