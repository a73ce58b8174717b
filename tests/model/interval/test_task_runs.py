"""CPUs on which threads ran, and the time that no thread explains."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from noisewatch.model.interval.cpu_load import CpuLoad
from noisewatch.model.interval.disturbance import disturbances_of
from noisewatch.model.interval.interval import Interval
from noisewatch.model.interval.task_runs import TaskRun, fit_to_interval
from tests.model.interval.sampling import interval_of
from tests.written import SECOND_NS, without
from tests.written.quiet_machine import crowd, process, stat_file


def _shares(interval_cpu: int, before: dict[str, str], after: dict[str, str]) -> dict[str, float]:
    interval = interval_of(before, after)
    return {run.name: run.ran_ns / SECOND_NS for run in interval.runs_on(interval_cpu)}


def test_thread_ran_for_the_growth_of_its_counter() -> None:
    before, after = process(900, "hog", 2, 5_000_000_000), process(900, "hog", 2, 6_500_000_000)
    assert _shares(2, before, after) == {"hog": 1.5}


def test_all_time_of_a_new_thread_is_of_the_interval() -> None:
    assert _shares(2, {}, process(900, "newborn", 2, 700_000_000)) == {"newborn": 0.7}


def test_recycled_number_is_another_thread() -> None:
    before, after = process(900, "old", 2, 5_000_000_000), process(900, "new", 2, 300_000_000)
    after["/proc/900/stat"] = after["/proc/900/stat"].replace(" 1000 0 0 0 ", " 99999 0 0 0 ")
    assert "99999" in after["/proc/900/stat"]
    assert _shares(2, before, after) == {"new": 0.3}


def test_own_time_is_separate() -> None:
    before, after = process(900, "noisewatch", 2, 0), process(900, "noisewatch", 2, 600_000_000)
    interval = interval_of(before, after | {"/proc/stat": stat_file({2: 60}, 300)}, own_pids=[900])
    assert interval.runs_on(2) == []
    assert interval.own_ns(2) == 600_000_000
    assert interval.busy_share(2) == 0


def test_time_of_a_thread_on_two_cpus_is_divided_by_unexplained_time() -> None:
    before = process(900, "wanderer", 2, 0)
    after = process(900, "wanderer", 3, 1_200_000_000) | {"/proc/stat": stat_file({2: 90, 3: 30}, 300)}
    interval = interval_of(before, after)
    runs = {run.cpu: (run.ran_ns, run.is_inferred) for run in interval.runs if run.name == "wanderer"}
    assert runs == {2: (900_000_000, True), 3: (300_000_000, True)}


def _moving_thread(cpu: int, ran_ns: int, moves: int, allowed: str = "0-3", name: str = "hopper") -> dict[str, str]:
    """Return the files of a thread that has moved to another CPU `moves` times since it started."""
    sched = f"{name} (900, #threads: 1)\nse.nr_migrations    :      {moves}\nnr_switches   :     40\n"
    return process(900, name, cpu, ran_ns, allowed=allowed) | {"/proc/900/sched": sched}


def _seconds_by_cpu(interval: Interval) -> dict[int, tuple[float, bool]]:
    return {run.cpu: (run.ran_ns / SECOND_NS, run.is_inferred) for run in interval.runs if run.pid == 900}


_BUSY = {"/proc/stat": stat_file({0: 6, 2: 30, 3: 30}, 300)}


@pytest.mark.parametrize("last", [2, 3])
def test_thread_that_moved_unobserved_ran_where_time_is_unexplained(last: int) -> None:
    """A thread of SCHED_DEADLINE, for example, moves to another CPU with each period."""
    interval = interval_of(_moving_thread(last, 100_000_000, 9), _moving_thread(last, 700_000_000, 99) | _BUSY)
    assert _seconds_by_cpu(interval) == {2: (0.3, True), 3: (0.3, True)}
    assert [interval.unexplained_ns(cpu) for cpu in (2, 3)] == [0, 0]


def test_time_of_a_thread_that_never_moved_is_measured() -> None:
    interval = interval_of(_moving_thread(2, 100_000_000, 9), _moving_thread(2, 400_000_000, 9) | _BUSY)
    assert _seconds_by_cpu(interval) == {2: (0.3, False)}
    assert interval.unexplained_ns(3) == 300_000_000


def test_thread_without_unobserved_moves_ran_on_no_other_cpu() -> None:
    busy = {"/proc/stat": stat_file({0: 6, 1: 90, 2: 30, 3: 30}, 300)}
    interval = interval_of(_moving_thread(2, 100_000_000, 9), _moving_thread(3, 700_000_000, 10) | busy)
    assert _seconds_by_cpu(interval) == {2: (0.3, True), 3: (0.3, True)}
    assert interval.unexplained_ns(1) == 900_000_000


def test_thread_did_not_run_where_it_is_not_allowed() -> None:
    after = _moving_thread(3, 700_000_000, 99, allowed="2-3")
    busy = {"/proc/stat": stat_file({0: 6, 1: 90, 2: 30, 3: 30}, 300)}
    interval = interval_of(_moving_thread(3, 100_000_000, 9, allowed="2-3"), after | busy)
    assert _seconds_by_cpu(interval) == {2: (0.3, True), 3: (0.3, True)}
    assert interval.unexplained_ns(1) == 900_000_000


def test_thread_also_ran_where_a_look_in_between_found_it() -> None:
    looks = [process(900, "hopper", cpu, 200_000_000 * at) for at, cpu in enumerate([3, 2, 3])]
    interval = interval_of(
        looks[0], looks[2] | {"/proc/stat": stat_file({0: 6, 2: 20, 3: 20}, 600)}, between=[looks[1]]
    )
    assert _seconds_by_cpu(interval) == {2: (0.2, True), 3: (0.2, True)}


def test_time_beyond_that_of_the_observed_cpu_was_on_a_cpu_with_unexplained_time() -> None:
    before, after = (process(900, "hopper", 3, ns, allowed="0-3") for ns in (0, 600_000_000))
    interval = interval_of(before, after | {"/proc/stat": stat_file({0: 6, 2: 40, 3: 30}, 300)}, asks_all=True)
    assert _seconds_by_cpu(interval) == {2: (0.3, True), 3: (0.3, True)}
    assert interval.unexplained_ns(2) == 100_000_000


def test_own_thread_ran_only_where_it_was_observed() -> None:
    before, after = _moving_thread(3, 100_000_000, 9), _moving_thread(3, 400_000_000, 99)
    interval = interval_of(before, after | _BUSY, own_pids=[900])
    assert interval.own_ns(2) == 0
    assert interval.busy_share(2) == pytest.approx(0.1)


def test_unbound_worker_may_have_run_elsewhere() -> None:
    results = []
    for name in ("kworker/u8:1", "kworker/2:1"):
        looks = [process(900, name, 2, ns, flags=0x0420_0000) for ns in (0, 300_000_000)]
        before, after = (without(files, "/proc/900/status") for files in looks)
        results.append(_seconds_by_cpu(interval_of(before, after | _BUSY))[2])
    assert results == [(0.3, True), (0.3, False)]


def test_unexplained_time_is_a_culprit() -> None:
    interval = interval_of({}, {"/proc/stat": stat_file({2: 60}, 300)})
    (culprit,) = [disturbance for disturbance in disturbances_of(interval, 2) if disturbance.kind == "unexplained"]
    assert culprit.stolen_ns == 600_000_000
    assert culprit.share == pytest.approx(0.2)


def test_unexplained_time_within_the_error_of_ticks_is_ignored() -> None:
    interval = interval_of({}, {"/proc/stat": stat_file({2: 3}, 300)})
    assert [disturbance for disturbance in disturbances_of(interval, 2) if disturbance.kind == "unexplained"] == []


@pytest.mark.parametrize(("lags_s", "unexplained_s"), [((0.1, 0.1), 0.3), ((0.4, 0.1), 0.0), ((0.1, 0.4), 0.3)])
def test_time_while_tasks_were_read_late_is_not_unexplained(lags_s: tuple[float, float], unexplained_s: float) -> None:
    before = process(900, "hog", 2, 0, allowed="2")
    after = process(900, "hog", 2, 2_700_000_000, allowed="2") | {"/proc/stat": stat_file({2: 300}, 300)}
    first, second = (round(lag * 1e9) for lag in lags_s)
    interval = interval_of(before, after)
    skewed = replace(
        interval,
        before=replace(interval.before, tasks_lag_ns=first),
        after=replace(interval.after, tasks_lag_ns=second),
    )
    assert skewed.unexplained_ns(2) == unexplained_s * 1e9
    assert skewed.unexplained_ns(3) == 0


def test_late_reading_explains_no_time_of_a_cpu_without_known_threads() -> None:
    interval = interval_of({}, {"/proc/stat": stat_file({2: 20}, 300)})
    skewed = replace(interval, before=replace(interval.before, tasks_lag_ns=500_000_000))
    assert skewed.unexplained_ns(2) == 200_000_000


def test_late_reading_explains_all_time_of_the_cpu_that_reads() -> None:
    own = process(950, "noisewatch", 2, 0, allowed="2"), process(950, "noisewatch", 2, 10_000_000, allowed="2")
    interval = interval_of(own[0], own[1] | {"/proc/stat": stat_file({2: 20}, 300)}, own_pids={950})
    assert interval.unexplained_ns(2) == 190_000_000
    skewed = replace(interval, before=replace(interval.before, tasks_lag_ns=180_000_000))
    assert skewed.unexplained_ns(2) == 0


_SCHEDSTAT = "version 17\n" + "".join(f"cpu{cpu} 0 0 0 0 0 0 {{}} 0 0\n" for cpu in range(4))


def test_exact_count_settles_the_error_of_ticks() -> None:
    before = {"/proc/schedstat": _SCHEDSTAT.format(0, 0, 0, 0)}
    after = {"/proc/schedstat": _SCHEDSTAT.format(0, 0, 20_000_000, 0)}
    interval = interval_of(before, after)
    assert interval.unexplained_ns(2) == 20_000_000
    elsewhere = {"/proc/schedstat": _SCHEDSTAT.format(0, 0, 0, 1_000)}
    interval = interval_of(before, elsewhere | {"/proc/stat": stat_file({2: 5}, 300)})
    assert interval.unexplained_ns(2) == 0
    interval = interval_of(before, before | {"/proc/stat": stat_file({2: 5}, 300)})
    assert interval.unexplained_ns(2) == 50_000_000  # a count that is constant on all CPUs settles nothing


def test_late_exact_count_is_bounded_by_ticks() -> None:
    before = {"/proc/schedstat": _SCHEDSTAT.format(0, 0, 0, 0)}
    after = {"/proc/schedstat": _SCHEDSTAT.format(0, 0, 90_000_000_000, 0)}
    assert (interval_of(before, after).unexplained_ns(2) or 0) <= 30_000_000


def test_time_of_short_lived_children_is_listed_with_their_parent() -> None:
    before = process(900, "loop", 2, 0, children=500)
    after = process(900, "loop", 2, 1_000_000_000, children=650) | {"/proc/stat": stat_file({2: 270}, 300)}
    runs = [run for run in interval_of(before, after).runs_on(2) if run.are_children]
    assert [(run.name, run.pid, run.ran_ns) for run in runs] == [("loop", 900, 1_500_000_000)]


def test_ended_thread_ran_until_it_was_last_observed() -> None:
    hog, busy = process(900, "hog", 2, 2_500_000_000), {"/proc/stat": stat_file({2: 270}, 600)}
    interval = interval_of({}, busy, between=[hog])
    assert [(run.name, run.ran_ns) for run in interval.runs_on(2)] == [("hog", 2_500_000_000)]
    assert interval.unexplained_ns(2) == 200_000_000
    growth = interval_of(process(900, "hog", 2, 2_000_000_000), busy, between=[hog])
    assert [(run.name, run.ran_ns) for run in growth.runs_on(2)] == [("hog", 500_000_000)]


def test_time_of_an_observed_ended_child_is_not_its_parents_again() -> None:
    parent, child = process(900, "loop", 2, 0), process(901, "child", 2, 1_000_000_000, parent=900)
    after = process(900, "loop", 2, 1_000, children=120) | {"/proc/stat": stat_file({2: 290}, 600)}
    runs = interval_of(parent, after, between=[parent | child]).runs_on(2)
    assert [(run.name, run.ran_ns, run.are_children) for run in runs] == [
        ("child", 1_000_000_000, False),
        ("loop", 200_000_000, True),
        ("loop", 1_000, False),
    ]


def test_children_of_a_process_that_ended_are_listed_with_it_and_not_with_its_parent() -> None:
    """Before it ended, `make` waited for a child of 0.5 s that was observed, and for others of 1.5 s in all."""
    shell = process(700, "bash", 0, 0)
    make, child = process(900, "make", 2, 0, parent=700), process(901, "cc", 2, SECOND_NS // 2, parent=900)
    between = [make | child | shell, process(900, "make", 2, 1_000_000, parent=700, children=200) | shell]
    after = process(700, "bash", 0, 1_000, children=200) | {"/proc/stat": stat_file({2: 200}, 900)}
    interval = interval_of(shell, after, between=between)
    assert _seconds_by_name(interval, 2) == {"children of make": 1.499, "cc": 0.5, "make": 0.001}


def test_child_that_outlived_its_parents_last_look_is_not_subtracted_from_the_parents_children() -> None:
    make, child = process(900, "make", 2, 0), process(901, "cc", 2, SECOND_NS // 2, parent=900)
    between = [make, process(900, "make", 2, 1_000_000, children=100) | child]
    interval = interval_of({}, {"/proc/stat": stat_file({2: 160}, 900)}, between=between)
    seconds_by_name = _seconds_by_name(interval, 2)
    assert (seconds_by_name["children of make"], seconds_by_name["cc"]) == (1.0, 0.5)


def test_children_of_a_new_process_are_listed_with_it() -> None:
    after = process(900, "make", 2, 1_000_000, children=100) | {"/proc/stat": stat_file({2: 101}, 300)}
    assert _seconds_by_name(interval_of({}, after), 2) == {"children of make": 1.0, "make": 0.001}


def test_ended_threads_of_a_process_that_ended_are_listed_with_it() -> None:
    interval = interval_of({}, {"/proc/stat": stat_file({2: 200}, 900)}, between=[_pool(0), _pool(200, 1_000)])
    assert _seconds_by_name(interval, 2)["ended threads of pool"] == 1.999_999


def test_both_threads_that_had_the_same_number_are_listed() -> None:
    first = process(900, "first", 2, SECOND_NS, allowed="2")
    second = process(900, "second", 2, SECOND_NS // 2, allowed="2")
    second["/proc/900/stat"] = second["/proc/900/stat"].replace(" 1000 ", " 2000 ")  # started later
    interval = interval_of({}, second | {"/proc/stat": stat_file({2: 150}, 600)}, between=[first])
    assert _seconds_by_name(interval, 2) == {"first": 1.0, "second": 0.5}


def test_earlier_time_of_an_ended_child_is_not_of_the_interval() -> None:
    before = process(900, "loop", 2, 0) | process(901, "old-child", 3, 100_000_000_000, parent=900)
    after = process(900, "loop", 2, 1_000_000, children=10_010) | {"/proc/stat": stat_file({2: 290}, 300)}
    runs = [run for run in interval_of(before, after).runs_on(2) if run.are_children]
    assert [run.ran_ns for run in runs] == [100_000_000]


def test_children_have_at_most_the_unexplained_time_of_their_parents_cpu() -> None:
    before = process(900, "make", 2, 0)
    after = process(900, "make", 2, 1_000, children=5_000) | {"/proc/stat": stat_file({2: 20}, 300)}
    runs = [run for run in interval_of(before, after).runs_on(2) if run.are_children]
    assert [run.ran_ns for run in runs] == [199_999_000]


def test_threads_that_sleep_at_every_tick_count_as_load() -> None:
    before, after = process(900, "timer", 2, 0), process(900, "timer", 2, 300_000_000)
    assert interval_of(before, after).busy_share(2) == pytest.approx(0.1)


def _schedstat(ran_ns: int, stays: int) -> dict[str, str]:
    rows = (f"cpu{cpu} 0 0 0 0 0 0 {ran_ns if cpu == 2 else 0} 0 {stays if cpu == 2 else 0}\n" for cpu in range(4))
    return {"/proc/schedstat": "version 15\n" + "".join(rows)}


def test_time_between_ticks_has_its_true_size() -> None:
    interval = interval_of(_schedstat(0, 0), _schedstat(1_200_000_000, 800))
    assert interval.unexplained_ns(2) == 1_200_000_000
    assert interval.busy_share(2) == pytest.approx(0.4)


def test_time_before_the_interval_is_not_taken_for_time_between_ticks() -> None:
    interval = interval_of(_schedstat(0, 0), _schedstat(2_500_000_000, 4))
    assert (interval.busy_share(2) or 0) <= 0.05 / 3 + 1e-9


def test_interrupts_of_threads_are_not_hidden_time() -> None:
    rows = stat_file({2: 150}, 300).splitlines(keepends=True)
    words = rows[3].split()
    words[4], words[7] = str(int(words[4]) - 60), str(int(words[7]) + 60)
    before = process(900, "server", 2, 0, allowed="2")
    after = process(900, "server", 2, 1_500_000_000, allowed="2")
    rows[3] = " ".join(words) + "\n"
    interval = interval_of(
        before | _schedstat(0, 0), after | _schedstat(2_100_000_000, 9_000) | {"/proc/stat": "".join(rows)}
    )
    assert interval.unexplained_ns(2) == 0
    assert interval.busy_share(2) == pytest.approx(0.7)


def test_root_of_cpuacct_reveals_hidden_time_as_schedstat_does() -> None:
    folder = "/sys/fs/cgroup/cpuacct"
    mounts = "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\ncgroup /sys/fs/cgroup/cpuacct cgroup rw,cpuacct 0 0\n"
    files = {"/proc/self/mounts": mounts, f"{folder}/release_agent": "\n"}
    usage = f"{folder}/cpuacct.usage_percpu"
    interval = interval_of(files | {usage: "0 0 5 0\n"}, files | {usage: "0 0 900000005 0\n"})
    assert interval.unexplained_ns(2) == 900_000_000
    assert interval.busy_share(2) == pytest.approx(0.3)


def _hog(ran_ns: int) -> TaskRun:
    return TaskRun(
        cpu=2,
        tid=900,
        pid=900,
        name="hog",
        is_kernel=False,
        is_bound=False,
        is_own=False,
        ran_ns=ran_ns,
        allowed=None,
    )


def test_threads_that_were_read_later_than_the_cpus_have_at_most_the_interval() -> None:
    """A pause of the machine after the CPUs were read makes the threads' interval seconds longer."""
    load = {2: CpuLoad(1_020_000_000, None, 0, 0, 0, 0)}
    hog = _hog(2_800_000_000)
    (cut,) = fit_to_interval([hog], load, SECOND_NS, later_ns=1_820_000_000)
    assert (cut.ran_ns, cut.is_inferred) == (SECOND_NS, True)
    shared = fit_to_interval([hog, replace(hog, tid=901, ran_ns=200_000_000)], load, SECOND_NS, later_ns=2 * SECOND_NS)
    assert [run.ran_ns for run in shared] == [933_333_333, 66_666_666]


def test_threads_keep_the_time_of_their_cpus_counters_and_at_least_an_even_share() -> None:
    hog = _hog(600_000_000)
    busy, idle = ({2: CpuLoad(tasks_ns, None, 0, 0, 0, 0)} for tasks_ns in (500_000_000, 0))
    assert [run.ran_ns for run in fit_to_interval([hog], busy, SECOND_NS, SECOND_NS)] == [530_000_000]
    assert [run.ran_ns for run in fit_to_interval([hog], idle, SECOND_NS, SECOND_NS)] == [300_000_000]
    assert fit_to_interval([hog], idle, SECOND_NS) == [hog]


def _seconds_by_name(interval: Interval, cpu: int) -> dict[str, float]:
    """Return the seconds of each thread, and the unattributed seconds, on the CPU."""
    kinds = ("thread", "unexplained")
    return {
        disturbance.name: (disturbance.stolen_ns or 0) / SECOND_NS
        for disturbance in disturbances_of(interval, cpu)
        if disturbance.kind in kinds
    }


def _pool(busy: int, ran_ns: int = 0) -> dict[str, str]:
    """Return the files of a process with one thread left; all its threads together used `busy` ticks."""
    return process(900, "pool", 0, ran_ns, allowed="0-3", busy=busy)


def test_ended_threads_are_listed_with_their_living_process() -> None:
    after = _pool(215, 50_000_000) | {"/proc/stat": stat_file({0: 11, 2: 210}, 300)}
    interval = interval_of(_pool(0), after)
    (culprit,) = [disturbance for disturbance in disturbances_of(interval, 2) if disturbance.kind == "thread"]
    assert (culprit.name, culprit.pid, culprit.tid, culprit.is_inferred) == ("ended threads of pool", 900, None, True)
    assert culprit.stolen_ns == 2_100_000_000
    assert interval.unexplained_ns(2) == 0


def test_ended_threads_have_at_most_the_missing_time_of_their_cpu() -> None:
    after = (
        _pool(290, 1_000)
        | process(901, "hog", 2, SECOND_NS, allowed="2")
        | {"/proc/stat": stat_file({0: 6, 2: 160}, 300)}
    )
    interval = interval_of(_pool(0) | process(901, "hog", 2, 0, allowed="2"), after)
    assert _seconds_by_name(interval, 2) == {"hog": 1.0, "ended threads of pool": 0.6}


def test_time_of_no_process_stays_unattributed() -> None:
    interval = interval_of(_pool(0), _pool(100, 1_000) | {"/proc/stat": stat_file({0: 6, 2: 250}, 300)})
    assert _seconds_by_name(interval, 2) == {"ended threads of pool": 0.999_999, "unattributed time": 1.500_001}


def test_time_of_living_threads_is_not_counted_again() -> None:
    before, after = crowd(900, "pool", [0, 2], "0-3"), crowd(900, "pool", [0, 2], "0-3")
    after["/proc/900/stat"] = process(900, "pool", 0, 0, busy=200, threads=2)["/proc/900/stat"]
    after["/proc/900/task/901/schedstat"] = f"{SECOND_NS} 0 0\n"
    interval = interval_of(before, after | {"/proc/stat": stat_file({2: 200}, 300)})
    assert _seconds_by_name(interval, 2) == {"pool": 1.0, "ended threads of pool": 1.0}


def test_rounding_to_ticks_is_not_an_ended_thread() -> None:
    """User and system time may each seem to have grown by one tick of 10 ms more than they have."""
    stat = {"/proc/stat": stat_file({2: 60}, 300)}
    assert "ended threads of pool" not in _seconds_by_name(interval_of(_pool(0), _pool(32, 300_000_000) | stat), 2)
    assert "ended threads of pool" in _seconds_by_name(interval_of(_pool(0), _pool(33, 300_000_000) | stat), 2)


def test_time_of_ended_threads_of_an_ended_process_is_not_of_the_interval() -> None:
    before = process(900, "loop", 2, 0) | process(901, "child", 3, 1_000, parent=900, busy=10_000)
    after = process(900, "loop", 2, 1_000_000, children=10_010) | {"/proc/stat": stat_file({2: 290}, 300)}
    assert _seconds_by_name(interval_of(before, after), 2)["children of loop"] == 0.1


def test_earlier_time_of_a_grandchild_is_not_of_the_interval() -> None:
    old = process(901, "middle", 3, 0, parent=900) | process(902, "old", 3, 100 * SECOND_NS, parent=901)
    after = process(900, "loop", 2, 1_000_000, children=10_010) | {"/proc/stat": stat_file({2: 290}, 300)}
    assert _seconds_by_name(interval_of(process(900, "loop", 2, 0) | old, after), 2)["children of loop"] == 0.1


def test_children_elsewhere_are_listed_where_time_is_missing() -> None:
    after = process(900, "make", 0, 1_000, children=250, allowed="0-3")
    interval = interval_of(process(900, "make", 0, 0), after | {"/proc/stat": stat_file({2: 200, 3: 100}, 300)})
    both = [_seconds_by_name(interval, cpu)["children of make"] for cpu in (2, 3)]
    assert (round(sum(both), 1), both[0] > both[1]) == (2.5, True)


def test_children_of_a_pinned_parent_hide_between_ticks_of_its_cpu() -> None:
    before = process(900, "loop", 2, 0, allowed="2")
    after = process(900, "loop", 2, 100_000_000, allowed="2", children=140) | {"/proc/stat": stat_file({2: 3}, 300)}
    interval = interval_of(before, after)
    assert _seconds_by_name(interval, 2) == {"children of loop": 1.4, "loop": 0.1}
    assert interval.busy_share(2) == 0.5


def test_children_of_a_pinned_parent_do_not_hide_if_other_ticks_explain_them() -> None:
    before = process(900, "loop", 2, 0, allowed="2")
    after = process(900, "loop", 2, 1_000_000, allowed="2", children=140) | {"/proc/stat": stat_file({3: 150}, 300)}
    assert "children of loop" not in _seconds_by_name(interval_of(before, after), 2)


def test_exact_count_leaves_no_hidden_time() -> None:
    schedstat = "version 15\n" + "".join(f"cpu{cpu} 0 0 0 0 0 0 {{}} 0 {{}}\n" for cpu in range(4))
    before = process(900, "loop", 2, 0, allowed="2") | {"/proc/schedstat": schedstat.format(*[0] * 8)}
    after = process(900, "loop", 2, 1_000_000, allowed="2", children=140)
    exact = {"/proc/schedstat": schedstat.format(0, 0, 0, 0, 600_000_000, 400, 0, 0)}
    assert _seconds_by_name(interval_of(before, after | exact), 2) == {"children of loop": 0.599, "loop": 0.001}


def test_children_have_the_time_that_is_neither_explained_nor_idle() -> None:
    """A third of the CPU is missing from the ticks: they account for less than the whole interval."""
    rows = stat_file({2: 3}, 300).splitlines(keepends=True)
    rows[3] = stat_file({2: 3}, 200).splitlines(keepends=True)[3]
    after = process(900, "loop", 2, 30_000_000, children=110) | {"/proc/stat": "".join(rows)}
    interval = interval_of(process(900, "loop", 2, 0), after)
    assert _seconds_by_name(interval, 2) == {"children of loop": 1.0, "loop": 0.03}
    assert interval.busy_share(2) == 1.03 / 3


_EXACT = "version 15\n" + "".join(f"cpu{cpu} 0 0 0 0 0 0 {{}} 0 {{}}\n" for cpu in range(4))
_NONE_YET = {"/proc/schedstat": _EXACT.format(*[0] * 8)}


def _script(ran_ns: int, children: int, **more: int) -> dict[str, str]:
    """Return the files of a script that waits on CPU 0 for its children."""
    return process(900, "script", 0, ran_ns, children=children, allowed="0", **more)


def test_children_that_were_moved_to_another_cpu_are_listed_there() -> None:
    before = _script(0, 0) | process(950, "work", 2, 1_000, allowed="2", parent=900)
    after = _script(1_000, 90) | process(951, "work", 2, 1_000, allowed="2", parent=900)
    interval = interval_of(before, after | {"/proc/stat": stat_file({0: 80, 2: 120}, 300)}, asks_all=True)
    seconds_by_name = _seconds_by_name(interval, 2)
    assert (seconds_by_name["children of script"], seconds_by_name["unattributed time"]) == (0.899_999, 0.3)
    assert "children of script" not in _seconds_by_name(interval, 0)


def test_grandchildren_are_listed_on_the_cpu_of_the_children() -> None:
    shell = process(949, "sh", 0, 0, parent=900, allowed="0")
    before = _script(0, 0) | shell | process(950, "work", 2, 1_000, allowed="2", parent=949)
    after = _script(1_000, 90) | {"/proc/stat": stat_file({0: 80, 2: 120}, 300)}
    assert _seconds_by_name(interval_of(before, after, asks_all=True), 2)["children of script"] == 0.899_999


def test_children_observed_on_their_parents_cpus_are_listed_there_first() -> None:
    before = _script(0, 0) | process(950, "work", 0, 1_000, allowed="0", parent=900)
    after = _script(1_000, 90) | {"/proc/stat": stat_file({0: 100, 2: 120}, 300)}
    assert "children of script" not in _seconds_by_name(interval_of(before, after, asks_all=True), 2)


def test_children_bound_to_one_cpu_take_precedence_over_children_that_fit_elsewhere() -> None:
    before = process(800, "make", 2, 0) | process(900, "script", 2, 0, allowed="2")
    after = process(800, "make", 2, 1_000, children=200, allowed="0-3")
    after |= process(900, "script", 2, 1_000, children=90, allowed="2")
    interval = interval_of(before, after | {"/proc/stat": stat_file({0: 6, 2: 100, 3: 190}, 300)}, asks_all=True)
    assert _seconds_by_name(interval, 2)["children of script"] == 0.9
    assert _seconds_by_name(interval, 3)["children of make"] == 1.9


def test_time_that_does_not_fit_on_an_exactly_counted_cpu_was_on_another() -> None:
    """No child was observed on CPU 2, but the time of each CPU is exact."""
    exact = {"/proc/schedstat": _EXACT.format(60_001_000, 99, 0, 0, 1_000_000_000, 99, 0, 0)}
    interval = interval_of(_script(0, 0) | _NONE_YET, _script(1_000, 90) | exact)
    assert _seconds_by_name(interval, 2) == {"children of script": 0.9, "unattributed time": 0.1}


def test_process_that_replaced_its_program_is_listed_by_both_names() -> None:
    """`bash -c 'for …; sleep 60'`: the last command replaces the shell and inherits its times."""
    before, after = process(900, "bash", 2, 0), process(900, "sleep", 2, 1_000, children=90)
    seconds_by_name = _seconds_by_name(interval_of(before, after | {"/proc/stat": stat_file({0: 6, 2: 90}, 300)}), 2)
    assert "children of bash, now sleep" in seconds_by_name


def test_children_and_threads_are_not_listed_where_their_process_is_not_allowed() -> None:
    for before, after in (
        (process(900, "make", 0, 0), process(900, "make", 0, 1_000, children=250)),
        (process(900, "pool", 0, 0), process(900, "pool", 0, 1_000, busy=250)),
    ):
        interval = interval_of(before, after | {"/proc/stat": stat_file({2: 200}, 300)})
        assert _seconds_by_name(interval, 2) == {"unattributed time": 2.0}


def _with_slices(files: dict[str, str], count: int) -> dict[str, str]:
    """Return the files of process 900 with this number of time slices in its schedstat."""
    ran, waited, _ = files["/proc/900/schedstat"].split()
    return files | {"/proc/900/schedstat": f"{ran} {waited} {count}\n"}


def _slices_per_s(interval: Interval, cpu: int) -> list[float | None]:
    return [culprit.slices_per_s for culprit in disturbances_of(interval, cpu) if culprit.pid == 900]


def test_thread_has_the_rate_of_its_time_slices() -> None:
    before = _with_slices(process(900, "hog", 2, 0), 366)
    after = _with_slices(process(900, "hog", 2, 150_000_000), 396)
    assert _slices_per_s(interval_of(before, after), 2) == [10.0]


def test_thread_that_never_left_its_cpu_or_has_no_schedstat_has_no_rate() -> None:
    before = _with_slices(process(900, "hog", 2, 0), 366)
    after = _with_slices(process(900, "hog", 2, 2_900_000_000), 366)
    assert _slices_per_s(interval_of(before, after), 2) == [None]
    without_schedstat = [without(process(900, "hog", 2, ns), "/proc/900/schedstat") for ns in (0, 2_900_000_000)]
    assert _slices_per_s(interval_of(*without_schedstat), 2) == [None]


def test_slices_of_a_thread_on_two_cpus_are_not_divided() -> None:
    before = _with_slices(process(900, "wanderer", 2, 0), 366)
    after = _with_slices(process(900, "wanderer", 3, 1_200_000_000), 396)
    interval = interval_of(before, after | {"/proc/stat": stat_file({2: 90, 3: 30}, 300)})
    assert [_slices_per_s(interval, cpu) for cpu in (2, 3)] == [[None], [None]]
