"""A hog in one repetition of ten, at each level of privilege: how often it is detected and named."""

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
    """Print the shares at each level; `options` of `noisewatch run` apply to this user and to root with tracefs."""
    for name, work in _WORK.items():
        if os.geteuid() != 0:
            _print_trials(f"{name}, as this user", work, trials, options, ())
            continue
        _print_trials(f"{name}, as root with tracefs", work, trials, options, WITH_TRACEFS)
        _print_trials(f"{name}, as root without", work, trials, (), WITHOUT_TRACEFS)
        _print_trials(f"{name}, as nobody", work, trials, (), NOBODY)
        blind = (*WITH_HIDDEN_PROCESSES, *NOBODY)
        _print_trials(f"{name}, as nobody who sees no other's processes", work, trials, (), blind)


def _print_trials(name: str, work: str, trials: int, options: Sequence[str], privilege: Sequence[str]) -> None:
    line = f"a hog in repetition {SEVENTH}, {name}:"
    if privilege and not _can_start(privilege):
        print(f"{line} left out: noisewatch does not start so (is this checkout readable to everybody?)")
        return
    all_series = []
    for _ in range(trials):
        with tempfile.TemporaryDirectory() as folder:
            all_series.append(run_with_a_hog(Path(folder), work, "--calibration", "0", *options, privilege=privilege))
    detected = sum(SEVENTH in series.numbers_of("disturbed") for series in all_series)
    named = sum(SEVENTH in series.blamed for series in all_series)
    blamed = sum(series.blamed == [SEVENTH] for series in all_series)
    alone = sum(series.is_alone_disturbed for series in all_series)
    print(f"{line} disturbed {describe_trials(detected, trials)}; named {describe_trials(named, trials)};", end=" ")
    print(f"blamed for no other {describe_trials(blamed, trials)}; no other disturbed {describe_trials(alone, trials)}")


def _can_start(privilege: Sequence[str]) -> bool:
    command = [*privilege, sys.executable, "-m", "noisewatch", "--version"]
    return subprocess.run(command, check=False, capture_output=True).returncode == 0
