"""CPUs on which the idle probe may spin, and the sums of its slices."""

from __future__ import annotations

import pytest

from noisewatch.machine.spinning.idle_probe.buffer import Slice
from noisewatch.model.idle_probe import ProbeState, spin_obstacle, sum_of_slices
from tests.model.interval.sampling import interval_of
from tests.written import Files
from tests.written.quiet_machine import CPUS, process, stat_file


def _hog(ran_ns: int, cpu: int = 2) -> tuple[Files, Files]:
    return process(900, "hog", cpu, 0), process(900, "hog", cpu, ran_ns)


def test_slices_are_summed_and_the_longest_gap_is_kept() -> None:
    result = sum_of_slices(
        [
            Slice(start_ns=9, spun_ns=2_000, stolen_ns=100, gap_count=2, longest_gap_ns=60),
            Slice(start_ns=1, spun_ns=1_000, stolen_ns=500, gap_count=1, longest_gap_ns=500),
            Slice(start_ns=0, spun_ns=1_000, stolen_ns=0, gap_count=0, longest_gap_ns=0),
        ]
    )
    if result is None:
        raise AssertionError
    assert (result.spun_ns, result.stolen_ns, result.gap_count, result.longest_gap_ns) == (4_000, 600, 3, 500)
    assert result.stolen_share == 0.15


def test_probe_that_did_not_spin_has_no_result() -> None:
    assert sum_of_slices([]) is None
    assert sum_of_slices([Slice(start_ns=1, spun_ns=0, stolen_ns=0, gap_count=0, longest_gap_ns=0)]) is None


def test_probe_may_spin_on_an_idle_cpu() -> None:
    assert spin_obstacle(interval_of({}, {}), 2) is None


@pytest.mark.parametrize(("ran_ns", "reason"), [(140_000_000, None), (160_000_000, ProbeState.BUSY)])
def test_cpu_is_busy_above_five_percent(ran_ns: int, reason: str | None) -> None:
    before, after = _hog(ran_ns)
    assert spin_obstacle(interval_of(before, after), 2) == reason


def test_own_time_of_the_probe_does_not_count_as_load() -> None:
    before, after = _hog(300_000_000)
    busy = {"/proc/stat": stat_file({2: 30}, 300)}
    assert spin_obstacle(interval_of(before, {**after, **busy}), 2) == ProbeState.BUSY
    assert spin_obstacle(interval_of(before, {**after, **busy}, own_pids=[900]), 2) is None


def test_probe_does_not_disturb_a_benchmark_on_the_sibling_thread() -> None:
    pair = {f"{CPUS}/cpu{cpu}/topology/thread_siblings_list": f"{cpu % 2},{cpu % 2 + 2}\n" for cpu in range(4)}
    before, after = _hog(2_000_000_000, cpu=0)
    interval = interval_of({**before, **pair}, {**after, **pair})
    assert (spin_obstacle(interval, 2), spin_obstacle(interval, 3)) == (ProbeState.SIBLING_BUSY, None)


def test_steal_does_not_count_as_load() -> None:
    stolen = {"/proc/stat": stat_file({}, 300, steal_by_cpu={2: 150})}
    assert spin_obstacle(interval_of({}, stolen), 2) is None


def test_cpu_of_unknown_load_is_not_idle() -> None:
    assert spin_obstacle(interval_of({}, {"/proc/stat": "cpu 1 2\n"}), 2) == ProbeState.UNKNOWN_LOAD


@pytest.mark.parametrize(("started", "reason"), [("1000", ProbeState.LOCKED), ("999", None)], ids=["alive", "gone"])
def test_probe_does_not_spin_while_a_benchmark_locks_the_machine(started: str, reason: str | None) -> None:
    lock = process(900, "nightly.sh", 0, 0) | {"/run/lock/noisewatch.lock": f"900 {started} 4026531836 nightly.sh\n"}
    assert spin_obstacle(interval_of(lock, lock), 2) == reason


def test_probe_does_not_spin_on_an_offline_cpu() -> None:
    offline = {f"{CPUS}/online": "0-2\n", f"{CPUS}/offline": "3\n"}
    assert spin_obstacle(interval_of(offline, offline), 3) == ProbeState.OFFLINE
