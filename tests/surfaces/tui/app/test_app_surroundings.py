"""The monitor and what is around it: the palette, the mouse, the focus, and terminals that can do less."""

from __future__ import annotations

import pytest
from textual.events import AppBlur, AppFocus
from textual.pilot import Pilot

from noisewatch.surfaces.tui.app.keys import KEYS_IN_HELP, KeyCommands, help_rows
from noisewatch.surfaces.tui.app.monitor import MonitorApp
from noisewatch.surfaces.tui.draw.glyphs import ASCII, UNICODE, Glyphs, glyphs_for
from noisewatch.surfaces.tui.screens.page import number_at
from noisewatch.surfaces.tui.state.screen_model import Screen, ScreenModel
from tests.surfaces.tui.app.piloting import key_of, shown, until, with_monitor
from tests.surfaces.tui.framing import culprit, frame, model_of, text_of


@pytest.mark.parametrize(("words", "screen", "cpu"), [("map", "map", None), ("CPU 2", "cpu", 2)])
def test_the_palette_finds_what_a_key_does_and_a_cpu(words: str, screen: str, cpu: int | None) -> None:
    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        app.show_frame(frame())
        await pilot.press("ctrl+p", *words.replace(" ", "\N{SPACE}"))
        await until(
            pilot, lambda: bool(app.screen.query("CommandList")) and app.screen.query_one("CommandList").display
        )
        await pilot.press("enter")
        await until(pilot, lambda: len(app.screen_stack) == 1 and app.model.screen == screen)

    assert with_monitor(steps).model.cpu == cpu


def test_every_key_has_the_name_that_stands_on_the_keyboard_in_the_palette_and_in_the_help() -> None:
    hints: list[str] = []

    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        found = KeyCommands(app.screen)
        hints.extend([str(hit.help) async for hit in found.discover()])

    with_monitor(steps)
    assert {"key [", "key /", "key ? h f1", "key <", "key {"} <= set(hints)
    helped = "\n".join(text_of(row) for row in help_rows(KEYS_IN_HELP, 120, 60))
    assert [word for word in ("_", "bracket", "sign", "+") if any(word in hint for hint in hints)] == []
    assert [word for word in ("bracket", "_sign", "shift+", "ctrl+") if word in helped] == []
    assert "ctrl-p" in helped


def test_what_is_typed_into_the_palette_does_nothing_else() -> None:
    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        app.show_frame(frame())
        await pilot.press("ctrl+p", "q", "H", "w")
        assert app.is_running
        await pilot.press("escape")
        await until(pilot, lambda: len(app.screen_stack) == 1)

    model = with_monitor(steps).model
    assert (model.pauses_on_spike, model.zoom) == (False, 1)


def _history(count: int = 30) -> ScreenModel:
    return model_of(*(frame(second=second) for second in range(count)))


def test_a_place_on_the_timeline_is_an_interval_and_any_other_is_none() -> None:
    model = _history()
    assert [number_at(model, 99, y, 100, 30) for y in (26, 28)] == [29, 29]
    assert number_at(model, 90, 28, 100, 30) == 20
    assert [number_at(model, 99, y, 100, 30) for y in (0, 25, 29)] == [None] * 3
    assert [number_at(model, x, 27, 100, 30) for x in (0, 5, 60)] == [None] * 3
    model.zoom = 10
    assert number_at(model, 98, 27, 100, 30) == 19


def test_a_press_on_the_timeline_shows_that_moment_and_the_wheel_scrolls() -> None:
    rows: list[int] = []

    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        for second in range(30):
            app.show_frame(frame(4, (culprit("a"), culprit("b")), second))
        await pilot.mouse_down(offset=(90, 27))
        rows.append(app.model.number)
        await pilot.press(key_of(Screen.CULPRITS))
        app.on_mouse_scroll_down()
        rows.append(app.model.selection.row)
        app.on_mouse_scroll_up()
        rows.append(app.model.selection.row)

    with_monitor(steps)
    assert rows == [20, 1, 0]


def test_while_nobody_looks_the_screen_is_not_drawn_each_time_and_then_at_once() -> None:
    texts: list[str] = []

    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        app.show_frame(frame())
        app.post_message(AppBlur())
        await pilot.pause()
        app.show_frame(frame(culprits=(culprit("unseen"),), second=2))
        texts.append("".join(shown(app)))
        app.post_message(AppFocus())
        await pilot.pause()
        texts.append("".join(shown(app)))

    with_monitor(steps)
    assert ["unseen" in text for text in texts] == [False, True]


@pytest.mark.parametrize(
    ("encoding", "terminal", "glyphs"),
    [
        ("utf-8", "xterm-256color", UNICODE),
        ("UTF-8", "tmux-256color", UNICODE),
        ("utf-8", "linux", ASCII),
        ("utf-8", "vt220", ASCII),
        ("iso-8859-1", "xterm", ASCII),
        (None, "xterm", ASCII),
    ],
)
def test_block_characters_are_drawn_where_encoding_and_font_have_them(
    encoding: str | None, terminal: str, glyphs: Glyphs
) -> None:
    assert glyphs_for(encoding, terminal) is glyphs


def test_in_ascii_nothing_else_is_drawn_and_no_column_moves() -> None:
    names = tuple(culprit(name) for name in ("größer", "日本", "µs…", "x" * 90))
    lines: list[str] = []

    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        app._glyphs = ASCII
        app.show_frame(frame(4, names))
        for key in ("1", "2", "3", "4", "5", "7", "8", "question_mark"):
            await pilot.press(key)
            lines.extend(shown(app))

    with_monitor(steps)
    assert [line for line in lines if not line.isascii()] == []
    assert {len(line) for line in lines} == {100}
    assert "gr??er [4711]" in "".join(lines)
    assert "???? [4711]" in "".join(lines)
