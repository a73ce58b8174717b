"""The second row of every screen: verdict, what matters most, whose doing it is, and what a screen sums up itself."""

from __future__ import annotations

import re
from typing import Any

import pytest
from msgspec.structs import replace

from noisewatch.judgement.terms import Gravity
from noisewatch.kinds import Kind
from noisewatch.operations.frame.frame import CauseLine, FindingLine, Frame, IrqLine, IrqSetting
from noisewatch.surfaces.drawing.glyphs import ASCII, UNICODE
from noisewatch.surfaces.drawing.text_row import Row, cut_at_word
from noisewatch.surfaces.tui.draw.headline import headline_row
from noisewatch.surfaces.tui.screens.page import tab_row
from noisewatch.surfaces.tui.screens.table import rows_of_screen
from noisewatch.surfaces.tui.state.screen_model import Screen, ScreenModel
from tests.surfaces.tui.framing import cpu_line, culprit, frame, model_of, screen, text_of

_IRQ = culprit("205 eth0", 3, 3e8, kind=Kind.IRQ, pid=None, tid=None, irq=205, rate_per_s=41_200.0)


def _said(model: ScreenModel, width: int = 140) -> str:
    return text_of(headline_row(model, width, UNICODE))


def _noisy(verdict: str = "unstable") -> ScreenModel:
    cpus = (cpu_line(2, "target"), cpu_line(3, "target", 3.3e8))
    return model_of(frame(cpus, (_IRQ, culprit("cron", 2)), verdict=verdict, failed=("target-cpu-busy",)))


def test_it_names_the_worst_cpu_its_noise_the_limit_and_the_culprit() -> None:
    assert _said(_noisy()).startswith(" UNSTABLE  worst CPU 3: 330 ms/s (33%, limit 0.5%)  ◂ irq 205 eth0: 41 200/s")


def test_beside_a_stable_verdict_it_says_which_cpus_are_over_their_limit_now() -> None:
    stable = _noisy("stable")
    assert _said(stable).startswith(" STABLE over 5 s  CPU 3 over its limit now  worst CPU 3: 330 ms/s")
    assert _said(stable).endswith(" f fix  p preflight ")
    assert headline_row(stable, 140, UNICODE)[0][1] != "good"
    assert "over its limit now" in _said(stable, 60)
    assert "over its limit now" not in _said(_noisy())
    assert _said(model_of(frame(4))).startswith(" STABLE  worst CPU")


def test_the_keys_that_help_stand_at_the_right_unless_all_is_well() -> None:
    assert _said(_noisy()).endswith(" f fix  p preflight ")
    assert "fix" not in _said(model_of(frame(4)))


def test_of_a_quiet_machine_it_tells_what_fails_first() -> None:
    said = _said(model_of(frame(4, verdict="unstable", failed=("cpu-quota",))))
    assert said.startswith(" UNSTABLE  failing (5 s): cpu-quota  worst CPU 3: 20 µs/s")


def test_where_a_cpu_could_not_be_read_nothing_is_called_the_worst() -> None:
    said = _said(model_of(frame((cpu_line(2, "target"), cpu_line(3, "target", None)))))
    assert "noise unknown on CPU 3" in said
    assert "worst" not in said


@pytest.mark.parametrize(
    ("loud_ns", "told"),
    [
        (2e6, "  noise unknown on CPU 3  CPU 2: 2.0 ms/s"),
        (9e6, "worst CPU 2: 9.0 ms/s (0.9%, limit 0.5%)  CPU 3 unknown"),
    ],
)
def test_beside_the_noise_of_a_cpu_the_unknown_one_is_named(loud_ns: float, told: str) -> None:
    said = _said(model_of(frame((cpu_line(2, "target", loud_ns), cpu_line(3, "target", None)))))
    assert told in said


def test_on_a_narrow_screen_the_limit_goes_before_the_culprit() -> None:
    said = _said(_noisy(), 60)
    assert "205 eth0" in said
    assert "limit" not in said


def test_without_a_target_it_says_so() -> None:
    assert "there is no target CPU" in _said(model_of(frame((cpu_line(0),))))


def test_it_has_no_sign_that_ascii_lacks() -> None:
    assert "<" in text_of(headline_row(_noisy(), 140, ASCII))


def test_the_tabs_name_all_screens_and_mark_the_one_that_is_shown() -> None:
    model = model_of(frame(4))
    model.go_to(Screen.MAP)
    wide, narrow = (text_of(tab_row(model, width, UNICODE)) for width in (140, 70))
    assert all(screen in wide for screen in Screen)
    assert "[2 map]" in wide
    assert "[2 map]" in narrow
    assert "events" not in narrow


def test_what_is_said_of_the_machine_gives_way_to_the_names_of_the_tabs() -> None:
    model = model_of(frame(4, origin="replay of x.nw"))
    names = "[1 overview]"
    wide, middle = (text_of(tab_row(model, width, UNICODE)) for width in (160, 116))
    assert ("4 CPUs" in wide, names in wide) == (True, True)
    assert ("4 CPUs" in middle, "2 map" in middle, "replay of x.nw" in middle) == (False, True, True)


def test_the_keys_come_before_the_device_of_an_irq() -> None:
    cpus = (cpu_line(2, "target"), cpu_line(3, "target", 3.3e8))
    named = replace(_IRQ, name="205 eth0 (Ethernet Controller of a long name)")
    model = model_of(frame(cpus, (named,), verdict="unstable"))
    assert "◂ irq 205 eth0: 41 200/s" in _said(model, 100)
    assert _said(model, 100).endswith("f fix  p preflight ")
    assert "of a long name): 41 200/s" in _said(model, 140)


def _two_culprits() -> ScreenModel:
    cpus = (cpu_line(2, "target", 2e8), cpu_line(3, "target", 3.3e8))
    loop, cron = culprit("sh", 3, 3e8, pid=6291, tid=6291), culprit("cron", 2, 2e8)
    return model_of(frame(cpus, (loop, cron), verdict="unstable", failed=("target-cpu-busy",)))


def test_the_fix_is_offered_only_while_the_selected_row_is_the_culprit_that_is_named() -> None:
    model = _two_culprits()
    assert "◂ thread sh [6291]" in _said(model)
    assert _said(model).endswith(" f fix  p preflight ")
    model.select(1)
    assert "◂ thread sh [6291]" in _said(model)
    assert _said(model).endswith(" p preflight ")
    assert "f fix" not in _said(model)


def test_no_fix_is_offered_where_no_culprit_is_named() -> None:
    assert "f fix" not in _said(model_of(frame(4, verdict="unstable", failed=("cpu-quota",))))


def test_softirqs_have_the_irq_that_is_likely_to_raise_them() -> None:
    cpus = (cpu_line(2, "target"), cpu_line(3, "target", 3.3e8))
    softirq = culprit("NET_RX", 3, 3e8, kind=Kind.SOFTIRQ, pid=None, tid=None, rate_per_s=41_200.0)
    irq = replace(_IRQ, name="205 eth0-TxRx-5 (Card)", stolen_ns_per_s=9e6)
    model = model_of(frame(cpus, (softirq, irq), verdict="unstable"))
    assert "◂ softirq NET_RX, likely by IRQ 205 eth0-TxRx-5: 41 200/s" in _said(model)
    assert "likely by IRQ 205" in _said(model, 80)
    timers = model_of(frame(cpus, (replace(softirq, name="TIMER"), irq), verdict="unstable"))
    assert "likely by" not in _said(timers)


_TICK = IrqSetting("LOC", Kind.TICK, "Local timer interrupts")
_CARD = IrqSetting("205", Kind.IRQ, "eth0-TxRx-3", allowed="3", effective="3")
_TICKED = IrqLine("LOC", (2, 3), (1.0, 1.0))
_STORM = (IrqLine("205", (0, 3), (90_000.0, 41_235.0)), IrqLine("206", (2,), (7.0,)), _TICKED)


def _frame(second: int = 1, khz: int = 3_000_000, **rest: object) -> Frame:
    cpus = (cpu_line(2, "target"), cpu_line(3, "target", current_khz=khz))
    given = {"irqs": (_TICKED,), "irq_settings": (_TICK, _CARD), "verdict": "unstable", **rest}
    return frame(cpus, (), second, **given)  # type: ignore[arg-type]  # passed through


def _said_on(model: ScreenModel, screen: Screen, width: int = 140) -> str:
    model.go_to(screen)
    return text_of(rows_of_screen(model, width, 30, UNICODE)[1])


def test_the_irqs_screen_names_the_irq_that_interrupts_a_target_cpu_most() -> None:
    said = _said_on(model_of(_frame(irqs=_STORM)), Screen.IRQS)
    assert "41 200/s interrupt target CPU 3  ◂ IRQ 205 eth0-TxRx-3" in said
    assert "no device interrupts a target CPU" in _said_on(model_of(_frame()), Screen.IRQS)
    assert "worst CPU" in _said_on(model_of(_frame(irqs=None)), Screen.IRQS)


def test_the_clock_screen_tells_how_far_the_clocks_of_the_target_moved() -> None:
    moved = model_of(_frame(), _frame(2, 2_400_000))
    assert "target 2-3: 2.4 to 3 GHz, spread 20%" in _said_on(moved, Screen.CLOCK)
    assert "target 2-3: 3 GHz, steady" in _said_on(model_of(_frame()), Screen.CLOCK)
    assert _said_on(moved, Screen.CLOCK).endswith("   c measure ")


def test_a_copy_and_a_measurement_are_offered_only_where_there_is_one() -> None:
    turbo = replace(frame(4, failed=("turbo-enabled",)).findings[0], fix="echo 1", is_command=True)
    by_hand = replace(turbo, id="clock-capped", fix="cool it", is_command=False)
    for findings, offered in (((turbo,), True), ((by_hand,), False), ((by_hand, turbo), True)):
        model = model_of(_frame(findings=findings))
        assert ("y copy fix" in _said_on(model, Screen.CLOCK)) == offered
        assert ("y copy fix" in _said_on(model, Screen.PREFLIGHT)) == (findings[0] is turbo)
        text = " ".join(text_of(row) for row in rows_of_screen(model, 140, 34, UNICODE))
        assert ("y copy " in text) == (findings[0] is turbo)
    recorded = model_of(_frame(findings=(turbo,), origin="replay of x.nw"))
    assert _said_on(recorded, Screen.CLOCK).endswith("y copy fix ")
    for shown in Screen:
        recorded.go_to(shown)
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
    assert "3 GHz, steady  unknown on CPU 3" in _said_on(model_of(half), Screen.CLOCK)
    assert "steady" not in _said_on(model_of(_frame(irqs=())), Screen.CLOCK)


def test_a_clock_that_cannot_be_read_any_more_is_not_called_steady() -> None:
    lost = [
        replace(_frame(second), cpus=(cpu_line(2, "target"), cpu_line(3, "target", current_khz=None)))
        for second in range(3, 9)
    ]
    model = model_of(_frame(), _frame(2), *lost)
    assert "3 GHz, steady  unknown on CPU 3" in _said_on(model, Screen.CLOCK)
    model.go_to_number(1)
    assert "3 GHz, steady" in _said_on(model, Screen.CLOCK)
    assert "unknown" not in _said_on(model, Screen.CLOCK)


def test_of_a_cpu_whose_interrupts_were_not_counted_nobody_says_that_no_device_interrupts_it() -> None:
    came = (cpu_line(2, "target"), cpu_line(3, "target", None, interrupts_per_s=None))
    said = _said_on(model_of(_frame(), replace(_frame(2), cpus=came)), Screen.IRQS)
    assert "no device interrupts a target CPU" not in said
    assert "interrupts unknown on CPU 3" in said
    said = _said_on(model_of(_frame(), replace(_frame(2, irqs=_STORM[1:]), cpus=came)), Screen.IRQS)
    assert "7/s interrupt target CPU 2" in said
    assert "unknown on CPU 3" in said


def test_of_a_target_that_is_offline_nobody_says_that_no_device_interrupts_it() -> None:
    gone = (cpu_line(2), cpu_line(3, "offline", None, interrupts_per_s=None))
    model = model_of(_frame(), replace(_frame(2), cpus=gone, target=(3,)))
    assert "no target CPU is online" in _said_on(model, Screen.IRQS)


def test_the_map_calls_nothing_calm_of_which_nothing_is_known() -> None:
    blind = (cpu_line(2, "target", None), cpu_line(3, "target", None))
    model = model_of(*(replace(_frame(second), cpus=blind) for second in range(1, 5)))
    assert "noise of the target CPUs unknown in all of 4 intervals" in _said_on(model, Screen.MAP)
    model.add(_frame(5))
    assert "no target CPU over 0.5% in 1 interval, 4 unknown" in _said_on(model, Screen.MAP)


def test_the_map_names_a_target_cpu_that_was_never_read() -> None:
    def half(second: int, loud_ns: float) -> Frame:
        return replace(_frame(second), cpus=(cpu_line(2, "target", loud_ns), cpu_line(3, "target", None)))

    model = model_of(*(half(second, 2e6) for second in range(1, 5)))
    assert "noise of the target CPUs unknown in all of 4 intervals: CPU 3" in _said_on(model, Screen.MAP)
    model.add(_frame(5))
    assert "no target CPU over 0.5% in 1 interval, 4 unknown on CPU 3" in _said_on(model, Screen.MAP)
    model = model_of(half(1, 6e6))
    assert "over 0.5% in 1 of 1 intervals on CPU 2, unknown on CPU 3" in _said_on(model, Screen.MAP)


def test_the_preflight_screen_counts_what_blocks_and_its_causes() -> None:
    failing = _frame(failed=("target-cpu-busy", "cpu-quota"), unknown=("hypervisor-steal",))
    findings = tuple(replace(each, cause=1) for each in failing.findings)
    failing = replace(failing, findings=findings, causes=(CauseLine(said="one of them"),))
    said = _said_on(model_of(failing), Screen.PREFLIGHT)
    assert "2 checks block, 1 unknown blocks: 1 of 1 cause  ◂ target-cpu-busy" in said
    assert "40 checks pass, 0 warn" in _said_on(model_of(_frame(verdict="stable")), Screen.PREFLIGHT)


def test_the_preflight_screen_names_what_is_unknown_and_calls_nothing_calm_under_an_unknown_verdict() -> None:
    lines = tuple(
        FindingLine(id=f"check-{at}", status="unknown", weight="warning", gravity=Gravity.OPEN, said="x")
        for at in range(4)
    )
    model = model_of(_frame(verdict="stable", findings=lines, passed=5))
    assert "5 checks pass, 0 warn, 4 unknown: check-0, check-1, check-2 …" in _said_on(model, Screen.PREFLIGHT)
    assert "5 checks pass, 0 warn, 4 unknown" in _said_on(model, Screen.PREFLIGHT, 60)
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
    said = _said_on(model_of(noisy), screen, 200)
    assert 0 < said.index("worst CPU 3: 300 ms/s") < said.index("◂ thread hog [4711]") < said.index(own)
    narrow = _said_on(model_of(noisy), screen, 80)
    assert "◂ thread hog [4711]" in narrow
    passing = _said_on(model_of(replace(noisy, verdict="stable", findings=())), screen)
    assert "over its limit now  worst CPU 3" in passing
    assert "◂ thread hog [4711]" in passing


def test_the_irqs_screen_offers_the_fix_of_the_irq_that_is_to_blame_and_of_no_other() -> None:
    cpus = (cpu_line(0), cpu_line(2, "target"), cpu_line(3, "target", 3e8))
    irqs = (IrqLine("206", (0,), (50_000.0,)), IrqLine("205", (3,), (21_235.0,)))
    card = culprit("205 eth0-TxRx-3", 3, 3e8, kind=Kind.IRQ, pid=None, tid=None, irq=205, rate_per_s=41_235.0)
    harmless = IrqSetting("206", Kind.IRQ, "eth1", allowed="0", effective="0")
    model = model_of(replace(_frame(irqs=irqs, irq_settings=(_CARD, harmless)), cpus=cpus, culprits=(card,)))
    assert "f fix" not in _said_on(model, Screen.IRQS, 200)
    model.select(1)
    assert text_of(rows_of_screen(model, 200, 30, UNICODE)[1]).endswith(" f fix  p preflight ")


_CPUS = (cpu_line(2, "target"), cpu_line(3, "target", 9.97e8))
_LOOP = culprit("updatedb", 3, 9.97e8, pid=334, tid=334)


def _looping(**rest: Any) -> ScreenModel:
    frames = [frame(_CPUS, (_LOOP,), second, verdict="unstable", failed=("tasks-on-target",)) for second in (1, 2, 3)]
    return model_of(*(replace(each, **rest) for each in frames))


@pytest.mark.parametrize("name", Screen)
@pytest.mark.parametrize("is_behind", [False, True])
@pytest.mark.parametrize("origin", [None, "replay of x.nw"])
@pytest.mark.parametrize("width", [20, 28, 40, 59])
def test_verdict_worst_cpu_and_culprit_are_in_the_head(
    width: int, origin: str | None, is_behind: bool, name: str
) -> None:
    model = _looping(origin=origin)
    model.go_to(name)
    model.cursor = 1 if is_behind else None
    head = " ".join(text_of(row) for row in rows_of_screen(model, width, 12, UNICODE)[:3])
    assert -1 < head.index("UNSTABLE") < head.index("CPU 3") < head.index("updatedb")


@pytest.mark.parametrize("height", [6, 12])
def test_at_twenty_columns_the_verdict_and_the_cpu_stand_above_the_culprit(height: int) -> None:
    rows = screen(_looping(), 20, height)
    at = next(at for at, row in enumerate(rows) if "UNSTABLE" in row)
    assert [row.rstrip() for row in rows[at : at + 2]] == [" UNSTABLE  CPU 3", "◂ updatedb [334]"]


def test_where_there_is_room_the_noise_is_told_as_well() -> None:
    rows = screen(_looping(origin="replay of x.nw"), 40, 7)
    assert rows[1].startswith("◂ thread updatedb [334]") == rows[0].startswith(" UNSTABLE  CPU 3: 997 ms/s")


def test_on_one_row_the_name_begins_at_least() -> None:
    assert screen(_looping(), 20, 4)[0] == "UNSTABLE CPU 3 upda…"
    assert screen(_looping(), 44, 4)[0].rstrip() == " UNSTABLE  CPU 3 ◂ thread updatedb [334]"


def test_an_irq_is_named_without_its_device() -> None:
    irq = culprit("205 eth0 (Ethernet Controller)", 3, 9e8, kind=Kind.IRQ, pid=None, tid=None, irq=205)
    model = model_of(frame(_CPUS, (irq,), verdict="unstable"))
    assert screen(model, 20, 12)[2].rstrip() == "◂ irq 205 eth0"


def test_which_snapshot_is_shown_stands_above() -> None:
    model = _looping(origin="replay of x.nw")
    model.cursor = 1
    assert screen(model, 40, 12)[0].startswith(" STOPPED at ")
    assert " of " in screen(model, 20, 12)[0]


def test_what_went_wrong_comes_before_what_was_seen() -> None:
    model = _looping()
    model.trouble = "the sampler ended: no space is left on the device"
    rows = screen(model, 20, 12)[:3]
    assert rows[0].startswith(" UNKNOWN")
    assert rows[1].rstrip() == "the sampler ended:"


def test_where_nobody_makes_noise_the_checks_are_named() -> None:
    model = model_of(frame(4, verdict="unstable", failed=("cpu-quota",)))
    assert [row.rstrip() for row in screen(model, 20, 12)[1:3]] == [" UNSTABLE", "cpu-quota"]


def test_a_wide_screen_says_it_in_one_row() -> None:
    rows = screen(_looping(), 60, 12)
    assert "updatedb" in rows[1]
    assert rows[2].startswith("target")
