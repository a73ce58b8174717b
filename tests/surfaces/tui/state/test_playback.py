"""A recording plays at its pace, stops, continues and seeks, while the rest of it is read."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from unittest.mock import Mock

import pytest
from textual.pilot import Pilot

from noisewatch.operations.frame.frame import Frame, encode_frame
from noisewatch.operations.machines import MachineOptions
from noisewatch.operations.sampler import SamplerOptions
from noisewatch.surfaces.tui.app.monitor import MonitorApp
from noisewatch.surfaces.tui.app.player import Player
from noisewatch.surfaces.tui.app.sampler_process import SamplerProcess
from noisewatch.surfaces.tui.state.history import History
from noisewatch.surfaces.tui.state.screen_model import ScreenModel
from tests.surfaces.running import record
from tests.surfaces.tui.app.piloting import PATIENCE_S, lines_of, until, with_monitor
from tests.surfaces.tui.framing import cpu_line, frame, screen
from tests.written.quiet_machine import quiet_files


def _frame(second: int, lost_ns: float = 20_000.0, is_last: bool = False) -> Frame:
    lines = (cpu_line(0), cpu_line(1, "target", lost_ns))
    seconds = 1.0 if second else 0.0
    return frame(lines, second=second, seconds=seconds, origin="replay of x.nw", is_last=is_last)


def _add_frames(model: ScreenModel, *seconds: int, last: int | None = None) -> None:
    for second in seconds:
        model.add(_frame(second, 200_000_000.0 if second == 3 else 20_000.0, second == last))


def _start_player(model: ScreenModel) -> Player:
    """Play the model's recording from its start."""
    player = Player(model, Mock(), Mock(), Mock())
    player.begin()
    return player


def _complete_recording(count: int = 6) -> tuple[ScreenModel, Player]:
    model = ScreenModel()
    _add_frames(model, *range(count), last=count - 1)
    return model, _start_player(model)


def test_a_recording_plays_to_its_end_at_its_own_pace() -> None:
    model, player = _complete_recording()
    assert (model.number, model.plays) == (0, True)
    assert "PLAYING 1x at 1 of 5 s" in screen(model)[1]
    for number in range(1, 5):
        assert player.wait_s() == 1.0
        player.advance()
        assert model.number == number
    player.advance()
    assert not model.plays
    assert player.wait_s() is None
    assert "STOPPED at 5 of 5 s" in screen(model)[1]


def test_a_pending_advance_has_no_effect_after_a_stop() -> None:
    model, player = _complete_recording()
    model.step(2)
    player.advance()
    assert (model.number, model.plays) == (2, False)


def test_the_player_waits_for_unread_intervals() -> None:
    model = ScreenModel()
    _add_frames(model, 0, 1)
    player = _start_player(model)
    player.advance()
    assert (model.number, model.plays) == (0, True)
    assert player.wait_s() == pytest.approx(0.1)
    assert "of 1 s read so far" in screen(model)[1]
    _add_frames(model, 2)
    assert player.wait_s() == 1.0


def test_the_player_stops_continues_and_restarts_from_the_end() -> None:
    model, player = _complete_recording()
    player.advance()
    player.toggle()
    assert player.wait_s() is None
    player.toggle()
    assert (player.wait_s(), model.number) == (1.0, 1)
    model.step_to_newest()
    player.toggle()
    assert (model.number, model.plays) == (0, True)


@pytest.mark.parametrize(("steps", "speed"), [(1, 2.0), (-1, 0.5), (99, 32.0), (-99, 0.25)])
def test_the_player_changes_its_speed(steps: int, speed: float) -> None:
    model, player = _complete_recording()
    player.change_speed(steps)
    assert model.speed == speed
    assert player.wait_s() == pytest.approx(1.0 / speed)


def test_a_step_stops_the_player_and_the_time_of_the_recording_is_shown() -> None:
    model, player = _complete_recording()
    player.advance()
    model.step(2)
    assert (model.number, model.plays) == (3, False)
    assert "▲ 4 s " in screen(model)[-2]


def test_the_player_pauses_on_the_next_spike() -> None:
    model, player = _complete_recording()
    model.toggle_pause_on_spike()
    assert model.plays
    while player.wait_s() is not None:
        player.advance()
    assert (model.number, model.pauses_on_spike, model.plays) == (2, False, False)


def test_reading_a_long_recording_waits_for_the_player() -> None:
    model = ScreenModel(history=History(4))
    _add_frames(model, *range(4))
    player = _start_player(model)
    room = [model.has_room]
    _add_frames(model, 4)
    room.append(model.has_room)
    player.advance()
    assert [*room, model.has_room] == [True, False, True]


def test_the_monitor_plays_what_the_sampler_reads(tmp_path: Path) -> None:
    recording = record(tmp_path / "machine.nw", *(quiet_files(3.0 * number) for number in range(4)))
    heads: list[str] = []

    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        await until(pilot, lambda: "PLAYING 1x at 3 of 9 s " in lines_of(app)[1])
        await pilot.press("space")
        heads.append(lines_of(app)[1])
        await pilot.press(*["greater_than_sign"] * 5, "space")
        await until(pilot, lambda: "STOPPED 32x at 9 of 9 s" in lines_of(app)[1])
        await pilot.press("left")
        heads.append(lines_of(app)[1])

    options = SamplerOptions(machine=MachineOptions(replay=str(recording)), allowed=frozenset({0}), observer=0)
    with_monitor(steps, options.command())
    assert "STOPPED at 3 of 9 s" in heads[0]
    assert "STOPPED 32x at 6 of 9 s" in heads[1]


def test_a_sampler_waits_while_its_frames_are_not_read() -> None:
    lines = [encode_frame(_frame(second, is_last=second == 2)) for second in range(3)]
    program = f"import os; os.write(1, {b''.join(lines)!r})"
    times: list[int] = []

    def show(interval: Frame, line: bytes) -> None:
        times.append(interval.taken_at_ns)
        sampler.read_on(False)

    sampler = SamplerProcess([sys.executable, "-c", program])

    async def follow() -> None:
        following = asyncio.create_task(sampler.follow(show, lambda: None))
        counts: list[int] = []
        for _ in lines:
            while len(times) == len(counts):
                await asyncio.sleep(0)
            counts.append(len(times))
            sampler.read_on(True)
        assert await following is None
        assert counts == [1, 2, 3]

    asyncio.run(asyncio.wait_for(follow(), PATIENCE_S))
