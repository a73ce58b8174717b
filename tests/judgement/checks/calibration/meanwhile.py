"""A sample of the quiet machine, and a calibration during which other files change."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from noisewatch.judgement.case import Case
from noisewatch.judgement.noise.budget import Budget
from noisewatch.judgement.rules import DEFAULT
from noisewatch.judgement.verdict import Finding
from noisewatch.kernel.snapshot.snapshot import SnapshotOptions, read_snapshot
from noisewatch.kernel.tasks.threads import TaskReader
from noisewatch.kernel.trace.runs import NOT_TRACED, Trace
from noisewatch.model.calibration.attribution import ConcurrentObservations
from noisewatch.model.interval.interval import Interval, interval_between
from tests.judgement.judging import calibrated_by, finding_in
from tests.written import WrittenMachine
from tests.written.calibration import written_calibration
from tests.written.quiet_machine import ANSWERS, loaded_files, quiet_files

SPINNER, OURS = 900, 890


def intervals_until(
    after: dict[str, str],
    sampled: dict[str, str] | None = None,
    lost_share_by_cpu: Mapping[int, float] | None = None,
    before: dict[str, str] | None = None,
) -> list[Interval]:
    """Return the intervals of a sample and of a calibration, which ends with the files `after`.

    The sample is quiet except for the files `before` at the start and `sampled` at the end. The loops of the
    calibration lost the given share of their time, by CPU.
    """
    files = [quiet_files() | (before or {}), quiet_files(3.0) | (sampled or {}), loaded_files() | after]
    machine = WrittenMachine(*files, answers=ANSWERS, own_pids=[OURS])
    task_reader = TaskReader(asks_all_affinities=True)
    snapshots = [read_snapshot(machine, SnapshotOptions(), task_reader)]
    while machine.has_next:
        machine.advance()
        snapshots.append(read_snapshot(machine, SnapshotOptions(), task_reader, snapshots[-1]))
    sample, loaded = pairwise(snapshots)
    return [interval_between(*sample), interval_between(*loaded, loop_lost_share_by_cpu=lost_share_by_cpu)]


def case_of(
    sample: Interval,
    loaded: Interval,
    trace: Trace | str = NOT_TRACED,
    budget: Budget = DEFAULT.budget,
    written: Mapping[str, Any] | None = None,
) -> Case:
    """Return the case of a sample and a later calibration of CPUs 2 and 3, by default a quiet one."""
    loops = {2: {"tid": SPINNER}, 3: {"tid": SPINNER + 1}}
    meanwhile = ConcurrentObservations(trace, sample.after, loaded)
    calibrated = calibrated_by(written or written_calibration(changes=loops), budget, frozenset({2, 3}), meanwhile)
    return Case(sample.after, sample, calibrated=calibrated, under_load=loaded)


def finding_after(check_id: str, after: dict[str, str], trace: Trace | str = NOT_TRACED) -> Finding:
    """Return the check's finding where the calibration ends with the files `after`, and its noise floor passes."""
    sample, loaded = intervals_until(after)
    return finding_in(case_of(sample, loaded, trace), check_id)
