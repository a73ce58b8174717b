"""Checks by area in the monitor: an area is selected or opened, or all checks are listed."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from textual.pilot import Pilot

from noisewatch.judgement.catalogue import CATALOGUE
from noisewatch.judgement.terms import Area
from noisewatch.operations.frame.frame import FindingLine
from noisewatch.surfaces.tui.app.monitor import MonitorApp
from noisewatch.surfaces.tui.app.sampler_process import SamplerProcess
from noisewatch.surfaces.tui.state.screen_model import Screen, ScreenModel
from tests.surfaces.tui.app.piloting import key_of, with_monitor
from tests.surfaces.tui.framing import model_of, screen_text
from tests.surfaces.tui.screens.causes import HOG_IN_TWO, by_cause


def _selected(model: ScreenModel) -> tuple[Area | None, FindingLine | None]:
    return model.area, model.selected_finding()


@pytest.mark.parametrize("size", [(80, 24), (120, 34)])
def test_arrows_move_from_the_causes_into_the_areas_and_back(size: tuple[int, int]) -> None:
    model = model_of(by_cause())
    model.go_to("preflight")
    model.select(3)
    assert _selected(model) == (None, HOG_IN_TWO[-1])
    model.select(1)
    assert model.area == next(iter(Area))
    model.select(2)
    assert model.area == Area.ISOLATION
    for check in CATALOGUE:
        assert (check.id in screen_text(model, *size)) == (check.area == Area.ISOLATION or check.id in _CAUSE_CHECKS)
    model.select(99)
    assert model.area == list(Area)[-1]
    model.select(-len(Area))
    assert _selected(model) == (None, HOG_IN_TWO[-1])


_CAUSE_CHECKS = ("tasks-on-target", "target-cpu-busy", "turbo-enabled", "swapping", "processor-hot")


@pytest.mark.parametrize("size", [(80, 24), (120, 34)])
def test_enter_opens_an_area_arrows_scroll_it_and_escape_closes_it(size: tuple[int, int]) -> None:
    model = model_of(by_cause())
    model.go_to("preflight")
    model.select(4 + list(Area).index(Area.INTERRUPTS))
    model.toggle_check()
    text = ""
    for _ in range(60):
        text += screen_text(model, *size)
        model.select(1)
    letters = "".join(text.replace("│", " ").split())  # a line may end at a hyphen
    for check in CATALOGUE:
        if check.area == Area.INTERRUPTS:
            assert check.question.replace(" ", "") in letters
            assert f"why: {check.why}".replace(" ", "") in letters
    assert model.area == Area.INTERRUPTS
    model.go_back()
    assert (model.opens_check, model.area, model.screen) == (False, Area.INTERRUPTS, "preflight")


def test_v_toggles_the_list_of_all_checks_with_their_answers() -> None:
    model = model_of(by_cause())
    model.go_to("preflight")
    model.toggle_all_checks()
    text = ""
    for _ in range(len(CATALOGUE) + len(Area)):
        text += screen_text(model, 140, 40)
        model.select(1)
    assert [check.id for check in CATALOGUE if check.id not in text] == []
    assert "hog (pid 7): 48% of CPU 3 (limit 0.5%)" in text
    model.toggle_all_checks()
    assert "what to do" in screen_text(model, 140, 40)


def test_on_the_largest_screen_all_areas_are_open() -> None:
    model = model_of(by_cause())
    model.go_to("preflight")
    text = screen_text(model, 300, 80)
    assert [check.id for check in CATALOGUE if check.id not in text] == []
    assert "Is any device's interrupt routed to a target CPU?" in text


def test_a_passed_check_shows_its_answer_if_it_is_known() -> None:
    interval = replace(by_cause(), answers={"irqbalance-may-move-irqs": "irqbalance is not running"})
    model = model_of(interval)
    model.go_to("preflight")
    model.select(4 + list(Area).index(Area.INTERRUPTS))
    assert "irqbalance is not running" in screen_text(model, 120, 34)
    assert "irqbalance is not running" in screen_text(model, 80, 24)


def test_answers_are_requested_while_the_screen_is_open() -> None:
    requests: list[object] = []

    async def open_and_leave(app: MonitorApp, pilot: Pilot[None]) -> None:
        app._sampler = sampler = SamplerProcess(())
        for key in (key_of(Screen.PREFLIGHT), key_of(Screen.OVERVIEW)):
            await pilot.press(key)
            requests.append(sampler.asked.get("answers"))
        app._sampler = None

    with_monitor(open_and_leave)
    assert requests == [True, False]
