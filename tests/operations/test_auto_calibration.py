"""A calibration that is as long as it has to be: when it is enough, and what is compared with it."""

from __future__ import annotations

from noisewatch.judgement.case import calibrated_with
from noisewatch.judgement.noise.budget import Budget
from noisewatch.kernel.calibration import CalibrationOptions, parse_calibration
from noisewatch.kinds import Work
from noisewatch.machine.spinning.calibration.buffer import LATENCY
from noisewatch.model.history.entries import Past
from noisewatch.operations.calibrate import as_long_as
from noisewatch.operations.history.calibrations import CalibrationHistory, until_settled
from tests.written import WrittenMachine
from tests.written.calibration import WORK_NS, written_calibration

_MS = 1_000_000


def _remembered(at: float, cv: float, cpus: list[int]) -> dict[str, object]:
    return {"kind": "calibration", "at": at, "core": "native", "cpus": cpus, "cv": {"latency": {str(10 * _MS): cv}}}


def _in_bursts(at_ns: int) -> int:
    return WORK_NS * (9 if at_ns // (400 * _MS) % 5 == 0 else 1)


def test_a_calibration_that_is_as_long_as_it_has_to_be_is_settled_with_the_drift_that_judges() -> None:
    said = parse_calibration(written_calibration(seconds=3.0, others={LATENCY: _in_bursts}))
    floor = calibrated_with(said, Budget(10 * _MS, work=Work.LATENCY)).floor
    assert floor is not None
    budget = Budget(10 * _MS, max_cv=floor.cv_high * 1.01, work=Work.LATENCY)
    swings = [(60.0 * number, 0.01 if number % 2 else 1.0) for number in range(20)]
    wild, elsewhere = ([_remembered(*each, cpus) for each in swings] for cpus in ([2, 3], [2]))
    enough = []
    for history in ([], wild, elsewhere):
        past = CalibrationHistory(WrittenMachine(answers={"history": history}), None).recall()
        is_enough = until_settled(past, CalibrationOptions(30.0, is_auto=True), budget).is_enough
        assert is_enough is not None
        enough.append(is_enough(said))
    assert enough == [True, False, True], "only what was calibrated as this one is"
    assert until_settled(Past(), CalibrationOptions(5.0), budget) == CalibrationOptions(5.0)


def test_under_load_it_takes_exactly_as_long_as_it_took_without() -> None:
    written = written_calibration(seconds=7.25)
    calibrated = calibrated_with(parse_calibration(written), Budget())
    again = as_long_as(calibrated, CalibrationOptions(30.0, is_realtime=True, is_auto=True))
    assert again == CalibrationOptions(7.25, is_realtime=True)
    assert until_settled(Past(), again, Budget()).is_enough is None
    said = CalibrationOptions(5.0)
    assert as_long_as(calibrated, said) is said
