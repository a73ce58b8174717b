"""What changed between frames, and what lasted."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from noisewatch.kinds import Kind, Role
from noisewatch.operations.frame.frame import (
    MOST_CULPRITS,
    ClockLimits,
    Conditions,
    CoolingLine,
    CpuLine,
    CulpritLine,
    Frame,
    Temperature,
    Throttled,
)
from noisewatch.surfaces.tui.events.kinds import Event, EventKind
from noisewatch.surfaces.tui.events.log import EventLog
from tests.surfaces.tui.framing import SECOND_NS, cpu_line, culprit, frame, model_of, screen_of


def _frame(second: int, failed: tuple[str, ...] = (), **changes: Any) -> Frame:
    lines = tuple(cpu_line(cpu, "target" if cpu else "housekeeping", governor="schedutil") for cpu in range(3))
    return replace(frame(lines, second=second, failed=failed), **changes)


def _under(second: int, **conditions: Any) -> Frame:
    return _frame(second, conditions=Conditions(**conditions))


def _said(*frames: Frame) -> list[tuple[str, str]]:
    """Return the kind and text of the events that are logged from the second frame on."""
    log = EventLog()
    told = 0
    for number, after in enumerate(frames):
        log.watch(after, number)
        told = len(log.events) if number == 0 else told
    return [(event.kind, event.text) for event in list(log.events)[told:]]


def test_where_nothing_changed_nothing_is_told() -> None:
    assert _said(_frame(1), _frame(2)) == []


def test_a_cpu_that_goes_and_one_that_comes_back() -> None:
    lines = _frame(1).cpus
    gone = _frame(2, cpus=(*lines[:2], CpuLine(2, Role.OFFLINE)), target=(1,))
    assert _said(_frame(1), gone) == [
        ("hot-plug", "CPU 2 went offline"),
        ("target", "the target CPUs are now 1 (isolated), were 1-2"),
    ]
    assert _said(gone, _frame(3))[0] == ("hot-plug", "CPU 2 came online")


def test_what_the_kernel_has_just_said_of_a_cpu_is_not_told_again() -> None:
    model = model_of(_frame(1))
    model.log.add(Event(1, EventKind.HOT_PLUG, "CPU 2 went offline", model.history.count))
    model.add(_frame(2, cpus=(*_frame(1).cpus[:2], CpuLine(2, Role.OFFLINE))))
    assert [event.text for event in model.log.events] == ["CPU 2 went offline"]
    model.add(_frame(3))
    model.add(_frame(4, cpus=(*_frame(1).cpus[:2], CpuLine(2, Role.OFFLINE))))
    assert [event.text for event in model.log.events][1:] == ["CPU 2 came online", "CPU 2 went offline"]


def test_governors_that_changed_together_are_one_event() -> None:
    tuned = tuple(replace(line, governor="performance") for line in _frame(1).cpus)
    unread = tuple(replace(line, governor=None) for line in _frame(1).cpus)
    told = [("clock", "the governor of CPUs 0-2 is now performance, was schedutil")]
    assert _said(_frame(1), _frame(2, cpus=tuned)) == told
    assert _said(_frame(1), _frame(2, cpus=unread)) == []
    assert _said(_frame(1), _frame(2, cpus=unread), _frame(3)) == []
    assert _said(_frame(1), _frame(2, cpus=unread), _frame(3, cpus=tuned)) == told


def test_the_limits_of_the_clock_by_the_cpus_that_they_changed_for() -> None:
    before = _under(1, clock_limits=(ClockLimits("0-3", 800_000, 3_000_000),))
    after = _under(2, clock_limits=(ClockLimits("0-1", 800_000, 3_000_000), ClockLimits("2-3", 3_000_000, 2_400_000)))
    assert _said(before, after) == [
        ("clock", "the minimum frequency of CPUs 2-3 is now 3000 MHz, was 800 MHz"),
        ("clock", "the maximum frequency of CPUs 2-3 is now 2400 MHz, was 3000 MHz"),
    ]
    unread = _under(2, clock_limits=(ClockLimits("0-3", None, 3_000_000),))
    assert _said(before, unread, replace(before, taken_at_ns=3)) == []
    assert _said(unread, before) == []


def test_mains_power_that_is_lost_and_comes_back() -> None:
    frames = [_under(second, mains_power=is_on) for second, is_on in enumerate((None, True, None, False, True))]
    assert _said(*frames) == [
        ("power", "mains power lost: running on battery"),
        ("power", "mains power is back"),
    ]


def test_turbo_and_the_verdict() -> None:
    assert _said(_frame(1), _frame(2, turbo=None), _frame(3)) == [("clock", "turbo is now unknown, was off")]
    noisy = _frame(2, ("tasks-on-target", "cpu-quota"), verdict="unstable")
    assert _said(_frame(1), noisy) == [("verdict", "stable → unstable: cpu-quota, tasks-on-target")]
    assert _said(noisy, _frame(3, ("cpu-quota",), verdict="unstable")) == [
        ("verdict", "recovered: tasks-on-target (last 5 s)")
    ]
    assert _said(noisy, _frame(3, verdict=None)) == []


def _busy(second: int, *lost_ms: float, cpu: int = 1, **rest: Any) -> Frame:
    hogs = tuple(culprit("hog", cpu + at, lost * 1e6) for at, lost in enumerate(lost_ms))
    return _frame(second, culprits=hogs, **rest)


def test_a_task_that_takes_a_target_cpu_is_told_once_and_at_its_end() -> None:
    frames = [_busy(1), _busy(2, 190), _busy(3, 980), _busy(4, 150), _busy(5, 600), *(_busy(s) for s in range(6, 20))]
    assert _said(*frames) == [
        ("busy", "hog [4711]: 98% of CPU 1"),
        ("busy", "hog [4711] off CPU 1 after 3 s (peak 98%)"),
    ]


def _logged(*frames: Frame) -> list[tuple[int, int, str]]:
    """The second, the interval and the kind of each event, the oldest first."""
    model = model_of(*frames)
    return [(event.at_ns // SECOND_NS, event.number, event.kind) for event in model.log.events]


def test_an_end_has_the_time_of_the_last_frame_with_it_and_stands_there_in_the_log() -> None:
    frames = [_busy(s, *((980,) if 2 <= s <= 4 else ()), turbo="on" if s >= 7 else "off") for s in range(1, 12)]
    assert _logged(*frames) == [(2, 1, "busy"), (4, 3, "busy"), (7, 6, "clock")]


@given(st.lists(st.tuples(st.integers(0, 9), st.sampled_from(EventKind), st.booleans()), max_size=60))
def test_the_list_is_in_the_order_of_time_however_late_it_is_told(told: list[tuple[int, EventKind, bool]]) -> None:
    log = EventLog()
    for at, (tenths, kind, begins) in enumerate(told):
        about = kind.value if begins else ""
        log.add(Event(tenths * SECOND_NS // 10, kind, f"{at}", tenths // 3, about=about, begins=begins))
    for log.folds in (True, False):
        times = [event.at_ns for event in log.listed()]
        assert times == sorted(times, reverse=True)


def test_a_full_log_forgets_the_oldest_for_an_end_that_is_known_late() -> None:
    log = EventLog()
    for number in range(1000):
        log.add(Event(number, EventKind.DEVICE, str(number), number))
    log.add(Event(500, EventKind.BUSY, "over", 500))
    texts = [event.text for event in log.events]
    assert (len(texts), texts[0], texts[499:502], texts[-1]) == (1000, "1", ["500", "over", "501"], "999")


def test_one_process_on_many_cpus_is_one_event() -> None:
    assert _said(_busy(1), _busy(2, 500, 900)) == [("busy", "hog [4711]: 90% of CPUs 1-2")]


def test_of_a_process_with_threads_that_a_frame_leaves_out_no_share_is_exact_and_no_end_is_told() -> None:
    threads = [
        tuple(culprit("pool", 1, noise_ns, pid=9, tid=tid) for tid in range(10, 10 + MOST_CULPRITS))
        for noise_ns in (4e6, 1e6)
    ]
    frames = [_busy(1), _frame(2, culprits=threads[0]), *(_frame(s, culprits=threads[1]) for s in range(3, 20))]
    begun = ("busy", "pool [9]: at least 26% of CPU 1")
    assert _said(*frames) == [begun]
    ended = [*frames, *(_busy(s) for s in range(20, 30))]
    assert _said(*ended) == [begun, ("busy", "pool [9] off CPU 1 after 18 s (peak at least 26%)")]


def test_the_threads_of_one_process_are_busy_together() -> None:
    threads = tuple(culprit("worker", 1, 8e6, pid=7, tid=tid) for tid in range(8, 48))
    assert _said(_busy(1), _frame(2, culprits=threads)) == [("busy", "worker [7]: 32% of CPU 1")]


def test_who_is_busy_on_another_cpu_is_no_event() -> None:
    away = (replace(culprit("hog", 0, 9e8), role=Role.HOUSEKEEPING),)
    assert _said(_busy(1), _frame(2, culprits=away)) == []


def test_a_task_that_cannot_be_seen_has_not_ended() -> None:
    unknown = tuple(replace(line, stolen_ns_per_s=None) for line in _frame(1).cpus)
    blind = [_frame(second, cpus=unknown) for second in range(3, 30)]
    assert len(_said(_busy(1), _busy(2, 980), *blind)) == 1
    assert len(_said(_busy(1), _busy(2, 980), *blind, *(_busy(second) for second in range(30, 40)))) == 2


def test_a_task_has_ended_where_its_cpu_has_gone() -> None:
    gone = [_frame(second, cpus=(_frame(1).cpus[0], CpuLine(1, Role.OFFLINE))) for second in range(3, 12)]
    assert ("busy", "hog [4711] off CPU 1 after 1 s (peak 98%)") in _said(_busy(1), _busy(2, 980), *gone)


def test_throttling_of_a_core_that_was_not_asked_any_more_has_not_ended() -> None:
    began = _under(2, throttled=(Throttled("core", "2", 5),))
    blind = [_under(second, throttled=(Throttled("core", "1", None),)) for second in range(3, 30)]
    assert _said(_under(1), began, *blind) == [
        ("heat", "thermal throttling of the core of CPU 2: 5 times in this interval")
    ]


def test_steal_that_begins_and_ends() -> None:
    def stolen(second: int, lost_ms: float) -> Frame:
        line = CulpritLine(
            cpu=2,
            role=Role.TARGET,
            kind=Kind.OUTSIDE,
            name="hypervisor (steal time)",
            pid=None,
            tid=None,
            rate_per_s=None,
            stolen_ns_per_s=lost_ms * 1e6,
            is_estimate=False,
        )
        return _frame(second, culprits=(line,) if lost_ms else ())

    lost = (0, 10, 50, 12, 0, 30, *([0] * 12))
    assert _said(*(stolen(second, each) for second, each in enumerate(lost))) == [
        ("steal", "steal: 5.0% of CPU 2"),
        ("steal", "steal on CPU 2 ended after 4 s (peak 5.0%)"),
    ]


def test_throttling_is_told_when_it_begins_and_when_it_is_not_counted_any_more() -> None:
    def throttled(second: int, *times: int | None) -> Frame:
        return _under(second, throttled=tuple(Throttled("core", "1-2", each) for each in times))

    frames = [throttled(1), throttled(2, 3), throttled(3, 1), throttled(4), *(throttled(s) for s in range(5, 14))]
    assert _said(*frames) == [
        ("heat", "thermal throttling of the core of CPUs 1-2: 3 times in this interval"),
        ("heat", "no thermal throttling of the core of CPUs 1-2 for 10 s: 4 times within 2 s"),
    ]
    limited = Throttled("package", "1-2", 6, by="power")
    assert _said(throttled(1), _under(2, throttled=(limited,))) == [
        ("heat", "throttling by the power limit of the package of CPUs 1-2: 6 times in this interval")
    ]
    assert _said(throttled(1), throttled(2, 1), *(throttled(s, None) for s in range(3, 30))) == [
        ("heat", "thermal throttling of the core of CPUs 1-2: 1 time in this interval")
    ]


def test_a_cooling_device_at_work() -> None:
    def cooled(second: int, *lines: CoolingLine) -> Frame:
        return _under(second, cooling=lines)

    line, unread = CoolingLine("Processor", 4, 7), CoolingLine("Processor", None, None)
    assert _said(cooled(1), cooled(2, line), cooled(3, unread), _frame(4), cooled(5)) == [
        ("heat", "processor slowed to cool it: Processor at state 7"),
        ("heat", "processor no longer slowed: Processor was at state 7 for 3 s"),
    ]


def test_heat_near_critical_is_told_once_until_it_is_well_below() -> None:
    degrees = (80, 96, 94, 97, None, 91, 89)
    frames = [
        _under(second, temperatures=(Temperature("k10temp Tctl", celsius, 100),))
        for second, celsius in enumerate(degrees)
    ]
    assert _said(*frames) == [
        ("heat", "k10temp Tctl (critical at 100 °C): 4 °C left"),
        ("heat", "k10temp Tctl (critical at 100 °C): more than 10 °C left again, after 5 s"),
    ]


@pytest.mark.parametrize("celsius", [100, 104])
def test_heat_that_is_critical(celsius: float) -> None:
    frames = [_under(s, temperatures=(Temperature("cpu", each, 100),)) for s, each in enumerate((50, celsius))]
    assert _said(*frames) == [("heat", "cpu (critical at 100 °C): reached")]


def test_the_log_keeps_the_last_ones_and_the_screen_shows_the_newest_first() -> None:
    model = model_of(_frame(1), _frame(2, turbo="on"), _frame(5))
    lines = screen_of(model, "events")
    rows = [line.strip() for line in lines if " s  c clock " in line]
    assert rows == ["0 s  c clock     turbo is now off, was on", "3 s  c clock     turbo is now on, was off"]
    log = EventLog()
    for second in range(3_000):
        log.watch(_frame(second + 1, turbo=str(second)), second)
    assert len(log.events) == 1000


def test_every_kind_has_a_letter_of_its_own() -> None:
    marks = [kind.mark for kind in EventKind]
    assert len(set(marks)) == len(marks)
    assert all(mark.isascii() and len(mark) == 1 for mark in marks)


def test_time_of_a_thread_that_nobody_saw_is_told_as_such() -> None:
    line = CulpritLine(
        cpu=1,
        role=Role.TARGET,
        kind=Kind.UNATTRIBUTED,
        name="unattributed time",
        pid=None,
        tid=None,
        rate_per_s=None,
        stolen_ns_per_s=9e8,
        is_estimate=False,
    )
    assert _said(_frame(1), _frame(2, culprits=(line,))) == [("busy", "short-lived threads: 90% of CPU 1")]
