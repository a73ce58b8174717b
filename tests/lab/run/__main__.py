"""Print what `noisewatch run` detects in the lab: `python -m tests.lab.run [--trials N] [--quiet N] [LEVEL...]`.

At each level of privilege, trials with a hog in one repetition of ten; then repetitions on an isolated CPU without a
deliberate disturbance. A trial takes half a minute on an otherwise idle host. Emulation itself disturbs now and then,
so these are figures, not limits.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from tests.benchmark.shares import describe_trials
from tests.lab.lab import Lab
from tests.lab.machine import ISOLATED, kernel_image
from tests.lab.run.series import PRIVILEGES, quiet_repetitions, run_with_a_hog, verdict_with_reason
from tests.live.hog_in_a_run import SEVENTH, HoggedSeries

_AT_ONCE = 250  # so that a command ends within the lab's timeout


def main() -> None:
    """Print a line for each level, then the verdicts of quiet repetitions."""
    parser = argparse.ArgumentParser(prog="python -m tests.lab.run")
    parser.add_argument("--trials", type=int, default=20, help="at each level (default 20)")
    parser.add_argument("--quiet", type=int, default=500, help="repetitions without a disturbance (default 500)")
    parser.add_argument("levels", nargs="*", default=[*PRIVILEGES], metavar="LEVEL", help=f"of {', '.join(PRIVILEGES)}")
    options = parser.parse_args()
    unknown = set(options.levels) - PRIVILEGES.keys()
    if unknown:
        parser.error(f"no such level: {', '.join(sorted(unknown))}")
    image = kernel_image(ISOLATED)
    assert image is not None, "no kernel: tests/lab/set_up"
    with Lab(ISOLATED, image) as lab:
        for name in options.levels if options.trials else ():
            _print_trials(lab, name, options.trials)
        if options.quiet:
            _print_quiet(lab, options.quiet)


def _print_trials(lab: Lab, name: str, trials: int) -> None:
    all_series = [run_with_a_hog(lab, PRIVILEGES[name]) for _ in range(trials)]
    detected = sum(SEVENTH in series.numbers_of("disturbed") for series in all_series)
    named = sum(series.blamed == [SEVENTH] for series in all_series)
    others = sum(len(set(series.numbers_of("disturbed")) - {SEVENTH}) for series in all_series)
    print(f"a hog in repetition {SEVENTH}, as {name}: disturbed {describe_trials(detected, trials)};", end=" ")
    print(f"named, for no other, {describe_trials(named, trials)};", end=" ")
    print(
        f"of all others disturbed {describe_trials(others, sum(len(series.repetitions) - 1 for series in all_series))}"
    )
    for reason, count in Counter(_other_reasons(all_series)).most_common(5):
        print(f"  {count:>4} {reason}", flush=True)


def _print_quiet(lab: Lab, repetitions: int) -> None:
    lines: list[dict[str, Any]] = []
    while len(lines) < repetitions:
        lines += quiet_repetitions(lab, min(_AT_ONCE, repetitions - len(lines)))
    others = [line for line in lines if line["verdict"] != "undisturbed"]
    undisturbed = len(lines) - len(others)
    print(f"no deliberate disturbance: undisturbed {describe_trials(undisturbed, len(lines))}")
    for reason, count in Counter(map(verdict_with_reason, others)).most_common():
        print(f"  {count:>4} {reason}", flush=True)


def _other_reasons(all_series: Iterable[HoggedSeries]) -> Iterator[str]:
    for series in all_series:
        for line in series.repetitions:
            if line["verdict"] != "undisturbed" and line["number"] != SEVENTH:
                yield verdict_with_reason(line)


if __name__ == "__main__":
    main()
