"""Prints what `noisewatch run` detects in the lab: `python -m tests.lab.run [--trials N] [--quiet N] [LEVEL...]`.

At each level of privilege, N trials with a hog in one repetition of ten; then N repetitions on an isolated CPU without
a deliberate disturbance. A trial takes half a minute on an otherwise idle host. Emulation itself disturbs now and then,
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
from tests.lab.run.series import PRIVILEGES, quiet_repetitions, run_with_a_hog, why_not_undisturbed
from tests.live.hog_in_a_run import SEVENTH, HoggedSeries

_AT_ONCE = 250  # as many end in the time that the lab grants a command


def main() -> None:
    """A line for each level, then the verdicts."""
    parser = argparse.ArgumentParser(prog="python -m tests.lab.run")
    parser.add_argument("--trials", type=int, default=20, help="at each level (default 20)")
    parser.add_argument("--quiet", type=int, default=500, help="repetitions that nobody disturbs (default 500)")
    parser.add_argument("levels", nargs="*", default=[*PRIVILEGES], metavar="LEVEL", help=f"of {', '.join(PRIVILEGES)}")
    asked = parser.parse_args()
    unknown = set(asked.levels) - PRIVILEGES.keys()
    if unknown:
        parser.error(f"no such level: {', '.join(sorted(unknown))}")
    image = kernel_image(ISOLATED)
    assert image is not None, "no kernel: tests/lab/set_up"
    with Lab(ISOLATED, image) as lab:
        for name in asked.levels if asked.trials else ():
            _print_trials(lab, name, asked.trials)
        if asked.quiet:
            _print_quiet(lab, asked.quiet)


def _print_trials(lab: Lab, name: str, trials: int) -> None:
    found = [run_with_a_hog(lab, PRIVILEGES[name]) for _ in range(trials)]
    seen = sum(SEVENTH in each.numbers_of("disturbed") for each in found)
    named = sum(each.blamed == [SEVENTH] for each in found)
    others = sum(len(set(each.numbers_of("disturbed")) - {SEVENTH}) for each in found)
    print(f"a hog in repetition {SEVENTH}, as {name}: disturbed {describe_trials(seen, trials)};", end=" ")
    print(f"named, for no other, {describe_trials(named, trials)};", end=" ")
    print(f"of all others disturbed {describe_trials(others, sum(len(each.repetitions) - 1 for each in found))}")
    for reason, count in Counter(_why_others(found)).most_common(5):
        print(f"  {count:>4} {reason}", flush=True)


def _print_quiet(lab: Lab, repetitions: int) -> None:
    lines: list[dict[str, Any]] = []
    while len(lines) < repetitions:
        lines += quiet_repetitions(lab, min(_AT_ONCE, repetitions - len(lines)))
    others = [line for line in lines if line["verdict"] != "undisturbed"]
    undisturbed = len(lines) - len(others)
    print(f"nobody on purpose: undisturbed {describe_trials(undisturbed, len(lines))}")
    for reason, count in Counter(map(why_not_undisturbed, others)).most_common():
        print(f"  {count:>4} {reason}", flush=True)


def _why_others(found: Iterable[HoggedSeries]) -> Iterator[str]:
    for each in found:
        for line in each.repetitions:
            if line["verdict"] != "undisturbed" and line["number"] != SEVENTH:
                yield why_not_undisturbed(line)


if __name__ == "__main__":
    main()
