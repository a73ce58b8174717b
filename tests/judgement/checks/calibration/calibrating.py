"""Verdicts on the quiet machine with a calibration that the test writes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from noisewatch.judgement.case import Case
from noisewatch.judgement.catalogue import CATALOGUE
from noisewatch.judgement.check import Check
from noisewatch.judgement.noise.budget import Budget
from noisewatch.judgement.rules import DEFAULT, Rules
from noisewatch.judgement.terms import Area
from noisewatch.judgement.verdict import Verdict, judge
from noisewatch.kernel.snapshot.snapshot import SnapshotOptions, read_snapshot
from noisewatch.kernel.tasks.threads import TaskReader
from noisewatch.model.interval.interval import interval_between
from tests.judgement.judging import calibrated_by
from tests.written import Files, WrittenMachine, without
from tests.written.calibration import WORK_NS, written_calibration
from tests.written.quiet_machine import ANSWERS, CPUS, loaded_files, quiet_files

_MS = 1_000_000
CALIBRATION_CHECKS = [check.id for check in CATALOGUE if check.asks_calibration and check.area != Area.HISTORY]
NO_CPUFREQ = (*(f"{CPUS}/cpu{cpu}/cpufreq" for cpu in range(4)), f"{CPUS}/cpufreq", f"{CPUS}/intel_pstate")


def verdict_of(
    files: Files | None = None,
    budget: Budget | None = None,
    rules: Rules = DEFAULT,
    checks: Iterable[Check] = CATALOGUE,
    **written: Any,
) -> Verdict:
    """Return the verdict on a machine with these files (default: the quiet machine) and a written calibration."""
    base = dict(quiet_files()) if files is None else files
    machine = WrittenMachine(base, _updated(base, quiet_files(3.0)), _updated(base, loaded_files()), answers=ANSWERS)
    reader = TaskReader(asks_all_affinities=True)
    before = read_snapshot(machine, SnapshotOptions(), reader)
    machine.advance()
    after = read_snapshot(machine, SnapshotOptions(), reader, before)
    calibrated = calibrated_by(written_calibration(**written), budget or Budget())
    machine.advance()
    under_load = interval_between(after, read_snapshot(machine, SnapshotOptions(), None, after))
    sample = interval_between(before, after)
    return judge(Case(after, sample, calibrated=calibrated, under_load=under_load, rules=rules), checks)


def _updated(files: Files, later: Files) -> Files:
    """Return the files, with the text of `later` where both have the path."""
    return dict(files) | {path: text for path, text in later.items() if path in files}


def guest(*missing: str) -> Files:
    """Return the files of a virtual machine without the missing paths."""
    files = without(quiet_files(), *missing)
    cpuinfo = files["/proc/cpuinfo"].replace("fpu tsc", "fpu hypervisor tsc")
    return {**files, "/proc/cpuinfo": cpuinfo}


def every_third_slow(at_ns: int) -> int:
    return WORK_NS * (2 if at_ns // (50 * _MS) % 3 == 0 else 1)


def interrupted_verdict() -> Verdict:
    """Return the verdict on a machine that is interrupted for 2 ms in every 5 ms, with a budget for samples of 1 ms."""

    def interrupted(at_ns: int) -> int:
        return WORK_NS + (2 * _MS if at_ns % (3 * _MS) < WORK_NS else 0)

    gaps = tuple((at * _MS, 2 * _MS, 1, 0) for at in range(0, 5_000, 5))
    return verdict_of(gaps=gaps, work=interrupted, budget=Budget(_MS))
