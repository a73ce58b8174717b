"""Texts that are too long for 80 columns start with what matters, or continue below."""

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


def _guest_model() -> ScreenModel:
    names = ("governor-not-performance", "throttled", "hypervisor-steal")
    findings = tuple(finding_line(name, Gravity.UNANSWERED, 1) for name in names)
    cause = CauseLine(said=f"{_SETTLED}; or use bare metal", is_open=True)
    return model_of(replace(by_cause(), findings=findings, causes=(cause,)))


def test_how_a_guest_is_judged_comes_first_in_the_list_of_causes() -> None:
    assert any(f"? 1  {_SETTLED}" in row for row in screen_of(_guest_model(), Screen.PREFLIGHT, 80, 24))


def test_the_checks_next_to_a_cause_give_way_to_its_whole_text() -> None:
    text = "seventy columns of a sentence that says what is wrong on that machine now"
    findings = tuple(finding_line(name, Gravity.FAILED, 1) for name in ("tasks-on-target", "target-cpu-busy"))
    model = model_of(replace(by_cause(), findings=findings, causes=(CauseLine(said=text),)))
    rows = {width: screen_of(model, Screen.PREFLIGHT, width, 24)[4].rstrip() for width in (60, 80, 99)}
    assert rows[80] == f"✗ 1  {text}"
    assert rows[99].endswith("  tasks-on-target, …")
    assert rows[60].endswith("…  tasks-on-target, …")


def test_the_reason_comes_before_the_path_of_an_unreadable_file() -> None:
    reason = "/sys/devices/system/cpu/cpufreq/boost: no such file, and the folder is empty"
    model = model_of(replace(by_cause(), findings=(finding_line("turbo-enabled", Gravity.OPEN, None, reason),)))
    rows = screen_of(model, Screen.PREFLIGHT, 80, 24)
    assert any("turbo-enabled  no such file, and the folder is empty (/sys/" in row for row in rows)


@pytest.mark.parametrize("width", [60, 70, 80])
def test_the_heading_of_the_checks_loses_details_whole(width: int) -> None:
    model = model_of(replace(by_cause(), findings=by_cause().findings * 12))
    heading = screen_of(model, Screen.PREFLIGHT, width, 24)[3]
    assert "more below" in heading
    assert "…" not in heading


@pytest.mark.parametrize("height", range(14, 30))
def test_no_heading_of_interrupts_is_without_rows(height: int) -> None:
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
def test_a_fault_after_a_key_is_shown_in_full(name: str) -> None:
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


def test_an_overlay_shows_a_fault_in_full() -> None:
    overlay = CalibrationOverlay.of(frame(4))
    overlay.notice = f"could not do that: {_FAULT}"
    rows = [text_of(row) for row in overlay.rows(80, 24, True)]
    assert " ".join(" ".join(rows[-2:]).split()) == overlay.notice


def test_a_long_sampler_error_continues_below_the_headline() -> None:
    model = model_of(frame(4))
    model.trouble = f"the sampler ended: {_FAULT}"
    rows = screen(model, 80, 24)
    assert rows[1].startswith(" UNKNOWN  the sampler ended: internal error: ")
    assert "(clock_history.py:143); please report it" in rows[2]


def test_a_long_error_keeps_its_source_location() -> None:
    try:
        raise ValueError("x" * 5000)
    except ValueError as error:
        text = describe_fault(error)
    assert len(text) < 200
    assert "… (test_long_texts.py:" in text
