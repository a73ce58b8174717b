"""The second row of every screen: verdict, worst CPU, culprit, and the screen's own summary."""

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
from tests.surfaces.tui.framing import cpu_line, culprit, frame, model_of, screen, screen_text, text_of

_IRQ = culprit("205 eth0", 3, 3e8, kind=Kind.IRQ, pid=None, tid=None, irq=205, rate_per_s=41_200.0)


def _headline(model: ScreenModel, width: int = 140) -> str:
    return text_of(headline_row(model, width, UNICODE))


def _noisy_model(verdict: str = "unstable") -> ScreenModel:
    cpus = (cpu_line(2, "target"), cpu_line(3, "target", 3.3e8))
    return model_of(frame(cpus, (_IRQ, culprit("cron", 2)), verdict=verdict, failed=("target-cpu-busy",)))


def test_the_headline_names_the_worst_cpu_its_noise_the_limit_and_the_culprit() -> None:
    assert _headline(_noisy_model()).startswith(
        " UNSTABLE  worst CPU 3: 330 ms/s (33%, limit 0.5%)  ◂ irq 205 eth0: 41 200/s"
    )


def test_a_stable_verdict_is_followed_by_the_cpus_over_their_limit_now() -> None:
    stable = _noisy_model("stable")
    assert _headline(stable).startswith(" STABLE over 5 s  CPU 3 over its limit now  worst CPU 3: 330 ms/s")
    assert _headline(stable).endswith(" f fix  p preflight ")
    assert headline_row(stable, 140, UNICODE)[0][1] != "good"
    assert "over its limit now" in _headline(stable, 60)
    assert "over its limit now" not in _headline(_noisy_model())
    assert _headline(model_of(frame(4))).startswith(" STABLE  worst CPU")


def test_the_keys_that_help_are_at_the_right_unless_all_is_well() -> None:
    assert _headline(_noisy_model()).endswith(" f fix  p preflight ")
    assert "fix" not in _headline(model_of(frame(4)))


def test_the_share_of_the_noise_comes_before_the_keys_and_single_keys_fit_where_both_do_not() -> None:
    hog = (cpu_line(2, "target", 997_000_000.0),)
    model = model_of(frame(hog, (culprit("updatedb", 2, 9e8, pid=334, tid=334),), verdict="unstable"))
    noise = " UNSTABLE  worst CPU 2: 997 ms/s (100%)  ◂ thread updatedb [334]"
    assert _headline(model, 90).startswith(noise)
    assert _headline(model, 90).endswith(" f fix  p preflight ")
    assert _headline(model, 80).startswith(noise)
    assert _headline(model, 80).endswith("  f fix ")
    assert _headline(model, 70).rstrip() == noise


def test_of_a_quiet_machine_the_failing_check_comes_first() -> None:
    headline = _headline(model_of(frame(4, verdict="unstable", failed=("cpu-quota",))))
    assert headline.startswith(" UNSTABLE  failing (5 s): cpu-quota  worst CPU 3: 20 µs/s")


def test_with_an_unreadable_cpu_no_cpu_is_called_the_worst() -> None:
    headline = _headline(model_of(frame((cpu_line(2, "target"), cpu_line(3, "target", None)))))
    assert "noise unknown on CPU 3" in headline
    assert "worst" not in headline


@pytest.mark.parametrize(
    ("noise_ns", "expected"),
    [
        (2e6, "  noise unknown on CPU 3  CPU 2: 2.0 ms/s"),
        (9e6, "worst CPU 2: 9.0 ms/s (0.9%, limit 0.5%)  CPU 3 unknown"),
    ],
)
def test_an_unknown_cpu_is_named_next_to_the_noise_of_another(noise_ns: float, expected: str) -> None:
    assert expected in _headline(model_of(frame((cpu_line(2, "target", noise_ns), cpu_line(3, "target", None)))))


def test_on_a_narrow_screen_the_limit_is_dropped_before_the_culprit() -> None:
    headline = _headline(_noisy_model(), 60)
    assert "205 eth0" in headline
    assert "limit" not in headline


def test_a_missing_target_cpu_is_reported() -> None:
    assert "there is no target CPU" in _headline(model_of(frame((cpu_line(0),))))


def test_the_ascii_headline_points_to_the_culprit_with_a_less_than_sign() -> None:
    assert "<" in text_of(headline_row(_noisy_model(), 140, ASCII))


def test_the_tabs_name_all_screens_and_mark_the_one_that_is_shown() -> None:
    model = model_of(frame(4))
    model.go_to(Screen.MAP)
    wide, narrow = (text_of(tab_row(model, width, UNICODE)) for width in (140, 70))
    assert all(screen in wide for screen in Screen)
    assert "[2 map]" in wide
    assert "[2 map]" in narrow
    assert "events" not in narrow


def test_the_summary_of_the_machine_gives_way_to_the_names_of_the_tabs() -> None:
    model = model_of(frame(4, origin="replay of x.nw"))
    names = "[1 overview]"
    wide, middle = (text_of(tab_row(model, width, UNICODE)) for width in (160, 116))
    assert ("4 CPUs" in wide, names in wide) == (True, True)
    assert ("4 CPUs" in middle, "2 map" in middle, "replay of x.nw" in middle) == (False, True, True)


def test_the_device_of_an_irq_is_dropped_before_the_keys() -> None:
    cpus = (cpu_line(2, "target"), cpu_line(3, "target", 3.3e8))
    irq = replace(_IRQ, name="205 eth0 (Ethernet Controller of a long name)")
    model = model_of(frame(cpus, (irq,), verdict="unstable"))
    assert "◂ irq 205 eth0: 41 200/s" in _headline(model, 100)
    assert _headline(model, 100).endswith("f fix  p preflight ")
    assert "of a long name): 41 200/s" in _headline(model, 140)


def _two_culprits() -> ScreenModel:
    cpus = (cpu_line(2, "target", 2e8), cpu_line(3, "target", 3.3e8))
    loop, cron = culprit("sh", 3, 3e8, pid=6291, tid=6291), culprit("cron", 2, 2e8)
    return model_of(frame(cpus, (loop, cron), verdict="unstable", failed=("target-cpu-busy",)))


def test_the_fix_is_offered_only_while_the_named_culprit_is_selected() -> None:
    model = _two_culprits()
    assert "◂ thread sh [6291]" in _headline(model)
    assert _headline(model).endswith(" f fix  p preflight ")
    model.select(1)
    assert "◂ thread sh [6291]" in _headline(model)
    assert _headline(model).endswith(" p preflight ")
    assert "f fix" not in _headline(model)


def test_no_fix_is_offered_where_no_culprit_is_named() -> None:
    assert "f fix" not in _headline(model_of(frame(4, verdict="unstable", failed=("cpu-quota",))))


def test_softirqs_have_the_irq_that_is_likely_to_raise_them() -> None:
    cpus = (cpu_line(2, "target"), cpu_line(3, "target", 3.3e8))
    softirq = culprit("NET_RX", 3, 3e8, kind=Kind.SOFTIRQ, pid=None, tid=None, rate_per_s=41_200.0)
    irq = replace(_IRQ, name="205 eth0-TxRx-5 (Card)", stolen_ns_per_s=9e6)
    model = model_of(frame(cpus, (softirq, irq), verdict="unstable"))
    assert "◂ softirq NET_RX, likely by IRQ 205 eth0-TxRx-5: 41 200/s" in _headline(model)
    assert "likely by IRQ 205" in _headline(model, 80)
    timers = model_of(frame(cpus, (replace(softirq, name="TIMER"), irq), verdict="unstable"))
    assert "likely by" not in _headline(timers)


_TICK = IrqSetting("LOC", Kind.TICK, "Local timer interrupts")
_CARD = IrqSetting("205", Kind.IRQ, "eth0-TxRx-3", allowed="3", effective="3")
_TICK_LINE = IrqLine("LOC", (2, 3), (1.0, 1.0))
_STORM = (IrqLine("205", (0, 3), (90_000.0, 41_235.0)), IrqLine("206", (2,), (7.0,)), _TICK_LINE)


def _frame(second: int = 1, khz: int = 3_000_000, **rest: object) -> Frame:
    cpus = (cpu_line(2, "target"), cpu_line(3, "target", current_khz=khz))
    fields = {"irqs": (_TICK_LINE,), "irq_settings": (_TICK, _CARD), "verdict": "unstable", **rest}
    return frame(cpus, (), second, **fields)  # type: ignore[arg-type]  # passed through


def _headline_on(model: ScreenModel, screen: Screen, width: int = 140) -> str:
    model.go_to(screen)
    return text_of(rows_of_screen(model, width, 30, UNICODE)[1])


def test_the_irqs_screen_names_the_irq_that_interrupts_a_target_cpu_most() -> None:
    headline = _headline_on(model_of(_frame(irqs=_STORM)), Screen.IRQS)
    assert "41 200/s interrupt target CPU 3  ◂ IRQ 205 eth0-TxRx-3" in headline
    assert "no device interrupts a target CPU" in _headline_on(model_of(_frame()), Screen.IRQS)
    assert "worst CPU" in _headline_on(model_of(_frame(irqs=None)), Screen.IRQS)


def test_the_clock_screen_shows_the_range_of_the_target_clocks() -> None:
    model = model_of(_frame(1, 2_400_000), _frame(2, 2_400_000))
    assert "target 2-3: 2.4 to 3 GHz, spread 20%, lowest on CPU 3" in _headline_on(model, Screen.CLOCK)
    assert "target 2-3: 3 GHz, steady" in _headline_on(model_of(_frame()), Screen.CLOCK)
    assert _headline_on(model, Screen.CLOCK).endswith("   c measure ")


def test_copying_and_measuring_are_offered_only_where_possible() -> None:
    turbo = replace(frame(4, failed=("turbo-enabled",)).findings[0], fix="echo 1", is_command=True)
    by_hand = replace(turbo, id="clock-capped", fix="cool it", is_command=False)
    for findings, is_offered in (((turbo,), True), ((by_hand,), False), ((by_hand, turbo), True)):
        model = model_of(_frame(findings=findings))
        assert ("y copy fix" in _headline_on(model, Screen.CLOCK)) == is_offered
        assert ("y copy fix" in _headline_on(model, Screen.PREFLIGHT)) == (findings[0] is turbo)
        text = " ".join(text_of(row) for row in rows_of_screen(model, 140, 34, UNICODE))
        assert ("y copy " in text) == (findings[0] is turbo)
    replay = model_of(_frame(findings=(turbo,), origin="replay of x.nw"))
    assert _headline_on(replay, Screen.CLOCK).endswith("y copy fix ")
    for name in Screen:
        replay.go_to(name)
        text = " ".join(text_of(row) for row in rows_of_screen(replay, 200, 34, UNICODE))
        assert not re.search(" c (measure|calibrate)|c measures| t trace", text)


def test_the_clock_screen_shows_which_command_is_copied() -> None:
    turbo = replace(frame(4, failed=("turbo-enabled",)).findings[0], fix="echo 1", is_command=True)
    by_hand = replace(turbo, id="clock-capped", fix="cool it", is_command=False)
    cases = {
        (turbo,): "y copies the first · ",
        (by_hand, turbo): "y copies the first command · ",
        (by_hand,): None,
    }
    for findings, hint in cases.items():
        model = model_of(_frame(findings=findings))
        model.go_to(Screen.CLOCK)
        text = screen_text(model, 140, 40)
        assert (hint in text) if hint is not None else ("y copies" not in text)


def test_with_a_single_snapshot_the_checks_are_named_once() -> None:
    model = model_of(_frame(seconds=0.0, failed=("cpu-quota",), origin="copied tree"))
    rows = [text_of(row) for row in rows_of_screen(model, 200, 34, UNICODE)]
    assert ["cpu-quota" in row for row in rows[:3]] == [False, True, False]


def test_the_clock_of_a_cpu_without_ticks_is_not_called_steady() -> None:
    half = _frame(irqs=(IrqLine("LOC", (2,), (1.0,)),))
    assert "3 GHz, steady  unknown on CPU 3" in _headline_on(model_of(half), Screen.CLOCK)
    assert "steady" not in _headline_on(model_of(_frame(irqs=())), Screen.CLOCK)


def test_a_clock_that_became_unreadable_is_not_called_steady() -> None:
    unreadable = [
        replace(_frame(second), cpus=(cpu_line(2, "target"), cpu_line(3, "target", current_khz=None)))
        for second in range(3, 9)
    ]
    model = model_of(_frame(), _frame(2), *unreadable)
    assert "3 GHz, steady  unknown on CPU 3" in _headline_on(model, Screen.CLOCK)
    model.go_to_number(1)
    assert "3 GHz, steady" in _headline_on(model, Screen.CLOCK)
    assert "unknown" not in _headline_on(model, Screen.CLOCK)


def test_a_cpu_with_unknown_interrupts_is_not_shown_as_uninterrupted() -> None:
    cpus = (cpu_line(2, "target"), cpu_line(3, "target", None, interrupts_per_s=None))
    headline = _headline_on(model_of(_frame(), replace(_frame(2), cpus=cpus)), Screen.IRQS)
    assert "no device interrupts a target CPU" not in headline
    assert "interrupts unknown on CPU 3" in headline
    headline = _headline_on(model_of(_frame(), replace(_frame(2, irqs=_STORM[1:]), cpus=cpus)), Screen.IRQS)
    assert "7/s interrupt target CPU 2" in headline
    assert "unknown on CPU 3" in headline


def test_an_offline_target_is_not_shown_as_uninterrupted() -> None:
    cpus = (cpu_line(2), cpu_line(3, "offline", None, interrupts_per_s=None))
    model = model_of(_frame(), replace(_frame(2), cpus=cpus, target=(3,)))
    assert "no target CPU is online" in _headline_on(model, Screen.IRQS)


def test_the_map_does_not_call_unknown_intervals_calm() -> None:
    cpus = (cpu_line(2, "target", None), cpu_line(3, "target", None))
    model = model_of(*(replace(_frame(second), cpus=cpus) for second in range(1, 5)))
    assert "noise of the target CPUs unknown in 4 of 4 intervals" in _headline_on(model, Screen.MAP)
    model.add(_frame(5))
    assert "no target CPU over 0.5% in 1 interval, 4 unknown" in _headline_on(model, Screen.MAP)


def test_the_map_names_a_target_cpu_that_was_never_read() -> None:
    def half(second: int, noise_ns: float) -> Frame:
        return replace(_frame(second), cpus=(cpu_line(2, "target", noise_ns), cpu_line(3, "target", None)))

    model = model_of(*(half(second, 2e6) for second in range(1, 5)))
    assert "noise of the target CPUs unknown in 4 of 4 intervals: CPU 3" in _headline_on(model, Screen.MAP)
    model.add(_frame(5))
    assert "no target CPU over 0.5% in 1 interval, 4 unknown on CPU 3" in _headline_on(model, Screen.MAP)
    model = model_of(half(1, 6e6))
    assert "over 0.5% in 1 of 1 intervals on CPU 2, unknown on CPU 3" in _headline_on(model, Screen.MAP)


def test_the_preflight_screen_counts_blocking_checks_and_their_causes() -> None:
    failing = _frame(failed=("target-cpu-busy", "cpu-quota"), unknown=("hypervisor-steal",))
    findings = tuple(replace(finding, cause=1) for finding in failing.findings)
    failing = replace(failing, findings=findings, causes=(CauseLine(said="one of them"),))
    headline = _headline_on(model_of(failing), Screen.PREFLIGHT)
    assert "2 checks block, 1 unknown blocks: 1 of 1 cause  ◂ target-cpu-busy" in headline
    assert "40 checks pass, 0 warn" in _headline_on(model_of(_frame(verdict="stable")), Screen.PREFLIGHT)


def test_the_preflight_screen_names_unknown_checks_and_is_not_calm_when_the_verdict_is_unknown() -> None:
    lines = tuple(
        FindingLine(id=f"check-{at}", status="unknown", weight="warning", gravity=Gravity.OPEN, said="x")
        for at in range(4)
    )
    model = model_of(_frame(verdict="stable", findings=lines, passed=5))
    assert "5 checks pass, 0 warn, 4 unknown: check-0, check-1, check-2 …" in _headline_on(model, Screen.PREFLIGHT)
    assert "5 checks pass, 0 warn, 4 unknown" in _headline_on(model, Screen.PREFLIGHT, 60)
    for verdict, is_calm in (("stable", True), ("unknown", False)):
        model = model_of(_frame(verdict=verdict, passed=5))
        model.go_to(Screen.PREFLIGHT)
        row = rows_of_screen(model, 140, 30, UNICODE)[1]
        assert (("5 checks pass", "calm") in row) == is_calm


@pytest.mark.parametrize(("width", "cut"), [(24, "two words and a longer …"), (20, "two words and a …"), (3, "tw…")])
def test_a_sentence_is_cut_between_words(width: int, cut: str) -> None:
    row: Row = [("two words ", "plain"), ("and a longer sentence", "strong")]
    assert text_of(cut_at_word(row, width)) == cut


@pytest.mark.parametrize("name", [Screen.MAP, Screen.IRQS, Screen.CLOCK, Screen.PREFLIGHT])
def test_with_a_noisy_target_each_screen_names_the_culprit_before_its_own_summary(name: Screen) -> None:
    hog = culprit("hog", 3, 3e8)
    cpus = (cpu_line(2, "target"), cpu_line(3, "target", 3e8))
    noisy = replace(_frame(failed=("target-cpu-busy",)), cpus=cpus, culprits=(hog,))
    summary = {
        Screen.MAP: "over 0.5% in 1 of 1 intervals",
        Screen.IRQS: "no device interrupts a target CPU",
        Screen.CLOCK: "3 GHz, steady",
        Screen.PREFLIGHT: "1 check blocks",
    }[name]
    headline = _headline_on(model_of(noisy), name, 200)
    assert 0 < headline.index("worst CPU 3: 300 ms/s") < headline.index("◂ thread hog [4711]") < headline.index(summary)
    narrow = _headline_on(model_of(noisy), name, 80)
    assert "◂ thread hog [4711]" in narrow
    passing = _headline_on(model_of(replace(noisy, verdict="stable", findings=())), name)
    assert "over its limit now  worst CPU 3" in passing
    assert "◂ thread hog [4711]" in passing


def test_the_irqs_screen_offers_a_fix_only_for_the_irq_that_is_the_culprit() -> None:
    cpus = (cpu_line(0), cpu_line(2, "target"), cpu_line(3, "target", 3e8))
    irqs = (IrqLine("206", (0,), (50_000.0,)), IrqLine("205", (3,), (21_235.0,)))
    card = culprit("205 eth0-TxRx-3", 3, 3e8, kind=Kind.IRQ, pid=None, tid=None, irq=205, rate_per_s=41_235.0)
    harmless = IrqSetting("206", Kind.IRQ, "eth1", allowed="0", effective="0")
    model = model_of(replace(_frame(irqs=irqs, irq_settings=(_CARD, harmless)), cpus=cpus, culprits=(card,)))
    assert _headline_on(model, Screen.IRQS, 200).endswith(" f fix  p preflight ")
    assert model.irq_listing().at == 1
    model.select(-1)
    assert "f fix" not in text_of(rows_of_screen(model, 200, 30, UNICODE)[1])


_CPUS = (cpu_line(2, "target"), cpu_line(3, "target", 9.97e8))
_LOOP = culprit("updatedb", 3, 9.97e8, pid=334, tid=334)


def _looping_model(**rest: Any) -> ScreenModel:
    frames = [frame(_CPUS, (_LOOP,), second, verdict="unstable", failed=("tasks-on-target",)) for second in (1, 2, 3)]
    return model_of(*(replace(interval, **rest) for interval in frames))


@pytest.mark.parametrize("name", Screen)
@pytest.mark.parametrize("is_behind", [False, True])
@pytest.mark.parametrize("origin", [None, "replay of x.nw"])
@pytest.mark.parametrize("width", [20, 28, 40, 59])
def test_verdict_worst_cpu_and_culprit_are_in_the_first_three_rows(
    width: int, origin: str | None, is_behind: bool, name: str
) -> None:
    model = _looping_model(origin=origin)
    model.go_to(name)
    model.cursor = 1 if is_behind else None
    head = " ".join(text_of(row) for row in rows_of_screen(model, width, 12, UNICODE)[:3])
    assert -1 < head.index("UNSTABLE") < head.index("CPU 3") < head.index("updatedb")


@pytest.mark.parametrize("height", [6, 12])
def test_at_twenty_columns_the_verdict_and_the_cpu_are_above_the_culprit(height: int) -> None:
    rows = screen(_looping_model(), 20, height)
    at = next(at for at, row in enumerate(rows) if "UNSTABLE" in row)
    assert [row.rstrip() for row in rows[at : at + 2]] == [" UNSTABLE  CPU 3", "◂ updatedb [334]"]


def test_the_noise_is_shown_where_there_is_room() -> None:
    rows = screen(_looping_model(origin="replay of x.nw"), 40, 7)
    assert rows[0].startswith(" UNSTABLE  CPU 3: 997 ms/s")
    assert rows[1].startswith("◂ thread updatedb [334]")


def test_on_one_row_at_least_the_start_of_the_name_is_shown() -> None:
    assert screen(_looping_model(), 20, 4)[0] == "UNSTABLE CPU 3 upda…"
    assert screen(_looping_model(), 44, 4)[0].rstrip() == " UNSTABLE  CPU 3 ◂ thread updatedb [334]"


def test_an_irq_is_named_without_its_device() -> None:
    irq = culprit("205 eth0 (Ethernet Controller)", 3, 9e8, kind=Kind.IRQ, pid=None, tid=None, irq=205)
    model = model_of(frame(_CPUS, (irq,), verdict="unstable"))
    assert screen(model, 20, 12)[2].rstrip() == "◂ irq 205 eth0"


def test_the_time_of_the_shown_snapshot_is_in_the_first_row() -> None:
    model = _looping_model(origin="replay of x.nw")
    model.cursor = 1
    assert screen(model, 40, 12)[0].startswith(" STOPPED at ")
    assert " of " in screen(model, 20, 12)[0]


def test_an_error_comes_before_the_measurement() -> None:
    model = _looping_model()
    model.trouble = "the sampler ended: no space is left on the device"
    rows = screen(model, 20, 12)[:3]
    assert rows[0].startswith(" UNKNOWN")
    assert rows[1].rstrip() == "the sampler ended:"


def test_without_noise_the_failing_checks_are_named() -> None:
    model = model_of(frame(4, verdict="unstable", failed=("cpu-quota",)))
    assert [row.rstrip() for row in screen(model, 20, 12)[1:3]] == [" UNSTABLE", "cpu-quota"]


def test_a_wide_screen_has_the_headline_in_one_row() -> None:
    rows = screen(_looping_model(), 60, 12)
    assert "updatedb" in rows[1]
    assert rows[2].startswith("target")
