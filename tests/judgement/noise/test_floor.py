"""Noise floors, predicted from written calibrations."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from noisewatch.judgement.noise.budget import Budget, NoiseFloor
from noisewatch.judgement.noise.drift import USUAL_DRIFT
from noisewatch.judgement.noise.floor import floors_by_cpu, floors_by_work, shortest_interval, worst_floors
from noisewatch.kernel.calibration import CalibrationSamples, parse_calibration
from noisewatch.kinds import Work
from noisewatch.machine.spinning.calibration.buffer import OF_WORK, plan_slots
from tests.written.calibration import WORK_NS, steady, written_calibration

_MS = 1_000_000


def _floors(calibrations: list[CalibrationSamples], budget: Budget) -> list[NoiseFloor]:
    return worst_floors(floors_by_cpu(calibrations, budget))


def _floor(at_ns: int = 10 * _MS, **written: object) -> NoiseFloor:
    floors = _floors([parse_calibration(written_calibration(**written))], Budget(at_ns))  # type: ignore[arg-type]
    return next(floor for floor in floors if floor.sample_ns == at_ns)


def test_steady_work_without_gaps_has_no_noise() -> None:
    floor = _floor()
    assert floor.cv_low <= floor.cv_expected < 1e-9
    assert floor.cv_high == pytest.approx(1e-4 * USUAL_DRIFT.margin_at(10 * _MS)), "the least CV, widened by the drift"
    assert floor.max_inflation == pytest.approx(1)
    assert floor.smallest_change_share < floor.cv_high


def test_work_that_takes_twice_as_long_half_of_the_time_varies_by_a_third() -> None:
    """Work takes 1 and 2 units of time in alternate seconds: the mean is 1.5 and the standard deviation 0.5."""
    floor = _floor(at_ns=1 * _MS, work=lambda at_ns: WORK_NS * (1 + at_ns // 1_000_000_000 % 2), seconds=8.0)
    assert floor.cv_low < 1 / 3 < floor.cv_high
    assert floor.max_inflation > 1.3


def test_a_gap_of_a_millisecond_every_ten_lengthens_a_sample_of_a_millisecond_to_two() -> None:
    gaps = tuple((at, 1 * _MS, 1, 0) for at in range(0, 5_000 * _MS, 10 * _MS))
    quiet, noisy = _floor(at_ns=1 * _MS), _floor(at_ns=1 * _MS, gaps=gaps)
    assert noisy.max_inflation == pytest.approx(2, rel=0.05)
    assert noisy.cv_high > 0.1 > quiet.cv_high


def test_the_worst_cpu_decides() -> None:
    slow = written_calibration((3,), work=lambda at_ns: WORK_NS + (at_ns // WORK_NS) % 7 * 10_000)["cpus"][0]
    assert _floor(changes={3: slow}).cpu == 3


def test_the_worst_floor_has_the_worst_figures_of_all_cpus() -> None:
    floor = _floor(100 * _MS)
    noisy = replace(floor, cpu=7, cv_low=0.1, cv_expected=0.2, cv_high=0.3, max_inflation=1.1)
    wide = replace(floor, cpu=8, cv_low=0.0, cv_expected=0.1, cv_high=0.9, max_inflation=4.0, bounded=False)
    (worst,) = worst_floors({7: [noisy], 8: [wide]})
    assert (worst.cpu, worst.cv_low, worst.cv_high, worst.max_inflation, worst.bounded) == (7, 0.1, 0.9, 4.0, False)


def test_a_cpu_without_a_floor_is_left_out_of_the_worst() -> None:
    floor = _floor(100 * _MS)
    assert worst_floors({7: [floor], 8: []}) == [floor]
    assert worst_floors({8: []}) == []


def test_a_cpu_with_an_aborted_measurement_has_no_floor() -> None:
    calibration = parse_calibration(written_calibration((2,), changes={2: {"state": "moved"}}))
    assert _floors([calibration], Budget()) == []


def test_the_same_calibration_always_gives_the_same_floor() -> None:
    def uneven(at_ns: int) -> int:
        return WORK_NS + at_ns % 17_000

    assert _floor(work=uneven) == _floor(work=uneven)


def test_long_samples_are_extrapolated_and_never_better_than_measured_ones() -> None:
    def uneven(at_ns: int) -> int:
        return WORK_NS + at_ns % 17_000

    longest, beyond = _floor(100 * _MS, work=uneven), _floor(1_000 * _MS, work=uneven)
    assert (longest.extrapolated, beyond.extrapolated) == (False, True)
    assert beyond.cv_high >= longest.cv_high
    assert beyond.cv_low < longest.cv_low


def test_the_worst_of_more_samples_than_measured_is_not_bounded() -> None:
    assert _floor(100 * _MS).bounded
    assert not _floor(100 * _MS, seconds=2.5).bounded


def test_opening_and_closing_calibrations_are_combined() -> None:
    """Each of the two is steady, but the second one is twice as slow."""
    before = parse_calibration(written_calibration((2,)))
    after = parse_calibration(written_calibration((2,), work=lambda at_ns: 2 * steady(at_ns)))
    alone, both = (_floors(runs, Budget(10 * _MS)) for runs in ([before], [before, after]))
    assert alone[1].cv_high == pytest.approx(1e-4 * USUAL_DRIFT.margin_at(10 * _MS))
    assert both[1].cv_expected > 0.2


def test_the_shortest_interval_excludes_rare_values() -> None:
    assert shortest_interval([1.0] * 95 + [50.0] * 5, 0.9) == (1.0, 1.0)
    assert shortest_interval([float(value) for value in range(1, 101)], 0.9)[1] == 100.0
    assert shortest_interval([2.0], 0.9) == (2.0, 2.0)
    assert shortest_interval([0.0, 0.0], 0.9) == (0.0, 0.0)


def test_samples_shorter_than_a_unit_of_work_are_extrapolated() -> None:
    assert _floor(_MS, work=lambda at_ns: 2 * _MS).extrapolated
    assert not _floor(10 * _MS, work=lambda at_ns: 2 * _MS).extrapolated


def test_gaps_without_work_have_no_floor() -> None:
    without: dict[int, dict[str, list[int]]] = {cpu: {key: [] for key in OF_WORK} for cpu in (2, 3)}
    assert _floors([parse_calibration(written_calibration(changes=without))], Budget()) == []


def test_a_little_work_predicts_short_samples_only() -> None:
    whole = written_calibration((2,))["cpus"][0]
    little = {2: {**{key: [] for key in OF_WORK}, "work": [*whole["work"][:150], *whole["work"][-150:]]}}  # 30 ms
    floors = _floors([parse_calibration(written_calibration((2,), changes=little))], Budget())
    assert [floor.extrapolated for floor in floors] == [False, False, True, True]


def test_work_measured_at_one_moment_only_has_no_floor() -> None:
    whole = written_calibration((2,))["cpus"][0]
    once = {2: {**{key: [] for key in OF_WORK}, "main_memory": whole["main_memory"][:200]}}  # 10 ms
    kept = parse_calibration(written_calibration((2,), changes=once))
    assert _floors([kept], Budget(_MS, work=Work.MEMORY)) == []


@pytest.mark.parametrize(("neighbours", "is_measured"), [(2, True), (32, False)])
def test_a_kind_measured_at_two_moments_only_is_extrapolated(neighbours: int, is_measured: bool) -> None:
    """CPUs that share a cache take turns: 32 have two turns each in three seconds, with 14 ms for each kind."""
    cpus = range(neighbours)
    slots = plan_slots(cpus, {}, dict.fromkeys(cpus, frozenset(cpus)), 3_000 * _MS)[0]
    samples = parse_calibration(written_calibration((0,), seconds=3.0, slots=slots))
    (floor,) = floors_by_work(samples, Budget(10 * _MS))["latency"].at_budget_by_cpu.values()
    assert floor.extrapolated is not is_measured
