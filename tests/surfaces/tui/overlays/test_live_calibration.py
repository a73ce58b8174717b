"""A calibration that is running, as lines and in the monitor."""

from __future__ import annotations

import asyncio

import pytest

from noisewatch.judgement.case import Calibrated, calibrated_with
from noisewatch.judgement.noise.budget import Budget
from noisewatch.kernel.calibration import QUESTION, parse_calibration
from noisewatch.machine import Machine
from noisewatch.machine.spinning.calibration.run import Progress
from noisewatch.model.calibration.statistics import Histogram
from noisewatch.operations.calibrate import LiveGaps
from noisewatch.surfaces.drawing.glyphs import ASCII, UNICODE, Glyphs
from noisewatch.surfaces.reports.calibration.picture import live_rows, progress_line
from noisewatch.surfaces.tui.app.monitor import MonitorApp
from noisewatch.surfaces.tui.overlays.calibration import CalibrationOverlay
from noisewatch.surfaces.tui.overlays.overlay import MachineAccess, OverlayState
from tests.surfaces.tui.framing import frame, model_of, screen_of, text_of
from tests.surfaces.tui.overlays.live import add_gap, buffer_of
from tests.written import WrittenMachine
from tests.written.calibration import written_calibration
from tests.written.quiet_machine import ANSWERS, quiet_files


def _live(*lengths_ns: int) -> LiveGaps:
    live = LiveGaps()
    live.take(Progress(1.0, 5.0, {2: buffer_of(*lengths_ns), 3: buffer_of(2_000)}))
    return live


def _drawn(live: LiveGaps, width: int, height: int, glyphs: Glyphs = UNICODE) -> list[str]:
    return [text_of(row) for row in live_rows(live, width, height, glyphs)]


def test_what_is_new_is_taken_in_once() -> None:
    live, buffer = LiveGaps(), buffer_of(2_000, 3_000)
    live.take(Progress(1.0, 5.0, {2: buffer}))
    add_gap(buffer, 500_000)
    live.take(Progress(2.0, 5.0, {2: buffer}))
    each = live.by_cpu[2]
    assert (each.gap_count, each.stolen_ns, each.longest_ns, each.histogram.count) == (3, 505_000, 500_000, 3)
    assert each.stolen_share == pytest.approx(505_000 / 3_000_000)


def test_the_histogram_grows() -> None:
    live, buffer = LiveGaps(), buffer_of(2_000)
    live.take(Progress(1.0, 5.0, {2: buffer}))
    before = _drawn(live, 100, 30)
    for _ in range(50):
        add_gap(buffer, 40_000)
    live.take(Progress(2.0, 5.0, {2: buffer}))
    assert _drawn(live, 100, 30) != before
    assert live.together.count == 51


def test_its_axis_stands_still_while_longer_gaps_come() -> None:
    live, buffer = LiveGaps(), buffer_of(2_000)
    live.take(Progress(1.0, 5.0, {2: buffer}))
    before = [line for line in _drawn(live, 100, 30) if "10 µs" in line]
    add_gap(buffer, 40_000_000)
    live.take(Progress(2.0, 5.0, {2: buffer}))
    assert before == [line for line in _drawn(live, 100, 30) if "10 µs" in line]
    assert [label for label in ("1 µs", "100 µs", "1 ms", "10 ms", "100 ms") if label not in before[0]] == []


def test_it_says_that_the_causes_are_not_known_yet() -> None:
    assert "attributed at the end" in "\n".join(_drawn(_live(2_000), 80, 24))
    assert "attributed at the end" in "\n".join(_drawn(_live(2_000), 120, 40))


def test_what_all_cpus_have_together_is_what_each_has() -> None:
    live = LiveGaps()
    buffers = {cpu: buffer_of(2_000, 2_000 + cpu * 1_000) for cpu in range(64)}
    for done_s in (1.0, 2.0):
        live.take(Progress(done_s, 5.0, buffers))
        together = Histogram()
        for each in live.by_cpu.values():
            together = together.merged(each.histogram)
        assert live.together == together
        for buffer in buffers.values():
            add_gap(buffer, 70_000)
    assert live.together.count == 64 * 3


def test_of_many_cpus_the_worst_are_shown_and_the_rest_counted() -> None:
    live = LiveGaps()
    live.take(Progress(1.0, 5.0, {cpu: buffer_of(2_000 + cpu) for cpu in range(512)}))
    lines = _drawn(live, 100, 30, ASCII)
    assert [line.split()[1] for line in lines if line.startswith("CPU")] == [str(cpu) for cpu in range(511, 504, -1)]
    assert lines[-1] == "and 505 more CPUs"


@pytest.mark.parametrize("width", [1, 10, 20, 39, 80, 200])
@pytest.mark.parametrize("height", [1, 2, 5, 12, 24, 60])
def test_the_picture_keeps_to_any_size(width: int, height: int) -> None:
    lines = _drawn(_live(2_000, 70_000, 3_000_000), width, height)
    assert len(lines) <= height
    assert max(map(len, lines)) <= width


def test_the_worst_cpu_comes_first() -> None:
    lines = _drawn(_live(9_000_000), 100, 30, ASCII)
    named = [line.split()[1] for line in lines if line.startswith("CPU")]
    assert named == ["2", "3"]


def test_the_progress_is_told_in_seconds() -> None:
    assert progress_line(_live(), 100).startswith("calibrating 1.0 of 5.0 s")
    assert progress_line(LiveGaps(), 100).startswith("calibrating 0.0 of 0.0 s")


def _text(screen: CalibrationOverlay, width: int = 100, height: int = 40) -> str:
    return "\n".join("".join(text for text, _ in row) for row in screen.rows(width, height, in_unicode=True))


def test_the_screen_announces_what_it_will_cost() -> None:
    said = _text(CalibrationOverlay.of(frame(4)))
    assert "Spins on CPU" in said
    assert "enter starts" in said


def test_of_a_replay_the_recorded_calibration_is_offered() -> None:
    assert "the replay of x.nw" in _text(CalibrationOverlay.of(frame(4, origin="replay of x.nw")))
    assert not CalibrationOverlay.of(None).can_start
    assert "no target CPU" in _text(CalibrationOverlay.of(None))


def test_the_screen_shows_what_came_of_it() -> None:
    screen = CalibrationOverlay.of(frame(4))
    screen.finish(calibrated_with(parse_calibration(written_calibration(seconds=3.0)), Budget()))
    assert screen.state == OverlayState.OVER
    assert "within the budget of 1%" in _text(screen)


def test_the_screen_says_why_nothing_came_of_it() -> None:
    screen = CalibrationOverlay.of(frame(4))
    screen.finish("there is no target CPU to calibrate")
    assert "No calibration: there is no target CPU" in _text(screen)


def test_the_keys_stand_out_in_the_last_row_and_it_says_what_each_does_there() -> None:
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
def test_the_screen_keeps_to_any_size(width: int, height: int) -> None:
    screen = CalibrationOverlay.of(frame(4))
    for state in (OverlayState.ANNOUNCED, OverlayState.RUNNING):
        screen.state = state
        assert len(screen.rows(width, height, in_unicode=True)) == height
    screen.finish(calibrated_with(parse_calibration(written_calibration(seconds=3.0)), Budget()))
    assert len(screen.rows(width, height, in_unicode=True)) == height


def _calibrated() -> Calibrated:
    gaps = tuple((at_ns, 40_000, 0, 0) for at_ns in range(0, 3_000_000_000, 10_000_000))
    return calibrated_with(parse_calibration(written_calibration(seconds=3.0, gaps=gaps)), Budget())


def _pressed(*keys: str, machine: Machine) -> list[str]:
    """What the screen showed after each key."""

    async def press() -> list[str]:
        app = MonitorApp(access=MachineAccess(lambda: machine))
        async with app.run_test(size=(120, 40)) as pilot:
            app.show_frame(frame(4, origin="replay of x.nw"))
            shown = []
            for key in keys:
                await pilot.press(key)
                await app.workers.wait_for_complete()
                await pilot.pause()
                rows = app.rows(120, 40)
                shown.append("\n".join("".join(text for text, _ in row) for row in rows))
            return shown

    return asyncio.run(press())


def test_of_a_recording_its_calibration_is_shown_at_once() -> None:
    calibrated = WrittenMachine(quiet_files(), answers={**ANSWERS, QUESTION: written_calibration(seconds=3.0)})
    over, left = _pressed("c", "escape", machine=calibrated)
    assert "enter starts" not in over
    assert "within the budget of 1%" in over
    assert "culprits on" in left


def test_a_machine_that_cannot_be_calibrated_says_so_on_the_screen() -> None:
    shown = _pressed("c", machine=WrittenMachine(quiet_files(), answers=ANSWERS))
    assert "No calibration: not written down" in shown[-1]


def test_what_was_calibrated_stands_on_the_screen_of_that_cpu() -> None:
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


def test_a_calibration_that_is_over_is_kept_for_the_screens_of_its_cpus() -> None:
    screen = CalibrationOverlay((2, 3))
    assert screen.calibration is None
    screen.finish(_calibrated())
    assert screen.calibration is not None
