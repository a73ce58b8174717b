"""Stepping back and forth in time, pausing on a spike, and zooming, while new frames arrive."""

from __future__ import annotations

import pytest

from noisewatch.operations.frame.frame import Frame
from noisewatch.surfaces.tui.state.noise import columns_of
from noisewatch.surfaces.tui.state.screen_model import ScreenModel
from tests.surfaces.tui.framing import cpu_line, culprit, frame, model_of, screen

_NOISE_NS = 200_000_000.0


def _frame(second: int, lost_ns: float = 20_000.0) -> Frame:
    return frame((cpu_line(0), cpu_line(1, "target", lost_ns)), (culprit(f"hog{second}", cpu=1),), second)


def _model(*noisy_seconds: int, count: int = 20) -> ScreenModel:
    return model_of(*(_frame(second, _NOISE_NS if second in noisy_seconds else 20_000.0) for second in range(count)))


def test_a_step_back_shows_the_culprits_of_that_interval() -> None:
    model = _model()
    model.step(-3)
    text = "\n".join(screen(model))
    assert "hog16 [4711]" in text
    assert "FROZEN 3 s ago" in text
    model.add(_frame(20))
    assert "hog16 [4711]" in "\n".join(screen(model))
    model.step(2)
    assert "hog18 [4711]" in "\n".join(screen(model))


def test_steps_end_at_the_oldest_and_at_the_newest() -> None:
    model = _model()
    model.step(-1_000)
    assert model.number == 0
    model.step(1_000)
    assert model.number == 19


def test_no_step_is_made_before_the_first_interval() -> None:
    model = model_of(frame(seconds=0.0))
    model.step(-1)
    model.step_to_spike(-1)
    assert model.cursor is None


def test_the_shown_interval_advances_when_the_history_drops_it() -> None:
    model = _model()
    model.history = type(model.history)(5)
    for second in range(9):
        model.add(_frame(second))
        model.step(-1_000)
    assert (model.number, model.frame) == (4, model.history.frame(4))


def test_steps_go_to_the_previous_and_the_next_spike() -> None:
    model = _model(4, 9)
    model.step_to_spike(-1)
    assert model.number == 9
    model.step_to_spike(-1)
    assert model.number == 4
    model.step_to_spike(-1)
    assert model.number == 4
    model.step_to_spike(1)
    assert model.number == 9


def test_a_constantly_noisy_cpu_has_spikes() -> None:
    noisy = {2: 8e6, 3: 2e7, 4: 9e6, 5: _NOISE_NS, 6: _NOISE_NS, 7: 8e6}
    model = model_of(*(_frame(second, noisy.get(second, 20_000.0)) for second in range(10)))
    stops = []
    for _ in range(3):
        model.step_to_spike(-1)
        stops.append(model.number)
    assert stops == [5, 3, 2]


def test_the_picture_pauses_on_the_next_spike_once() -> None:
    model = _model()
    model.toggle_pause_on_spike()
    assert "PAUSES ON SPIKE" in screen(model)[1]
    model.add(_frame(20))
    assert model.cursor is None
    model.add(_frame(21, _NOISE_NS))
    model.add(_frame(22))
    assert (model.number, model.pauses_on_spike) == (21, False)
    model.toggle_freeze()
    model.add(_frame(23, _NOISE_NS))
    assert model.cursor is None


def test_the_timeline_shows_the_worst_loss_and_marks_the_shown_interval() -> None:
    model = _model(10)
    lane, _, below = screen(model)[-4:-1]
    assert lane.startswith("target ")
    assert lane.rstrip()[-10] == "█"
    assert below[lane.index("▁") :].rstrip() == "-19 s            now"
    model.step(-9)
    lane, _, below = screen(model)[-4:-1]
    assert below.index("▲") == lane.index("█")
    assert "9 s ago" in below


@pytest.mark.parametrize("width", [1, 6, 7, 20, 80, 300])
@pytest.mark.parametrize("zoom", [1, 60])
def test_the_cursor_is_on_the_screen_for_any_interval(width: int, zoom: int) -> None:
    model = _model(count=700)
    model.zoom = zoom
    model.step(-1_000)
    lines = screen(model, width, 30)
    assert all(len(line) == width for line in lines)
    assert width < 20 or "▲" in lines[-2]


def test_a_column_of_many_intervals_shows_the_greatest_loss_and_is_unknown_if_calm_is_uncertain() -> None:
    assert columns_of([1.0, 5.0, 4.0, 2.0, 3.0], 2) == [1.0, 5.0, 3.0]
    assert columns_of([5.0, None, 2.0], 2) == [5.0, None]
    assert columns_of([_NOISE_NS, None], 2) == [_NOISE_NS]
    assert columns_of([2e6, None], 2) == [None]
    assert columns_of([None, None], 2) == [None]
    assert columns_of([1.0, None], 1) == [1.0, None]


def test_in_a_zoomed_timeline_a_step_is_a_column() -> None:
    model = _model(count=100)
    model.next_zoom()
    model.next_zoom()
    model.step(-2)
    assert model.number == 79
    assert "10 per column" in "\n".join(screen(model))
