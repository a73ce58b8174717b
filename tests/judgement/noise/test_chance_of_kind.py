"""The chance that samples stay within the budget: of the requested kind of work, otherwise the least of all kinds."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from noisewatch.judgement.case import Calibrated
from noisewatch.judgement.noise.budget import Budget
from noisewatch.judgement.noise.by_work import KINDS, chance_line, chance_within_budget
from noisewatch.kinds import Work
from noisewatch.machine.spinning.calibration.buffer import LATENCY, MEMORY
from tests.judgement.checks.calibration.calibrating import every_third_slow
from tests.judgement.judging import calibrated_by
from tests.written.calibration import written_calibration

_MS = 1_000_000


def calibrate_written(budget: Budget | None = None, **written: Any) -> Calibrated:
    """Return a written calibration, judged by the budget."""
    return calibrated_by(written_calibration(**written), budget or Budget())


def test_without_a_kind_the_least_chance_of_all_kinds_counts() -> None:
    calibrated = calibrate_written(others={MEMORY: every_third_slow})
    floors = {work: calibrated.floors_by_work[work].worst for work in KINDS}
    chances = {work: floor.chance for work, floor in floors.items() if floor is not None and floor.chance is not None}
    chance, of_what = chance_within_budget(calibrated)
    assert chance == min(chances.values())
    assert of_what == f"{min(chances, key=lambda work: chances[work])} work"
    assert chance_line(calibrated).endswith(f" ({of_what})")


def test_a_requested_kind_has_its_own_chance() -> None:
    calibrated = calibrate_written(Budget(work=Work.INTERPRETER), others={MEMORY: every_third_slow})
    chance, of_what = chance_within_budget(calibrated)
    assert (chance or 0.0) > 0.9
    assert of_what == "interpreter work"


@pytest.mark.parametrize("work", [None, Work.LATENCY])
def test_an_extrapolated_length_has_no_chance(work: Work | None) -> None:
    calibrated = calibrate_written(Budget(1000 * _MS, work=work), seconds=5.0)
    assert chance_within_budget(calibrated).value is None
    assert "chance unknown (" in chance_line(calibrated)


@pytest.mark.parametrize("work", [None, Work.MEMORY])
def test_a_failing_chance_is_kept_if_other_cpus_are_unknown(work: Work | None) -> None:
    others = {MEMORY: every_third_slow}
    incomplete: tuple[dict[int, dict[str, object]], ...] = ({3: {"state": "moved"}}, {3: {LATENCY: []}})
    for changes in incomplete:
        chance, of_what = chance_within_budget(calibrate_written(Budget(work=work), others=others, changes=changes))
        assert (chance or 0.0) <= 0.1
        assert chance is not None
        assert of_what == "memory work"


@pytest.mark.parametrize("work", [None, Work.LATENCY])
def test_an_unmeasured_cpu_makes_the_chance_unknown(work: Work | None) -> None:
    assert chance_within_budget(calibrate_written(Budget(work=work), changes={3: {"state": "moved"}})).value is None


def test_real_time_priority_makes_the_chance_unknown() -> None:
    calibrated = calibrate_written()
    samples = replace(calibrated.calibration.samples, is_realtime=True)
    preempting = replace(calibrated, calibration=replace(calibrated.calibration, samples=samples))
    assert chance_within_budget(calibrated).value is not None
    assert chance_within_budget(preempting).value is None
