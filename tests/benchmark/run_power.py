"""Print how well `run --against` finds a difference: `python -m tests.benchmark.run_power [--trials N]`.

A trial: `--aa` states the smallest detectable difference for a command of fixed work of 20 ms. Then `--against` must
detect a command whose work is longer by twice that difference, and must not detect one with the same work.
Undisturbed pairs count, as in noisewatch, or with `--all-pairs` all pairs, for a busy host. Needs a C compiler.
"""

from __future__ import annotations

import argparse
import shlex
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.benchmark.run.work import FixedWork, series
from tests.benchmark.shares import describe_trials
from tests.truth.workloads import compiled_program

UNDISTURBED = "difference"
_LENGTH_NS = 20e6
_TIMES = 2


@dataclass(frozen=True, slots=True)
class PowerTrial:
    """The results of one trial, None where there was no result.

    `smallest` is the smallest difference that the pairs can show, and `added` the difference that was added.
    Both are relative to the mean of the first command.
    """

    smallest: float | None
    added: float | None = None
    is_found: bool | None = None
    is_false_alarm: bool | None = None


def main() -> None:
    """Print a line for each trial, then the shares."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmark.run_power")
    parser.add_argument("--trials", type=int, default=50, help="default 50")
    parser.add_argument("--pairs", type=int, default=30, help="of each series (default 30)")
    parser.add_argument("--all-pairs", action="store_true", help="judge all pairs, also those that were disturbed")
    options = parser.parse_args()
    key = "difference_of_all_pairs" if options.all_pairs else UNDISTURBED
    with compiled_program() as program:
        work = FixedWork.of(program)
        print(f"a loop takes {work.loop_ns / 1e3:.1f} µs, the start {work.start_ns / 1e6:.2f} ms")
        trials = []
        for number in range(1, options.trials + 1):
            trials.append(_trial(work, options.pairs, key))
            print(f"{number:>4} {_describe(trials[-1])}", flush=True)
    print("\n".join(shares_of(trials)))


def _trial(work: FixedWork, pairs: int, key: str) -> PowerTrial:
    loops = work.loops_in(_LENGTH_NS - work.start_ns)
    command = work.of_loops(loops)
    footer = _footer(pairs, "--aa", command)
    smallest = answer_in(footer, key, "smallest_shown")
    if smallest is None:
        return PowerTrial(None)
    mean_ns = footer["commands"][0]["all"]["mean_s"] * 1e9
    more = work.loops_in(_TIMES * smallest * mean_ns)
    other = _footer(pairs, f"--against={shlex.join(work.of_loops(loops + more))}", command)
    same = _footer(pairs, f"--against={shlex.join(command)}", command)
    interval = answer_in(other, key, "interval")
    is_found = None if interval is None else interval[0] > 0
    return PowerTrial(smallest, more * work.loop_ns / mean_ns, is_found, answer_in(same, key, "is_shown"))


def _footer(pairs: int, option: str, command: Sequence[str]) -> Mapping[str, Any]:
    footer: Mapping[str, Any] = series("--runs", str(pairs), option, "--calibration", "0", "--", *command)["footer"]
    return footer


def answer_in(footer: Mapping[str, Any], key: str, name: str) -> Any:
    """Return one figure of the difference, or None if the series has no difference, or refuses it for too few pairs."""
    difference = footer[key]
    is_refused = key == UNDISTURBED and footer["is_difference_refused"]
    return None if difference is None or is_refused else difference[name]


def _describe(trial: PowerTrial) -> str:
    if trial.smallest is None or trial.added is None:
        return "no smallest difference: too few pairs"
    words = {True: "found", False: "missed", None: "no result"}
    alarms = {True: "false alarm", False: "nothing found", None: "no result"}
    return (
        f"smallest {trial.smallest:.2%}; {trial.added:.2%} added: {words[trial.is_found]}; "
        f"nothing added: {alarms[trial.is_false_alarm]}"
    )


def shares_of(trials: Sequence[PowerTrial]) -> list[str]:
    """Return the shares as lines of text.

    A series without a result counts as a missed difference, and is left out of the share of false alarms.
    """
    stated = [trial for trial in trials if trial.smallest is not None]
    detected = sum(trial.is_found is True for trial in stated)
    alarms = [trial.is_false_alarm for trial in stated if trial.is_false_alarm is not None]
    smallest = [trial.smallest for trial in stated if trial.smallest is not None]
    median = f", median {statistics.median(smallest):.2%}" if smallest else ""
    return [
        f"a smallest difference was stated {describe_trials(len(stated), len(trials))}{median}",
        f"{_TIMES} times that was found {describe_trials(detected, len(stated))} (aim: 80 % or more); "
        f"no result in {sum(trial.is_found is None for trial in stated)}",
        f"false alarms {describe_trials(sum(alarms), len(alarms))} (aim: 5 % or less); "
        f"no result in {len(stated) - len(alarms)}",
    ]


if __name__ == "__main__":
    main()
