"""The second row of every screen: verdict, what matters most, whose doing it is."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from noisewatch.kinds import Kind
from noisewatch.surfaces.tui.draw.glyphs import ASCII, UNICODE
from noisewatch.surfaces.tui.draw.headline import headline_row
from noisewatch.surfaces.tui.screens.page import tab_row
from noisewatch.surfaces.tui.state.screen_model import Screen, ScreenModel
from tests.surfaces.tui.framing import cpu_line, culprit, frame, model_of, text_of

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
