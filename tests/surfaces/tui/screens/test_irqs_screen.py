"""The IRQ screen: interrupts by source and CPU, affinities, and unknown values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from noisewatch.kinds import Kind, Role
from noisewatch.operations.frame.frame import Frame, IrqLine, IrqSetting, PlaceLine
from noisewatch.surfaces.drawing.glyphs import ASCII, UNICODE
from noisewatch.surfaces.drawing.text_row import length
from noisewatch.surfaces.tui.screens.table import rows_of_screen
from noisewatch.surfaces.tui.state.filters import SortOrder
from noisewatch.surfaces.tui.state.screen_model import Screen, ScreenModel
from tests.surfaces.tui.framing import cpu_line, culprit, frame, framed_lines, model_of, screen_of

_SIZES = [(20, 5), (40, 10), (60, 20), (80, 24), (100, 32), (120, 34), (140, 40), (300, 80)]
_ETH = "Ethernet Controller (eth0)"


def _setting(number: int, name: str, effective: str | None, allowed: str | None, **rest: Any) -> IrqSetting:
    setting = IrqSetting(
        str(number), Kind.IRQ, name, device=_ETH, allowed=allowed, effective=effective, movable=True, is_managed=False
    )
    return replace(setting, **rest)


_SETTINGS = (
    _setting(100, "nvme0q0", "0", "0-1", device="SSD", is_managed=True),
    _setting(204, "eth0-TxRx-4", "1", "0-3"),
    _setting(205, "eth0-TxRx-5", "1", "1"),
    IrqSetting("LOC", Kind.TICK, "Local timer interrupts", movable=False, is_managed=False),
    IrqSetting("TLB", Kind.IPI, "TLB shootdowns", movable=False, is_managed=False),
)


def _line(label: str, **rates: float) -> IrqLine:
    cpus = tuple(int(name.removeprefix("cpu")) for name in rates)
    return IrqLine(label, cpus, tuple(rates.values()))


_LINES = (_line("204", cpu1=12.0), _line("205", cpu1=41_234.0), _line("LOC", cpu0=250.0, cpu1=250.0, cpu3=1.0))


def _frame(second: int, irqs: tuple[IrqLine, ...] | None = _LINES, count: int = 4, **rest: Any) -> Frame:
    cpus = tuple(cpu_line(cpu, Role.HOUSEKEEPING if cpu < 2 else Role.TARGET) for cpu in range(count))
    return frame(cpus, second=second, **{"irqs": irqs, "irq_settings": _SETTINGS if second == 1 else None, **rest})


def _model_with_move(to: str, at: int, frames: int) -> ScreenModel:
    """Return a model in which IRQ 205 moves to another CPU."""
    after = tuple(replace(setting, effective=to) if setting.label == "205" else setting for setting in _SETTINGS)
    return model_of(
        *(
            _frame(second, irq_settings=after if second == at else _SETTINGS if second == 1 else None)
            for second in range(1, frames + 1)
        )
    )


def _row(lines: list[str], label: str) -> str:
    return next(line for line in lines if line.split()[:1] == [label])


def _rows(model: ScreenModel, width: int, height: int) -> list[str]:
    return screen_of(model, Screen.IRQS, width, height)


def test_a_row_shows_its_rate_by_cpu_and_its_affinity() -> None:
    lines = _rows(model_of(_frame(1)), 120, 34)
    heading = _row(lines, "IRQ")
    row = _row(lines, "205")
    assert "41 200" in row
    assert row[heading.index(" 1 ") : heading.index(" 1 ") + 2] == "██"
    assert row.split()[5:7] == ["1", "yes"]


def test_dots_mark_allowed_cpus_and_managed_irqs_cannot_be_moved() -> None:
    model = model_of(_frame(1, (_line("100", cpu0=3.0),)))
    row = _row(_rows(model, 120, 34), "100")
    assert "▁▁ ·· " in row
    assert " mgd" in row


def test_an_offline_cpu_is_marked() -> None:
    cpus = (*(cpu_line(cpu) for cpu in range(3)), cpu_line(3, Role.OFFLINE, None))
    lines = _rows(model_of(replace(_frame(1), cpus=cpus)), 120, 34)
    assert " xx " in _row(lines, "205")


def test_the_busiest_comes_first_and_the_selected_row_follows_its_irq() -> None:
    model = model_of(_frame(1))
    _rows(model, 120, 34)
    model.select(1)
    assert model.irq_listing().selected == model.irq_listing().lines[1]
    model.add(_frame(2, (_line("204", cpu1=9_000.0), _line("205", cpu1=12.0))))
    listing = model.irq_listing()
    assert [row.label for row in listing.lines][:2] == ["204", "205"]
    assert listing.selected is not None
    assert (listing.selected.label, listing.at) == ("204", 0)


def test_rows_keep_their_order_while_rates_change_a_little() -> None:
    model = model_of(_frame(1, (_line("204", cpu1=720.0), _line("205", cpu1=710.0))))
    model.add(_frame(2, (_line("204", cpu1=710.0), _line("205", cpu1=720.0))))
    assert [row.label for row in model.irq_listing().lines][:2] == ["204", "205"]
    model.sort = SortOrder.RATE
    assert [row.label for row in model.irq_listing().lines][:2] == ["205", "204"]


def test_silent_irqs_are_counted_until_they_are_requested() -> None:
    model = model_of(_frame(1))
    lines = _rows(model, 120, 34)
    assert any("2 silent ones are hidden: z shows them" in line for line in lines)
    assert not any(line.split()[:1] == ["TLB"] for line in lines)
    model.toggle_hidden()
    lines = _rows(model, 120, 34)
    assert _row(lines, "TLB").split()[-1] == "0" or " 0 " in _row(lines, "TLB")
    assert not any("hidden" in line for line in lines)


def test_an_irq_that_was_active_in_the_last_minute_is_not_silent() -> None:
    model = model_of(*(_frame(second, _LINES if second == 1 else ()) for second in range(1, 61)))
    model.go_to(Screen.IRQS)
    assert "204" in [row.label for row in model.irq_listing().lines]
    model.add(_frame(61, ()))
    assert "204" not in [row.label for row in model.irq_listing().lines]
    model.go_to_number(30)
    assert "204" in [row.label for row in model.irq_listing().lines]


def test_a_silent_irq_that_was_moved_in_the_last_minute_is_shown() -> None:
    model = _model_with_move("3", at=70, frames=75)
    for second in range(76, 140):
        model.add(_frame(second, ()))
    assert "205" not in [row.label for row in model.irq_listing().lines]
    model.go_to_number(100)
    assert "205" in [row.label for row in model.irq_listing().lines]


def test_a_move_is_shown_with_its_age_and_its_cpus() -> None:
    model = _model_with_move("3", at=4, frames=15)
    lines = _rows(model, 120, 34)
    assert "11 s, 1→3" in _row(lines, "205")
    assert any("moved     from CPU 1 to CPU 3 (11 s ago)" in line for line in lines)


def test_before_a_move_the_earlier_cpu_is_shown() -> None:
    model = _model_with_move("3", at=4, frames=15)
    model.go_to_number(1)
    row = _row(_rows(model, 120, 34), "205")
    assert "→" not in row
    assert row.split()[5] == "1"


def test_a_device_has_one_row_for_all_its_irqs() -> None:
    model = model_of(_frame(1))
    model.go_to(Screen.IRQS)
    model.toggle_folding()
    assert model.folds
    lines = _rows(model, 120, 34)
    row = next(line for line in lines if _ETH in line)
    assert row.split()[:2] == ["2", "of"]
    assert "41 200" in row


def test_grouping_keeps_the_selection_of_a_device_and_its_irq() -> None:
    model = model_of(_frame(1))
    _rows(model, 120, 34)
    model.select(1)
    model.toggle_folding()
    selected = model.irq_listing().selected
    assert selected is not None
    assert selected.labels == ("204", "205")
    model.toggle_folding()
    assert model.irq_listing().selected in model.irq_listing().lines[:2]


def test_an_irq_that_is_gone_shows_no_current_rate() -> None:
    model = model_of(_frame(1))
    model.go_to(Screen.IRQS)
    model.select(0)
    model.add(_frame(2, (_line("204", cpu1=12.0),), irq_settings=_SETTINGS[:2]))
    lines = _rows_here(model, 120, 34)
    assert "(gone)" in _row(lines, "205")
    assert "41 200" not in _row(lines, "205")


def test_the_panel_shows_all_facts_of_the_selected_irq() -> None:
    noise = culprit("205 eth0-TxRx-5", 1, 120e6, kind=Kind.IRQ, irq=205, pid=None, tid=None, is_estimate=True)
    text = "\n".join(_rows(model_of(_frame(1, culprits=(noise,))), 120, 34))
    assert f"IRQ 205 · eth0-TxRx-5 · {_ETH}" in text
    assert "goes to   CPU 1   may go to CPU 1   it can be moved" in text
    assert "rate      CPU 1: 41 200/s" in text
    assert "costs     ~120 ms/s of CPU 1" in text
    assert "median 41 200/s, max 41 200/s in 1 interval" in text


@pytest.mark.parametrize("irqs", [_LINES, ()])
def test_enter_shows_the_cpu_that_the_irq_interrupts_most_or_goes_to(irqs: tuple[IrqLine, ...]) -> None:
    model = model_of(_frame(1, irqs))
    model.shows_silent_irqs = True
    _rows(model, 120, 34)
    model.select(0 if irqs else 1)
    model.drill_in()
    assert (model.screen, model.cpu) == (Screen.CPU, 1)
    assert model.selection.chosen is None  # it has no culprit line


@pytest.mark.parametrize(
    ("rest", "expected"),
    [
        (
            {"irqs": None, "no_irqs_reason": "/proc/interrupts: not permitted"},
            "rates unknown: /proc/interrupts: not per",
        ),
        ({"irqs": None, "seconds": 0.0}, "measuring: the first second is not over"),
        ({"irq_settings": None}, "names and affinities unknown"),
        (
            {"irq_settings": (_setting(205, "eth0-TxRx-5", None, None, movable=None, is_managed=None),)},
            "affinities of IRQs unknown: /proc/irq cannot be read",
        ),
    ],
)
def test_unknown_values_have_their_reason(rest: dict[str, Any], expected: str) -> None:
    assert expected in "\n".join(_rows(model_of(replace(_frame(1), **rest)), 120, 34))


def test_without_rates_no_irq_is_called_silent() -> None:
    lines = _rows(model_of(_frame(1, None)), 120, 34)
    assert not any("silent one" in line for line in lines)
    assert "?  ?? ·· " in _row(lines, "100")
    assert _row(lines, "100").split()[2] == "?"


def test_unknown_affinities_are_marked() -> None:
    unknown = _setting(205, "eth0-TxRx-5", None, None, movable=None, is_managed=None)
    lines = _rows(model_of(_frame(1, irq_settings=(unknown,))), 120, 34)
    assert _row(lines, "205").split()[5:7] == ["?", "?"]
    text = "\n".join(lines)
    assert "goes to   unknown   may go to unknown   unknown whether it can be moved" in text
    assert "moved     unknown: the kernel does not report where the IRQ goes" in text


def _places(count: int, caches: int) -> tuple[PlaceLine, ...]:
    size = count // caches
    return tuple(PlaceLine(cpu, node=2 * cpu // count, cache=f"L3#{cpu // size}") for cpu in range(count))


def test_many_cpus_share_columns_by_cache_and_the_screen_explains_it() -> None:
    busy = IrqLine("205", tuple(range(16)), (5.0,) * 15 + (41_000.0,))
    model = model_of(_frame(1, (busy,), count=512, places=_places(512, 32)))
    lines = _rows(model, 140, 40)
    row = _row(lines, "205")
    assert "█" in row
    assert any("worst of an L3" in line for line in lines)
    assert "│" in row


def test_without_caches_neighbours_share_a_column_if_not_all_cpus_fit() -> None:
    assert not any("per column" in line for line in _rows(model_of(_frame(1, count=64)), 140, 40))
    assert any("worst of 8 CPUs" in line for line in _rows(model_of(_frame(1, count=512)), 140, 40))


@pytest.mark.parametrize("count", [1, 2, 16, 64, 512])
@pytest.mark.parametrize(("width", "height"), _SIZES)
def test_the_irqs_screen_fits_every_size(count: int, width: int, height: int) -> None:
    many = tuple(_setting(number, f"数据库-TxRx-{number}", "1", "0-1") for number in range(300, 360))
    lines = tuple(IrqLine(setting.label, (0,), (float(at),)) for at, setting in enumerate(many))
    places = _places(count, 8) if count > 8 else None
    busy = model_of(_frame(1, lines, count, irq_settings=many, places=places), _frame(2, lines, count))
    for model in (busy, model_of(_frame(1, None, count)), model_of(_frame(1, count=count)), ScreenModel()):
        model.go_to(Screen.IRQS)
        for glyphs in (UNICODE, ASCII):
            rows = rows_of_screen(model, width, height, glyphs)
            assert len(rows) == height
            assert max(map(length, rows), default=0) <= width


@pytest.mark.parametrize("at", [0, 7, 30, 59])
@pytest.mark.parametrize(("width", "height"), [(60, 16), (80, 24), (120, 34)])
def test_the_selected_row_is_visible(at: int, width: int, height: int) -> None:
    many = tuple(_setting(number, f"eth0-{number}", "1", "0-1") for number in range(300, 360))
    lines = tuple(IrqLine(setting.label, (0,), (50.0,)) for setting in many)
    model = model_of(_frame(1, lines, irq_settings=many))
    model.go_to(Screen.IRQS)
    model.select(at)
    assert any(line.split()[:1] == [str(300 + at)] for line in _rows_here(model, width, height))


def _rows_here(model: ScreenModel, width: int, height: int) -> list[str]:
    return [line.lstrip("│ ") for line in framed_lines(model, width, height)]


def _bursts(rate_by_second: Mapping[int, float], seconds: int = 40) -> ScreenModel:
    """Return the model of a machine whose IRQ 205 has these rates on CPU 3, and 12/s at other times."""
    model = model_of(
        *(
            _frame(second, (_line("204", cpu1=900.0), _line("205", cpu3=rate_by_second.get(second, 12.0))))
            for second in range(1, seconds + 1)
        )
    )
    model.go_to(Screen.IRQS)
    return model


def test_brackets_go_to_rises_of_the_selected_irq_which_stays_selected() -> None:
    model = _bursts({20: 41_000.0, 21: 41_000.0, 30: 8_000.0})
    model.sort = SortOrder.RATE
    model.note_drawn()
    assert model.irq_listing().selected.label == "204"  # type: ignore[union-attr]
    model.step_to_spike(-1)
    assert model.notice == "no earlier rise of IRQ 204"
    assert "[ ] rises of IRQ 204" in "\n".join(framed_lines(model, 140, 34))
    model.select(1)
    assert "[ ] rises of IRQ 205" in "\n".join(framed_lines(model, 140, 34))
    stops = []
    for _ in range(2):
        model.step_to_spike(-1)
        stops.append(model.cursor)
        assert model.irq_listing().selected.label == "205"  # type: ignore[union-attr]
    assert stops == [19, 19]
    assert model.notice == "no earlier rise of IRQ 205"


def test_an_irq_that_is_as_frequent_as_before_does_not_rise_and_an_unknown_rate_is_no_rise() -> None:
    model = _bursts({20: 41_000.0, 25: 41_000.0, 36: 45_000.0})
    assert model.irqs.rises(["205"]) == [19, 35]
    gone = model_of(*(_frame(second, None if second < 9 else _LINES) for second in range(1, 12)))
    assert gone.irqs.rises(["205"]) == []


def test_brackets_on_the_screen_of_one_cpu_go_to_its_own_spikes() -> None:
    def at(second: int) -> Frame:
        noise = {2: 90e6 if second == 5 else 1e4, 3: 90e6 if second == 9 else 1e4}
        return frame(tuple(cpu_line(cpu, Role.TARGET, noise.get(cpu, 1e4)) for cpu in range(4)), second=second)

    model = model_of(*(at(second) for second in range(1, 15)))
    model.go_to_cpu(2)
    assert "[ ] spikes of CPU 2" in "\n".join(framed_lines(model, 140, 34))
    model.step_to_spike(-1)
    assert model.cursor == 4
    model.step_to_spike(1)
    assert model.notice == "no later spike of CPU 2"
