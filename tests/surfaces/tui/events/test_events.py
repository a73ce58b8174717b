"""Events: changes between frames, and lasting conditions."""

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


def _frame_with(second: int, **conditions: Any) -> Frame:
    return _frame(second, conditions=Conditions(**conditions))


def _events(*frames: Frame) -> list[tuple[str, str]]:
    """Return kind and text of the events that are logged from the second frame on."""
    log = EventLog()
    skipped = 0
    for number, interval in enumerate(frames):
        log.watch(interval, number)
        skipped = len(log.events) if number == 0 else skipped
    return [(event.kind, event.text) for event in list(log.events)[skipped:]]


def test_equal_frames_log_no_event() -> None:
    assert _events(_frame(1), _frame(2)) == []


def test_a_cpu_that_goes_offline_and_comes_back_is_logged() -> None:
    lines = _frame(1).cpus
    unplugged = _frame(2, cpus=(*lines[:2], CpuLine(2, Role.OFFLINE)), target=(1,))
    assert _events(_frame(1), unplugged) == [
        ("hot-plug", "CPU 2 went offline"),
        ("target", "the target CPUs are now 1 (isolated), were 1-2"),
    ]
    assert _events(unplugged, _frame(3))[0] == ("hot-plug", "CPU 2 came online")


def test_a_hot_plug_event_of_the_kernel_is_not_logged_again() -> None:
    model = model_of(_frame(1))
    model.log.add(Event(1, EventKind.HOT_PLUG, "CPU 2 went offline", model.history.count))
    model.add(_frame(2, cpus=(*_frame(1).cpus[:2], CpuLine(2, Role.OFFLINE))))
    assert [event.text for event in model.log.events] == ["CPU 2 went offline"]
    model.add(_frame(3))
    model.add(_frame(4, cpus=(*_frame(1).cpus[:2], CpuLine(2, Role.OFFLINE))))
    assert [event.text for event in model.log.events][1:] == ["CPU 2 came online", "CPU 2 went offline"]


def test_governors_that_changed_together_are_one_event() -> None:
    tuned = tuple(replace(line, governor="performance") for line in _frame(1).cpus)
    unknown = tuple(replace(line, governor=None) for line in _frame(1).cpus)
    expected = [("clock", "the governor of CPUs 0-2 is now performance, was schedutil")]
    assert _events(_frame(1), _frame(2, cpus=tuned)) == expected
    assert _events(_frame(1), _frame(2, cpus=unknown)) == []
    assert _events(_frame(1), _frame(2, cpus=unknown), _frame(3)) == []
    assert _events(_frame(1), _frame(2, cpus=unknown), _frame(3, cpus=tuned)) == expected


def test_changed_limits_of_the_clock_are_logged_with_their_cpus() -> None:
    before = _frame_with(1, clock_limits=(ClockLimits("0-3", 800_000, 3_000_000),))
    after = _frame_with(
        2, clock_limits=(ClockLimits("0-1", 800_000, 3_000_000), ClockLimits("2-3", 3_000_000, 2_400_000))
    )
    assert _events(before, after) == [
        ("clock", "the minimum frequency of CPUs 2-3 is now 3000 MHz, was 800 MHz"),
        ("clock", "the maximum frequency of CPUs 2-3 is now 2400 MHz, was 3000 MHz"),
    ]
    unknown = _frame_with(2, clock_limits=(ClockLimits("0-3", None, 3_000_000),))
    assert _events(before, unknown, replace(before, taken_at_ns=3)) == []
    assert _events(unknown, before) == []


def test_lost_mains_power_and_its_return_are_logged() -> None:
    frames = [_frame_with(second, mains_power=is_on) for second, is_on in enumerate((None, True, None, False, True))]
    assert _events(*frames) == [
        ("power", "mains power lost: running on battery"),
        ("power", "mains power is back"),
    ]


def test_changes_of_turbo_and_verdict_are_logged() -> None:
    assert _events(_frame(1), _frame(2, turbo=None), _frame(3)) == [("clock", "turbo is now unknown, was off")]
    noisy = _frame(2, ("tasks-on-target", "cpu-quota"), verdict="unstable")
    assert _events(_frame(1), noisy) == [("verdict", "stable → unstable: cpu-quota, tasks-on-target")]
    assert _events(noisy, _frame(3, ("cpu-quota",), verdict="unstable")) == [
        ("verdict", "recovered: tasks-on-target (last 5 s)")
    ]
    assert _events(noisy, _frame(3, verdict=None)) == []


def _busy(second: int, *lost_ms: float, cpu: int = 1, **rest: Any) -> Frame:
    hogs = tuple(culprit("hog", cpu + at, lost * 1e6) for at, lost in enumerate(lost_ms))
    return _frame(second, culprits=hogs, **rest)


def test_a_busy_task_is_logged_at_its_start_and_end_only() -> None:
    frames = [_busy(1), _busy(2, 190), _busy(3, 980), _busy(4, 150), _busy(5, 600), *(_busy(s) for s in range(6, 20))]
    assert _events(*frames) == [
        ("busy", "hog [4711]: 98% of CPU 1"),
        ("busy", "hog [4711] off CPU 1 after 3 s (peak 98%)"),
    ]


def _event_times(*frames: Frame) -> list[tuple[int, int, str]]:
    """Return second, interval and kind of all events, the oldest first."""
    model = model_of(*frames)
    return [(event.at_ns // SECOND_NS, event.number, event.kind) for event in model.log.events]


def test_an_end_is_logged_at_the_time_of_the_last_busy_frame() -> None:
    frames = [_busy(s, *((980,) if 2 <= s <= 4 else ()), turbo="on" if s >= 7 else "off") for s in range(1, 12)]
    assert _event_times(*frames) == [(2, 1, "busy"), (4, 3, "busy"), (7, 6, "clock")]


@given(st.lists(st.tuples(st.integers(0, 9), st.sampled_from(EventKind), st.booleans()), max_size=60))
def test_the_log_is_sorted_by_time_even_if_events_are_added_late(additions: list[tuple[int, EventKind, bool]]) -> None:
    log = EventLog()
    for at, (tenths, kind, begins) in enumerate(additions):
        about = kind.value if begins else ""
        log.add(Event(tenths * SECOND_NS // 10, kind, f"{at}", tenths // 3, about=about, begins=begins))
    for log.folds in (True, False):
        times = [event.at_ns for event in log.listed()]
        assert times == sorted(times, reverse=True)


def test_a_full_log_drops_the_oldest_event_for_a_late_one() -> None:
    log = EventLog()
    for number in range(1000):
        log.add(Event(number, EventKind.DEVICE, str(number), number))
    log.add(Event(500, EventKind.BUSY, "over", 500))
    texts = [event.text for event in log.events]
    assert (len(texts), texts[0], texts[499:502], texts[-1]) == (1000, "1", ["500", "over", "501"], "999")


def test_one_process_on_many_cpus_is_one_event() -> None:
    assert _events(_busy(1), _busy(2, 500, 900)) == [("busy", "hog [4711]: 90% of CPUs 1-2")]


def test_with_omitted_threads_a_share_is_a_minimum_and_an_end_is_late() -> None:
    threads = [
        tuple(culprit("pool", 1, noise_ns, pid=9, tid=tid) for tid in range(10, 10 + MOST_CULPRITS))
        for noise_ns in (4e6, 1e6)
    ]
    frames = [_busy(1), _frame(2, culprits=threads[0]), *(_frame(s, culprits=threads[1]) for s in range(3, 20))]
    start = ("busy", "pool [9]: at least 26% of CPU 1")
    assert _events(*frames) == [start]
    idle_after = [*frames, *(_busy(s) for s in range(20, 30))]
    assert _events(*idle_after) == [start, ("busy", "pool [9] off CPU 1 after 18 s (peak at least 26%)")]


def test_the_threads_of_one_process_are_busy_together() -> None:
    threads = tuple(culprit("worker", 1, 8e6, pid=7, tid=tid) for tid in range(8, 48))
    assert _events(_busy(1), _frame(2, culprits=threads)) == [("busy", "worker [7]: 32% of CPU 1")]


def test_a_task_that_is_busy_on_a_housekeeping_cpu_is_not_an_event() -> None:
    away = (replace(culprit("hog", 0, 9e8), role=Role.HOUSEKEEPING),)
    assert _events(_busy(1), _frame(2, culprits=away)) == []


def test_a_task_on_an_unreadable_cpu_has_not_ended() -> None:
    unknown = tuple(replace(line, stolen_ns_per_s=None) for line in _frame(1).cpus)
    blind = [_frame(second, cpus=unknown) for second in range(3, 30)]
    assert len(_events(_busy(1), _busy(2, 980), *blind)) == 1
    assert len(_events(_busy(1), _busy(2, 980), *blind, *(_busy(second) for second in range(30, 40)))) == 2


def test_a_task_has_ended_when_its_cpu_goes_offline() -> None:
    unplugged = [_frame(second, cpus=(_frame(1).cpus[0], CpuLine(1, Role.OFFLINE))) for second in range(3, 12)]
    assert ("busy", "hog [4711] off CPU 1 after 1 s (peak 98%)") in _events(_busy(1), _busy(2, 980), *unplugged)


def test_throttling_has_not_ended_while_its_core_is_not_read() -> None:
    throttled = _frame_with(2, throttled=(Throttled("core", "2", 5),))
    blind = [_frame_with(second, throttled=(Throttled("core", "1", None),)) for second in range(3, 30)]
    assert _events(_frame_with(1), throttled, *blind) == [
        ("heat", "thermal throttling of the core of CPU 2: 5 times in this interval")
    ]


def test_the_start_and_the_end_of_steal_are_logged() -> None:
    def steal_frame(second: int, lost_ms: float) -> Frame:
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

    losses_ms = (0, 10, 50, 12, 0, 30, *([0] * 12))
    assert _events(*(steal_frame(second, lost_ms) for second, lost_ms in enumerate(losses_ms))) == [
        ("steal", "steal: 5.0% of CPU 2"),
        ("steal", "steal on CPU 2 ended after 4 s (peak 5.0%)"),
    ]


def test_the_start_and_the_end_of_throttling_are_logged() -> None:
    def throttled(second: int, *counts: int | None) -> Frame:
        return _frame_with(second, throttled=tuple(Throttled("core", "1-2", count) for count in counts))

    frames = [throttled(1), throttled(2, 3), throttled(3, 1), throttled(4), *(throttled(s) for s in range(5, 14))]
    assert _events(*frames) == [
        ("heat", "thermal throttling of the core of CPUs 1-2: 3 times in this interval"),
        ("heat", "no thermal throttling of the core of CPUs 1-2 for 10 s: 4 times within 2 s"),
    ]
    power_limit = Throttled("package", "1-2", 6, by="power")
    assert _events(throttled(1), _frame_with(2, throttled=(power_limit,))) == [
        ("heat", "throttling by the power limit of the package of CPUs 1-2: 6 times in this interval")
    ]
    assert _events(throttled(1), throttled(2, 1), *(throttled(s, None) for s in range(3, 30))) == [
        ("heat", "thermal throttling of the core of CPUs 1-2: 1 time in this interval")
    ]


def test_the_start_and_the_end_of_cooling_are_logged() -> None:
    def cooled(second: int, *lines: CoolingLine) -> Frame:
        return _frame_with(second, cooling=lines)

    line, unknown = CoolingLine("Processor", 4, 7), CoolingLine("Processor", None, None)
    assert _events(cooled(1), cooled(2, line), cooled(3, unknown), _frame(4), cooled(5)) == [
        ("heat", "processor slowed to cool it: Processor at state 7"),
        ("heat", "processor no longer slowed: Processor was at state 7 for 3 s"),
    ]


def test_heat_near_critical_is_logged_once_until_it_is_well_below() -> None:
    degrees = (80, 96, 94, 97, None, 91, 89)
    frames = [
        _frame_with(second, temperatures=(Temperature("k10temp Tctl", celsius, 100),))
        for second, celsius in enumerate(degrees)
    ]
    assert _events(*frames) == [
        ("heat", "k10temp Tctl (critical at 100 °C): 4 °C left"),
        ("heat", "k10temp Tctl (critical at 100 °C): more than 10 °C left again, after 5 s"),
    ]


@pytest.mark.parametrize("celsius", [100, 104])
def test_critical_heat_is_logged(celsius: float) -> None:
    frames = [_frame_with(s, temperatures=(Temperature("cpu", heat, 100),)) for s, heat in enumerate((50, celsius))]
    assert _events(*frames) == [("heat", "cpu (critical at 100 °C): reached")]


def test_the_log_keeps_the_last_thousand_events_and_shows_the_newest_first() -> None:
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


def test_unattributed_time_is_logged_as_short_lived_threads() -> None:
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
    assert _events(_frame(1), _frame(2, culprits=(line,))) == [("busy", "short-lived threads: 90% of CPU 1")]
