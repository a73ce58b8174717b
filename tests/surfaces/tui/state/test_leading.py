"""Headline, panel and fix are about the same culprit until the user selects another."""

from __future__ import annotations

import re
from typing import Any

import pytest
from msgspec.structs import replace

from noisewatch.kinds import Kind, Role
from noisewatch.operations.frame.frame import KINDS, CulpritLine, Frame, IrqLine, IrqSetting
from noisewatch.surfaces.drawing.glyphs import UNICODE
from noisewatch.surfaces.tui.screens.table import rows_of_screen
from noisewatch.surfaces.tui.state.screen_model import Screen, ScreenModel
from tests.surfaces.tui.framing import cpu_line, culprit, frame, text_of

_ONE, _TWO = culprit("one", 2, pid=1, tid=1), culprit("two", 3, pid=2, tid=2)
_LISTS = (Screen.OVERVIEW, Screen.CULPRITS)


def _frame(second: int, *culprits: CulpritLine, **rest: Any) -> Frame:
    """Return an interval of two target CPUs and a sibling, whose noise is the sum of their culprits."""
    roles = {1: Role.SIBLING, 2: Role.TARGET, 3: Role.TARGET}
    cpus = tuple(
        cpu_line(
            cpu,
            role,
            sum(line.stolen_ns_per_s for line in culprits if line.cpu == cpu),
            taken_ns_per_s=(1_000_000, *[0] * (len(KINDS) - 1)),
        )
        for cpu, role in roles.items()
    )
    return frame(cpus, tuple(replace(line, role=roles[line.cpu]) for line in culprits), second, **rest)


def _drawn(screen: Screen, *frames: Frame) -> ScreenModel:
    """Return a model that has drawn all frames on this screen."""
    model = ScreenModel()
    model.go_to(screen)
    for interval in frames:
        model.add(interval)
        model.note_drawn()
        rows_of_screen(model, 140, 40, UNICODE)
    return model


def _named(model: ScreenModel) -> list[str]:
    """Return the culprits in the headline, in the selected row, in the panel's title, and that `f` would explain."""
    model.note_drawn()
    rows = rows_of_screen(model, 140, 40, UNICODE)
    selected = next(text_of(row) for row in rows if any(style == "selected" for _, style in row))
    panel = next(match[0] for row in map(text_of, rows) if (match := re.search("├─ (thread|softirq) .* on CPU", row)))
    fix = model.selected()
    assert fix is not None
    texts = (text_of(rows[1]), selected, panel, fix.name)
    return [next(name for name in ("one", "two", "TIMER") if name in text) for text in texts]


def _noise(one_ns: float, two_ns: float, second: int = 1) -> Frame:
    return _frame(second, replace(_ONE, stolen_ns_per_s=one_ns), replace(_TWO, stolen_ns_per_s=two_ns))


@pytest.mark.parametrize("screen", _LISTS)
def test_all_name_the_culprit_of_the_worst_target_cpu(screen: Screen) -> None:
    assert _named(_drawn(screen, _noise(9e8, 3e8))) == ["one"] * 4
    assert _named(_drawn(screen, _noise(3e8, 9e8))) == ["two"] * 4


@pytest.mark.parametrize("screen", _LISTS)
def test_a_costlier_culprit_on_a_sibling_is_not_selected_instead(screen: Screen) -> None:
    on_sibling = culprit("two", 1, 9.9e8, pid=2, tid=2)
    assert _named(_drawn(screen, _frame(1, replace(_ONE, stolen_ns_per_s=5e8), on_sibling))) == ["one"] * 4


@pytest.mark.parametrize("screen", _LISTS)
def test_one_culprit_of_many_on_the_worst_cpu_is_selected_before_a_costlier_one_elsewhere(screen: Screen) -> None:
    many = tuple(culprit(f"other {at}", 2, 3e8, pid=90 + at, tid=90 + at) for at in range(2))
    model = _drawn(screen, _frame(1, *many, replace(_ONE, stolen_ns_per_s=3.1e8), replace(_TWO, stolen_ns_per_s=6e8)))
    assert _named(model) == ["one"] * 4


@pytest.mark.parametrize("screen", _LISTS)
def test_all_stay_with_a_culprit_while_two_target_cpus_are_about_as_noisy(screen: Screen) -> None:
    frames = [_noise(9.9e8 - 1e7 * (at % 2), 9.9e8 - 1e7 * ((at + 1) % 2), at + 1) for at in range(4)]
    for count in range(1, 5):
        model = _drawn(screen, *frames[:count])
        assert _named(model) == ["one"] * 4
        headline = text_of(rows_of_screen(model, 140, 40, UNICODE)[1])
        assert ("worst CPU 2" in headline) == (count % 2 == 1)  # the other CPU is worse in every second interval
        assert "CPU 2: 9" in headline


@pytest.mark.parametrize(("before", "after"), [((9e8, 8e8), (5e8, 9e8)), ((4.9e6, 4e6), (4.9e6, 5.1e6))])
@pytest.mark.parametrize("screen", _LISTS)
def test_all_change_to_a_cpu_that_is_noisier_or_over_the_limit(
    before: tuple[float, float], after: tuple[float, float], screen: Screen
) -> None:
    model = _drawn(screen, _noise(*before), _noise(*after, second=2))
    assert _named(model) == ["two"] * 4
    assert "worst CPU 3" in text_of(rows_of_screen(model, 140, 40, UNICODE)[1])


@pytest.mark.parametrize("screen", _LISTS)
def test_all_change_to_another_culprit_after_the_leading_one_is_gone(screen: Screen) -> None:
    assert _named(_drawn(screen, _noise(9e8, 8e8), _frame(2, _TWO))) == ["two"] * 4


@pytest.mark.parametrize("screen", _LISTS)
def test_another_sort_order_does_not_select_another_culprit(screen: Screen) -> None:
    frequent = culprit("TIMER", 3, 1e6, kind=Kind.SOFTIRQ, pid=None, tid=None, rate_per_s=900.0)
    model = _drawn(screen, _frame(1, replace(_ONE, stolen_ns_per_s=9e8), frequent))
    model.next_sort()
    assert model.listing().lines[0].name == "TIMER"
    assert _named(model) == ["one"] * 4


@pytest.mark.parametrize("screen", _LISTS)
def test_a_key_selects_another_culprit_and_the_headline_does_not_change(screen: Screen) -> None:
    model = _drawn(screen, _noise(9e8, 3e8))
    model.select(1)
    assert _named(model) == ["one", "two", "two", "two"]
    model.add(_noise(9e8, 3e8, second=2))
    assert _named(model) == ["one", "two", "two", "two"]
    headline = text_of(rows_of_screen(model, 140, 40, UNICODE)[1])
    assert "f fix" not in headline


def test_the_side_panel_and_enter_are_about_the_cpu_of_the_headline() -> None:
    everywhere = (culprit("one", 2, 3e8, pid=1, tid=1), culprit("one", 3, 4e8, pid=1, tid=5))
    model = _drawn(Screen.OVERVIEW, _frame(1, *everywhere, culprit("TIMER", 2, 2e8, pid=None, tid=None)))
    text = "\n".join(map(text_of, rows_of_screen(model, 140, 40, UNICODE)))
    assert "worst CPU 2: 500 ms/s" in text
    assert "CPU 2: use of its time" in text
    model.drill_in()
    assert model.cpu == 2


def test_on_the_screen_of_another_cpu_its_first_culprit_is_selected() -> None:
    model = _drawn(Screen.OVERVIEW, _noise(9e8, 3e8))
    model.go_to_cpu(3)
    selected = model.listing().selected
    assert selected is not None
    assert selected.name == "two"


@pytest.mark.parametrize("is_softirq", [True, False])
def test_the_irqs_screen_selects_the_interrupt_of_the_headline(is_softirq: bool) -> None:
    settings = tuple(IrqSetting(str(at), Kind.IRQ, f"card {at}", "card", "3", "3") for at in (24, 25))
    lines = tuple(IrqLine(str(at), (3,), (rate,)) for at, rate in ((24, 90_000.0), (25, 5_000.0)))
    irq = culprit("25 card 25", 3, 3e8, kind=Kind.IRQ, pid=None, tid=None, irq=25, rate_per_s=5_000.0)
    softirq = culprit("NET_RX", 3, 5e8, kind=Kind.SOFTIRQ, pid=None, tid=None, rate_per_s=5_000.0)
    interval = _frame(1, irq, *([softirq] if is_softirq else []), irqs=lines, irq_settings=settings)
    model = _drawn(Screen.IRQS, interval)
    row = model.irq_listing().selected
    assert row is not None
    assert row.label == "25"


def test_another_moment_shows_the_worst_cpu_of_that_moment() -> None:
    model = _drawn(Screen.OVERVIEW, _noise(9e8, 8.9e8), _noise(8.9e8, 9e8, second=2))
    assert _named(model) == ["one"] * 4
    model.step(0)
    assert _named(model) == ["two"] * 4
