"""The quantities of the map: the bounds and names of their levels, and their values for each CPU."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct

from noisewatch.surfaces.drawing.text_row import Style
from noisewatch.surfaces.tui.draw.clock_facts import base_khz, highest_khz, no_clock_reason, no_figures_reason
from noisewatch.surfaces.tui.draw.irq_matrix import round_rate
from noisewatch.surfaces.tui.state.map_view import Quantity
from noisewatch.surfaces.tui.state.noise import GRAVE_NS, LEVELS_NS, NOTABLE_NS, OFFLINE_NS, worst_of
from noisewatch.surfaces.tui.state.screen_model import ScreenModel
from noisewatch.units import describe_rate, short_duration, short_share

_RATES = (0.5, 10, 30, 100, 1_000, 10_000, 30_000, 100_000)  # interrupts per second
_DEGREES = (1, 40, 50, 60, 70, 80, 90, 100)  # °C
_CLOCK_SHARES = (0.01, 0.3, 0.45, 0.6, 0.7, 0.8, 0.9, 0.97)  # shares of the highest clock
_HOT = 80  # °C
_OLD_CLOCKS = "clocks unknown: the kernel measures a clock up to the last tick, and no tick is known"
LIMIT = short_share(GRAVE_NS / 1e9)
_LEGEND_LEVELS = (2, 4, 6, 8)  # levels in the legend
Values = Sequence[float | None]


class Scale(Struct, frozen=True):
    """The scale of one quantity: `levels` and `styles` contain the lowest value of each level and style.

    A cell of several values shows the lowest value if `is_best_high`, otherwise the highest. Only noise has a
    `limit`.
    """

    title: str
    levels: Sequence[float]
    in_words: Callable[[float], str]
    values: Callable[[int, range], Values]
    styles: Mapping[Style, float]
    marked: str
    limit: float | None = None
    is_best_high: bool = False
    quiet: str | None = None  # name of the first level
    unknown_reason: str | None = None  # why the quantity is unknown for all CPUs
    has_levels: bool = True  # whether the bounds of levels are known

    def level(self, value: float) -> int:
        """Return the level of a value: 0 for none, up to 8."""
        return bisect_right(self.levels, value)

    def height(self, value: float) -> float:
        """Return the level as a fraction, such as 2.5, for lanes of several lines."""
        level = self.level(value)
        if not 0 < level < len(self.levels):
            return level
        low, high = self.levels[level - 1], self.levels[level]
        return level + (value - low) / (high - low)

    def style(self, value: float) -> Style:
        return next((style for style, least in self.styles.items() if value >= least), "calm")

    def is_over(self, value: float | None) -> bool:
        """Return whether a map in tones marks the value with a sign; `marked` explains the sign."""
        marked = "notable" if self.limit is None else "grave"
        return value is not None and value != OFFLINE_NS and self.style(value) == marked

    def shown_value(self, values: Iterable[float | None]) -> float | None:
        """Return the value that a cell of several values shows, or None if unknown values could change it."""
        all_values = list(values)
        if self.limit is not None:
            return worst_of(all_values)
        online_values = [value for value in all_values if value != OFFLINE_NS]
        measured = [value for value in online_values if value is not None]
        if not online_values:
            return OFFLINE_NS if all_values else None
        return (min if self.is_best_high else max)(measured) if len(measured) == len(online_values) else None

    def legend(self) -> list[tuple[int, str]]:
        """Return some levels with their lowest values, or nothing if these are unknown."""
        return [(level, self.in_words(self.levels[level - 1])) for level in _LEGEND_LEVELS if self.has_levels]


def scale_of(model: ScreenModel, quantity: Quantity) -> Scale:
    return _SCALES[quantity](model)


def _noise(model: ScreenModel) -> Scale:
    return Scale(
        title="noise/s",
        levels=LEVELS_NS,
        in_words=short_duration,
        values=model.history.lane,
        styles={"grave": GRAVE_NS, "notable": NOTABLE_NS},
        marked=f"over {LIMIT}",
        limit=GRAVE_NS,
        quiet="quiet",
    )


def _interrupts(model: ScreenModel) -> Scale:
    return Scale(
        title="interrupts/s",
        levels=_RATES,
        in_words=round_rate,
        values=lambda cpu, numbers: _with_offline(model, cpu, numbers, model.cpu_readings.interrupts(cpu, numbers)),
        styles={"notable": 1_000},
        marked=f"{describe_rate(1_000)} or more",
        unknown_reason="interrupts unknown: /proc/interrupts was not read",
    )


def _clock(model: ScreenModel) -> Scale:
    highest_measured = highest_khz(model) or _highest_now(model)
    highest = highest_measured or 1
    least = base_khz(model) or _CLOCK_SHARES[-2] * highest
    return Scale(
        title="clock, GHz",
        levels=[share * highest for share in _CLOCK_SHARES],
        in_words=lambda khz: f"{khz / 1e6:.1f}",
        values=lambda cpu, numbers: _with_offline(model, cpu, numbers, _fresh_clocks(model, cpu, numbers)),
        styles={"calm": least, "notable": 0},
        marked=f"below {least / 1e6:.1f} GHz",
        is_best_high=True,
        has_levels=highest_measured is not None,
        unknown_reason=_OLD_CLOCKS
        if _highest_now(model) is not None and model.history.count
        else no_clock_reason(model),
    )


def _fresh_clocks(model: ScreenModel, cpu: int, numbers: range) -> Values:
    """Return the CPU's clocks by interval; None for an interval without a tick, because the clock may be old."""
    clocks, are_stale = model.clocks.clocks(cpu, numbers), model.clocks.are_stale(numbers, cpu)
    return [None if is_stale else khz for khz, is_stale in zip(clocks, are_stale, strict=True)]


def _highest_now(model: ScreenModel) -> int | None:
    return max((line.current_khz for line in model.cpus if line.current_khz is not None), default=None)


def _heat(model: ScreenModel) -> Scale:
    return Scale(
        title="heat, °C",
        levels=_DEGREES,
        in_words=lambda celsius: f"{celsius:.0f}",
        values=lambda cpu, numbers: _with_offline(model, cpu, numbers, model.cpu_readings.celsius(cpu, numbers)),
        styles={"notable": _HOT},
        marked=f"{_HOT} °C or more",
        unknown_reason=f"heat unknown: {_no_heat_reason(model)}",
    )


def _no_heat_reason(model: ScreenModel) -> str:
    frame = model.frame
    if frame is None or frame.clock is None:
        reason = no_figures_reason(model)
        return (
            "no figures yet"
            if reason is None
            else reason.replace("this screen was closed", "neither heat nor the clock was shown")
        )
    reasons = frame.clock.reasons
    reason = reasons.get("celsius") or reasons.get("core_celsius")
    return reason or "no sensor of a core or a package reports it"


def _with_offline(model: ScreenModel, cpu: int, numbers: range, values: Sequence[float | None]) -> Values:
    """Return the values, with OFFLINE_NS if the history of noise shows that the CPU was offline."""
    lane = model.history.lane(cpu, numbers)
    return [OFFLINE_NS if lost == OFFLINE_NS else value for lost, value in zip(lane, values, strict=True)]


_SCALES: Mapping[Quantity, Callable[[ScreenModel], Scale]] = {
    Quantity.NOISE: _noise,
    Quantity.INTERRUPTS: _interrupts,
    Quantity.CLOCK: _clock,
    Quantity.HEAT: _heat,
}
