"""A hog in one repetition of ten, at each level of privilege: how often it alone is found, and named."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.benchmark.shares import describe_trials
from tests.live.hog_in_a_run import BUSY, IDLE, SEVENTH, run_with_a_hog
from tests.plumbing.privileges import NOBODY, WITH_HIDDEN_PROCESSES, WITH_TRACEFS, WITHOUT_TRACEFS

_WORK = {"busy": BUSY, "asleep": IDLE}


def print_hogs(trials: int, options: Sequence[str]) -> None:
    """The options are further ones of `noisewatch run`, as root with tracefs only where they ask for a trace."""
    for what, work in _WORK.items():
        if os.geteuid() != 0:
            _print_trials(f"{what}, as this user", work, trials, options, ())
            continue
        _print_trials(f"{what}, as root with tracefs", work, trials, options, WITH_TRACEFS)
        _print_trials(f"{what}, as root without", work, trials, (), WITHOUT_TRACEFS)
        _print_trials(f"{what}, as nobody", work, trials, (), NOBODY)
        blind = (*WITH_HIDDEN_PROCESSES, *NOBODY)
        _print_trials(f"{what}, as nobody who sees no other's processes", work, trials, (), blind)


def _print_trials(what: str, work: str, trials: int, options: Sequence[str], privilege: Sequence[str]) -> None:
    line = f"a hog in repetition {SEVENTH}, {what}:"
    if privilege and not _can_start(privilege):
        print(f"{line} left out: noisewatch does not start so (is this checkout readable to everybody?)")
        return
    found = []
    for _ in range(trials):
        with tempfile.TemporaryDirectory() as folder:
            found.append(run_with_a_hog(Path(folder), work, "--calibration", "0", *options, privilege=privilege))
    seen = sum(SEVENTH in each.numbers_of("disturbed") for each in found)
    named = sum(SEVENTH in each.blamed for each in found)
    blamed = sum(each.blamed == [SEVENTH] for each in found)
    alone = sum(each.is_alone_disturbed for each in found)
    print(f"{line} disturbed {describe_trials(seen, trials)}; named {describe_trials(named, trials)};", end=" ")
    print(f"blamed for no other {describe_trials(blamed, trials)}; no other disturbed {describe_trials(alone, trials)}")


def _can_start(privilege: Sequence[str]) -> bool:
    asked = [*privilege, sys.executable, "-m", "noisewatch", "--version"]
    return subprocess.run(asked, check=False, capture_output=True).returncode == 0
