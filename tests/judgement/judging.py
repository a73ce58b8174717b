"""Verdicts and findings on written machines."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from typing import Any

from msgspec.structs import replace

from noisewatch.cpus import CpuSet
from noisewatch.judgement.answer import Answer
from noisewatch.judgement.case import Calibrated, Case, calibrated_with
from noisewatch.judgement.catalogue import CATALOGUE
from noisewatch.judgement.check import Check
from noisewatch.judgement.noise.budget import Budget
from noisewatch.judgement.rules import DEFAULT, Rules
from noisewatch.judgement.terms import FLOOR_CHECK
from noisewatch.judgement.verdict import Finding, Verdict, judge
from noisewatch.kernel.calibration import parse_calibration
from noisewatch.kernel.snapshot.snapshot import SnapshotOptions, read_snapshot
from noisewatch.kernel.system.reference_clock import read_clock_comparison
from noisewatch.kernel.tasks.threads import TaskReader
from noisewatch.machine import Machine
from noisewatch.model.calibration.attribution import ConcurrentObservations, attribution_of
from noisewatch.model.interval.interval import interval_between
from noisewatch.operations.history import CalibrationHistory
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
    """Return the verdict on the first two snapshots, and on a quiet calibration where the machine has a third."""
    task_reader = TaskReader(asks_all_affinities=True)
    options = SnapshotOptions(cpus, asks_jobs=True, asks_inventory=rules.wanted is not None)
    before = read_snapshot(machine, options, task_reader)
    machine.advance()
    after = read_snapshot(machine, options, task_reader, before)
    comparison = read_clock_comparison(machine, dict)
    past = CalibrationHistory(machine, None).recall()
    sampled = interval_between(before, after)
    case = Case(after, sampled, rules=rules, clock_comparison=comparison, past=past)
    if is_calibrated and machine.has_next:
        machine.advance()
        loaded = interval_between(after, read_snapshot(machine, options, None, after))
        case = replace(case, calibrated=quiet_calibration(rules.budget), under_load=loaded)
    return judge(case, checks, strict=strict)


def calibrated_by(
    written: Mapping[str, Any],
    budget: Budget = DEFAULT.budget,
    cpus: CpuSet | None = None,
    meanwhile: ConcurrentObservations | None = None,
) -> Calibrated:
    """Return the result of `calibrated_with` for the written calibration; equal calibrations are evaluated once."""
    calibrated = _calibrated_by(json.dumps(written), budget, cpus)
    if meanwhile is None:
        return calibrated
    return replace(calibrated, attribution=attribution_of(calibrated.calibration.samples, meanwhile))


@lru_cache(maxsize=16)
def _calibrated_by(written: str, budget: Budget, cpus: CpuSet | None) -> Calibrated:
    return calibrated_with(parse_calibration(json.loads(written)), budget, cpus)


@cache
def quiet_calibration(budget: Budget = DEFAULT.budget) -> Calibrated:
    """Return a calibration of CPUs 2 and 3 without any fault."""
    return calibrated_by(written_calibration(), budget)


def judged_by_settings(machine: Machine, cpus: CpuSet | None = None, checks: Iterable[Check] = CATALOGUE) -> Verdict:
    """Return the verdict on one snapshot, as `preflight --sample 0` makes it."""
    options = SnapshotOptions(cpus, asks_jobs=True)
    return judge(Case(read_snapshot(machine, options, TaskReader(asks_all_affinities=True))), checks)


def finding(verdict: Verdict, check_id: str) -> Finding:
    """Return the one finding of the check."""
    (match,) = [result for result in verdict.findings if result.check.id == check_id]
    return match


@cache
def deciding_checks(check_id: str) -> tuple[Check, ...]:
    """Return the check and the checks that may answer it: enough for the same finding as in a verdict on all checks."""
    (check,) = [candidate for candidate in CATALOGUE if candidate.id == check_id]
    others = {check.answered_by, FLOOR_CHECK if check.is_hidden_from_guests else None}
    return tuple(candidate for candidate in CATALOGUE if candidate is check or candidate.id in others)


def finding_in(case: Case, check_id: str) -> Finding:
    """Return the finding of the check, as in the verdict on the case."""
    return finding(judge(case, deciding_checks(check_id)), check_id)


def finding_on(machine: WrittenMachine, check_id: str, cpus: CpuSet | None = None, **options: Any) -> Finding:
    """Return the finding of the check, as in the verdict of `judged` with these options."""
    return finding(judged(machine, cpus, checks=deciding_checks(check_id), **options), check_id)


def answered(check_id: str, both: dict[str, str], after: dict[str, str] | None = None) -> Answer:
    """Return the answer on CPUs 2 and 3 of the quiet machine with `both` in both snapshots, `after` in the second."""
    machine = WrittenMachine(quiet_files() | both, quiet_files(3.0) | both | (after or {}), answers=ANSWERS)
    return finding_on(machine, check_id, frozenset({2, 3})).answer


def stat_without(cpu: int, text: str) -> str:
    """Return the text of /proc/stat without the row of a CPU."""
    return "".join(line for line in text.splitlines(keepends=True) if not line.startswith(f"cpu{cpu} "))
