"""A period marked as the baseline, and other intervals compared with it."""

from __future__ import annotations

import pytest
from textual.pilot import Pilot

from noisewatch.kinds import Role
from noisewatch.operations.frame.frame import CulpritLine
from noisewatch.surfaces.tui.app.monitor import MonitorApp
from noisewatch.surfaces.tui.state.screen_model import ScreenModel
from noisewatch.units import short_change
from tests.surfaces.tui.app.piloting import lines_of, with_monitor
from tests.surfaces.tui.framing import cpu_line, culprit, frame, model_of, screen


def _model_with_baseline(*losses: float | None) -> ScreenModel:
    """Return a model with these losses, marked as the baseline."""
    frames = [
        frame((cpu_line(0, "target", lost_ns),), (culprit("hog", cpu=0, lost_ns=lost_ns or 0.0),), second)
        for second, lost_ns in enumerate(losses)
    ]
    model = model_of(*frames)
    model.mark_baseline()
    return model


def test_cpus_and_sources_show_their_change_against_the_mean_of_the_baseline() -> None:
    model = _model_with_baseline(1_000_000.0, 3_000_000.0)
    model.add(frame((cpu_line(0, "target", 12_000_000.0),), (culprit("hog", cpu=0, lost_ns=1_000_000.0),), 9))
    rows = screen(model)
    assert "change against 2 intervals, marked 8 s ago" in rows[2]
    assert "12 ms  +10 ms" in rows[4]
    assert "1.0 ms -1.0 ms" in rows[6]


def test_a_new_source_has_grown_from_zero() -> None:
    model = _model_with_baseline(2_000_000.0)
    model.add(frame((cpu_line(0, "target", 2_000_000.0),), (culprit("new", cpu=0, lost_ns=5_000_000.0),), 2))
    assert "+5.0 ms" in screen(model)[6]


def test_a_kernel_worker_with_other_work_in_its_name_is_the_same_source() -> None:
    def worker(work: str, lost_ns: float) -> CulpritLine:
        return culprit(f"kworker/0:2-{work}", cpu=0, lost_ns=lost_ns, kind="kernel-thread", tid=58)

    model = model_of(frame((cpu_line(0, "target"),), (worker("events", 4_000_000.0),)))
    model.mark_baseline()
    assert model.baseline is not None
    assert model.baseline.change_of_culprit(worker("flush", 5_000_000.0)) == 1_000_000.0


def test_an_unknown_baseline_gives_no_change() -> None:
    model = _model_with_baseline(1_000_000.0, None)
    assert model.baseline is not None
    assert model.baseline.change_of_cpu(cpu_line(0)) is None
    assert model.baseline.change_of_cpu(cpu_line(7)) is None
    assert model.baseline.change_of_culprit(culprit("unseen", cpu=0)) is None


def test_a_source_that_may_have_been_cut_off_has_no_change() -> None:
    away = tuple(culprit(f"away{number}", cpu=0, role=Role.HOUSEKEEPING) for number in range(64))
    model = model_of(frame(2, away))
    model.mark_baseline()
    assert model.baseline is not None
    assert model.baseline.change_of_culprit(culprit("late", cpu=0)) is None
    assert model.baseline.change_of_culprit(away[0]) == 0.0


def test_sorting_by_change_is_possible_only_with_a_baseline() -> None:
    model = _model_with_baseline(9_000_000.0)
    lines = (culprit("hog", cpu=0, lost_ns=9_000_000.0), culprit("new", cpu=0, lost_ns=1_000_000.0))
    model.add(frame((cpu_line(0, "target"),), lines, 2))
    for _ in range(3):
        model.next_sort()
    assert (model.sort, model.listed()[0].name) == ("change", "new")
    model.forget_baseline()
    assert (model.sort, model.listed()[0].name) == ("cost", "hog")


def test_no_baseline_is_marked_before_the_first_interval() -> None:
    model = ScreenModel()
    model.mark_baseline()
    assert model.baseline is None


def test_m_marks_and_shift_m_forgets() -> None:
    texts: list[str] = []

    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        app.show_frame(frame())
        for key in ("m", "M"):
            await pilot.press(key)
            texts.append("".join(lines_of(app)))

    with_monitor(steps)
    assert ["change against 1 intervals" in text for text in texts] == [True, False]


@pytest.mark.parametrize(
    ("ns", "text"), [(None, "?"), (0.0, "0"), (-0.4, "0"), (12_000.0, "+12 µs"), (-998e6, "-998 ms")]
)
def test_a_change_has_a_sign(ns: float | None, text: str) -> None:
    assert short_change(ns) == text
