"""A frozen picture does not change while the monitor continues to collect."""

from __future__ import annotations

from noisewatch.operations.frame.frame import CpuLine
from noisewatch.surfaces.tui.state.screen_model import Screen, ScreenModel
from tests.surfaces.tui.framing import cpu_line, culprit, frame, model_of, screen

_NOISE_NS = 200_000_000.0


def _noisy_cpus() -> tuple[CpuLine, ...]:
    return (cpu_line(0, "target", lost_ns=_NOISE_NS), cpu_line(1))


def _frozen_model() -> ScreenModel:
    model = model_of(*(frame(2, (culprit("hog"),), second) for second in range(1, 4)))
    model.toggle_freeze()
    return model


def test_frozen_figures_and_culprits_stay() -> None:
    model = _frozen_model()
    model.add(frame(_noisy_cpus(), (culprit("other"),), 9, verdict="unstable"))
    text = "\n".join(screen(model))
    assert "hog [4711]" in text
    assert "other" not in text
    assert "STABLE" in text
    assert "UNSTABLE" not in text


def test_only_the_age_of_a_frozen_picture_changes() -> None:
    model = _frozen_model()
    before = screen(model)
    for second in range(4, 8):
        model.add(frame(_noisy_cpus(), (culprit("other"),), second, verdict="unstable"))
    assert screen(model)[3:-4] == before[3:-4]  # the timeline and the third row's count continue


def test_the_header_shows_the_age_of_a_frozen_picture() -> None:
    model = _frozen_model()
    model.add(frame(2, second=15))
    assert "FROZEN 12 s ago" in screen(model)[1]


def test_the_history_grows_while_frozen() -> None:
    model = _frozen_model()
    model.add(frame(_noisy_cpus(), second=9))
    assert model.history.noise(0, range(4)) == [20_000.0, 20_000.0, 20_000.0, _NOISE_NS]
    assert model.history.count == 4


def test_unfreezing_shows_the_newest_frame() -> None:
    model = _frozen_model()
    model.add(frame(_noisy_cpus(), (culprit("other"),), 9))
    model.toggle_freeze()
    text = "\n".join(screen(model))
    assert "other [4711]" in text
    assert "FROZEN" not in text
    assert "█" in text


def test_freezing_before_the_first_frame_does_not_fail() -> None:
    model = ScreenModel()
    model.toggle_freeze()
    model.add(frame(2))
    assert len(screen(model)) == 30
    model.toggle_freeze()
    assert "benchmark-host" in screen(model)[0]


def test_no_frozen_screen_offers_to_freeze() -> None:
    for name in Screen:
        model = _frozen_model()
        model.go_to(name)
        assert "freeze" not in screen(model)[-1], name
