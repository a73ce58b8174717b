"""Candidates of `tune --measure` that change files of a written host."""

from __future__ import annotations

from collections.abc import Sequence

from noisewatch.kernel.system.tuning import Change, FileChange
from noisewatch.operations.tuning.plan import PlannedChange, Step, TuningPlan
from noisewatch.operations.tuning.schedule import Candidate
from tests.judgement.judging import finding, judged_by_settings
from tests.written.quiet_machine import quiet_machine

ON = "1"
_VERDICT = judged_by_settings(quiet_machine())


def candidate(*paths: str) -> Candidate:
    """Return a candidate, named after its first path, that writes `ON` to all of its paths."""
    return candidate_of(paths[0].rpartition("/")[2], [FileChange(path, ON) for path in paths])


def candidate_of(name: str, changes: Sequence[Change]) -> Candidate:
    """Return a candidate whose changes are one action."""
    action = tuple(PlannedChange(change, None) for change in changes)
    step = Step(finding(_VERDICT, "turbo-enabled"), (action,))
    return Candidate(name, TuningPlan(_VERDICT, (step,), ()))
