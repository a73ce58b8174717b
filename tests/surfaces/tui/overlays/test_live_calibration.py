"""A running calibration, as lines and in the monitor."""

from __future__ import annotations

import pytest

from noisewatch.judgement.case import Calibrated, calibrated_with
from noisewatch.judgement.noise.budget import Budget
from noisewatch.kernel.calibration import QUESTION, parse_calibration
from noisewatch.machine.spinning.calibration.run import Progress
from noisewatch.model.calibration.statistics import Histogram
from noisewatch.operations.calibrate import LiveGaps
from noisewatch.surfaces.drawing.glyphs import ASCII, UNICODE, Glyphs
from noisewatch.surfaces.reports.calibration.picture import live_rows, progress_line
from noisewatch.surfaces.tui.overlays.calibration import CalibrationOverlay
from noisewatch.surfaces.tui.overlays.overlay import OverlayState
from tests.surfaces.tui.app.piloting import texts_after
from tests.surfaces.tui.framing import frame, model_of, overlay_text, screen_of, text_of
from tests.surfaces.tui.overlays.live import add_gap, buffer_of
from tests.written import WrittenMachine
from tests.written.calibration import written_calibration
from tests.written.quiet_machine import ANSWERS, quiet_files


def _live(*lengths_ns: int) -> LiveGaps:
    live = LiveGaps()
    live.take(Progress(1.0, 5.0, {2: buffer_of(*lengths_ns), 3: buffer_of(2_000)}))
    return live


def _live_lines(live: LiveGaps, width: int, height: int, glyphs: Glyphs = UNICODE) -> list[str]:
    return [text_of(row) for row in live_rows(live, width, height, glyphs)]


def test_new_gaps_are_counted_once() -> None:
    live, buffer = LiveGaps(), buffer_of(2_000, 3_000)
    live.take(Progress(1.0, 5.0, {2: buffer}))
    add_gap(buffer, 500_000)
    live.take(Progress(2.0, 5.0, {2: buffer}))
    gaps = live.by_cpu[2]
    assert (gaps.gap_count, gaps.stolen_ns, gaps.longest_ns, gaps.histogram.count) == (3, 505_000, 500_000, 3)
    assert gaps.stolen_share == pytest.approx(505_000 / 3_000_000)


def test_the_histogram_grows() -> None:
    live, buffer = LiveGaps(), buffer_of(2_000)
    live.take(Progress(1.0, 5.0, {2: buffer}))
    before = _live_lines(live, 100, 30)
    for _ in range(50):
        add_gap(buffer, 40_000)
    live.take(Progress(2.0, 5.0, {2: buffer}))
    assert _live_lines(live, 100, 30) != before
    assert live.together.count == 51


def test_the_axis_of_the_histogram_is_unchanged_by_longer_gaps() -> None:
    live, buffer = LiveGaps(), buffer_of(2_000)
    live.take(Progress(1.0, 5.0, {2: buffer}))
    before = [line for line in _live_lines(live, 100, 30) if "10 µs" in line]
    add_gap(buffer, 40_000_000)
    live.take(Progress(2.0, 5.0, {2: buffer}))
    assert before == [line for line in _live_lines(live, 100, 30) if "10 µs" in line]
    assert [label for label in ("1 µs", "100 µs", "1 ms", "10 ms", "100 ms") if label not in before[0]] == []


def test_a_running_calibration_announces_causes_at_the_end() -> None:
    assert "attributed at the end" in "\n".join(_live_lines(_live(2_000), 80, 24))
    assert "attributed at the end" in "\n".join(_live_lines(_live(2_000), 120, 40))


def test_the_histogram_of_all_cpus_is_the_sum_of_theirs() -> None:
    live = LiveGaps()
    buffers = {cpu: buffer_of(2_000, 2_000 + cpu * 1_000) for cpu in range(64)}
    for done_s in (1.0, 2.0):
        live.take(Progress(done_s, 5.0, buffers))
        merged = Histogram()
        for gaps in live.by_cpu.values():
            merged = merged.merge(gaps.histogram)
        assert live.together == merged
        for buffer in buffers.values():
            add_gap(buffer, 70_000)
    assert live.together.count == 64 * 3


def test_of_many_cpus_the_worst_are_shown_and_the_rest_counted() -> None:
    live = LiveGaps()
    live.take(Progress(1.0, 5.0, {cpu: buffer_of(2_000 + cpu) for cpu in range(512)}))
    lines = _live_lines(live, 100, 30, ASCII)
    assert [line.split()[1] for line in lines if line.startswith("CPU")] == [str(cpu) for cpu in range(511, 504, -1)]
    assert lines[-1] == "and 505 more CPUs"


@pytest.mark.parametrize("width", [1, 10, 20, 39, 80, 200])
@pytest.mark.parametrize("height", [1, 2, 5, 12, 24, 60])
def test_the_picture_fits_any_size(width: int, height: int) -> None:
    lines = _live_lines(_live(2_000, 70_000, 3_000_000), width, height)
    assert len(lines) <= height
    assert max(map(len, lines)) <= width


def test_the_worst_cpu_comes_first() -> None:
    lines = _live_lines(_live(9_000_000), 100, 30, ASCII)
    cpus = [line.split()[1] for line in lines if line.startswith("CPU")]
    assert cpus == ["2", "3"]


def test_the_progress_is_shown_in_seconds() -> None:
    assert progress_line(_live(), 100).startswith("calibrating 1.0 of 5.0 s")
    assert progress_line(LiveGaps(), 100).startswith("calibrating 0.0 of 0.0 s")


def test_the_screen_announces_its_cost() -> None:
    text = overlay_text(CalibrationOverlay.of(frame(4)), 100)
    assert "Spins on CPU" in text
    assert "enter starts" in text


def test_in_a_replay_the_recorded_calibration_is_offered() -> None:
    assert "the replay of x.nw" in overlay_text(CalibrationOverlay.of(frame(4, origin="replay of x.nw")), 100)
    assert not CalibrationOverlay.of(None).can_start
    assert "no target CPU" in overlay_text(CalibrationOverlay.of(None), 100)


def test_the_screen_shows_the_result() -> None:
    screen = CalibrationOverlay.of(frame(4))
    screen.finish(calibrated_with(parse_calibration(written_calibration(seconds=3.0)), Budget()))
    assert screen.state == OverlayState.OVER
    assert "within the budget of 1%" in overlay_text(screen, 100)


def test_the_screen_shows_why_there_is_no_calibration() -> None:
    screen = CalibrationOverlay.of(frame(4))
    screen.finish("there is no target CPU to calibrate")
    assert "No calibration: there is no target CPU" in overlay_text(screen, 100)


def test_the_last_row_highlights_the_keys_and_explains_them() -> None:
    screen = CalibrationOverlay.of(frame(4))
    rows = [screen.rows(100, 20, in_unicode=True)[-1]]
    screen.finish(calibrated_with(parse_calibration(written_calibration(seconds=3.0)), Budget()))
    rows += [screen.rows(100, 20, in_unicode)[-1] for in_unicode in (True, False)]
    keys = [[text.strip() for text, style in row if style == "key"] for row in rows]
    assert keys == [["enter", "esc"], ["esc", "↑ ↓", "e"], ["esc", "up down", "e"]]
    assert "scroll: 1 to 18 of" in text_of(rows[1])
    screen.offset = 5
    assert "scroll: 6 to 23 of" in text_of(screen.rows(100, 20, in_unicode=True)[-1])


@pytest.mark.parametrize(("width", "height"), [(1, 1), (20, 5), (40, 10), (80, 24), (140, 40)])
def test_the_screen_fits_any_size(width: int, height: int) -> None:
    screen = CalibrationOverlay.of(frame(4))
    for state in (OverlayState.ANNOUNCED, OverlayState.RUNNING):
        screen.state = state
        assert len(screen.rows(width, height, in_unicode=True)) == height
    screen.finish(calibrated_with(parse_calibration(written_calibration(seconds=3.0)), Budget()))
    assert len(screen.rows(width, height, in_unicode=True)) == height


def _calibrated() -> Calibrated:
    gaps = tuple((at_ns, 40_000, 0, 0) for at_ns in range(0, 3_000_000_000, 10_000_000))
    return calibrated_with(parse_calibration(written_calibration(seconds=3.0, gaps=gaps)), Budget())


def test_the_calibration_of_a_recording_is_shown_at_once() -> None:
    machine = WrittenMachine(quiet_files(), answers={**ANSWERS, QUESTION: written_calibration(seconds=3.0)})
    over, left = texts_after("c", "escape", open_machine=lambda: machine)
    assert "enter starts" not in over
    assert "within the budget of 1%" in over
    assert "culprits on" in left


def test_a_machine_that_cannot_be_calibrated_is_reported_on_the_screen() -> None:
    texts = texts_after("c", open_machine=lambda: WrittenMachine(quiet_files(), answers=ANSWERS))
    assert "No calibration: not written down" in texts[-1]


def test_the_screen_of_a_cpu_shows_its_calibration() -> None:
    model = model_of(frame(4, target=(2, 3)))
    model.calibration = _calibrated().calibration
    model.cpu = 2
    rows = screen_of(model, "cpu", 120)
    assert rows[4].startswith(" calibrated: ")
    assert " gaps/s, p99 " in rows[4]
    assert any(character in rows[4] for character in "▁▂▃▄▅▆▇█")
    assert "calibrated" not in "".join(screen_of(model_of(frame()), "cpu"))
    model.cpu = 0
    assert "calibrated" not in "".join(screen_of(model, "cpu"))


def test_a_finished_calibration_is_kept_for_the_screens_of_its_cpus() -> None:
    screen = CalibrationOverlay((2, 3))
    assert screen.calibration is None
    screen.finish(_calibrated())
    assert screen.calibration is not None
