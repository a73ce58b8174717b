"""Figures of a calibration, worked out by hand."""

from __future__ import annotations

import pytest

from noisewatch.kernel.calibration import Samples, parse_calibration
from noisewatch.model.calibration.figures import blocks_of, calibration_of, drift_of, spread_of
from tests.written.calibration import CHAIN_NS, WORK_NS, written_calibration

_MS = 1_000_000


def test_quiet_cpu_has_no_gaps_and_no_drift() -> None:
    (figures,) = calibration_of(parse_calibration(written_calibration((3,)))).cpus
    assert (figures.cpu, figures.gaps_per_s, figures.stolen_share, figures.gap_max_ns) == (3, 0, 0, 0)
    assert (figures.gap_p50_ns, figures.effective_khz, figures.effective_khz_spread_share) == (None, 3_000_000, 0)
    assert (figures.throughput_drift_share, figures.mvalue) == (0, 2)
    assert figures.clock_ns == pytest.approx(24, abs=0.1)


def test_gap_rate_is_per_second_of_looking_for_gaps() -> None:
    gaps = tuple((at * _MS, 10_000 * (1 + at % 2), at % 2, 5_000 * (at % 2)) for at in range(0, 5_000, 3))
    (figures,) = calibration_of(parse_calibration(written_calibration((3,), gaps=gaps))).cpus
    assert figures.gaps_per_s == pytest.approx(1_000 / 3, rel=0.02)
    assert figures.stolen_share == pytest.approx(0.005, rel=0.02)
    assert 10_000 <= (figures.gap_p50_ns or 0) <= 20_000 == figures.gap_max_ns
    assert figures.waited_share == pytest.approx(0.005 / 6, rel=0.02)


def test_gaps_that_did_not_fit_are_counted() -> None:
    lost = {"lost_gaps": 10, "lost_gaps_ns": 10 * _MS, "lost_gaps_max_ns": 5 * _MS}
    (figures,) = calibration_of(parse_calibration(written_calibration((3,), changes={3: lost}))).cpus
    assert (figures.lost_gaps, figures.gap_max_ns) == (10, 5 * _MS)
    assert figures.stolen_share == pytest.approx(10 / 1_250, rel=0.01)


def test_clock_is_the_cycles_of_the_chain_divided_by_its_time() -> None:
    def chain(at_ns: int) -> int:
        return CHAIN_NS if at_ns < 2_500 * _MS else CHAIN_NS * 3 // 2

    (figures,) = calibration_of(parse_calibration(written_calibration((3,), chain=chain))).cpus
    assert figures.effective_khz in (2_000_000, 3_000_000, 2_500_000)
    assert figures.effective_khz_spread_share is not None
    assert figures.effective_khz_spread_share > 0.3


def test_python_core_cannot_measure_the_clock() -> None:
    (figures,) = calibration_of(parse_calibration(written_calibration((3,), core="python"))).cpus
    assert (figures.effective_khz, figures.effective_khz_spread_share) == (None, None)


def test_blocks_last_a_millisecond_and_do_not_span_a_rest() -> None:
    starts = (*range(0, 8 * WORK_NS, WORK_NS), *range(100 * _MS, 100 * _MS + 7 * WORK_NS, WORK_NS))
    assert blocks_of(Samples(starts, (WORK_NS,) * 15)) == [1_000_000.0, 1_000_000.0]
    assert blocks_of(Samples()) == []


def test_spread_matches_one_by_hand() -> None:
    spread = spread_of([100.0] * 98 + [110.0, 200.0])
    assert spread is not None
    assert (spread.count, spread.median_ns, spread.mad_share, spread.max_share) == (100, 100, 0, 1)
    assert spread.p99_share == pytest.approx(0.1 + 0.01 * 0.9)


@pytest.mark.parametrize("times", [[], [1.0], [1.0] * 19])
def test_too_few_times_have_no_spread_and_no_drift(times: list[float]) -> None:
    assert (spread_of(times), drift_of(times)) == (None, None)


def test_drift_is_the_last_third_against_the_first() -> None:
    assert drift_of([100.0] * 30 + [105.0] * 30 + [110.0] * 30) == pytest.approx(0.1)


@pytest.mark.parametrize("work_ns", [220_000, 224_000])
def test_work_figures_compare_with_any_number_of_pieces_in_a_block(work_ns: int) -> None:
    written = written_calibration((3,), others={"native_work": lambda at_ns: work_ns})
    (figures,) = calibration_of(parse_calibration(written)).cpus
    assert figures.native_work is not None
    assert figures.native_work.pieces == (5 if work_ns < 222_222 else 4)
    assert figures.native_work.piece_ns == work_ns
