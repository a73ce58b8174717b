"""When another clock is read beside CLOCK_MONOTONIC, and what a recording keeps of it."""

from __future__ import annotations

from pathlib import Path

from noisewatch.kernel.system.reference_clock import QUESTION, ClockComparison
from noisewatch.machine.live import LiveMachine
from noisewatch.machine.recording.replay import Recording
from noisewatch.operations.preflight import ClockRateWatch
from tests.surfaces.running import record
from tests.written.quiet.system import compared
from tests.written.quiet_machine import quiet_files


def test_what_has_not_begun_has_nothing_to_compare() -> None:
    assert ClockRateWatch(LiveMachine()).end() == f"{QUESTION}: not begun"


def test_on_this_host_there_is_a_comparison_or_a_reason_also_the_second_time() -> None:
    watch = ClockRateWatch(LiveMachine())
    for _ in range(2):
        watch.begin(0.5)
        found = watch.end()
        assert isinstance(found, ClockComparison) or found.startswith(f"{QUESTION}: ")
        assert found != f"{QUESTION}: not begun"


def test_a_recording_tells_what_was_compared_when_it_was_made(tmp_path: Path) -> None:
    moments = (quiet_files(), quiet_files(3.0))
    file = record(tmp_path / "machine.nw", *moments, asides={QUESTION: compared(0.07, 0.07)})
    found = ClockRateWatch(Recording(str(file))).end()
    assert isinstance(found, ClockComparison)
    assert [round(ratio.deviation, 3) for ratio in found.ratios] == [0.07, 0.07]


def test_a_recording_without_it_says_so(tmp_path: Path) -> None:
    file = record(tmp_path / "machine.nw", quiet_files())
    assert ClockRateWatch(Recording(str(file))).end() == f"{QUESTION}: not in the recording"
