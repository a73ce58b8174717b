"""The monitor's surroundings: the palette, the mouse, the focus, and simpler terminals."""

from __future__ import annotations

import pytest
from rich.style import Style
from textual.command import CommandList
from textual.events import AppBlur, AppFocus
from textual.pilot import Pilot

from noisewatch.surfaces.drawing.glyphs import ASCII, UNICODE, Glyphs, glyphs_for
from noisewatch.surfaces.tui.app.keys import IN_HELP, help_rows
from noisewatch.surfaces.tui.app.monitor import MonitorApp
from noisewatch.surfaces.tui.app.palette import KeyCommands
from noisewatch.surfaces.tui.screens.page import number_at
from noisewatch.surfaces.tui.state.screen_model import Screen, ScreenModel
from tests.surfaces.tui.app.piloting import key_of, lines_of, until, with_monitor
from tests.surfaces.tui.framing import culprit, frame, model_of, text_of


async def _search_palette(app: MonitorApp, pilot: Pilot[None], words: str, key: str = "ctrl+p") -> None:
    """Open the palette, type the words, and wait for results."""
    app.show_frame(frame())
    await pilot.press(key, *("space" if letter == " " else letter for letter in words))
    await until(pilot, lambda: bool(app.screen.query(CommandList)) and app.screen.query_one(CommandList).display)


@pytest.mark.parametrize(
    ("words", "screen", "cpu", "key"),
    [("map", "map", None, "ctrl+p"), ("CPU 2", "cpu", 2, "ctrl+p"), ("CPU 2", "cpu", 2, "colon")],
)
def test_the_palette_finds_the_action_of_a_key_and_a_cpu(words: str, screen: str, cpu: int | None, key: str) -> None:
    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        await _search_palette(app, pilot, words, key)
        await pilot.press("enter")
        await until(pilot, lambda: len(app.screen_stack) == 1 and app.model.screen == screen)

    assert with_monitor(steps).model.cpu == cpu


def test_quit_in_the_palette_ends_the_program_with_open_advice() -> None:
    states: list[bool] = []

    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        app.show_frame(frame(4, (culprit("hog"),)))
        app.model.ask_for_fix(app.model.listed()[0])
        await _search_palette(app, pilot, "quit")
        states.append(app.model.has_opened)
        await pilot.press("enter")
        await until(pilot, lambda: not app.is_running or not app.model.has_opened or app.return_code is not None)

    app = with_monitor(steps)
    assert states == [True]
    assert app.return_code == 0
    assert app.model.has_opened


def test_enter_in_a_palette_that_was_just_opened_does_not_end_the_program() -> None:
    rows: list[str] = []

    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        await _search_palette(app, pilot, "")
        options = app.screen.query_one(CommandList)
        await until(pilot, lambda: options.option_count > 20)
        rows.extend(str(option.prompt) for option in options.options)
        await pilot.press("enter")
        await until(pilot, lambda: len(app.screen_stack) == 1)
        assert app.return_code is None

    with_monitor(steps)
    assert "quit" in rows[-1]


@pytest.mark.parametrize("quantity", ["heat", "clock"])
def test_the_palette_opens_the_map_with_the_requested_quantity(quantity: str) -> None:
    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        await _search_palette(app, pilot, f"map of {quantity}")
        await pilot.press("enter")
        await until(pilot, lambda: len(app.screen_stack) == 1 and app.model.screen == "map")

    assert with_monitor(steps).model.map.quantity == quantity


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("freq", "clock"),
        ("clock", "clock"),
        ("turbo", "clock"),
        ("irq", "irqs"),
        ("interrupt", "irqs"),
        ("heat", "map of heat"),
        ("interrupts on the map", "map of IRQs"),
        ("clock on the map", "map of clock"),
        ("temperature", "clock"),
        ("fix", "fix"),
        ("what to do", "fix"),
        ("forget", "clear baseline"),
        ("baseline", "mark baseline"),
        ("export", "export"),
        ("picture", "export"),
        ("light", "light colours"),
        ("gate", "preflight"),
        ("stop", "freeze, play"),
        ("[", "previous spike"),
        ("f6", "sort"),
        (")", "newest"),
        ("exit", "quit"),
    ],
)
def test_the_palette_finds_screens_and_actions_by_plain_words(words: str, expected: str) -> None:
    hits: list[tuple[float, str]] = []

    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        app.show_frame(frame())
        hits.extend([(hit.score, hit.text or "") async for hit in KeyCommands(app.screen).search(words)])

    with_monitor(steps)
    best = max(score for score, _ in hits)
    assert [text for score, text in hits if score == best and text.startswith(expected)]


def test_the_palette_has_one_row_per_command_and_only_terminal_colours() -> None:
    rows: list[str] = []
    colours: set[str] = set()

    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        await _search_palette(app, pilot, "spike")
        await until(pilot, lambda: app.screen.query_one(CommandList).option_count == 3)
        await pilot.pause()
        for line in app.lines():
            rows.append("".join(segment.text for segment in line))
            colours.update(str(name) for segment in line if segment.style for name in _colour_names(segment.style))

    with_monitor(steps, size=(80, 24))
    assert any("│ [           previous spike" in row and "disturbance, noise" in row for row in rows)
    assert sum("spike" in row for row in rows[3:-1]) == 4  # what was typed, and three commands
    assert [colour for colour in colours if "#" in colour or "rgb" in colour] == []


def _colour_names(style: Style) -> list[str]:
    return [colour.name for colour in (style.color, style.bgcolor) if colour is not None]


@pytest.mark.parametrize(("in_unicode", "arrow"), [(True, "←"), (False, "left")])
def test_keys_have_their_keyboard_names_in_the_palette_and_in_the_help(in_unicode: bool, arrow: str) -> None:
    hints: list[str] = []

    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        app._glyphs = UNICODE if in_unicode else ASCII
        hints.extend([str(hit.prompt).split("  ")[0] async for hit in KeyCommands(app.screen).discover()])

    with_monitor(steps)
    assert {"[", "? h f1", "/ f3 f4", "<", "{", arrow, f"shift-{arrow}"} <= set(hints)
    help_text = "\n".join(text_of(row) for row in help_rows(120, 60, in_unicode=in_unicode))
    for text in ("\n".join(hints), help_text):
        assert [word for word in ("bracket", "_sign", "shift+", "ctrl+") if word in text] == []
    assert "ctrl-p" in help_text
    assert f"  {arrow}  " in help_text


def test_the_help_has_sections_and_scrolls_to_its_last_row() -> None:
    heads = ("  look", "  move in time", "  act", "  copy, export, leave")
    help_text = "\n".join(text_of(row) for row in help_rows(120, 60))
    assert [head for head in heads if head not in help_text] == []
    last = "outside   hypervisor or firmware"
    for size in ((80, 24), (60, 20), (120, 34), (300, 80)):
        pages = [help_rows(*size, offset) for offset in (0, 100)]
        assert any(last in text_of(row) for row in pages[-1])
        assert [action for action in _ACTIONS if action not in _all_pages(size)] == []


def test_the_first_rows_of_the_help_explain_the_first_screen() -> None:
    """The verdict, the marks of CPUs, noise, its estimates and bars, and the lists below, before any key."""
    for width, height in ((80, 24), (120, 34), (200, 60)):
        rows = [text_of(row) for row in help_rows(width, height)]
        first = rows[1 : next(at for at, row in enumerate(rows) if row.startswith("  look"))]
        words = [row[2:12].rstrip() for row in first if row[2:12].strip()]
        assert words == ["UNSTABLE", "T s x", "noise/s", "~", "▂▅█", "_ ? .", "culprits", "target"]
        assert len(first) < height // 2
        assert max(map(len, first)) <= width
        assert not any("…" in row for row in first)


_ACTIONS = sorted({action for command in IN_HELP for action in command.name.split("; ")})


def _all_pages(size: tuple[int, int]) -> str:
    """Return the text of all pages of the help."""
    return "\n".join(text_of(row) for at in range(0, 80, 5) for row in help_rows(*size, at))


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("z", ("irqs: show silent IRQs", "map: one cache, or all")),
        ("k", ("a row up", "map: next quantity")),
        ("g", ("group rows", "clock: next graph")),
    ],
)
def test_another_effect_of_a_key_has_its_own_row_in_the_help(key: str, expected: tuple[str, str]) -> None:
    rows = [text_of(row) for row in help_rows(40, 200)]
    at = next(at for at, row in enumerate(rows) if row.split(" ")[2:3] == [key])
    assert [row[14:].rstrip() for row in rows[at : at + 2]] == [*expected]


def test_keys_typed_into_the_palette_have_no_other_effect() -> None:
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


def test_only_positions_on_the_timeline_are_intervals() -> None:
    model = _history()
    assert [number_at(model, 36, y, 100, 30) for y in (26, 28)] == [29, 29]
    assert number_at(model, 27, 28, 100, 30) == 20
    assert [number_at(model, 36, y, 100, 30) for y in (0, 25, 29)] == [None] * 3
    assert [number_at(model, x, 27, 100, 30) for x in (0, 5, 6, 37)] == [None] * 4
    model.zoom = 10
    assert number_at(model, 8, 27, 100, 30) == 19


def test_a_click_on_the_timeline_shows_that_interval_and_the_wheel_scrolls() -> None:
    rows: list[int] = []

    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        for second in range(30):
            app.show_frame(frame(4, (culprit("a"), culprit("b")), second))
        await pilot.mouse_down(offset=(27, 27))
        rows.append(app.model.number)
        await pilot.press(key_of(Screen.CULPRITS))
        app.on_mouse_scroll_down()
        rows.append(app.model.selection.row)
        app.on_mouse_scroll_up()
        rows.append(app.model.selection.row)

    with_monitor(steps)
    assert rows == [20, 1, 0]


def test_a_frame_that_arrives_without_focus_is_drawn_when_focus_returns() -> None:
    texts: list[str] = []

    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        app.show_frame(frame())
        app.post_message(AppBlur())
        await pilot.pause()
        app.show_frame(frame(culprits=(culprit("unseen"),), second=2))
        texts.append("".join(lines_of(app)))
        app.post_message(AppFocus())
        await pilot.pause()
        texts.append("".join(lines_of(app)))

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
def test_block_characters_are_drawn_if_encoding_and_font_have_them(
    encoding: str | None, terminal: str, glyphs: Glyphs
) -> None:
    assert glyphs_for(encoding, terminal) is glyphs


def test_an_ascii_terminal_gets_only_ascii_in_aligned_columns() -> None:
    names = tuple(culprit(name) for name in ("größer", "日本", "µs…", "x" * 90))
    lines: list[str] = []

    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        app._glyphs = ASCII
        app.show_frame(frame(4, names))
        for key in ("1", "2", "3", "4", "5", "7", "8", "question_mark"):
            await pilot.press(key)
            lines.extend(lines_of(app))

    with_monitor(steps)
    assert [line for line in lines if not line.isascii()] == []
    assert {len(line) for line in lines} == {100}
    assert "gr??er [4711]" in "".join(lines)
    assert "???? [4711]" in "".join(lines)
