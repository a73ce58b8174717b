"""Prints predicted against measured, the bad cases first: `python -m tests.truth` (half an hour; root for the quota).

Each case calibrates one CPU, has pyperf run a benchmark pinned to it for samples of 1, 10 and 100 ms, and calibrates
it again. The prediction, from both calibrations, is for as many samples as pyperf took.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
from collections.abc import Iterator
from typing import Any

from noisewatch.machine.spinning.loops import load_core
from tests.truth import collect
from tests.truth.conditions import CONDITIONS
from tests.truth.report import case_rows, summary_lines


def main() -> None:
    """Collects (or reads what was collected), and prints."""
    arguments = _arguments()
    cases = _read(arguments.read) if arguments.read else _collect(arguments)
    rows = []
    for case in cases:
        found = case_rows(case)
        rows += found
        if not arguments.read:
            print("\n".join(row.line for row in found), flush=True)
    print("\nbad ones first: the relative standard deviation that was measured, and the interval that was predicted")
    for row in sorted(rows, key=lambda row: -row.badness):
        print(row.line)
    print("\n" + "\n".join(summary_lines(rows)))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.truth", description=__doc__)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=5.0, help="of each calibration")
    parser.add_argument("--cpu", type=int, default=max(os.sched_getaffinity(0)))
    parser.add_argument("--core", default=load_core().NAME, choices=("native", "python"))
    parser.add_argument("--conditions", nargs="*", default=list(CONDITIONS), choices=list(CONDITIONS))
    parser.add_argument("--keep", help="write all that was measured to this file (gzip JSON lines)")
    parser.add_argument("--read", nargs="*", help="judge what was kept in these files, measuring nothing")
    return parser.parse_args()


def _collect(arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    other = min(os.sched_getaffinity(0) - {arguments.cpu}, default=arguments.cpu)
    loops = collect.loops_of_all()
    os.sched_setaffinity(0, {other})
    with gzip.open(arguments.keep or os.devnull, "wt") as kept:
        for repetition in range(arguments.repetitions):
            for name in arguments.conditions:
                try:
                    with CONDITIONS[name](arguments.cpu, other):
                        case = collect.collect(arguments.cpu, repetition, arguments.seconds, arguments.core, loops)
                except OSError as error:
                    print(f"{name}: not tried: {error}")
                    continue
                case = {"condition": name, "repetition": repetition, **case}
                kept.write(json.dumps(case) + "\n")
                yield case


def _read(paths: list[str]) -> Iterator[dict[str, Any]]:
    for path in paths:
        with gzip.open(path, "rt") as lines:
            yield from map(json.loads, lines)


if __name__ == "__main__":
    main()
