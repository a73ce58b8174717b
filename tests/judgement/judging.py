"""A machine's two snapshots, sampled and judged."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from msgspec.structs import replace

from noisewatch.cpus import CpuSet
from noisewatch.judgement.case import Calibrated, Case, calibrated_with
from noisewatch.judgement.catalogue import CATALOGUE
from noisewatch.judgement.check import Answer, Check
from noisewatch.judgement.noise.budget import Budget
from noisewatch.judgement.rules import DEFAULT, Rules
from noisewatch.judgement.verdict import Finding, Verdict, judge
from noisewatch.kernel.calibration import parse_calibration
from noisewatch.kernel.snapshot.snapshot import SnapshotOptions, read_snapshot
from noisewatch.kernel.system.reference_clock import read_clock_comparison
from noisewatch.kernel.tasks.threads import TaskReader
from noisewatch.machine import Machine
from noisewatch.model.interval.interval import interval_between
from noisewatch.operations.history.calibrations import CalibrationHistory
from tests.written import WrittenMachine
from tests.written.calibration import written_calibration
from tests.written.quiet_machine import ANSWERS, quiet_files


def judged(
    machine: WrittenMachine,
    cpus: CpuSet | None = None,
    strict: bool = False,
    is_calibrated: bool = True,
    rules: Rules = DEFAULT,
    checks: Iterable[Check] = CATALOGUE,
) -> Verdict:
    """The verdict over the machine's first two snapshots, and a quiet calibration that its third one follows."""
    task_reader = TaskReader(asks_all_affinities=True)
    wish = SnapshotOptions(cpus, asks_jobs=True, asks_inventory=rules.wanted is not None)
    before = read_snapshot(machine, wish, task_reader)
    machine.advance()
    after = read_snapshot(machine, wish, task_reader, before)
    compared = read_clock_comparison(machine, dict)
    past = CalibrationHistory(machine, None).recall()
    sampled = interval_between(before, after)
    case = Case(after, sampled, rules=rules, clock_comparison=compared, past=past)
    if is_calibrated and machine.has_next:
        machine.advance()
        loaded = interval_between(after, read_snapshot(machine, wish, None, after))
        case = replace(case, calibrated=quiet_calibration(rules.budget), under_load=loaded)
    return judge(case, checks, strict=strict)


@cache
def quiet_calibration(budget: Budget = DEFAULT.budget) -> Calibrated:
    """Return that of CPUs 2 and 3, with nothing to complain about."""
    return calibrated_with(parse_calibration(written_calibration()), budget)


def judged_by_settings(machine: Machine, cpus: CpuSet | None = None) -> Verdict:
    """The verdict over one snapshot, as `preflight --sample 0` makes it."""
    return judge(
        Case(read_snapshot(machine, SnapshotOptions(cpus, asks_jobs=True), TaskReader(asks_all_affinities=True)))
    )


def finding(verdict: Verdict, check_id: str) -> Finding:
    """The one finding of the check."""
    (found,) = [each for each in verdict.findings if each.check.id == check_id]
    return found


def answered(check_id: str, both: dict[str, str], after: dict[str, str] | None = None) -> Answer:
    """Return the answer on CPUs 2 and 3 of the quiet machine with `both` in both snapshots, `after` in the second."""
    machine = WrittenMachine(quiet_files() | both, quiet_files(3.0) | both | (after or {}), answers=ANSWERS)
    return finding(judged(machine, frozenset({2, 3})), check_id).answer
