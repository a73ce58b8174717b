"""Changes of the machine's speed between the calibrations before and after a series."""

from __future__ import annotations

import pytest

from noisewatch.judgement.case import Calibrated
from noisewatch.judgement.noise.comparison import speed_changes, unknown_change_reason
from noisewatch.machine.spinning.calibration.buffer import LATENCY
from tests.judgement.judging import calibrated_by
from tests.written.calibration import WORK_NS, written_calibration

_BOTH = frozenset({2, 3})


def calibration(slower: float = 0.0, moved: int | None = None) -> Calibrated:
    """Return a calibration of CPUs 2 and 3 whose work took longer by a share, with the spinner of one moved."""
    others = {LATENCY: lambda at_ns: round(WORK_NS * (1 + slower))}
    changes = {} if moved is None else {moved: {"state": "moved"}}
    return calibrated_by(written_calibration(others=others, changes=changes))


@pytest.mark.parametrize(("slower", "is_too_much"), [(0.0, False), (0.005, False), (0.03, True), (-0.03, True)])
def test_a_change_of_speed_beyond_the_limit_is_too_much(slower: float, is_too_much: bool) -> None:
    changes = speed_changes(calibration(), calibration(slower))
    assert [(change.cpu, change.is_too_much) for change in changes] == [(2, is_too_much), (3, is_too_much)]
    assert changes[0].share == pytest.approx(slower, abs=0.001)
    assert unknown_change_reason(calibration(), calibration(slower), _BOTH) is None


@pytest.mark.parametrize("ends", [(3, None), (None, 3)], ids=str)
def test_a_cpu_that_only_one_calibration_measured_is_unknown(ends: tuple[int | None, int | None]) -> None:
    opening, closing = (calibration(moved=cpu) for cpu in ends)
    assert [change.cpu for change in speed_changes(opening, closing)] == [2]
    assert (unknown_change_reason(opening, closing, _BOTH) or "").startswith("CPU 3: it went offline")
    assert unknown_change_reason(opening, closing, frozenset({2})) is None


def test_a_cpu_that_no_calibration_measured_is_unknown() -> None:
    unknown = unknown_change_reason(calibration(), calibration(), _BOTH | {4})
    assert unknown == "CPU 4: its work was not measured"
