"""Faults that a calibration measures, and checks that it answers in place of files."""

from __future__ import annotations

from typing import Any

import pytest

from tests.judgement.checks.calibration.calibrating import (
    CALIBRATION_CHECKS,
    NO_CPUFREQ,
    every_third_slow,
    guest,
    verdict_of,
)
from tests.judgement.judging import finding
from tests.written.calibration import CHAIN_NS, WORK_NS, written_calibration

_MS = 1_000_000


def test_a_quiet_calibration_passes_all() -> None:
    verdict = verdict_of()
    assert {check_id: finding(verdict, check_id).status for check_id in CALIBRATION_CHECKS} == dict.fromkeys(
        CALIBRATION_CHECKS, "pass"
    )
    assert verdict.verdict == "stable"


@pytest.mark.parametrize(
    ("check_id", "status", "written", "named"),
    [
        ("noise-floor-above-budget", "fail", {"work": every_third_slow}, "on CPU"),
        ("target-cpus-interrupted", "fail", {"gaps": ((10 * _MS, 5 * _MS, 1, 0),)}, "5 ms"),
        ("target-cpus-interrupted", "warn", {"gaps": ((10 * _MS, 200_000, 1, 0),)}, "200 µs"),
        ("fixed-work-unsteady", "fail", {"work": every_third_slow}, "off the median"),
        (
            "memory-unsteady",
            "fail",
            {"work": lambda at_ns: WORK_NS + at_ns // (2 * _MS) % 2 * 20_000},
            "median deviation",
        ),
        ("throughput-drifts", "fail", {"work": lambda at_ns: WORK_NS + at_ns // (100 * _MS) * 500}, "drifted"),
        ("throughput-drifts", "warn", {"work": lambda at_ns: WORK_NS + at_ns // (100 * _MS) * 60}, "drifted"),
        ("throughput-drifts", "fail", {"work": lambda at_ns: 2 * WORK_NS - at_ns // (100 * _MS) * 500}, "drifted"),
        ("throughput-multimodal", "warn", {"work": lambda at_ns: WORK_NS + at_ns // (50 * _MS) % 2 * 2_000}, "mvalue"),
        ("effective-frequency-moves", "fail", {"chain": lambda at_ns: CHAIN_NS + at_ns // (500 * _MS) * 500}, "clock"),
        ("effective-frequency-moves", "warn", {"chain": lambda at_ns: CHAIN_NS + at_ns // _MS % 3 * 100}, "clock"),
    ],
)
def test_a_fault_is_found(check_id: str, status: str, written: dict[str, Any], named: str) -> None:
    result = finding(verdict_of(**written), check_id)
    assert (result.status, named in result.answer.said) == (status, True), result.answer.said


@pytest.mark.parametrize(
    ("core", "clock_ns", "status", "named"),
    [
        ("native", 149, "pass", "ns per reading (CPU 2)"),
        ("native", 160, "warn", "warns above 150 ns"),
        ("native", 1100, "fail", "1100 ns"),
        ("python", 160, "pass", "from Python"),
        ("python", 1100, "warn", "from Python"),
        ("python", 2100, "fail", "from Python"),
    ],
)
def test_limits_of_a_clock_reading_depend_on_the_core_that_reads(
    core: str, clock_ns: int, status: str, named: str
) -> None:
    spun_ns = written_calibration(core=core)["cpus"][0]["spun_ns"]
    result = finding(verdict_of(core=core, changes={2: {"iterations": spun_ns // clock_ns}}), "slow-clock-reading")
    assert (result.status, named in result.answer.said) == (status, True), result.answer.said


@pytest.mark.parametrize("check_id", ["governor-not-performance", "turbo-enabled", "frequency-window-open"])
def test_checks_of_a_guest_without_cpufreq_are_answered_by_the_measured_clock(check_id: str) -> None:
    verdict = verdict_of(guest(*NO_CPUFREQ))
    assert finding(verdict, check_id).status == "unknown"
    assert finding(verdict, check_id).answered_by == "effective-frequency-moves"


def test_a_steady_clock_does_not_show_that_it_is_not_capped() -> None:
    verdict = verdict_of(guest(*NO_CPUFREQ))
    assert finding(verdict, "effective-frequency-moves").status == "pass"
    assert finding(verdict, "clock-capped").status == "unknown"
    assert finding(verdict, "clock-capped").answered_by is None


def test_a_guest_whose_host_reports_no_steal_is_answered_by_the_gaps() -> None:
    verdict = verdict_of(guest())
    assert finding(verdict, "hypervisor-steal").answered_by == "target-cpus-interrupted"
    assert not finding(verdict, "hypervisor-steal").is_blocking_unknown


def test_a_clock_that_was_not_measured_answers_no_other_check() -> None:
    changed = {cpu: {"state": "moved"} for cpu in (2, 3)}
    verdict = verdict_of(guest(*NO_CPUFREQ), changes=changed)
    assert finding(verdict, "governor-not-performance").answered_by is None


def test_without_the_compiled_core_steady_work_proves_a_steady_clock() -> None:
    assert finding(verdict_of(core="python"), "effective-frequency-moves").status == "pass"


def test_without_the_compiled_core_unsteady_work_leaves_the_clock_unknown() -> None:
    assert finding(verdict_of(core="python", work=every_third_slow), "effective-frequency-moves").status == "unknown"


def test_a_floor_within_the_budget_answers_in_place_of_a_moving_clock() -> None:
    verdict = verdict_of(guest(*NO_CPUFREQ), chain=lambda at_ns: CHAIN_NS + at_ns // (500 * _MS) * 500)
    assert finding(verdict, "effective-frequency-moves").status == "fail"
    assert finding(verdict, "governor-not-performance").answered_by == "noise-floor-above-budget"
    assert verdict.verdict == "stable"


def test_work_that_is_now_and_then_faster_is_unsteady_too() -> None:
    result = finding(
        verdict_of(work=lambda at_ns: WORK_NS * (4 if at_ns // (50 * _MS) % 10 else 3)), "fixed-work-unsteady"
    )
    assert result.status == "fail"
