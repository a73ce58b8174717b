"""`noisewatch compare` of calibrations under load, or of two sets of CPUs: each is compared by itself."""

from __future__ import annotations

from typing import Any

import pytest

from tests.surfaces.reports.compare.documents import Compare, against, calibration, cpu, under_load


def test_what_changed_under_load_alone_is_found(compare: Compare) -> None:
    ran = compare(under_load(), under_load(cpu(speed=0.5, gaps_per_s=9e4), cv=0.1))
    assert ran.status == 1
    assert "latency work under load: 200 µs → 400 µs, 2 times as slow" in ran.words
    assert "noise floor at 10 ms under load: 0.10% → 10.00%, 100 times as noisy" in ran.words
    assert "gaps below 10 µs under load: 240/s → 86 400/s" in ran.words
    assert "latency work: 2" not in ran.words
    assert "26 figures compared, at 0.19% each" in ran.words


def test_what_changed_without_the_load_alone_is_no_change_under_load(compare: Compare) -> None:
    after = under_load() | {"calibration": calibration(cpu(speed=0.5))["calibration"]}
    ran = compare(under_load(), after)
    assert ran.status == 1
    assert "latency work: 200 µs → 400 µs" in ran.words
    assert "latency work under load:" not in ran.words


def test_a_load_on_one_side_only_is_told(compare: Compare) -> None:
    ran = compare(calibration(), under_load(cpu(speed=0.5)))
    assert (ran.status, ran.out.splitlines()[0]) == (0, "no difference found")
    assert "known only after: all figures under load" in ran.words


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (under_load(cpu(trouble="went offline")), "speeds under load"),
        (under_load(noise_floor=[]), "noise floors under load"),
    ],
)
def test_what_was_not_measured_under_load_is_open(compare: Compare, changed: dict[str, Any], told: str) -> None:
    ran = compare(changed, changed)
    assert ran.status == 3
    assert f"not known of both sides: {told} before: " in ran.words
    assert compare(under_load(), changed).status == 3


def test_a_figure_that_one_side_lacks_under_load_is_open(compare: Compare) -> None:
    ran = compare(under_load(), under_load(cpu(latency_work=None)))
    assert ran.status == 3
    assert "not known of both sides: latency work under load before: " in ran.words


def test_speeds_that_stray_too_far_under_load_are_open(compare: Compare) -> None:
    loud = {"count": 200, "median_ns": 1e6, "pieces": 5, "mad_share": 0.9, "width_share": 5.0}
    works: dict[str, Any] = dict.fromkeys(("latency_work", "throughput", "interpreter", "cache", "memory"), loud)
    noisy = under_load(cpu(**works, effective_khz_spread_share=4.0))
    ran = compare(noisy, noisy)
    assert ran.status == 3
    assert "not known of both sides: speeds under load (too noisy to compare)" in ran.words


def test_other_cores_leave_each_condition_open(compare: Compare) -> None:
    other = under_load()
    for half in (other, other["under_load"]):
        half["calibration"]["core"] = "python"
    ran = compare(under_load(), other)
    assert ran.status == 3
    assert "not known of both sides: speeds, speeds under load before: " in ran.words


def test_another_load_is_told(compare: Compare) -> None:
    ran = compare(under_load(), under_load(processes=1, cpus=[1]))
    assert ran.status == 0
    assert "another load: 2 busy processes on CPUs 0-1 before, 1 busy process on CPU 1 after" in ran.words


def test_of_two_sets_of_cpus_each_is_compared_by_itself(compare: Compare) -> None:
    before = against(cpu(), cpu())
    ran = compare(before, against(cpu(), cpu(speed=0.5, gaps_per_s=9e4), other_cv=0.1))
    assert ran.status == 1
    assert "latency work (--against): 200 µs → 400 µs, 2 times as slow" in ran.words
    assert "noise floor at 10 ms (--against): 0.10% → 10.00%" in ran.words
    assert "latency work: 2" not in ran.words
    assert "noise floor at 10 ms: " not in ran.words
    assert "before: " in ran.words
    assert "(calibration, CPU 3 against CPU 0)" in ran.words
    ran = compare(before, against(cpu(speed=0.95), cpu()))
    assert ran.status == 1
    assert "latency work: 200 µs → 211 µs, 5.3% slower" in ran.words
    assert "latency work (--against)" not in ran.out


def test_the_target_of_two_sets_of_cpus_is_compared_with_a_target_alone(compare: Compare) -> None:
    alone = calibration({**cpu(), "cpu": 3}, target=[3])
    ran = compare(alone, against(cpu(), cpu(speed=0.5), other_cv=0.1))
    assert (ran.status, ran.out.splitlines()[0]) == (0, "no difference found")
    assert "known only after: all figures (--against)" in ran.words


def test_a_set_of_cpus_that_was_not_measured_to_the_end_is_open(compare: Compare) -> None:
    changed = against(cpu(), cpu(trouble="went offline"))
    ran = compare(changed, changed)
    assert ran.status == 3
    assert "not known of both sides: speeds (--against) before: " in ran.words


def test_other_cpus_that_the_target_was_compared_with_are_told(compare: Compare) -> None:
    other = against(cpu(), cpu())
    other["against"] = [0, 1]
    assert "other CPUs of --against: CPU 0 → CPUs 0-1" in compare(against(cpu(), cpu()), other).words
