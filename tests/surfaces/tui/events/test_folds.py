"""Recurring events are folded into one line of the log, which opens and exports all of them."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from noisewatch.operations.frame.frame import CauseLine, Frame
from noisewatch.surfaces.tui.app.export import command_to_copy, window_reports
from noisewatch.surfaces.tui.events.kinds import Event, EventKind
from noisewatch.surfaces.tui.state.screen_model import Screen, ScreenModel
from tests.surfaces.tui.framing import SECOND_NS, culprit, findings, frame, model_of, screen_text

_NOON_NS = 1_800_014_400 * SECOND_NS  # 12:00:00 UTC
_RECURRING = ("tasks-on-target",)


def _frame(second: int) -> Frame:
    """Return the frame of a second; a check fails in five of every ten seconds, and turbo changes once."""
    is_bad = second % 10 >= 5
    return replace(
        frame(2, (culprit("hog", cpu=1, lost_ns=90e6),), second),
        verdict="unstable" if is_bad else "stable",
        findings=findings(_RECURRING if is_bad else ()),
        causes=(CauseLine((("now", "sudo taskset -pc 0 4711"), ("undo", "sudo taskset -pc 1 4711")), _RECURRING),),
        turbo="on" if second > 32 else "off",
        wall_ns=_NOON_NS + second * SECOND_NS,
    )


def _model(count: int = 60) -> ScreenModel:
    model = model_of(*map(_frame, range(count)))
    model.go_to(Screen.EVENTS)
    return model


def test_a_recurring_failure_is_one_line_at_the_time_of_the_last() -> None:
    events = [(event.kind, event.text) for event in _model().log.listed()]
    assert events == [
        ("verdict", "tasks-on-target failed 6 times in 50 s, still failing"),
        ("clock", "turbo is now on, was off"),
    ]
    assert "12:00:55" in next(line for line in screen_text(_model()).splitlines() if "6 times in 50 s" in line)


def test_a_fold_counts_failures_that_coincide_with_others() -> None:
    """A fold includes the failure at 25 s, when another check fails as well and both recover together."""

    def at(second: int) -> Frame:
        others = {25: ("other",), 45: ("third",)}.get(second // 5 * 5, ())
        failed = (*(_RECURRING if second % 10 >= 5 and second < 45 else ()), *others)
        return replace(_frame(second), verdict="unstable" if failed else "stable", findings=findings(failed))

    model = model_of(*map(at, range(56)))
    model.go_to(Screen.EVENTS)
    texts = [event.text for event in model.log.listed()]
    fold = next(event for event in model.log.listed() if "times in" in event.text)
    assert fold.text == "tasks-on-target failed 4 times in 35 s, recovered"
    assert "stable → unstable: other, tasks-on-target" in texts
    model.log.chosen = fold
    assert "12:00:35, 12:00:25, 12:00:15, 12:00:05" in screen_text(model)


def test_a_fold_shows_the_worst_of_its_members() -> None:
    shares = {5: 0.3, 20: 0.95, 35: 0.25}

    def at(second: int) -> Frame:
        lost_ns = next((share * 1e9 for since, share in shares.items() if since <= second < since + 3), 0.0)
        return frame(2, (culprit("hog", cpu=1, lost_ns=lost_ns),) if lost_ns else (), second)

    assert [event.text for event in model_of(*map(at, range(60))).log.listed()] == [
        "hog [4711] on CPU 1 came 3 times in 32 s (peak 95%), gone"
    ]


def test_a_single_failure_and_recovery_are_not_folded() -> None:
    texts = [event.text for event in _model(12).log.listed()]
    assert "unstable → stable; recovered: tasks-on-target (last 5 s)" in texts
    assert not any("times in" in text for text in texts)


def test_a_fold_opens_and_closing_it_selects_the_fold() -> None:
    model = _model()
    model.select(0)
    model.toggle_folding()
    assert len(model.log.listed()) == len(model.log.events) > 10
    model.log.chosen = model.log.listed()[4]
    model.toggle_folding()
    assert model.log.row() == 0


def test_a_fold_that_grows_stays_selected() -> None:
    model = _model(50)
    model.select(1)
    model.select(-1)
    model.note_drawn()
    for second in range(50, 60):
        model.add(_frame(second))
    selected = model.log.selected()
    assert selected is not None
    assert "6 times" in selected.text


def test_the_filter_applies_to_folded_events_and_exports_contain_all_of_them() -> None:
    model = _model()
    model.log.filter = "recovered"
    assert [event.text for event in model.log.listed()] == ["tasks-on-target failed 5 times in 40 s, recovered"]
    section = window_reports(model, 60)["md"].partition("### What changed")[2]
    assert section.count("verdict: ") == sum(event.kind == EventKind.VERDICT for event in model.log.events)


@pytest.mark.parametrize("size", [(80, 24), (120, 34), (300, 80)])
def test_the_panel_shows_times_culprit_and_fix_of_a_fold(size: tuple[int, int]) -> None:
    text = screen_text(_model(), *size)
    assert "12:00:55, 12:00:45" in text
    if size[0] > 80:
        assert "verdict at 12:00:55, 4 s ago" in text
        assert "worst     CPU 1: " in text
        assert "sudo taskset -pc 1 4711" in text
        assert "x hot-plug  T target" in text


def test_the_command_of_an_event_is_copied_only_while_it_is_advised() -> None:
    model = _model()
    assert command_to_copy(model)[0] == "sudo taskset -pc 0 4711"
    model.add(replace(_frame(59), taken_at_ns=60 * SECOND_NS, causes=()))
    assert command_to_copy(model) == (None, "no command to copy: the event's fix is no longer needed")


def test_the_command_of_an_irq_event_is_that_of_the_same_irq() -> None:
    cause = CauseLine((("now", "echo 0 | sudo tee /proc/irq/205/smp_affinity_list"),), ("device-interrupts-on-target",))
    model = model_of(frame(2, second=1), frame(2, second=2, causes=(cause,)))
    model.go_to(Screen.EVENTS)
    model.log.add(Event(2 * SECOND_NS, EventKind.IRQ, "IRQ 20 moved from CPU 0 to CPU 1", 1))
    assert command_to_copy(model) == (None, "no command to copy: no fix is known for this event")
    model.log.add(Event(2 * SECOND_NS, EventKind.IRQ, "IRQ 205 (eth0) moved from CPU 0 to CPU 1", 1))
    assert command_to_copy(model)[0] == "echo 0 | sudo tee /proc/irq/205/smp_affinity_list"
    assert "IRQ 20 moved from CPU 0 to CPU 1" in screen_text(model).partition("also then")[2]


def test_the_title_counts_the_events_and_their_lines() -> None:
    model = _model()
    assert f"─ {len(model.log.events)} events in {len(model.log.listed())} lines ─" in screen_text(model)
    model.toggle_folding()
    assert f"─ {len(model.log.events)} events ─" in screen_text(model)
