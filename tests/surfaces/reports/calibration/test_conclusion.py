"""The conclusion when interruptions alone exceed the budget."""

from __future__ import annotations

from msgspec.structs import replace

from noisewatch.judgement.noise.budget import Budget
from noisewatch.kinds import Kind
from noisewatch.model.interval.disturbance import Disturbance
from noisewatch.surfaces.reports.calibration.conclusion import conclusion_of
from noisewatch.surfaces.reports.calibration.gaps import gaps_of
from tests.surfaces.reports.calibration.calibrations import noisy

_SMALL = Budget(max_cv=0.001)


def test_interruptions_over_budget_precede_slow_kinds_of_work() -> None:
    calibrated = replace(noisy(), budget=_SMALL)
    helps = conclusion_of(calibrated, gaps_of(calibrated)).helps
    assert helps.startswith("Interruptions alone exceed the budget on CPU ")
    assert "): move other work off this CPU" in helps


def test_quota_that_causes_interruptions_is_named() -> None:
    calibrated = replace(noisy(), budget=_SMALL)
    quota = {cpu: Disturbance(Kind.QUOTA, "CPU quota", cpu, None, share=0.2, rate_per_s=None) for cpu in (0, 1)}
    limited = replace(calibrated, attribution=replace(calibrated.attribution, quota_by_cpu=quota))
    assert (
        "): the cause is a CPU quota, which stops the group's threads" in conclusion_of(limited, gaps_of(limited)).helps
    )
