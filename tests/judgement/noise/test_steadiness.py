"""Changes of the machine's speed between the calibrations before and after a series."""

from __future__ import annotations

import pytest

from noisewatch.judgement.case import Calibrated
from noisewatch.judgement.noise.comparison import bandwidth_change, speed_changes, unknown_change_reason
from noisewatch.machine.spinning.calibration.buffer import BANDWIDTH, LATENCY
from tests.judgement.judging import calibrated_by
from tests.written.calibration import WORK_NS, Length, written_calibration

_BOTH = frozenset({2, 3})


def calibration(slower: float = 0.0, moved: int | None = None) -> Calibrated:
    """Return a calibration of CPUs 2 and 3 that is slower by a share; the spinner on CPU `moved` was moved away."""
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


def copying(length: Length) -> Calibrated:
    """Return a calibration of CPUs 2 and 3 whose copies take these times."""
    return calibrated_by(written_calibration(seconds=1.0, others={BANDWIDTH: length}))


def copies(slower: float, busy_share: float = 1.0) -> Length:
    """Return copies that vary by 2%; in a share of each 10 ms a busy neighbour makes them slower by `slower`."""

    def length(at_ns: int) -> int:
        is_slow = at_ns % 10_000_000 < busy_share * 10_000_000
        return round(WORK_NS * (1 + 0.02 * (at_ns // 7_919 % 2)) * (1 + slower * is_slow))

    return length


@pytest.mark.parametrize(
    ("before", "after", "is_too_much"),
    [
        (copies(0.0), copies(0.0), False),
        (copies(0.0), copies(0.04), False),
        (copies(0.0), copies(0.08), True),
        (copies(0.08), copies(0.0), True),
        (copies(0.0), copies(0.4, 0.3), True),
        (copies(0.4, 0.3), copies(0.4, 0.3), False),
    ],
)
def test_a_change_of_bandwidth_counts_above_5_percent(before: Length, after: Length, is_too_much: bool) -> None:
    change = bandwidth_change(copying(before), copying(after))
    assert change is not None
    assert change.is_too_much == is_too_much
    assert change.interval.low < change.share < change.interval.high


def test_the_share_of_a_change_of_bandwidth_is_of_the_mean_time() -> None:
    """The neighbour slows copies by 40% in 30% of the time, so their median is the same."""
    change = bandwidth_change(copying(copies(0.0)), copying(copies(0.4, 0.3)))
    assert change is not None
    assert change.share == pytest.approx(0.12, abs=0.03)


def test_interruptions_are_no_change_of_bandwidth() -> None:
    interrupted = lambda at_ns: WORK_NS * (20 if at_ns % 10_000_000 < WORK_NS else 1)  # noqa: E731
    change = bandwidth_change(copying(copies(0.0)), copying(interrupted))
    assert change is None or not change.is_too_much


def test_chance_explains_a_change_if_copies_vary_by_as_much() -> None:
    """Work is slow in a third of each calibration, but in too few bursts to exclude chance."""

    def bursts(at_ns: int) -> int:
        return round(WORK_NS * (1.5 if at_ns // 37_000_000 % 3 == 0 else 1.0))

    change = bandwidth_change(copying(bursts), copying(lambda at_ns: bursts(at_ns + 20_000_000)))
    assert change is None or not change.is_too_much


@pytest.mark.parametrize("end", ["opening", "closing"])
def test_bandwidth_that_was_measured_once_has_no_change(end: str) -> None:
    without = calibrated_by(written_calibration(changes={cpu: {BANDWIDTH: []} for cpu in (2, 3)}))
    sides = {"opening": calibration(), "closing": calibration(), end: without}
    assert bandwidth_change(sides["opening"], sides["closing"]) is None
