"""Print whether calibrations in a row agree: `python -m tests.truth.repeat` runs ten, and prints their answers.

A budget within the interval of a noise floor is undecided; all others should have one answer.
"""

from __future__ import annotations

import argparse
import os

from noisewatch.judgement.noise.budget import Budget, NoiseFloor
from noisewatch.judgement.noise.floor import floors_by_work
from noisewatch.kernel.calibration import parse_calibration
from noisewatch.machine.spinning.calibration.buffer import plan_slots
from noisewatch.machine.spinning.calibration.run import Calibrating, calibrate
from noisewatch.machine.spinning.loops import load_core

BUDGETS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.10, 0.20, 0.50)
_LENGTHS_MS = (1, 10, 100)


def main() -> None:
    """Calibrate, and print the answers at each budget."""
    parser = argparse.ArgumentParser(prog="python -m tests.truth.repeat", description=__doc__)
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--cpu", type=int, default=max(os.sched_getaffinity(0)))
    parser.add_argument("--core", default=load_core().NAME, choices=("native", "python"))
    arguments = parser.parse_args()
    os.sched_setaffinity(0, os.sched_getaffinity(0) - {arguments.cpu} or {arguments.cpu})
    slots = plan_slots([arguments.cpu], {}, {}, round(arguments.seconds * 1e9))
    floors_by_case: dict[tuple[str, int], list[NoiseFloor]] = {}
    for _ in range(arguments.count):
        samples = parse_calibration(calibrate(Calibrating(slots, core=arguments.core), lambda progress: None))
        for name, prediction in floors_by_work(samples, Budget()).items():
            for floor in prediction.floors:
                floors_by_case.setdefault((name, floor.sample_ns // 1_000_000), []).append(floor)
    decided = agreeing = 0
    for (name, ms), floors in floors_by_case.items():
        if ms not in _LENGTHS_MS:
            continue
        answers = {budget: "".join(_answer(floor, budget) for floor in floors) for budget in BUDGETS}
        decided += sum(len(set(text) - {"?"}) > 0 for text in answers.values())
        agreeing += sum(len(set(text) - {"?"}) == 1 for text in answers.values())
        cvs = " ".join(f"{floor.cv_expected:.2%}" for floor in floors)
        print(f"{name:<13} {ms:>4} ms  {cvs}")
        print("  " + "  ".join(f"{budget:.1%} {text}" for budget, text in answers.items()))
    print(f"all answers agree at {agreeing} of {decided} decided budgets")


def _answer(floor: NoiseFloor, budget: float) -> str:
    """Return `+` if the budget passes, `-` if it fails, `?` if it is within the interval."""
    if floor.extrapolated or floor.cv_low <= budget < floor.cv_high:
        return "?"
    return "-" if floor.cv_low > budget else "+"


if __name__ == "__main__":
    main()
