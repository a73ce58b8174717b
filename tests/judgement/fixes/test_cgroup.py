"""Fixes of the quota and priority checks, their undo, and the severity of these checks."""

from __future__ import annotations

from msgspec.structs import replace

from noisewatch.judgement.case import Case
from noisewatch.judgement.verdict import judge
from noisewatch.kernel.snapshot.knobs import Knob
from noisewatch.kernel.snapshot.snapshot import SnapshotOptions, read_snapshot
from noisewatch.kernel.tasks.own_process import PARENT, STAT
from tests.judgement.example import Example
from tests.judgement.fixes.proposed import fix_of_example
from tests.judgement.judging import finding, quiet_calibration
from tests.written import WrittenMachine
from tests.written.quiet.tasks import own_stat
from tests.written.quiet_machine import ANSWERS, quiet_files


def test_the_shell_is_raised_and_lowered_again() -> None:
    lowered = {STAT: own_stat(nice=12, policy=3)}
    fix = fix_of_example(Example("priority-lowered", "fail", lowered, answers={PARENT: [700, 10, 3]}))
    assert fix.now == "sudo chrt --other -p 0 700 && sudo renice -n 0 -p 700"
    assert fix.undo == "sudo renice -n 10 -p 700; sudo chrt --batch -p 0 700"


def test_a_shell_of_normal_priority_is_not_raised() -> None:
    assert fix_of_example(Example("priority-lowered", "warn", {STAT: own_stat(nice=12)})).now is None


def test_pid_1_is_never_raised() -> None:
    lowered = {STAT: own_stat(nice=5)}
    assert fix_of_example(Example("priority-lowered", "warn", lowered, answers={PARENT: [1, 5, 0]})).now is None


def test_a_calibration_in_real_time_makes_the_throttle_a_warning() -> None:
    files = quiet_files() | {Knob.REALTIME_RUNTIME: "950000\n", "/proc/sys/kernel/osrelease": "6.1.0\n"}
    quiet = quiet_calibration()
    samples = replace(quiet.calibration.samples, is_realtime=True)
    realtime = replace(quiet, calibration=replace(quiet.calibration, samples=samples))
    snapshot = read_snapshot(WrittenMachine(files, answers=ANSWERS), SnapshotOptions())
    severities = [
        finding(judge(Case(snapshot, calibrated=calibrated)), "real-time-work-throttled").severity
        for calibrated in (quiet, realtime)
    ]
    assert severities == ["information", "warning"]
