"""Candidates of `tune --measure` that change files of a written host."""

from __future__ import annotations

from noisewatch.kernel.system.tuning import FileChange
from noisewatch.operations.tuning.plan import PlannedChange, Step, TuningPlan
from noisewatch.operations.tuning.schedule import Candidate
from tests.judgement.judging import finding, judged_by_settings
from tests.written.quiet_machine import quiet_machine

ON = "1"
_VERDICT = judged_by_settings(quiet_machine())


def candidate(*paths: str) -> Candidate:
    """Return a candidate, named after its first path, that writes `ON` to all of its paths."""
    changes = tuple(PlannedChange(FileChange(path, ON), None) for path in paths)
    step = Step(finding(_VERDICT, "turbo-enabled"), (changes,))
    return Candidate(paths[0].rpartition("/")[2], TuningPlan(_VERDICT, (step,), ()))
