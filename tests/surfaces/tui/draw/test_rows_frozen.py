"""A frozen picture does not change while the monitor continues to collect."""

from __future__ import annotations

from noisewatch.operations.frame.frame import CpuLine
from noisewatch.surfaces.tui.state.screen_model import Screen, ScreenModel
from tests.surfaces.tui.framing import cpu_line, culprit, frame, model_of, screen

_LOUD = 200_000_000.0


def _loud() -> tuple[CpuLine, ...]:
    return (cpu_line(0, "target", lost_ns=_LOUD), cpu_line(1))


def _frozen() -> ScreenModel:
    model = model_of(*(frame(2, (culprit("hog"),), second) for second in range(1, 4)))
    model.toggle_freeze()
    return model


def test_the_figures_and_culprits_stay() -> None:
    model = _frozen()
    model.add(frame(_loud(), (culprit("other"),), 9, verdict="unstable"))
    text = "\n".join(screen(model))
    assert "hog [4711]" in text
    assert "other" not in text
    assert "STABLE" in text


def test_the_whole_picture_stays_but_for_its_age() -> None:
    model = _frozen()
    before = screen(model)
    for second in range(4, 8):
        model.add(frame(_loud(), (culprit("other"),), second, verdict="unstable"))
    assert screen(model)[3:-4] == before[3:-4]  # the timeline below goes on, and what the third row counts of it


def test_the_header_tells_how_old_the_picture_is() -> None:
    model = _frozen()
    model.add(frame(2, second=15))
    assert "FROZEN 12 s ago" in screen(model)[1]


def test_the_history_goes_on() -> None:
    model = _frozen()
    model.add(frame(_loud(), second=9))
    assert model.history.noise(0, range(4)) == [20_000.0, 20_000.0, 20_000.0, _LOUD]
    assert model.history.count == 4


def test_thawed_it_shows_the_newest_frame() -> None:
    model = _frozen()
    model.add(frame(_loud(), (culprit("other"),), 9))
    model.toggle_freeze()
    text = "\n".join(screen(model))
    assert "other [4711]" in text
    assert "FROZEN" not in text
    assert "█" in text


def test_frozen_before_any_frame_nothing_fails() -> None:
    model = ScreenModel()
    model.toggle_freeze()
    model.add(frame(2))
    assert len(screen(model)) == 30
    model.toggle_freeze()
    assert "benchmark-host" in screen(model)[0]


def test_space_does_not_freeze_on_any_screen_that_is_frozen() -> None:
    for shown in Screen:
        model = _frozen()
        model.go_to(shown)
        assert "freeze" not in screen(model)[-1], shown
