"""All changes of the picture are sent to the terminal, and nothing else."""

from __future__ import annotations

import asyncio
import re
from itertools import chain

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console
from textual._compositor import CompositorUpdate
from textual.app import App, ComposeResult
from textual.screen import Screen

from noisewatch.surfaces.drawing.text_row import Row, Style
from noisewatch.surfaces.tui.draw import line_view
from noisewatch.surfaces.tui.draw.line_view import DrawnRows, LineScreen, LineView, strip_of
from tests.surfaces.tui.draw.goldens import GOLDENS

_WIDTH, _HEIGHT = 24, 3
_OLD: list[Row] = [[("old", "plain")]]
_NEW: list[Row] = [[("new", "plain")]]
_STYLES: list[Style] = ["plain", "strong", "grave", "selected"]
_TEXTS = st.text("ab │█▁✗é漢🦊\u0301", max_size=9)
_ROWS = st.lists(st.tuples(_TEXTS, st.sampled_from(_STYLES)), max_size=5)
_MOVE = re.compile(r"\x1b\[(\d+);(\d+)H([^\x1b]*(?:\x1b\[[0-9;]*m[^\x1b]*)*)")


class _PictureApp(App[None]):
    """An app that shows `picture` and collects the updates."""

    def __init__(self, picture: list[Row]) -> None:
        super().__init__(ansi_color=True)
        self.picture = picture
        self.sent: list[str] = []
        self.view = LineView(lambda _width, _height: self.picture, lambda reason, _width, _height: [])

    def get_default_screen(self) -> LineScreen:
        return LineScreen()

    def _display(self, screen: Screen[object], renderable: object) -> None:
        """Collect updates instead of sending them, as there is no terminal."""
        if isinstance(renderable, CompositorUpdate):
            self.sent.append(renderable.render_segments(self.console))

    def compose(self) -> ComposeResult:
        yield self.view


def _sent(before: list[Row], after: list[Row]) -> tuple[list[str], list[str], str]:
    """Return the rows before and after, as a terminal should show them, and what is sent in between."""

    async def show() -> tuple[list[str], list[str], str]:
        app = _PictureApp(before)
        async with app.run_test(size=(_WIDTH, _HEIGHT)) as pilot:
            app.view.update()
            await pilot.pause()
            old = _rendered(app.view, app.console)
            app.sent.clear()
            app.picture = after
            app.view.update()
            return old, _rendered(app.view, app.console), "".join(app.sent)

    return asyncio.run(show())


def _changes(old: Row, new: Row) -> list[tuple[int, int]]:
    spans = DrawnRows([new], _WIDTH, 1).changes(DrawnRows([old], _WIDTH, 1))
    return [(begin, end) for _, begin, end in spans]


def _rendered(view: LineView, console: Console) -> list[str]:
    return [view.render_line(y).render(console) for y in range(_HEIGHT)]


def _parse_cells(rendered: str) -> list[tuple[str, str]]:
    """Return a character and its style for each column; the second one of a wide character is empty."""
    cells: list[tuple[str, str]] = []
    style = ""
    for sgr, text in re.findall(r"\x1b\[([0-9;]*)m|([^\x1b])", rendered):
        if not text:
            style = "" if sgr == "0" else sgr
        elif width := cell_len(text):
            cells += [(text, style), ("", style)][:width]
        elif cells:
            cells[-1] = (cells[-1][0] + text, style)
    return cells


@settings(max_examples=60, deadline=None)
@given(st.lists(_ROWS, max_size=_HEIGHT), st.lists(_ROWS, max_size=_HEIGHT))
def test_the_updates_turn_the_old_picture_into_the_new_one(before: list[Row], after: list[Row]) -> None:
    old, new, sent = _sent(before, after)
    terminal = [_parse_cells(row) for row in old]
    for y, x, update in _MOVE.findall(sent):
        cells = _parse_cells(update)
        terminal[int(y) - 1][int(x) - 1 : int(x) - 1 + len(cells)] = cells
    assert terminal == [_parse_cells(row) for row in new]


def test_changes_below_another_screen_are_sent_only_after_it_is_closed() -> None:
    async def show() -> tuple[str, str, str]:
        app = _PictureApp(_OLD)
        async with app.run_test(size=(_WIDTH, _HEIGHT)) as pilot:
            app.push_screen(Screen())
            await pilot.pause()
            app.sent.clear()
            app.picture = _NEW
            app.view.update()
            await pilot.pause()
            below = "".join(app.sent)
            app.pop_screen()
            await pilot.pause()
            return below, "".join(app.sent), app.view.render_line(0).text

    below, above, row = asyncio.run(show())
    assert "new" not in below
    assert "new" in above
    assert row.startswith("new")


def test_no_change_is_lost_while_textual_collects_them() -> None:
    async def show() -> str:
        app = _PictureApp(_OLD)
        async with app.run_test(size=(_WIDTH, _HEIGHT)) as pilot:
            app.sent.clear()
            app.picture = _NEW
            with app.batch_update():
                app.view.update()
                assert app.sent == []
            await pilot.pause()
            return "".join(app.sent)

    assert "new" in asyncio.run(show())


def test_only_the_changed_part_of_a_row_is_sent() -> None:
    before: Row = [("│ ", "faint"), ("make", "strong"), ("   12 ms", "grave"), (" │", "faint")]
    after: Row = [("│ ", "faint"), ("make", "strong"), ("   13 ms", "grave"), (" │", "faint")]
    _, _, sent = _sent([before, before], [before, after])
    assert sent == "\x1b[2;11H\x1b[1;35m3\x1b[0m"


def test_no_colour_is_sent_with_no_color_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    _, _, sent = _sent([[("make", "plain")]], [[("make", "grave")]])
    assert sent == "\x1b[1;1H\x1b[1;39;49mmake\x1b[0m"


def test_nothing_is_sent_for_an_unchanged_picture() -> None:
    row: Row = [("as it was", "plain")]
    assert _sent([row], [list(row)])[2] == ""


@pytest.mark.parametrize(("same", "spans"), [(3, [(0, 5)]), (9, [(0, 1), (10, 11)])])
def test_changes_that_lie_close_are_sent_as_one(same: int, spans: list[tuple[int, int]]) -> None:
    middle = "=" * same
    assert _changes([(f"a{middle}a", "plain")], [(f"b{middle}b", "plain")]) == spans


def test_a_style_that_changed_is_a_change() -> None:
    assert _changes([("fix", "plain")], [("fix", "key")]) == [(0, 3)]


def test_a_row_with_characters_of_more_than_one_column_is_sent_whole() -> None:
    assert _changes([("漢a", "plain")], [("漢b", "plain")]) == [(0, _WIDTH)]


def test_only_rows_with_wide_characters_are_sent_whole() -> None:
    characters = set(chain.from_iterable(path.read_text() for path in GOLDENS.folder.rglob("*.txt"))) - {"\n"}
    assert len(characters) > 100
    sent_whole = [character for character in characters if _changes([(character, "plain")], []) == [(0, _WIDTH)]]
    assert [character for character in sent_whole if cell_len(character) == 1] == []


def test_characters_treated_as_one_column_take_one() -> None:
    characters = [chr(code) for code in range(0x20, 0x3000)]
    narrow = [character for character in characters if _changes([(character, "strong")], []) != [(0, _WIDTH)]]
    assert [character for character in narrow if cell_len(character) != 1] == []


@pytest.mark.parametrize("text", ["ab", "é漢"])
def test_neighbours_of_one_style_are_one_piece_and_the_rest_of_the_row_is_blank(text: str) -> None:
    strip = strip_of([(text, "faint"), ("", "grave"), ("c", "faint")], 8)
    assert [segment.text for segment in strip] == [f"{text}c", " " * (8 - cell_len(text) - 1)]
    assert strip.cell_length == 8


def test_a_view_that_was_removed_is_not_drawn() -> None:
    """A timer of the monitor may fire while Textual removes its widgets and clears the screen where they were."""

    async def end() -> _PictureApp:
        app = _PictureApp(_OLD)
        async with app.run_test(size=(_WIDTH, _HEIGHT)) as pilot:
            await pilot.pause()
            await app.view.remove()
            app.picture = _NEW
            app.view.update()
        app.view.update()
        return app

    assert "new" not in "".join(asyncio.run(end()).sent)


def test_with_an_incompatible_textual_the_rows_are_left_to_textual(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_view, "_USED_PARTS", ("app._display", "app._renamed_in_a_later_version"))
    old, new, sent = _sent(_OLD, _NEW)
    assert (old[0].split(), new[0].split()) == (["old"], ["new"])
    assert sent == ""
