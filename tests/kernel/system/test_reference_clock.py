"""A reference clock compared with CLOCK_MONOTONIC: its choice, and the precision of the start of its next second."""

from __future__ import annotations

from pathlib import Path

import pytest

from noisewatch.kernel.system.reference_clock import (
    QUESTION,
    ClockComparison,
    ClockReading,
    RealTimeClock,
    describe_comparison,
    describe_failure,
    parse_clock_comparison,
    read_clock_comparison,
    reference_clock,
)
from noisewatch.machine import Json
from tests.written import WrittenMachine, write_tree

_MS, _S = 10**6, 10**9


def _clocks(root: Path, *numbers: int, set_by: int = 0) -> str:
    for number in numbers:
        folder = f"/rtc{number}"
        write_tree(
            root,
            {
                f"{folder}/since_epoch": "1764077712\n",
                f"{folder}/name": "rtc_cmos\n",
                f"{folder}/hctosys": f"{int(number == set_by)}\n",
            },
        )
    return str(root)


class _TickingClock:
    """A clock that advances with each query, and writes its second to a file."""

    def __init__(self, path: Path, edge_ns: int) -> None:
        self._path, self._edge_ns, self.now_ns = path, edge_ns, 0

    def __call__(self) -> int:
        self.now_ns += 10_000
        self._path.write_text(f"{7 + (self.now_ns >= self._edge_ns)}\n")
        return self.now_ns

    def sleep(self, seconds: float) -> None:
        self.now_ns += round(seconds * _S)


def test_start_of_a_second_lies_between_two_readings(tmp_path: Path) -> None:
    folder = _clocks(tmp_path, 0)
    clock = _TickingClock(tmp_path / "rtc0/since_epoch", 500 * _MS)
    reading = RealTimeClock("rtc0", folder, clock, clock.sleep).read()
    assert reading.reference_ns == 8 * _S
    assert reading.earliest_ns < 500 * _MS <= reading.latest_ns
    assert reading.latest_ns - reading.earliest_ns < 5 * _MS


def test_clock_that_does_not_advance_is_an_error(tmp_path: Path) -> None:
    folder = _clocks(tmp_path, 0)
    clock = _TickingClock(tmp_path / "rtc0/since_epoch", 10 * _S)
    with pytest.raises(OSError, match=r"rtc0 \(rtc_cmos\) does not advance"):
        RealTimeClock("rtc0", folder, clock, clock.sleep).read()


def test_clock_that_set_the_time_at_boot_is_chosen(tmp_path: Path) -> None:
    folder = _clocks(tmp_path, 0, 1, set_by=1)
    clock = reference_clock(True, str(tmp_path / "none"), folder)
    clock.close()
    assert clock.name == "rtc1 (rtc_cmos)"


def test_unreadable_ptp_clock_is_skipped(tmp_path: Path) -> None:
    ptp = write_tree(tmp_path / "ptp", {"/ptp0/clock_name": "KVM virtual PTP\n"})
    clock = reference_clock(True, str(ptp), _clocks(tmp_path / "rtc", 0), str(tmp_path / "dev"))
    clock.close()
    assert clock.name == "rtc0 (rtc_cmos)"


def test_comparison_needs_another_clock_and_enough_time(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="no other clock is readable"):
        reference_clock(True, str(tmp_path), str(tmp_path / "none"))
    with pytest.raises(OSError, match="too short"):
        reference_clock(False, str(tmp_path / "none"), _clocks(tmp_path, 0))


def test_error_of_the_rate_includes_both_readings() -> None:
    readings = (ClockReading(0, 0, 4 * _MS), ClockReading(2 * _S, 2140 * _MS, 2144 * _MS))
    (ratio,) = ClockComparison("rtc0", readings).ratios
    assert (round(ratio.deviation, 6), round(ratio.error, 6)) == (0.07, 0.002)
    assert ClockComparison("rtc0", readings[::-1]).ratios == ()


def test_comparison_is_parsed_as_it_was_described() -> None:
    comparison = ClockComparison("rtc0", (ClockReading(0, 0, 4), ClockReading(2, 3, 5), ClockReading(4, 6, 7)))
    assert parse_clock_comparison(describe_comparison(comparison)) == comparison


_SOUND = {"reference": "rtc0", "readings": [[0, 0, 4], [2, 3, 5]]}


@pytest.mark.parametrize(
    "answer",
    [
        None,
        [],
        {},
        {**_SOUND, "reference": 7},
        {**_SOUND, "readings": [[0, 0, 4]]},
        {**_SOUND, "readings": [[0, 0, 4], [2, 5, 3]]},
        {**_SOUND, "readings": [[0, 0, 4], [2, 3]]},
        {**_SOUND, "readings": [[0, 0, 4], ["2", 3, 5]]},
        {**_SOUND, "readings": 7},
    ],
    ids=str,
)
def test_malformed_answer_is_unknown(answer: Json) -> None:
    assert parse_clock_comparison(answer) is None
    reason = read_clock_comparison(WrittenMachine(answers={QUESTION: answer}), dict)
    assert reason == f"{QUESTION}: malformed answer"


def test_unanswered_comparison_has_a_reason() -> None:
    assert read_clock_comparison(WrittenMachine(), dict) == f"{QUESTION}: not written down"
    refused = WrittenMachine(answers={QUESTION: describe_failure(OSError(None, "rtc0 does not advance"))})
    assert read_clock_comparison(refused, dict) == f"{QUESTION}: rtc0 does not advance"
