"""The sentence in the second row of a screen, which sums up the screen's own subject."""

from __future__ import annotations

import re

import pytest
from msgspec.structs import replace

from noisewatch.judgement.terms import Gravity
from noisewatch.kinds import Kind
from noisewatch.operations.frame.frame import CauseLine, FindingLine, Frame, IrqLine, IrqSetting
from noisewatch.surfaces.tui.draw.glyphs import UNICODE
from noisewatch.surfaces.tui.draw.text_row import Row, cut_at_word
from noisewatch.surfaces.tui.screens.table import rows_of_screen
from noisewatch.surfaces.tui.state.screen_model import Screen, ScreenModel
from tests.surfaces.tui.framing import cpu_line, culprit, frame, model_of, text_of

_TICK = IrqSetting("LOC", Kind.TICK, "Local timer interrupts")
_CARD = IrqSetting("205", Kind.IRQ, "eth0-TxRx-3", allowed="3", effective="3")
_TICKED = IrqLine("LOC", (2, 3), (1.0, 1.0))
_STORM = (IrqLine("205", (0, 3), (90_000.0, 41_235.0)), IrqLine("206", (2,), (7.0,)), _TICKED)


def _frame(second: int = 1, khz: int = 3_000_000, **rest: object) -> Frame:
    cpus = (cpu_line(2, "target"), cpu_line(3, "target", current_khz=khz))
    given = {"irqs": (_TICKED,), "irq_settings": (_TICK, _CARD), "verdict": "unstable", **rest}
    return frame(cpus, (), second, **given)  # type: ignore[arg-type]  # passed through


def _said(model: ScreenModel, screen: Screen, width: int = 140) -> str:
    model.go_to(screen)
    return text_of(rows_of_screen(model, width, 30, UNICODE)[1])


def test_the_irqs_screen_names_the_irq_that_interrupts_a_target_cpu_most() -> None:
    said = _said(model_of(_frame(irqs=_STORM)), Screen.IRQS)
    assert "41 200/s interrupt target CPU 3  ◂ IRQ 205 eth0-TxRx-3" in said
    assert "no device interrupts a target CPU" in _said(model_of(_frame()), Screen.IRQS)
    assert "worst CPU" in _said(model_of(_frame(irqs=None)), Screen.IRQS)


def test_the_clock_screen_tells_how_far_the_clocks_of_the_target_moved() -> None:
    moved = model_of(_frame(), _frame(2, 2_400_000))
    assert "target 2-3: 2.4 to 3 GHz, spread 20%" in _said(moved, Screen.CLOCK)
    assert "target 2-3: 3 GHz, steady" in _said(model_of(_frame()), Screen.CLOCK)
    assert _said(moved, Screen.CLOCK).endswith("   c measure ")


def test_a_copy_and_a_measurement_are_offered_only_where_there_is_one() -> None:
    turbo = replace(frame(4, failed=("turbo-enabled",)).findings[0], fix="echo 1", is_command=True)
    by_hand = replace(turbo, id="clock-capped", fix="cool it", is_command=False)
    for findings, offered in (((turbo,), True), ((by_hand,), False), ((by_hand, turbo), True)):
        model = model_of(_frame(findings=findings))
        assert ("y copy fix" in _said(model, Screen.CLOCK)) == offered
        assert ("y copy fix" in _said(model, Screen.PREFLIGHT)) == (findings[0] is turbo)
        text = " ".join(text_of(row) for row in rows_of_screen(model, 140, 34, UNICODE))
        assert ("y copy " in text) == (findings[0] is turbo)
    recorded = model_of(_frame(findings=(turbo,), origin="replay of x.nw"))
    assert _said(recorded, Screen.CLOCK).endswith("y copy fix ")
    for screen in Screen:
        recorded.go_to(screen)
        text = " ".join(text_of(row) for row in rows_of_screen(recorded, 200, 34, UNICODE))
        assert not re.search(" c (measure|calibrate)|c measures| t trace", text)


def test_the_clock_screen_says_which_command_is_copied() -> None:
    turbo = replace(frame(4, failed=("turbo-enabled",)).findings[0], fix="echo 1", is_command=True)
    by_hand = replace(turbo, id="clock-capped", fix="cool it", is_command=False)
    cases = {
        (turbo,): "y copies the first · ",
        (by_hand, turbo): "y copies the first command · ",
        (by_hand,): None,
    }
    for findings, said in cases.items():
        model = model_of(_frame(findings=findings))
        model.go_to(Screen.CLOCK)
        text = "\n".join(text_of(row) for row in rows_of_screen(model, 140, 40, UNICODE))
        assert (said in text) if said is not None else ("y copies" not in text)


def test_of_a_single_look_the_checks_are_named_once() -> None:
    model = model_of(_frame(seconds=0.0, failed=("cpu-quota",), origin="copied tree"))
    rows = [text_of(row) for row in rows_of_screen(model, 200, 34, UNICODE)]
    assert ["cpu-quota" in row for row in rows[:3]] == [False, True, False]


def test_of_a_cpu_without_a_tick_no_clock_is_called_steady() -> None:
    half = _frame(irqs=(IrqLine("LOC", (2,), (1.0,)),))
    assert "3 GHz, steady  unknown on CPU 3" in _said(model_of(half), Screen.CLOCK)
    assert "steady" not in _said(model_of(_frame(irqs=())), Screen.CLOCK)


def test_a_clock_that_cannot_be_read_any_more_is_not_called_steady() -> None:
    lost = [
        replace(_frame(second), cpus=(cpu_line(2, "target"), cpu_line(3, "target", current_khz=None)))
        for second in range(3, 9)
    ]
    model = model_of(_frame(), _frame(2), *lost)
    assert "3 GHz, steady  unknown on CPU 3" in _said(model, Screen.CLOCK)
    model.go_to_number(1)
    assert "3 GHz, steady" in _said(model, Screen.CLOCK)
    assert "unknown" not in _said(model, Screen.CLOCK)


def test_of_a_cpu_whose_interrupts_were_not_counted_nobody_says_that_no_device_interrupts_it() -> None:
    came = (cpu_line(2, "target"), cpu_line(3, "target", None, interrupts_per_s=None))
    said = _said(model_of(_frame(), replace(_frame(2), cpus=came)), Screen.IRQS)
    assert "no device interrupts a target CPU" not in said
    assert "interrupts unknown on CPU 3" in said
    said = _said(model_of(_frame(), replace(_frame(2, irqs=_STORM[1:]), cpus=came)), Screen.IRQS)
    assert "7/s interrupt target CPU 2" in said
    assert "unknown on CPU 3" in said


def test_of_a_target_that_is_offline_nobody_says_that_no_device_interrupts_it() -> None:
    gone = (cpu_line(2), cpu_line(3, "offline", None, interrupts_per_s=None))
    model = model_of(_frame(), replace(_frame(2), cpus=gone, target=(3,)))
    assert "no target CPU is online" in _said(model, Screen.IRQS)


def test_the_map_calls_nothing_calm_of_which_nothing_is_known() -> None:
    blind = (cpu_line(2, "target", None), cpu_line(3, "target", None))
    model = model_of(*(replace(_frame(second), cpus=blind) for second in range(1, 5)))
    assert "noise of the target CPUs unknown in all of 4 intervals" in _said(model, Screen.MAP)
    model.add(_frame(5))
    assert "no target CPU over 0.5% in 1 interval, 4 unknown" in _said(model, Screen.MAP)


def test_the_map_names_a_target_cpu_that_was_never_read() -> None:
    def half(second: int, loud_ns: float) -> Frame:
        return replace(_frame(second), cpus=(cpu_line(2, "target", loud_ns), cpu_line(3, "target", None)))

    model = model_of(*(half(second, 2e6) for second in range(1, 5)))
    assert "noise of the target CPUs unknown in all of 4 intervals: CPU 3" in _said(model, Screen.MAP)
    model.add(_frame(5))
    assert "no target CPU over 0.5% in 1 interval, 4 unknown on CPU 3" in _said(model, Screen.MAP)
    model = model_of(half(1, 6e6))
    assert "over 0.5% in 1 of 1 intervals on CPU 2, unknown on CPU 3" in _said(model, Screen.MAP)


def test_the_preflight_screen_counts_what_blocks_and_its_causes() -> None:
    failing = _frame(failed=("target-cpu-busy", "cpu-quota"), unknown=("hypervisor-steal",))
    findings = tuple(replace(each, cause=1) for each in failing.findings)
    failing = replace(failing, findings=findings, causes=(CauseLine(said="one of them"),))
    said = _said(model_of(failing), Screen.PREFLIGHT)
    assert "2 checks block, 1 unknown blocks: 1 of 1 cause  ◂ target-cpu-busy" in said
    assert "40 checks pass, 0 warn" in _said(model_of(_frame(verdict="stable")), Screen.PREFLIGHT)


def test_the_preflight_screen_names_what_is_unknown_and_calls_nothing_calm_under_an_unknown_verdict() -> None:
    lines = tuple(
        FindingLine(id=f"check-{at}", status="unknown", weight="warning", gravity=Gravity.OPEN, said="x")
        for at in range(4)
    )
    model = model_of(_frame(verdict="stable", findings=lines, passed=5))
    assert "5 checks pass, 0 warn, 4 unknown: check-0, check-1, check-2 …" in _said(model, Screen.PREFLIGHT)
    assert "5 checks pass, 0 warn, 4 unknown" in _said(model, Screen.PREFLIGHT, 60)
    for verdict, is_calm in (("stable", True), ("unknown", False)):
        model = model_of(_frame(verdict=verdict, passed=5))
        model.go_to(Screen.PREFLIGHT)
        row = rows_of_screen(model, 140, 30, UNICODE)[1]
        assert (("5 checks pass", "calm") in row) == is_calm


@pytest.mark.parametrize(("width", "kept"), [(24, "two words and a longer …"), (20, "two words and a …"), (3, "tw…")])
def test_a_sentence_is_cut_between_words(width: int, kept: str) -> None:
    row: Row = [("two words ", "plain"), ("and a longer sentence", "strong")]
    assert text_of(cut_at_word(row, width)) == kept


@pytest.mark.parametrize("screen", [Screen.MAP, Screen.IRQS, Screen.CLOCK, Screen.PREFLIGHT])
def test_where_the_target_is_noisy_each_screen_names_the_culprit_first_and_its_own_sentence_second(
    screen: Screen,
) -> None:
    hog = culprit("hog", 3, 3e8)
    cpus = (cpu_line(2, "target"), cpu_line(3, "target", 3e8))
    noisy = replace(_frame(failed=("target-cpu-busy",)), cpus=cpus, culprits=(hog,))
    own = {
        Screen.MAP: "over 0.5% in 1 of 1 intervals",
        Screen.IRQS: "no device interrupts a target CPU",
        Screen.CLOCK: "3 GHz, steady",
        Screen.PREFLIGHT: "1 check blocks",
    }[screen]
    said = _said(model_of(noisy), screen, 200)
    assert 0 < said.index("worst CPU 3: 300 ms/s") < said.index("◂ thread hog [4711]") < said.index(own)
    narrow = _said(model_of(noisy), screen, 80)
    assert "◂ thread hog [4711]" in narrow
    passing = _said(model_of(replace(noisy, verdict="stable", findings=())), screen)
    assert "over its limit now  worst CPU 3" in passing
    assert "◂ thread hog [4711]" in passing


def test_the_irqs_screen_offers_the_fix_of_the_irq_that_is_to_blame_and_of_no_other() -> None:
    cpus = (cpu_line(0), cpu_line(2, "target"), cpu_line(3, "target", 3e8))
    irqs = (IrqLine("206", (0,), (50_000.0,)), IrqLine("205", (3,), (21_235.0,)))
    card = culprit("205 eth0-TxRx-3", 3, 3e8, kind=Kind.IRQ, pid=None, tid=None, irq=205, rate_per_s=41_235.0)
    harmless = IrqSetting("206", Kind.IRQ, "eth1", allowed="0", effective="0")
    model = model_of(replace(_frame(irqs=irqs, irq_settings=(_CARD, harmless)), cpus=cpus, culprits=(card,)))
    assert "f fix" not in _said(model, Screen.IRQS, 200)
    model.select(1)
    assert text_of(rows_of_screen(model, 200, 30, UNICODE)[1]).endswith(" f fix  p preflight ")
