"""The monitor shows its own cost, and when its picture is out of date."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from noisewatch.surfaces.tui.state import own_cost
from noisewatch.surfaces.tui.state.own_cost import OwnCost, OwnCostMeter, Usage, cost_between, own_usage
from noisewatch.surfaces.tui.state.screen_model import ScreenModel
from tests.surfaces.tui.framing import frame, model_of, screen


def _live(cost: OwnCost | None) -> ScreenModel:
    model = model_of(frame(sampler_cpu_s=1.0))
    model.own_cost = cost
    return model


def test_the_cost_is_the_usage_of_both_processes_between_two_readings() -> None:
    before, after = Usage(10.0, 1.0, 100, 4_000), Usage(12.0, 1.5, 150, 10_000)
    assert cost_between(before, after) == OwnCost(0.25, 25.0, 3_000.0)


@pytest.mark.parametrize(
    "after", [Usage(10.0, 1.0, 100, None), Usage(11.0, 0.5, 200, None), Usage(11.0, 2.0, 50, None)]
)
def test_there_is_no_cost_without_elapsed_time_or_after_a_new_sampler(after: Usage) -> None:
    assert cost_between(Usage(10.0, 1.0, 100, None), after) is None


def test_written_bytes_are_unknown_if_the_kernel_does_not_count_them() -> None:
    cost = cost_between(Usage(10.0, 1.0, 100, None), Usage(11.0, 1.0, 100, 5))
    assert cost is not None
    assert cost.written_per_s is None


def test_frames_that_arrive_together_share_a_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    usages = [Usage(at_s, cpu_s, 0, None) for at_s, cpu_s in ((10.0, 0.0), (10.01, 0.5), (11.0, 0.6), (11.1, 1.1))]
    monkeypatch.setattr(own_cost, "own_usage", lambda *_: usages.pop(0))
    meter = OwnCostMeter()
    costs = [meter.measure(0.0, 0) for _ in range(4)]
    assert [cost and cost.cpu_share for cost in costs] == [None, None, pytest.approx(0.6), pytest.approx(0.6)]


def test_our_own_usage_grows() -> None:
    before = own_usage(1.0, 5)
    sum(range(100_000))
    after = own_usage(2.0, 7)
    assert after.cpu_s > before.cpu_s + 1.0
    assert after.wakeups >= before.wakeups + 2


def test_the_third_row_shows_as_much_of_the_cost_as_fits() -> None:
    model = _live(OwnCost(0.013, 23.4, 2_700.0))
    assert screen(model, 140)[2].endswith("self 1.3%, 23 wake-ups/s, 2.7 kB/s on CPU 0-1")
    assert screen(model, 50)[2].endswith("self 1.3% on CPU 0-1")
    assert "self" not in screen(model, 25)[2]
    assert screen(_live(replace(OwnCost(0.013, 23.4, None))), 110)[2].endswith("self 1.3%, 23 wake-ups/s on CPU 0-1")
    assert screen(_live(None), 110)[2].endswith("self ? on CPU 0-1")


@pytest.mark.parametrize(("silent_s", "is_late"), [(2.0, False), (3.5, True)])
def test_a_silent_sampler_makes_the_picture_unknown(silent_s: float, is_late: bool) -> None:
    model = _live(None)
    model.notice_silence(silent_s)
    head = screen(model)[1]
    assert ("UNKNOWN" in head, "no frame for 4 s" in head) == (is_late, is_late)
    model.add(frame(second=2))
    assert screen(model)[1].startswith(" STABLE ")


@pytest.mark.parametrize(("seconds", "is_late"), [(1.3, False), (6.7, True)])
def test_a_late_frame_is_reported_on_the_screen_and_in_the_events(seconds: float, is_late: bool) -> None:
    model = _live(None)
    model.add(replace(frame(second=8), seconds=seconds))
    late = "no frame for 6.7 s: the machine is overloaded"
    assert (late in screen(model, 160)[1]) is is_late
    assert any(event.text.startswith(late) for event in model.log.events) is is_late
    model.add(frame(second=9))
    assert late not in screen(model, 160)[1]


def test_the_intervals_of_a_recording_are_never_late() -> None:
    model = model_of(replace(frame(origin="replay of x.nw"), seconds=6.7))
    assert "no frame" not in screen(model, 160)[1]
    assert not any("no frame" in event.text for event in model.log.events)


def test_the_end_of_a_recording_and_a_slow_pace_are_not_silence() -> None:
    for interval, pace_s in ((frame(is_last=True), 1.0), (frame(origin="replay of x.nw"), 1.0), (frame(), 30.0)):
        model = model_of(interval)
        model.pace_s = pace_s
        model.notice_silence(60.0)
        assert model.silence is None


def test_after_the_sampler_ended_only_earlier_intervals_have_a_verdict() -> None:
    model = _live(None)
    model.trouble = "the sampler ended: boom"
    assert screen(model)[1].startswith(" UNKNOWN ")
    model.step(0)
    assert screen(model)[1].startswith(" STABLE ")
