"""The monitor draws frames and obeys keys."""

from __future__ import annotations

import re
from functools import partial

import pytest
from textual.pilot import Pilot

from noisewatch.operations.advise import Advice
from noisewatch.operations.frame.frame import KINDS
from noisewatch.surfaces.tui.app.monitor import MonitorApp
from noisewatch.surfaces.tui.state.filters import SortOrder
from tests.surfaces.tui.app.piloting import lines_of, screen_after, until, with_monitor
from tests.surfaces.tui.framing import cpu_line, cpu_order, culprit, frame

_CULPRITS = (culprit("hog"), culprit("away", role="housekeeping"))


_FRAMES = (frame(4, _CULPRITS),)


def test_before_the_first_frame_the_screen_shows_that_it_is_measuring() -> None:
    lines = screen_after()
    assert lines[1].strip() == "measuring: the first second is not over"
    assert "q quit" in " ".join(lines[-1].split())


def test_a_frame_is_drawn() -> None:
    lines = screen_after(frames=_FRAMES)
    assert "benchmark-host" in lines[0]
    assert "STABLE" in lines[1]
    assert "target 3" in lines[2]
    assert "hog [4711]" in "".join(lines)


def test_the_breakdown_of_a_second_is_for_the_cpu_of_the_selected_culprit() -> None:
    time_ns = (4_000_000, *[0] * (len(KINDS) - 1))
    cpus = tuple(cpu_line(cpu, "target", taken_ns_per_s=time_ns) for cpu in range(4))
    one, two = culprit("one", cpu=2), culprit("two", cpu=3, tid=4712)
    lines = screen_after(frames=(frame(cpus, (one,)), frame(cpus, (two,), second=2)), size=(120, 34))
    assert "CPU 3: use of its time" in "".join(lines)


@pytest.mark.parametrize("key", ["q", "ctrl+c"])
def test_quit_ends_the_monitor(key: str) -> None:
    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        app.show_frame(frame())
        await pilot.press(key)

    app = with_monitor(steps)
    assert app.return_code == 0
    assert not app.is_running


def test_space_freezes_and_unfreezes_the_picture() -> None:
    heads: list[str] = []

    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        app.show_frame(frame())
        await pilot.press("space")
        app.show_frame(frame(culprits=(culprit("other"),), second=9))
        heads.append("\n".join(lines_of(app)))
        await pilot.press("space")
        heads.append("\n".join(lines_of(app)))

    with_monitor(steps)
    assert "FROZEN 8 s ago" in heads[0]
    assert "other [4711]" not in heads[0]
    assert "FROZEN" not in heads[1]
    assert "other [4711]" in heads[1]


def test_s_cycles_through_the_sort_orders() -> None:
    orders: list[str] = []

    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        app.show_frame(frame())
        for _ in range(4):
            orders.extend(re.findall(r"by (\w+)", "".join(lines_of(app))))
            await pilot.press("s")

    with_monitor(steps)
    assert orders == ["cost", "rate", "cpu", "cost"]


def test_a_toggles_the_culprits_of_all_cpus() -> None:
    texts: list[str] = []

    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        app.show_frame(frame(4, _CULPRITS))
        for _ in range(3):
            texts.append("".join(lines_of(app)))
            await pilot.press("a")

    with_monitor(steps)
    assert ["away [4711]" in text for text in texts] == [False, True, False]


@pytest.mark.parametrize("key", ["question_mark", "x"])
def test_any_key_closes_the_help(key: str) -> None:
    assert "benchmark-host" in screen_after("question_mark", key, frames=_FRAMES)[0]


@pytest.mark.parametrize(
    ("keys", "first"),
    [(["pagedown", "pagedown"], 20), (["pagedown", "pageup"], 0), (["pagedown"], 10)],
    ids=str,
)
def test_page_keys_scroll_the_cpus(keys: list[str], first: int) -> None:
    lines: list[str] = []

    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        app.model.sort = SortOrder.CPU
        app.show_frame(frame(64))
        await pilot.press(*keys)
        lines.extend(lines_of(app))

    with_monitor(steps, size=(100, 24))
    assert cpu_order(lines)[0] == first


def test_after_scrolling_past_the_end_one_press_scrolls_back() -> None:
    orders: list[list[int]] = []

    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        app.model.sort = SortOrder.CPU
        app.show_frame(frame(64))
        await pilot.press(*["pagedown"] * 7)
        orders.append(cpu_order(lines_of(app)))
        await pilot.press("pageup")
        orders.append(cpu_order(lines_of(app)))

    with_monitor(steps, size=(100, 24))
    assert orders[0][-1] == 63
    assert orders[1] == [cpu - 10 for cpu in orders[0]]


def test_arrows_select_a_source_on_the_overview_and_enter_opens_its_cpu() -> None:
    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        app.show_frame(frame(4, (culprit("one", cpu=3), culprit("two", cpu=2, lost_ns=1.0)), target=(2, 3)))
        await pilot.press("down", "enter")

    assert with_monitor(steps).model.cpu == 2


def test_arrows_scroll_the_help() -> None:
    first = screen_after("question_mark", frames=_FRAMES, size=(80, 16))
    assert first[-1].strip() == "↑ ↓ scroll; any other key closes"
    third = screen_after("question_mark", "down", "down", frames=_FRAMES, size=(80, 16))
    assert third[:2] == [first[0], first[3]]
    assert "* several" in "".join(screen_after("question_mark", *["pagedown"] * 12, frames=_FRAMES, size=(80, 16)))


def test_end_scrolls_the_help_to_its_last_row_and_one_press_scrolls_back() -> None:
    last, back, first = (
        screen_after("question_mark", "end", *keys, frames=_FRAMES, size=(80, 16)) for keys in ([], ["up"], ["home"])
    )
    assert last[2:15] != back[2:15]
    assert last[1:14] == back[2:15]
    assert first == screen_after("question_mark", frames=_FRAMES, size=(80, 16))


def test_escape_closes_advice_before_it_leaves_the_screen_of_a_cpu() -> None:
    screens: list[str] = []

    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        app.show_frame(frame(4, _CULPRITS))
        await pilot.press("enter")
        app.model.advice = Advice(_CULPRITS[0], ("It helps.",))
        for _ in range(2):
            await pilot.press("escape")
            screens.append(app.model.screen)

    with_monitor(steps)
    assert screens == ["cpu", "overview"]


def test_keys_before_the_first_frame_do_no_harm() -> None:
    lines: list[str] = []

    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        await pilot.press("space", "s", "a", "down", "space")
        app.show_frame(frame())
        lines.extend(lines_of(app))

    with_monitor(steps)
    assert "by rate" in "".join(lines)


def test_markup_in_names_is_drawn_as_plain_text() -> None:
    names = ["[bold red]x[/]", "[/foo]", "[/]", "[@click=app.quit]x[/]", "$x {y} %s"]
    lines = screen_after(
        frames=(frame(culprits=tuple(map(culprit, names)), machine="[/foo]", remark="[bold red]x[/]"),)
    )
    assert "[/foo]" in lines[0]
    assert "[bold red]x[/]" in lines[2]
    assert [name for name in names if f"{name} [4711]" not in "".join(lines)] == []


def test_many_resizes_do_no_harm() -> None:
    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        def fills(height: int) -> bool:
            return len(lines_of(app)) == height

        for width, height in [(1, 1), (200, 60), (1, 60), (80, 24), (200, 1), (7, 7), (1, 1), (100, 30)]:
            app.show_frame(frame(64, _CULPRITS))
            await pilot.resize_terminal(width, height)
            await until(pilot, partial(fills, height))

    with_monitor(steps)


def test_after_a_resize_the_screen_has_the_new_size() -> None:
    lines: list[str] = []

    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        app.show_frame(frame((cpu_line(0), cpu_line(1, "target"))))
        await pilot.resize_terminal(60, 20)
        lines.extend(lines_of(app))

    with_monitor(steps)
    assert lines[1].startswith(" STABLE ")
    assert {len(line) for line in lines} == {60}
