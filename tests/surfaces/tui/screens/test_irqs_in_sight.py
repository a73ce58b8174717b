"""The IRQ screen: rows that fit are shown, rows that do not are counted, and a filter selects among them."""

from __future__ import annotations

import re

import pytest
from msgspec.structs import replace
from textual.pilot import Pilot

from noisewatch.kinds import Kind, Role
from noisewatch.operations.advise import Advice
from noisewatch.operations.frame.frame import IrqLine, IrqSetting, PlaceLine
from noisewatch.surfaces.drawing.glyphs import UNICODE
from noisewatch.surfaces.tui.app.monitor import MonitorApp
from noisewatch.surfaces.tui.screens.culprits import begin_filter, type_key
from noisewatch.surfaces.tui.screens.table import rows_of_screen
from noisewatch.surfaces.tui.state.screen_model import Screen, ScreenModel
from tests.surfaces.tui.app.piloting import lines_of, with_monitor
from tests.surfaces.tui.framing import cpu_line, culprit, frame, framed_lines, model_of

_TICK = IrqSetting("LOC", Kind.TICK, "Local timer interrupts", movable=False, is_managed=False)
_HEADING = re.compile(r"goes.*?last (\d+)")


def _setting(number: int, cpus: int) -> IrqSetting:
    cpu = str(number % cpus)
    device = "Network card (eth0)" if number < 310 else "SSD (nvme0)"
    return IrqSetting(str(number), Kind.IRQ, f"queue-{number}", device, cpu, cpu, movable=True, is_managed=False)


def _model(count: int, seconds: int = 1, cpu_count: int = 4) -> ScreenModel:
    """Return a model of the tick and `count` IRQs from 300 on, IRQ n on CPU n % `cpu_count`; targets start at CPU 2."""
    settings = (*(_setting(number, cpu_count) for number in range(300, 300 + count)), _TICK)
    lines = (
        *(IrqLine(str(number), (number % cpu_count,), (50.0,)) for number in range(300, 300 + count)),
        IrqLine("LOC", (0, 1, 2, 3), (250.0, 250.0, 1.0, 1.0)),
    )
    cpus = tuple(cpu_line(cpu, Role.TARGET if cpu > 1 else Role.HOUSEKEEPING) for cpu in range(cpu_count))
    model = model_of(
        *(
            frame(cpus, second=second, irqs=lines, irq_settings=settings if second == 1 else None)
            for second in range(1, seconds + 1)
        )
    )
    model.go_to(Screen.IRQS)
    return model


def _visible_labels(model: ScreenModel, width: int = 120, height: int = 34) -> list[str]:
    """Return the labels of the visible rows."""
    first_words = [line.lstrip("│ ").split()[:1] for line in framed_lines(model, width, height)]
    labels = {row.label for row in model.irq_listing().lines}
    return [word for words in first_words for word in words if word in labels]


def _labels_after_filter(model: ScreenModel, text: str) -> list[str]:
    begin_filter(model)
    for character in text:
        type_key(model, character, character)
    type_key(model, "enter", None)
    return _visible_labels(model)


@pytest.mark.parametrize(("width", "height"), [(60, 16), (80, 24), (120, 34), (300, 80)])
def test_rows_that_do_not_fit_are_counted(width: int, height: int) -> None:
    model = _model(90)
    for at in (0, 45, 90):
        model.selection = type(model.selection)()
        model.select(at)
        labels = _visible_labels(model, width, height)
        text = " ".join(framed_lines(model, width, height))
        first = [row.label for row in model.irq_listing().lines].index(labels[0])
        below = 91 - first - len(labels)
        assert (f"{first} more above" in text) == (first > 0)
        assert (f"{below} more below" in text) == (below > 0)


def test_rows_that_fit_are_not_counted() -> None:
    assert " more " not in " ".join(framed_lines(_model(3)))


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("305", ["305"]),
        ("ssd", ["310", "311"]),
        ("queue-30 cpu:1", ["301", "305", "309"]),
        ("cpu:1 !queue", ["LOC"]),
        ("kind:tick", ["LOC"]),
        ("nobody", []),
    ],
)
def test_a_filter_shows_rows_that_match_all_its_words(text: str, labels: list[str]) -> None:
    model = _model(12)
    assert _labels_after_filter(model, text) == labels
    assert model.screen == Screen.IRQS
    assert any(f"filter: {text}" in line for line in framed_lines(model))
    assert (not labels) is any("no IRQ matches" in line for line in framed_lines(model))


def test_a_filter_shows_silent_irqs_and_is_separate_from_that_of_the_culprits() -> None:
    model = _model(4)
    model.add(replace(frame(4, second=200), irqs=()))
    for second in range(201, 270):
        model.add(replace(frame(4, second=second), irqs=()))
    assert _visible_labels(model) == []
    assert _labels_after_filter(model, "303") == ["303"]
    model.go_to(Screen.CULPRITS)
    assert model.filter == ""


def test_a_mistake_in_the_filter_is_reported() -> None:
    model = _model(4)
    assert _labels_after_filter(model, "cpu:x") == []
    assert any("not a CPU list: 'x'" in line for line in framed_lines(model))


def test_nodes_are_above_their_columns() -> None:
    model = _model(4)
    model.cpu_places.add(tuple(PlaceLine(cpu, node=cpu // 2) for cpu in range(4)))
    line = next(line for line in framed_lines(model) if "node 0" in line)
    numbers = next(line for line in framed_lines(model) if " IRQ device" in line)
    assert line.index("node 0") < line.index("│", 2) == numbers.index("│", 2) < line.index("node 1")


def test_other_interrupts_have_a_rule_and_short_names() -> None:
    lines = framed_lines(_model(4))
    assert any(line.startswith("├─ other interrupts ──") and line.endswith("┤") for line in lines)
    assert any("LOC Local timer  " in line for line in lines)


@pytest.mark.parametrize("width", [40, 80, 100, 120, 300])
def test_the_legend_is_never_cut(width: int) -> None:
    line = next(line for line in framed_lines(_model(4), width, 34) if "▁ 1 " in line)
    assert "█ 40k" in line or width < 60
    assert width < 60 or "…" not in line
    assert width < 120 or "mgd moved by the kernel alone" in line


def test_rates_show_their_interval_and_the_history_is_wider_without_moves() -> None:
    model = _model(4, seconds=80)
    last = replace(model.history.frame(79), taken_at_ns=81 * 10**9, seconds=5.0)
    settings = tuple(replace(setting, effective="3") for setting in model.irqs.settings.values())
    title, *before = framed_lines(model)[3:7]
    assert "interrupts/s over 1 s by IRQ and CPU" in title
    model.add(replace(last, irq_settings=settings))
    title, *after = framed_lines(model)[3:7]
    assert "interrupts/s over 5 s by IRQ and CPU" in title
    (room, has_moves), (room_after, has_moves_after) = (
        (int(match[1]), "changed" in match[0])
        for lines in (before, after)
        if (match := _HEADING.search("".join(lines)))
    )
    assert any(re.match(r"rate +CPU .* over 5 s ", line) for line in framed_lines(model, 80, 24))
    assert (room - room_after, has_moves, has_moves_after) == (13, False, True)
    model.go_to_number(0)
    assert "last 1 interval " in "".join(framed_lines(model))


def test_the_history_has_the_columns_of_the_timeline() -> None:
    model = _model(4, seconds=30)
    lines = framed_lines(model, 120, 50)
    chart = next(line for line in lines if "10 ┤" in line)
    timeline = next(line for line in lines if "target " in line and line.startswith("│"))
    assert chart.rstrip("│ ").endswith("█" * 30)
    assert len(chart.rstrip("│ ")) == len(timeline.rstrip("│ "))
    assert any("└" in line and "-29 s" in line and "now" in line for line in lines)
    model.cursor = 20
    assert any(("█", "strong") in row for row in rows_of_screen(model, 120, 50, UNICODE))


def test_the_cost_of_an_irq_includes_its_likely_softirqs() -> None:
    irq = culprit("302 queue-302", 2, 400e3, kind=Kind.IRQ, irq=302, rate_per_s=50.0, is_estimate=True)
    softirq = culprit("NET_RX", 2, 210e6, kind=Kind.SOFTIRQ)
    model = _model(4)
    model.add(replace(model.history.frame(0), taken_at_ns=2_000_000_000, culprits=(softirq, irq)))
    assert _labels_after_filter(model, "302") == ["302"]
    text = " ".join(framed_lines(model))
    assert "~400 µs/s of CPU 2, about 8.0 µs each; and 210 ms/s of NET_RX softirqs, likely raised by it" in text
    busier = replace(irq, irq=306, rate_per_s=900.0)
    model.add(replace(model.history.frame(0), taken_at_ns=3_000_000_000, culprits=(softirq, irq, busier)))
    assert "likely raised by it" not in " ".join(framed_lines(model))


@pytest.mark.parametrize(
    ("balancer", "expected"),
    [(None, "(1 s ago)"), ("irqbalance (pid 812)", "(1 s ago), perhaps by irqbalance (pid 812)")],
)
def test_the_balancer_that_may_have_moved_an_irq_is_named(balancer: str | None, expected: str) -> None:
    model = _model(4, seconds=3)
    settings = tuple(replace(irq, effective="2") if irq.label == "301" else irq for irq in model.irqs.settings.values())
    first = model.history.frame(0)
    model.add(replace(first, taken_at_ns=4_000_000_000, irq_settings=settings, irq_balancer=balancer))
    model.add(replace(first, taken_at_ns=5_000_000_000, irq_settings=None))
    assert _labels_after_filter(model, "301") == ["301"]
    assert f"moved     from CPU 1 to CPU 2 {expected}  " in " ".join(framed_lines(model))
    event = next(event.text for event in model.log.events if "301" in event.text)
    assert event.endswith("moved from CPU 1 to CPU 2" + (f" (by {balancer}?)" if balancer else ""))


def test_a_copied_tree_has_neither_rates_nor_moves() -> None:
    first = replace(_model(3).history.frame(0), seconds=0.0, irqs=None, origin="copied tree x", is_last=True)
    model = model_of(first)
    model.go_to(Screen.IRQS)
    text = " ".join(framed_lines(model))
    assert "no rates: a copied tree is a single snapshot" in text
    assert "moved     unknown: a single snapshot shows no move" in text
    assert "in 0 intervals" not in text


@pytest.mark.parametrize(
    ("allowed", "effective", "cells"),
    [("1-3", "2", "·· ?? ··"), ("1-3", None, "?? ?? ??"), (None, "2", "?? ?? ?? ??"), ("0-1", "", "·· ··")],
)
def test_without_rates_the_cells_of_effective_or_else_allowed_cpus_are_unknown(
    allowed: str | None, effective: str | None, cells: str
) -> None:
    setting = replace(_setting(300, 4), allowed=allowed, effective=effective)
    model = model_of(replace(_model(1).history.frame(0), seconds=0.0, irqs=None, irq_settings=(setting,)))
    model.go_to(Screen.IRQS)
    row = next(line for line in framed_lines(model) if " 300 queue-300" in line)
    assert re.search(r"\? +((?:··|\?\?)(?: (?:··|\?\?))*) ", row.partition("queue-300")[2])[1] == cells  # type: ignore[index]


@pytest.mark.parametrize(
    ("count", "cpu_count", "size", "keys"),
    [(4, 4, (120, 34), "3"), (90, 64, (120, 34), "3ss"), (90, 64, (80, 24), "3ss")],
)
def test_three_keys_show_the_irqs_of_cpu_1_with_rate_affinity_and_moves(
    count: int, cpu_count: int, size: tuple[int, int], keys: str
) -> None:
    model = _model(count, seconds=20, cpu_count=cpu_count)
    label = next(str(number) for number in range(300, 400) if number % cpu_count == 1)
    settings = tuple(model.irqs.settings.values())
    frames = [
        replace(
            model.history.frame(number),
            irq_settings=tuple(replace(irq, effective="3") if irq.label == label else irq for irq in settings)
            if number == 0
            else settings
            if number == 8
            else None,
        )
        for number in range(20)
    ]

    async def look(app: MonitorApp, pilot: Pilot[None]) -> None:
        for interval in frames:
            app.show_frame(interval)
        await pilot.press(*keys)
        await pilot.pause()
        row = next(line for line in lines_of(app) if line.split()[:1] == [label])
        assert row.split()[1:3] == [f"queue-{label}", "50"]
        assert "  1      yes   11 s, 3→1" in row

    assert len(keys) <= 3
    with_monitor(look, size=size)


def test_a_fix_is_below_the_facts_and_disappears_with_the_selection() -> None:
    model = _model(4, seconds=5)
    selected = model.selected()
    assert selected is not None
    model.ask_for_fix(selected)
    assert "looking up the fix …" in " ".join(framed_lines(model))
    lines = ("now: echo 0 > 300", "undo: echo 1 > 300")
    model.advice, model.awaits_fix = Advice(selected, lines, (("now", "echo 0 > 300"),)), False
    text = "\n".join(framed_lines(model))
    assert re.search(r"goes to +CPU 0(.|\n)*now: echo 0 > 300(.|\n)*undo: echo 1 > 300", text)
    assert "y copy · f, esc close" in text
    model.select(1)
    text = " ".join(framed_lines(model))
    assert "looking up the fix …" in text
    assert "echo 0 > 300" not in text
    assert "IRQ 301" in text


def test_an_irq_without_a_cpu_does_not_show_the_fix_of_another() -> None:
    nowhere = IrqSetting("310", Kind.IRQ, "nowhere", "SSD", "", "", movable=True, is_managed=False)
    model = _model(1, seconds=2)
    model.add(frame(4, second=3, irqs=(), irq_settings=(*model.irqs.settings.values(), nowhere)))
    model.shows_silent_irqs = True
    selected = model.selected()
    assert selected is not None
    model.ask_for_fix(selected)
    model.advice, model.awaits_fix = Advice(selected, ("now: echo 0 > 300",)), False
    model.select(1)
    assert model.irq_listing().selected is not None
    text = " ".join(framed_lines(model))
    assert "IRQ 310 · nowhere" in text
    assert "echo 0 > 300" not in text
    assert "nothing to move, because its CPUs are unknown" in text
