"""Time of threads and children that came and went between two looks."""

from __future__ import annotations

from noisewatch.model.interval.disturbance import disturbances_of
from noisewatch.model.interval.interval import Interval
from tests.model.interval.sampling import interval_of
from tests.written import SECOND_NS
from tests.written.quiet_machine import crowd, process, stat_file


def _told(interval: Interval, cpu: int) -> dict[str, float]:
    """Return the seconds of each thread, and of unattributed time, on the CPU."""
    kinds = ("thread", "unexplained")
    return {
        each.name: (each.stolen_ns or 0) / SECOND_NS for each in disturbances_of(interval, cpu) if each.kind in kinds
    }


def _pool(busy: int, ran_ns: int = 0) -> dict[str, str]:
    """Return the files of a process with one thread left; all its threads together used `busy` ticks."""
    return process(900, "pool", 0, ran_ns, allowed="0-3", busy=busy)


def test_ended_threads_are_their_process_where_it_lives_on() -> None:
    after = _pool(215, 50_000_000) | {"/proc/stat": stat_file({0: 11, 2: 210}, 300)}
    interval = interval_of(_pool(0), after)
    (found,) = [each for each in disturbances_of(interval, 2) if each.kind == "thread"]
    assert (found.name, found.pid, found.tid, found.is_inferred) == ("ended threads of pool", 900, None, True)
    assert found.stolen_ns == 2_100_000_000
    assert interval.unexplained_ns(2) == 0


def test_ended_threads_have_no_more_than_their_cpu_misses() -> None:
    after = (
        _pool(290, 1_000)
        | process(901, "hog", 2, SECOND_NS, allowed="2")
        | {"/proc/stat": stat_file({0: 6, 2: 160}, 300)}
    )
    interval = interval_of(_pool(0) | process(901, "hog", 2, 0, allowed="2"), after)
    assert _told(interval, 2) == {"hog": 1.0, "ended threads of pool": 0.6}


def test_time_that_no_process_has_had_stays_nobodys() -> None:
    interval = interval_of(_pool(0), _pool(100, 1_000) | {"/proc/stat": stat_file({0: 6, 2: 250}, 300)})
    assert _told(interval, 2) == {"ended threads of pool": 0.999_999, "unattributed time": 1.500_001}


def test_what_the_threads_that_live_on_have_had_is_not_told_twice() -> None:
    before, after = crowd(900, "pool", [0, 2], "0-3"), crowd(900, "pool", [0, 2], "0-3")
    after["/proc/900/stat"] = process(900, "pool", 0, 0, busy=200, threads=2)["/proc/900/stat"]
    after["/proc/900/task/901/schedstat"] = f"{SECOND_NS} 0 0\n"
    interval = interval_of(before, after | {"/proc/stat": stat_file({2: 200}, 300)})
    assert _told(interval, 2) == {"pool": 1.0, "ended threads of pool": 1.0}


def test_what_a_process_had_by_steps_of_ten_milliseconds_is_no_thread() -> None:
    """Each of user and system time may seem to have grown by one such step more than it has."""
    stat = {"/proc/stat": stat_file({2: 60}, 300)}
    assert "ended threads of pool" not in _told(interval_of(_pool(0), _pool(32, 300_000_000) | stat), 2)
    assert "ended threads of pool" in _told(interval_of(_pool(0), _pool(33, 300_000_000) | stat), 2)


def test_a_process_that_ended_did_not_have_the_time_of_its_ended_threads_as_its_parents_child() -> None:
    before = process(900, "loop", 2, 0) | process(901, "child", 3, 1_000, parent=900, busy=10_000)
    after = process(900, "loop", 2, 1_000_000, children=10_010) | {"/proc/stat": stat_file({2: 290}, 300)}
    assert _told(interval_of(before, after), 2)["children of loop"] == 0.1


def test_a_grandchild_that_ran_for_hours_before_is_not_blamed_for_them() -> None:
    old = process(901, "middle", 3, 0, parent=900) | process(902, "old", 3, 100 * SECOND_NS, parent=901)
    after = process(900, "loop", 2, 1_000_000, children=10_010) | {"/proc/stat": stat_file({2: 290}, 300)}
    assert _told(interval_of(process(900, "loop", 2, 0) | old, after), 2)["children of loop"] == 0.1


def test_children_that_did_not_run_where_their_parent_did_are_told_where_time_is_missing() -> None:
    after = process(900, "make", 0, 1_000, children=250, allowed="0-3")
    interval = interval_of(process(900, "make", 0, 0), after | {"/proc/stat": stat_file({2: 200, 3: 100}, 300)})
    both = [_told(interval, cpu)["children of make"] for cpu in (2, 3)]
    assert (round(sum(both), 1), both[0] > both[1]) == (2.5, True)


def test_children_of_a_pinned_parent_hide_between_the_ticks_of_its_cpu() -> None:
    before = process(900, "loop", 2, 0, allowed="2")
    after = process(900, "loop", 2, 100_000_000, allowed="2", children=140) | {"/proc/stat": stat_file({2: 3}, 300)}
    interval = interval_of(before, after)
    assert _told(interval, 2) == {"children of loop": 1.4, "loop": 0.1}
    assert interval.busy_share(2) == 0.5


def test_children_of_a_pinned_parent_that_others_ticks_explain_hide_nowhere() -> None:
    before = process(900, "loop", 2, 0, allowed="2")
    after = process(900, "loop", 2, 1_000_000, allowed="2", children=140) | {"/proc/stat": stat_file({3: 150}, 300)}
    assert "children of loop" not in _told(interval_of(before, after), 2)


def test_a_count_to_the_nanosecond_lets_nothing_hide() -> None:
    schedstat = "version 15\n" + "".join(f"cpu{cpu} 0 0 0 0 0 0 {{}} 0 {{}}\n" for cpu in range(4))
    before = process(900, "loop", 2, 0, allowed="2") | {"/proc/schedstat": schedstat.format(*[0] * 8)}
    after = process(900, "loop", 2, 1_000_000, allowed="2", children=140)
    exact = {"/proc/schedstat": schedstat.format(0, 0, 0, 0, 600_000_000, 400, 0, 0)}
    assert _told(interval_of(before, after | exact), 2) == {"children of loop": 0.599, "loop": 0.001}


def test_children_have_what_is_missing_beside_the_idleness_of_their_cpu() -> None:
    """A third of the CPU, unseen by the ticks: less than the whole interval is accounted for."""
    rows = stat_file({2: 3}, 300).splitlines(keepends=True)
    rows[3] = stat_file({2: 3}, 200).splitlines(keepends=True)[3]
    after = process(900, "loop", 2, 30_000_000, children=110) | {"/proc/stat": "".join(rows)}
    interval = interval_of(process(900, "loop", 2, 0), after)
    assert _told(interval, 2) == {"children of loop": 1.0, "loop": 0.03}
    assert interval.busy_share(2) == 1.03 / 3


_EXACT = "version 15\n" + "".join(f"cpu{cpu} 0 0 0 0 0 0 {{}} 0 {{}}\n" for cpu in range(4))
_NONE_YET = {"/proc/schedstat": _EXACT.format(*[0] * 8)}


def _script(ran_ns: int, children: int, **more: int) -> dict[str, str]:
    """One that waits on CPU 0 for what it has started."""
    return process(900, "script", 0, ran_ns, children=children, allowed="0", **more)


def test_children_that_were_sent_to_another_cpu_are_told_there() -> None:
    before = _script(0, 0) | process(950, "work", 2, 1_000, allowed="2", parent=900)
    after = _script(1_000, 90) | process(951, "work", 2, 1_000, allowed="2", parent=900)
    interval = interval_of(before, after | {"/proc/stat": stat_file({0: 80, 2: 120}, 300)}, asks_all=True)
    told = _told(interval, 2)
    assert (told["children of script"], told["unattributed time"]) == (0.899_999, 0.3)
    assert "children of script" not in _told(interval, 0)


def test_children_of_children_that_came_and_went_are_told_where_those_were() -> None:
    shell = process(949, "sh", 0, 0, parent=900, allowed="0")
    before = _script(0, 0) | shell | process(950, "work", 2, 1_000, allowed="2", parent=949)
    after = _script(1_000, 90) | {"/proc/stat": stat_file({0: 80, 2: 120}, 300)}
    assert _told(interval_of(before, after, asks_all=True), 2)["children of script"] == 0.899_999


def test_children_that_were_seen_where_their_parent_may_be_are_told_where_it_was_first() -> None:
    before = _script(0, 0) | process(950, "work", 0, 1_000, allowed="0", parent=900)
    after = _script(1_000, 90) | {"/proc/stat": stat_file({0: 100, 2: 120}, 300)}
    assert "children of script" not in _told(interval_of(before, after, asks_all=True), 2)


def test_those_who_may_have_been_on_one_cpu_only_come_before_those_who_find_room_elsewhere() -> None:
    before = process(800, "make", 2, 0) | process(900, "script", 2, 0, allowed="2")
    after = process(800, "make", 2, 1_000, children=200, allowed="0-3")
    after |= process(900, "script", 2, 1_000, children=90, allowed="2")
    interval = interval_of(before, after | {"/proc/stat": stat_file({0: 6, 2: 100, 3: 190}, 300)}, asks_all=True)
    assert _told(interval, 2)["children of script"] == 0.9
    assert _told(interval, 3)["children of make"] == 1.9


def test_what_found_no_room_where_nothing_hides_was_had_on_another_cpu() -> None:
    """No child was seen on CPU 2, but the time of each CPU is known to the nanosecond."""
    exact = {"/proc/schedstat": _EXACT.format(60_001_000, 99, 0, 0, 1_000_000_000, 99, 0, 0)}
    interval = interval_of(_script(0, 0) | _NONE_YET, _script(1_000, 90) | exact)
    assert _told(interval, 2) == {"children of script": 0.9, "unattributed time": 0.1}


def test_who_has_become_another_program_is_told_by_both_names() -> None:
    """`bash -c 'for …; sleep 60'`: the last command takes the place of the shell, and of its books."""
    before, after = process(900, "bash", 2, 0), process(900, "sleep", 2, 1_000, children=90)
    told = _told(interval_of(before, after | {"/proc/stat": stat_file({0: 6, 2: 90}, 300)}), 2)
    assert "children of bash, now sleep" in told


def test_neither_children_nor_threads_are_told_where_their_process_may_not_run() -> None:
    for before, after in (
        (process(900, "make", 0, 0), process(900, "make", 0, 1_000, children=250)),
        (process(900, "pool", 0, 0), process(900, "pool", 0, 1_000, busy=250)),
    ):
        interval = interval_of(before, after | {"/proc/stat": stat_file({2: 200}, 300)})
        assert _told(interval, 2) == {"unattributed time": 2.0}
