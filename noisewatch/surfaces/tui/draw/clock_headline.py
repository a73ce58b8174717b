"""The clock screen's sentence: the last fall of the target CPUs' clocks with its cause, or else the clocks' range."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from noisewatch.cpus import format_cpu_list
from noisewatch.grouping import group_by_key
from noisewatch.operations.frame.frame import Frame
from noisewatch.surfaces.drawing.text_row import Piece
from noisewatch.surfaces.tui.draw.timeline import time_of
from noisewatch.surfaces.tui.state.clock_falls import ClockFall
from noisewatch.surfaces.tui.state.clock_history import ClockRange
from noisewatch.surfaces.tui.state.screen_model import ScreenModel
from noisewatch.units import describe_clock, describe_clocks, describe_count

RANGE_INTERVALS = 120  # intervals that the range covers, and in which a fall is reported even if the clock has returned
_STEADY = 0.01  # share of the clock; with a smaller spread the clock is steady
_FRESH_S = 5.0  # the clock of a CPU whose last tick is older may have changed
_EXACT = 2  # intervals: after more intervals without a measured clock, the time of a fall is not exact
_LONG_LIST = 14  # characters; instead of a longer list of CPUs their number is shown
_PERFORMANCE = "performance"  # the only governor that never lowers a clock


NEEDED, TIME, BEFORE, EXTRA = range(4)  # kinds of pieces; if the sentence does not fit, EXTRA is dropped first
Sentence = list[tuple[int, Piece]]


def describe_clock_history(model: ScreenModel, frame: Frame) -> Sentence:
    """Return the last fall, or else the range of the clocks; empty if no target CPU's current clock is known."""
    numbers = _recent(model)
    range_by_cpu = _fresh_ranges(model, frame, numbers)
    fall = model.clocks.falls.last(numbers, frame.target)
    if fall is None and not range_by_cpu:
        return []
    unknown_cpus = format_cpu_list(cpu for cpu in frame.target if cpu not in range_by_cpu)
    doubt: Piece = (f"  unknown on CPU {unknown_cpus}" if unknown_cpus else "", "unknown")
    return [*(_describe_range(frame, range_by_cpu) if fall is None else _describe_fall(model, fall)), (NEEDED, doubt)]


def has_fallen(model: ScreenModel, frame: Frame) -> bool:
    """Return whether the sentence reports a fall."""
    return model.clocks.falls.last(_recent(model), frame.target) is not None


def is_low(model: ScreenModel, frame: Frame) -> bool:
    """Return whether the clock of a target CPU fell and has not returned by the shown interval."""
    fall = model.clocks.falls.last(_recent(model), frame.target)
    return fall is not None and fall.back(model.number) is None


def _recent(model: ScreenModel) -> range:
    return range(max(model.number + 1 - RANGE_INTERVALS, model.history.first), model.number + 1)


def _fresh_ranges(model: ScreenModel, frame: Frame, numbers: range) -> dict[int, ClockRange]:
    return {
        cpu: clock_range
        for cpu in frame.target
        if (clock_range := model.clocks.range_of(cpu, numbers)) is not None
        and None not in model.clocks.clocks(cpu, [model.number])
        and clock_range.age_s is not None
        and clock_range.age_s < _FRESH_S
    }


def _describe_range(frame: Frame, range_by_cpu: Mapping[int, ClockRange]) -> Sentence:
    low = min(clock_range.lowest_khz for clock_range in range_by_cpu.values())
    high = max(clock_range.highest_khz for clock_range in range_by_cpu.values())
    spread = (high - low) / high
    target: Piece = (f"target {format_cpu_list(frame.target)}: ", "plain")
    if spread < _STEADY:
        return [(NEEDED, target), (NEEDED, (f"{describe_clock(high)}, steady", "strong"))]
    slow = [cpu for cpu, clock_range in range_by_cpu.items() if clock_range.lowest_khz == low]
    where = f", lowest {_on(slow)}" if len(slow) < len(range_by_cpu) else ""
    text = f"{describe_clocks(low, high)}, spread {spread:.0%}"
    return [(NEEDED, target), (NEEDED, (text, "notable")), (TIME, (where, "notable"))]


def _describe_fall(model: ScreenModel, fall: ClockFall) -> Sentence:
    lows = [part.lowest_khz for part in fall.parts.values()]
    lowest, highest = min(lows), max(lows)
    to = _ghz(lowest) if highest - lowest < _STEADY * highest else f"{_ghz(lowest)}-{_ghz(highest)}"
    numbers = _recent(model)
    count = sum(number in numbers for number in model.clocks.drops())
    return [
        (NEEDED, ("fell " if fall.back(model.number) is None else "dipped ", "notable")),
        (BEFORE, (f"from {_ghz(fall.worst.from_khz)} ", "notable")),
        (NEEDED, (f"to {to} GHz", "notable")),
        (TIME if fall.parts.keys() >= {*model.target} else NEEDED, (f" {_on(sorted(fall.parts))}", "notable")),
        (TIME if _back(model, fall) is None else NEEDED, (_times(model, fall), "notable")),
        (NEEDED, (": ", "plain")),
        *_causes(model, fall),
        (EXTRA, (f"  {count} drops in {describe_count(len(numbers), 'interval')}" if count > 1 else "", "plain")),
    ]


def _causes(model: ScreenModel, fall: ClockFall) -> Sentence:
    """Return the causes; if CPUs differ, each cause with its CPUs."""
    causes_by_cpu = model.clocks.falls.causes(fall)
    groups = group_by_key(causes_by_cpu, lambda cpu: causes_by_cpu[cpu])
    sentence: Sentence = []
    for cpus in groups:
        causes, where = causes_by_cpu[cpus[0]], f" {_on(cpus)}" if len(groups) > 1 else ""
        sentence += [(NEEDED, (", ", "plain"))] if sentence else []
        if causes:
            first, *further = causes
            sentence += [(NEEDED, (first, "strong")), (EXTRA, ("".join(f", {cause}" for cause in further), "strong"))]
            sentence.append((NEEDED, (where, "strong")))
        else:
            sentence.append((NEEDED, (f"cause not visible{where}", "unknown")))
            sentence.append((EXTRA, (_hint(model, fall, cpus), "unknown")))
    return sentence


def _times(model: ScreenModel, fall: ClockFall) -> str:
    """Return when the clock fell and, if it has returned, when it was back."""
    began, back = _time(model, fall.number), _back(model, fall)
    if back is None:
        preposition = "by " if _is_inexact(fall) else "" if began.endswith(" ago") else "at "
        return f" {preposition}{began}"
    end = _time(model, back)
    if _is_inexact(fall):
        return f" by {began}, back at {end}"
    number, _, unit = began.partition(" ")
    return f", {number if unit == end.partition(' ')[2] else began} to {end}"


def _is_inexact(fall: ClockFall) -> bool:
    return fall.since < fall.number - _EXACT


def _back(model: ScreenModel, fall: ClockFall) -> int | None:
    """Return the interval in which the clock was back, in a recording also one after the shown interval, or None."""
    return fall.back(model.history.count - 1 if model.is_recorded else model.number)


def _time(model: ScreenModel, number: int) -> str:
    text = time_of(model, number)
    return f"{text[1:]} ago" if text.startswith("-") else text


def _hint(model: ScreenModel, fall: ClockFall, cpus: Sequence[int]) -> str:
    """Return what may have lowered the clock although no change shows it: a scaling governor, uncounted throttling."""
    lines = model.history.frame(max(fall.number, model.history.first)).cpus
    governors = {line.governor for line in lines if line.cpu in cpus and line.governor is not None} - {_PERFORMANCE}
    hints = [f"governor {governor}" for governor in sorted(governors)]
    numbers = range(fall.since, min(fall.number + 2, model.history.count))
    hints += ["throttling unknown"] if any(model.clocks.are_uncounted(numbers)) else []
    return f" ({', '.join(hints)})" if hints else ""


def _on(cpus: Sequence[int]) -> str:
    named = format_cpu_list(cpus)
    if len(named) > _LONG_LIST:
        return f"on {len(cpus)} CPUs"
    return f"on CPU {named}" if len(cpus) == 1 else f"on {named}"


def _ghz(khz: float) -> str:
    return f"{khz / 1e6:.2f}"
