"""A series between two calibrations, of which one may fail."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

import pytest

from noisewatch.errors import Unreadable
from noisewatch.kernel.calibration import QUESTION
from noisewatch.machine import Json
from noisewatch.machine.live import LiveMachine
from noisewatch.operations.machines import MachineOptions
from noisewatch.operations.run.conclusion import conclude
from noisewatch.operations.run.options import RunOptions
from noisewatch.operations.run.series import run_series
from tests.operations.listening import SilentListener
from tests.written.calibration import written_calibration

pytestmark = pytest.mark.usefixtures("restored_process")

_CPU = max(os.sched_getaffinity(0))


class _CalibratedMachine(LiveMachine):
    """This host with written calibrations; None is a calibration that fails."""

    def __init__(self, *calibrations: Json) -> None:
        super().__init__([os.getpid()])
        self._calibrations = [*calibrations]

    def ask(self, question: str, answer: Callable[[], Json]) -> Json:
        if question != QUESTION:
            return super().ask(question, answer)
        calibration = self._calibrations.pop(0)
        if calibration is None:
            raise Unreadable(QUESTION, "no memory")
        return calibration


@pytest.mark.parametrize(
    ("are_made", "words"),
    [
        ((True, True), None),
        ((True, False), "not calibrated after the series: no memory"),
        ((False,), "not calibrated before the series: no memory"),
    ],
)
def test_a_failed_calibration_makes_the_change_of_speed_unknown(are_made: Sequence[bool], words: str | None) -> None:
    calibration = written_calibration(cpus=(_CPU,), seconds=1.0)
    machine = _CalibratedMachine(*[calibration if is_made else None for is_made in are_made])
    series = run_series(
        machine, RunOptions(argv=("true",), machine=MachineOptions(cpus=str(_CPU)), calibration_s=1.0), SilentListener()
    )
    conclusion = conclude(series)
    assert (conclusion.speed_change is None, conclusion.change_unknown) == (words is not None, words)
