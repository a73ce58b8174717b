"""The map: its quantities, its parts by place, its two ways to draw a level, and the CPU at its pointer."""

from __future__ import annotations

from itertools import pairwise

import pytest
from msgspec.structs import replace
from rich.color import Color
from rich.style import Style

from noisewatch.kinds import Kind, Role
from noisewatch.operations.frame.frame import (
    ClockCpu,
    ClockFigures,
    ClockPackage,
    CpuLine,
    Frame,
    IrqLine,
    IrqSetting,
    PlaceLine,
)
from noisewatch.surfaces.drawing.colours import LEVEL_COLOURS, TONES, halves_style
from noisewatch.surfaces.drawing.glyphs import ASCII, TONED, UNICODE, Glyphs
from noisewatch.surfaces.drawing.text_row import Row
from noisewatch.surfaces.picture import THEMES
from noisewatch.surfaces.tui.draw.levels import level_pieces, style_of
from noisewatch.surfaces.tui.screens.map_scales import scale_of
from noisewatch.surfaces.tui.screens.map_screen import lane_rows, pair_legend, pair_row
from noisewatch.surfaces.tui.screens.table import rows_of_screen
from noisewatch.surfaces.tui.state.history import CpuReadings
from noisewatch.surfaces.tui.state.map_view import MapView, Quantity
from noisewatch.surfaces.tui.state.noise import LEVELS_NS, OFFLINE_NS
from noisewatch.surfaces.tui.state.screen_model import Screen, ScreenModel
from tests.surfaces.tui.framing import cpu_line, culprit, frame, model_of, screen_of, text_of, text_of_rows

_QUIET, _NOISY = 1e3, 300e6
_TICK = IrqSetting("LOC", Kind.TICK, "Local timer interrupts")


def _cpus(count: int, noisy: tuple[int, ...] = ()) -> tuple[CpuLine, ...]:
    return tuple(cpu_line(cpu, Role.TARGET, _NOISY if cpu in noisy else _QUIET) for cpu in range(count))


def _two_nodes(count: int) -> tuple[PlaceLine, ...]:
    half = count // 2
    return tuple(PlaceLine(cpu, cpu // half, cpu // half, cpu, f"L3#{cpu // half}", (cpu,)) for cpu in range(count))


def _model(*frames: Frame, quantity: Quantity = Quantity.NOISE) -> ScreenModel:
    model = model_of(*frames)
    model.go_to(Screen.MAP)
    model.map = MapView(quantity)
    return model


def _map_rows(model: ScreenModel, width: int = 120, height: int = 34, glyphs: Glyphs = UNICODE) -> list[Row]:
    return rows_of_screen(model, width, height, glyphs)


def test_cpus_are_below_the_name_of_their_node_and_cache() -> None:
    lines = list(map(text_of, _map_rows(_model(frame(_cpus(16), places=_two_nodes(16))))))
    (first,) = [at for at, line in enumerate(lines) if line.startswith("╭─ noise/s · node 0 · L3#0 ─")]
    (rule,) = [at for at, line in enumerate(lines) if line.startswith("├─ node 1 · L3#1 ─") and line.endswith("─┤")]
    labels = [line[2:7].strip() for line in lines]
    assert labels.index("T 0") > first
    assert labels.index("T 7") < rule < labels.index("T 8")


def test_an_offline_cpu_without_a_place_is_in_the_last_part() -> None:
    lines = (*_cpus(15), CpuLine(15, Role.OFFLINE))
    text = text_of_rows(_map_rows(_model(frame(lines, places=_two_nodes(16)[:15]))))
    assert "noise/s · node 0" in text
    assert text.index("node 1 · L3#1") < text.index("x 15")


def test_parts_have_no_rules_if_these_would_take_too_many_rows() -> None:
    places = tuple(PlaceLine(cpu, 0, 0, cpu, f"L3#{cpu}", (cpu,)) for cpu in range(64))
    assert "L3#1" not in text_of_rows(_map_rows(_model(frame(_cpus(64), places=places))))


@pytest.mark.parametrize(
    ("quantity", "title", "sign"),
    [
        (Quantity.NOISE, "noise/s", "█"),
        (Quantity.INTERRUPTS, "interrupts/s", "▆"),
        (Quantity.CLOCK, "clock, GHz", "▂"),
        (Quantity.HEAT, "heat, °C", "▅"),
    ],
)
def test_each_quantity_has_its_own_level(quantity: Quantity, title: str, sign: str) -> None:
    line = replace(_cpus(1, (0,))[0], interrupts_per_s=12_000.0, current_khz=1_000_000)
    others = _cpus(63)
    clock = ClockFigures(cpus=(ClockCpu(0, celsius=71.0),), packages=(ClockPackage(0, "0-63", celsius=30.0),))
    lines = (line, *(replace(other, cpu=other.cpu + 1) for other in others))
    ticks = IrqLine("LOC", tuple(range(64)), (100.0,) * 64)
    model = _model(frame(lines, clock=clock, irqs=(ticks,), irq_settings=(_TICK,)), quantity=quantity)
    text = text_of_rows(_map_rows(model, height=90))
    assert f"╭─ {title} ─" in text
    row = next(line for line in text.splitlines() if line.startswith("│ T 0 "))
    assert row.rstrip("│ ").endswith(sign)


def test_a_clock_that_is_older_than_its_interval_is_unknown_on_the_map() -> None:
    ticks = IrqLine("LOC", (0,), (100.0,))
    interval = frame(_cpus(2), irqs=(ticks,), irq_settings=(_TICK,))
    scale = scale_of(_model(interval), Quantity.CLOCK)
    assert [scale.values(cpu, range(1)) for cpu in (0, 1)] == [[3_000_000], [None]]
    text = text_of_rows(_map_rows(_model(replace(interval, irqs=()), quantity=Quantity.CLOCK), height=40))
    assert "clocks unknown: the kernel measures a clock up to the last tick" in text


@pytest.mark.parametrize("count", [2, 512])
@pytest.mark.parametrize("glyphs", [UNICODE, TONED])
def test_without_a_clock_the_legend_names_no_level(count: int, glyphs: Glyphs) -> None:
    cpus = tuple(replace(line, current_khz=None) for line in _cpus(count))
    text = text_of_rows(_map_rows(_model(frame(cpus), quantity=Quantity.CLOCK), glyphs=glyphs))
    assert "clock, GHz" in text
    assert "0.0" not in text.partition("clock, GHz")[2].partition("noise of")[0].replace("load 0.0%", "")


def test_rates_are_kept_within_five_percent_and_unknown_stays_unknown() -> None:
    readings = CpuReadings(2)
    for rate in (0.0, 41_235.0, None):
        readings.add(frame((cpu_line(0, interrupts_per_s=rate),)))
    assert readings.interrupts(0, [0, 1, 2, 3]) == [None, pytest.approx(41_235, rel=0.05), None, None]
    assert readings.interrupts(7, [1]) == [None]


@pytest.mark.parametrize(
    ("clock", "expected"),
    [
        (None, "heat unknown: read next interval"),
        (ClockFigures(reasons={"celsius": "no driver"}), "heat unknown: no driver"),
        (ClockFigures(), "heat unknown: no sensor of a core or a package reports it"),
    ],
)
def test_unknown_heat_is_marked_with_its_reason(clock: ClockFigures | None, expected: str) -> None:
    text = text_of_rows(_map_rows(_model(frame(_cpus(4), clock=clock), quantity=Quantity.HEAT)))
    assert expected in text
    assert sum(line.rstrip("│ ").endswith("?") for line in text.splitlines()) == 4


def test_heat_of_some_cpus_leaves_the_others_unknown() -> None:
    clock = ClockFigures(packages=(ClockPackage(0, "0", celsius=50.0), ClockPackage(1, "1", celsius=None)))
    text = text_of_rows(_map_rows(_model(frame(_cpus(40), clock=clock), quantity=Quantity.HEAT), height=90))
    rows = {line.split()[2]: line.rstrip("│ ")[-1] for line in text.splitlines() if line.startswith("│ T ")}
    assert (rows["0"], rows["1"]) == ("▃", "?")
    assert "heat unknown" not in text


def test_a_row_of_several_lines_is_as_high_as_its_level() -> None:
    scale = scale_of(ScreenModel(), Quantity.NOISE)
    columns = [text_of(row) for row in lane_rows([0.0, 1.0, 30e6, 1e9, None, OFFLINE_NS], scale, 4, None, UNICODE)]
    assert columns[0] == "  ▂█  "
    assert columns[-1][3:] == "█?x"
    assert columns[-1][:2] == " ▄"


def test_one_line_shows_the_level_as_on_other_screens() -> None:
    scale = scale_of(ScreenModel(), Quantity.NOISE)
    assert text_of(lane_rows([0.0, 2e3, 1e9], scale, 1, None, UNICODE)[0]) == " ▁█"


@pytest.mark.parametrize(
    ("upper", "lower", "expected"),
    [
        (_QUIET, _QUIET, ("▀", halves_style(1, 1))),
        (_QUIET, 0.0, ("▀", halves_style(1, 0))),
        (_NOISY, _QUIET, ("▴", halves_style(0, 8))),
        (_QUIET, _NOISY, ("▾", halves_style(0, 8))),
        (_NOISY, _NOISY, ("◆", halves_style(0, 8))),
        (None, _NOISY, ("▾", halves_style(0, 8))),
        (None, _QUIET, ("?", "unknown")),
        (_QUIET, None, ("?", "unknown")),
        (OFFLINE_NS, _QUIET, ("▄", halves_style(1, None))),
        (_QUIET, OFFLINE_NS, ("▀", halves_style(1, None))),
        (OFFLINE_NS, OFFLINE_NS, ("x", "faint")),
    ],
)
def test_in_half_blocks_unknown_noise_and_noise_over_the_limit_have_a_sign(
    upper: float | None, lower: float | None, expected: tuple[str, str]
) -> None:
    assert pair_row([upper], [lower], scale_of(ScreenModel(), Quantity.NOISE), None, TONED) == [expected]


def test_half_blocks_are_used_only_with_tones_and_too_few_rows() -> None:
    many, few = _model(frame(_cpus(64))), _model(frame(_cpus(16)))
    assert "▀" in text_of_rows(_map_rows(many, glyphs=TONED))
    for model, glyphs in ((many, UNICODE), (many, ASCII), (few, TONED)):
        assert not any("color(" in style for row in _map_rows(model, glyphs=glyphs) for _, style in row)


def test_with_half_blocks_64_cpus_have_32_rows() -> None:
    text = text_of_rows(_map_rows(_model(frame(_cpus(64, (3,)))), height=44, glyphs=TONED))
    rows = [line for line in text.splitlines() if line.startswith("│ T ")]
    assert len(rows) == 32
    assert [line[2:9].strip() for line in rows if "▾" in line] == ["T 2-3"]


@pytest.mark.parametrize(
    ("quantity", "expected"),
    [(Quantity.NOISE, " quiet    50 µs "), (Quantity.INTERRUPTS, " <10    10 "), (Quantity.HEAT, " <40    40 ")],
)
def test_the_legend_shows_the_upper_limit_of_the_lowest_tone(quantity: Quantity, expected: str) -> None:
    assert expected in text_of(pair_legend(scale_of(ScreenModel(), quantity), 120, TONED))


@pytest.mark.parametrize("theme", THEMES)
def test_tones_are_ordered_by_lightness_for_all_kinds_of_colour_vision(theme: str) -> None:
    """Lightness after CIE 1976; deuteranopia and protanopia after Machado et al., 2009."""
    eyes = (
        ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
        ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
        ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    )
    for eye in eyes:
        lightness = []
        for tone in TONES:
            colour = THEMES[theme].look(Style.parse(tone)).colour
            linear = [(value / 255) ** 2.2 for value in Color.parse(colour).get_truecolor()]
            perceived = [sum(a * b for a, b in zip(row, linear, strict=True)) for row in eye]
            light = sum(a * max(b, 0) for a, b in zip((0.2126, 0.7152, 0.0722), perceived, strict=True))
            lightness.append(116 * light ** (1 / 3) - 16)
        sign = -1 if theme == "light" else 1
        assert all(sign * (after - before) > 4 for before, after in pairwise(lightness)), lightness


def test_each_level_has_its_own_colour_that_is_legible_on_dark_and_on_light_terminals() -> None:
    assert len({level_pieces([noise], TONED)[0][1] for noise in LEVELS_NS}) == 8
    assert style_of(10e6, TONED) != style_of(1e9, TONED), "1% and 100%"
    for number in LEVEL_COLOURS:
        red, green, blue = (
            value / 255 / 12.92 if value <= 10 else ((value / 255 + 0.055) / 1.055) ** 2.4
            for value in Color.parse(f"color({number})").get_truecolor()
        )
        luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue
        assert (luminance + 0.05) / 0.05 >= 3
        assert 1.05 / (luminance + 0.05) >= 3


def test_noise_of_housekeeping_cpus_is_grey() -> None:
    for glyphs in (UNICODE, TONED, ASCII):
        for role, is_grey in ((Role.HOUSEKEEPING, True), (Role.TARGET, False), (Role.SIBLING, False)):
            model = _model(frame((cpu_line(0, role, _NOISY), cpu_line(1, Role.TARGET, _QUIET)), second=1))
            rows = rows_of_screen(model, 120, 34, glyphs)
            lane = next(row for row in rows[3:] if text_of(row).lstrip("│| ")[:4].strip(" Ts") == "0")
            styles = {style for text, style in lane if text.strip() and set(text) & set(glyphs.ramp[1:])}
            assert (styles <= {"faint"}) == is_grey, (role, lane)


def test_a_paired_row_of_housekeeping_cpus_is_grey_and_has_no_sign_of_the_limit() -> None:
    scale = scale_of(ScreenModel(), Quantity.NOISE)
    assert text_of(pair_row([_NOISY], [_NOISY], scale, None, TONED, is_grey=True)) == "▀"
    ((_, style),) = pair_row([_NOISY], [_NOISY], scale, None, TONED, is_grey=True)
    assert style == halves_style(8, 8, is_grey=True) != halves_style(8, 8)


def test_the_pointer_is_at_the_worst_target_cpu_until_it_is_moved() -> None:
    cpus, hog = _cpus(8, (5,)), culprit("hog", cpu=5)
    model = _model(frame(cpus, (hog, culprit("other", cpu=6))))
    assert "CPU 5, target, now" in text_of_rows(_map_rows(model))
    assert "hog [4711]" in text_of_rows(_map_rows(model))
    assert "   clock 3.00 GHz   " in text_of_rows(_map_rows(model))
    model.map = model.map.moved(model, 1)
    text = text_of_rows(_map_rows(model))
    assert "CPU 6, target, now" in text
    assert "other [4711]" in text
    assert "hog" not in text.partition("CPU 6, target")[2]


def test_the_pointer_leaves_a_removed_cpu() -> None:
    model = _model(frame(_cpus(4, (1,))))
    model.map = MapView(cpu=77)
    assert model.map.pointed(model) == 1


def test_the_cache_of_the_cpu_at_the_pointer_can_be_shown_alone() -> None:
    model = _model(frame(_cpus(16, (9,)), places=_two_nodes(16)))
    model.map = model.map.with_part_toggled()
    text = text_of_rows(_map_rows(model))
    assert "noise/s · node 1 · L3#1" in text
    assert "T 9" in text
    assert "T 7" not in text
    assert "z all CPUs" in text


def test_the_headline_summarizes_the_intervals_over_the_limit() -> None:
    frames = [frame(_cpus(4, (2,) if at == 7 else ()), second=at) for at in range(1, 21)]
    lines = screen_of(model_of(*frames), Screen.MAP, 140, 34)
    assert "over 0.5% in 1 of 20 intervals on CPU 2" in lines[1]
    assert "worst: 300 ms/s at 6 s" in lines[1]
    calm = screen_of(model_of(*(frame(_cpus(4), second=at) for at in range(1, 21))), Screen.MAP, 140, 34)
    assert "no target CPU over 0.5% in 20 intervals" in calm[1]


@pytest.mark.parametrize(
    ("quantity", "calm", "notable"),
    [(Quantity.INTERRUPTS, 12.0, 5e3), (Quantity.CLOCK, 3e6, 1e6), (Quantity.HEAT, 40.0, 90.0)],
)
def test_notable_values_have_a_sign_in_half_blocks(quantity: Quantity, calm: float, notable: float) -> None:
    scale = scale_of(_model(frame(_cpus(2))), quantity)
    signs = [text_of(pair_row([one], [two], scale, None, TONED)) for one in (calm, notable) for two in (calm, notable)]
    assert signs == ["▀", "▾", "▴", "◆"]
    assert pair_row([OFFLINE_NS], [OFFLINE_NS], scale, None, TONED) == [("x", "faint")]


def test_a_single_row_for_the_cpu_at_the_pointer_names_its_culprit() -> None:
    hog = culprit("hog", 5, 3e8)
    model = model_of(frame(_cpus(64, (5,)), (hog, culprit("cron", 5, 1e6))))
    rows = screen_of(model, Screen.MAP, 60, 20)
    assert any("CPU 5: noise 300 ms/s  ◂ thread hog [4711]" in row for row in rows)
