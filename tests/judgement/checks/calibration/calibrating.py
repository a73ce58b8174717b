"""The quiet machine, calibrated as a test says, and judged."""

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
CALIBRATION_CHECKS = [each.id for each in CATALOGUE if each.asks_calibration and each.area != Area.HISTORY]
NO_CPUFREQ = (*(f"{CPUS}/cpu{cpu}/cpufreq" for cpu in range(4)), f"{CPUS}/cpufreq", f"{CPUS}/intel_pstate")


def verdict_of(
    files: Files | None = None,
    budget: Budget | None = None,
    rules: Rules = DEFAULT,
    checks: Iterable[Check] = CATALOGUE,
    **written: Any,
) -> Verdict:
    """Return the verdict on the quiet machine, or that of the files, calibrated as the test says."""
    both = dict(quiet_files()) if files is None else files
    machine = WrittenMachine(both, _moved(both, quiet_files(3.0)), _moved(both, loaded_files()), answers=ANSWERS)
    reader = TaskReader(asks_all_affinities=True)
    before = read_snapshot(machine, SnapshotOptions(), reader)
    machine.advance()
    after = read_snapshot(machine, SnapshotOptions(), reader, before)
    calibrated = calibrated_by(written_calibration(**written), budget or Budget())
    machine.advance()
    under_load = interval_between(after, read_snapshot(machine, SnapshotOptions(), None, after))
    sample = interval_between(before, after)
    return judge(Case(after, sample, calibrated=calibrated, under_load=under_load, rules=rules), checks)


def _moved(files: Files, later: Files) -> Files:
    """The files later on, of those that are there."""
    return dict(files) | {path: text for path, text in later.items() if path in files}


def guest(*gone: str) -> Files:
    """A virtual machine, without what cannot be seen there."""
    files = without(quiet_files(), *gone)
    cpuinfo = files["/proc/cpuinfo"].replace("fpu tsc", "fpu hypervisor tsc")
    return {**files, "/proc/cpuinfo": cpuinfo}


def every_third_slow(at_ns: int) -> int:
    return WORK_NS * (2 if at_ns // (50 * _MS) % 3 == 0 else 1)
