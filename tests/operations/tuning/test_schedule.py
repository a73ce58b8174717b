"""The time of `tune --measure` is divided before anything is changed."""

from __future__ import annotations

import pytest

from noisewatch.errors import UsageError
from noisewatch.operations.tuning.plan import plan_tuning
from noisewatch.operations.tuning.schedule import FEWEST_BLOCKS, MOST_BLOCKS, candidates_of, order_of, plan_schedule
from tests.judgement.judging import judged_by_settings
from tests.operations.tuning.candidates import candidate
from tests.surfaces.running import changed
from tests.written.quiet_machine import CPUS, quiet_files
from tests.written.topologies import machine_of

_CANDIDATES = tuple(candidate(f"/proc/sys/vm/setting_{number}") for number in range(5))


def test_a_block_is_off_on_on_off_or_its_mirror_image() -> None:
    order = list(order_of(7, seed=3))
    blocks = [tuple(order[at : at + 4]) for at in range(0, 28, 4)]
    assert sorted(blocks) == [(False, True, True, False)] * 4 + [(True, False, False, True)] * 3
    assert list(order_of(7, seed=3)) == order
    assert len({tuple(order_of(7, seed)) for seed in range(9)}) > 5


@pytest.mark.parametrize("total_s", [18, 30, 60, 61, 120, 300, 3600, 86400])
@pytest.mark.parametrize("cpus", [1, 2, 16, 64])
@pytest.mark.parametrize("count", [1, 2, 5])
def test_the_schedule_fits_into_its_time(total_s: float, cpus: int, count: int) -> None:
    try:
        schedule = plan_schedule(_CANDIDATES[:count], total_s, cpus)
    except UsageError:
        assert total_s < 12 * (0.1 * cpus + 0.5)
        return
    assert schedule.expected_s <= total_s * (1 + 1e-9)
    assert schedule.measured + schedule.rest == _CANDIDATES[:count]
    assert FEWEST_BLOCKS <= schedule.blocks <= MOST_BLOCKS
    assert schedule.period_s >= max(1.0, 0.1 * cpus)


def test_what_there_is_no_time_for_is_listed() -> None:
    schedule = plan_schedule(_CANDIDATES, 60, 1)
    assert (schedule.measured, schedule.rest) == (_CANDIDATES[:3], _CANDIDATES[3:])


def test_too_little_time_for_a_single_candidate_is_refused() -> None:
    with pytest.raises(UsageError, match=r"--minutes 0.25 is too short: one check takes 0.3 minutes here"):
        plan_schedule(_CANDIDATES, 15, 1)
    assert plan_schedule((), 15, 1).measured == ()


def test_time_that_a_candidate_did_not_need_goes_to_the_others() -> None:
    schedule = plan_schedule(_CANDIDATES, 120, 1)
    assert [schedule.share_of(number, 60) for number in (0, 3, 4)] == [12, 30, 60]


def test_the_gravest_findings_come_first_and_requests_last() -> None:
    governor = {f"{CPUS}/cpu2/cpufreq/scaling_governor": "powersave\n"}
    preference = {f"{CPUS}/cpu2/cpufreq/energy_performance_preference": "balance_power\n"}
    verdict = judged_by_settings(machine_of(changed(quiet_files(), governor | preference)))
    plan = plan_tuning(verdict, makes_partition=False, requests=["aslr=off"])
    candidates = candidates_of(plan)
    order = [finding.check.id for finding in [*verdict.failures, *verdict.warnings]]
    names = [candidate.name for candidate in candidates]
    assert names == [*sorted(names[:-1], key=order.index), "aslr=off"]
    assert [candidate.settings for candidate in candidates] == [1, 1, 1]
