"""Print predicted and measured noise, bad cases first: `python -m tests.truth` (an hour; root for the quota).

Each case calibrates one CPU and then runs a benchmark pinned to it, for samples of 1, 10 and 100 ms. The prediction is
for the benchmark's kind of work and for as many samples as it took, from what was known before it.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import time
from collections.abc import Iterator
from typing import Any

from noisewatch.machine.spinning.loops import load_core
from tests.truth.case_detail import detail_lines
from tests.truth.collect import collect
from tests.truth.conditions import CONDITIONS
from tests.truth.report import Row, case_rows, summary_lines
from tests.truth.shortened import last_of
from tests.truth.workloads import WORKLOADS, compiled_program

_SETTLING_S = 1.0


def main() -> None:
    """Collect cases or read them, and print them."""
    arguments = _arguments()
    cases = _read(arguments.read) if arguments.read else _collect(arguments)
    rows: list[tuple[Row, list[str]]] = []
    for case in cases:
        before = last_of(case["before"], arguments.last) if arguments.last else case["before"]
        new_rows = case_rows({**case, "before": before})
        rows += [(row, list(detail_lines(case, row.sample_ms)) if arguments.beside else []) for row in new_rows]
        if not arguments.read:
            print("\n".join(row.line for row in new_rows), flush=True)
    print("\nbad ones first: the measured relative standard deviation, and the predicted interval")
    rows.sort(key=lambda pair: -pair[0].badness)
    for number, (row, details) in enumerate(rows):
        print("\n".join([row.line, *(details if number < arguments.beside else ())]))
    print("\n" + "\n".join(summary_lines([row for row, _ in rows])))


def _arguments() -> argparse.Namespace:
    names = [workload.name for workload in WORKLOADS]
    parser = argparse.ArgumentParser(prog="python -m tests.truth", description=__doc__)
    parser.add_argument("--seconds", type=float, default=3.0, help="of each calibration")
    parser.add_argument("--cpu", type=int, default=max(os.sched_getaffinity(0)))
    parser.add_argument("--core", default=load_core().NAME, choices=("native", "python"))
    parser.add_argument("--conditions", nargs="*", default=list(CONDITIONS), choices=list(CONDITIONS))
    parser.add_argument("--workloads", nargs="*", default=names, choices=names)
    parser.add_argument("--keep", help="write all measurements to this file (gzip JSON lines)")
    parser.add_argument(
        "--last", type=float, help="use only this many seconds of each calibration, those before the benchmark"
    )
    parser.add_argument("--read", nargs="*", help="judge the measurements in these files, measuring nothing")
    parser.add_argument(
        "--beside", type=int, default=0, help="number of bad cases for which to show the calibration and all samples"
    )
    return parser.parse_args()


def _collect(arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    other = min(os.sched_getaffinity(0) - {arguments.cpu}, default=arguments.cpu)
    workloads = [workload for workload in WORKLOADS if workload.name in arguments.workloads]
    with compiled_program() as program, gzip.open(arguments.keep or os.devnull, "wt") as sink:
        time.sleep(_SETTLING_S)
        once_s = {workload.name: workload.once_s(program) for workload in workloads}
        os.sched_setaffinity(0, {other})
        for workload in workloads:
            for name in arguments.conditions:
                try:
                    with CONDITIONS[name](arguments.cpu, other):
                        case = collect(
                            arguments.cpu, workload, program, once_s[workload.name], arguments.seconds, arguments.core
                        )
                except OSError as error:
                    print(f"{name}: not tried: {error}")
                    continue
                case = {"condition": name, **case}
                sink.write(json.dumps(case) + "\n")
                yield case


def _read(paths: list[str]) -> Iterator[dict[str, Any]]:
    for path in paths:
        with gzip.open(path, "rt") as lines:
            yield from map(json.loads, lines)


if __name__ == "__main__":
    main()
