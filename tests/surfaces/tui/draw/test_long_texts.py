"""What is too long for 80 columns says first what matters, or goes on below."""

from __future__ import annotations

from copy import copy

import pytest
from msgspec.structs import replace

from noisewatch.faults import describe_fault
from noisewatch.judgement.terms import Gravity
from noisewatch.operations.frame.frame import CauseLine
from noisewatch.surfaces.drawing.glyphs import UNICODE
from noisewatch.surfaces.tui.events.kinds import Event, EventKind
from noisewatch.surfaces.tui.overlays.calibration import CalibrationOverlay
from noisewatch.surfaces.tui.screens.table import rows_of_screen
from noisewatch.surfaces.tui.state.screen_model import Screen, ScreenModel
from tests.surfaces.tui.crowd import crowded
from tests.surfaces.tui.framing import SECOND_NS, frame, model_of, screen, screen_of, text_of
from tests.surfaces.tui.screens.causes import by_cause, finding_line

_FAULT = "internal error: ValueError: no such thing as was looked for here (clock_history.py:143); please report it"
_SETTLED = "--profile shared settles 3 blocking questions that no guest can answer"


def _of_guest() -> ScreenModel:
    names = ("governor-not-performance", "throttled", "hypervisor-steal")
    findings = tuple(finding_line(name, Gravity.UNANSWERED, 1) for name in names)
    cause = CauseLine(said=f"{_SETTLED}; or use bare metal", is_open=True)
    return model_of(replace(by_cause(), findings=findings, causes=(cause,)))


def test_how_a_guest_is_judged_comes_first_in_the_list_of_causes() -> None:
    assert any(f"? 1  {_SETTLED}" in row for row in screen_of(_of_guest(), Screen.PREFLIGHT, 80, 24))


def test_the_checks_beside_a_cause_give_way_to_what_is_said_whole() -> None:
    said = "seventy columns of a sentence that says what is wrong on that machine now"
    findings = tuple(finding_line(name, Gravity.FAILED, 1) for name in ("tasks-on-target", "target-cpu-busy"))
    model = model_of(replace(by_cause(), findings=findings, causes=(CauseLine(said=said),)))
    rows = {width: screen_of(model, Screen.PREFLIGHT, width, 24)[4].rstrip() for width in (60, 80, 99)}
    assert rows[80] == f"✗ 1  {said}"
    assert rows[99].endswith("  tasks-on-target, …")
    assert rows[60].endswith("…  tasks-on-target, …")


def test_why_comes_before_the_path_of_what_cannot_be_read() -> None:
    said = "/sys/devices/system/cpu/cpufreq/boost: no such file, and the folder is empty"
    model = model_of(replace(by_cause(), findings=(finding_line("turbo-enabled", Gravity.OPEN, None, said),)))
    rows = screen_of(model, Screen.PREFLIGHT, 80, 24)
    assert any("turbo-enabled  no such file, and the folder is empty (/sys/" in row for row in rows)


@pytest.mark.parametrize("width", [60, 70, 80])
def test_the_heading_of_the_checks_loses_details_whole(width: int) -> None:
    model = model_of(replace(by_cause(), findings=by_cause().findings * 12))
    heading = screen_of(model, Screen.PREFLIGHT, width, 24)[3]
    assert "more below" in heading
    assert "…" not in heading


@pytest.mark.parametrize("height", range(14, 30))
def test_no_heading_of_interrupts_stands_above_nothing(height: int) -> None:
    model = copy(crowded(16))
    rows = [row.strip() for row in screen_of(model, Screen.IRQS, 80, height)]
    at = rows.index("other interrupts") if "other interrupts" in rows else None
    assert at is None or not rows[at + 1].startswith(("all, per CPU", "IRQ "))


@pytest.mark.parametrize("width", [40, 60, 80])
def test_the_heading_of_the_events_is_not_cut(width: int) -> None:
    model = model_of(frame(4), frame(4, second=2))
    model.log.add(Event(SECOND_NS, EventKind.DEVICE, "sdb was added", 1))
    assert "…" not in screen_of(model, Screen.EVENTS, width, 24)[3]


@pytest.mark.parametrize("name", Screen)
def test_a_fault_that_a_key_met_is_told_to_its_last_word(name: str) -> None:
    model = model_of(frame(4))
    model.go_to(name)
    model.notice = f"could not do that: {_FAULT}"
    rows = [text_of(row) for row in rows_of_screen(model, 80, 24, UNICODE)]
    assert len(rows) == 24
    assert " ".join(" ".join(rows[-2:]).split()) == model.notice


@pytest.mark.parametrize("height", [2, 3, 8])
def test_on_a_low_screen_a_notice_leaves_the_verdict(height: int) -> None:
    model = model_of(frame(4, verdict="unstable"))
    model.notice = f"could not do that: {_FAULT}"
    rows = screen(model, 30, height)
    assert len(rows) == height
    assert "UNSTABLE" in " ".join(rows)


def test_an_overlay_tells_all_of_a_fault_as_well() -> None:
    overlay = CalibrationOverlay.of(frame(4))
    overlay.notice = f"could not do that: {_FAULT}"
    rows = [text_of(row) for row in overlay.rows(80, 24, True)]
    assert " ".join(" ".join(rows[-2:]).split()) == overlay.notice


def test_why_the_sampler_ended_goes_on_below_the_headline() -> None:
    model = model_of(frame(4))
    model.trouble = f"the sampler ended: {_FAULT}"
    rows = screen(model, 80, 24)
    assert rows[1].startswith(" UNKNOWN  the sampler ended: internal error: ")
    assert "(clock_history.py:143); please report it" in rows[2]


def test_of_a_long_error_the_place_is_told() -> None:
    try:
        raise ValueError("x" * 5000)
    except ValueError as error:
        said = describe_fault(error)
    assert len(said) < 200
    assert "… (test_long_texts.py:" in said
