"""Sentences of some screens next to the verdict, instead of the worst CPU; the longest wording comes first."""

from __future__ import annotations

from collections.abc import Sequence

from noisewatch.cpus import format_cpu_list, name_cpus
from noisewatch.judgement.terms import Gravity
from noisewatch.kinds import Role
from noisewatch.operations.frame.frame import Frame
from noisewatch.surfaces.tui.draw.glyphs import GRAVE_NS, Glyphs
from noisewatch.surfaces.tui.draw.text_row import Row, Style
from noisewatch.surfaces.tui.state.clock_history import ClockRange
from noisewatch.surfaces.tui.state.irq_table import LOUD_PER_S, uncounted_cpus
from noisewatch.surfaces.tui.state.map_view import Quantity
from noisewatch.surfaces.tui.state.screen_model import ScreenModel
from noisewatch.units import describe_clock, describe_clocks, describe_rate, short_noise, short_share

_RANGE_INTERVALS = 120
_STEADY = 0.01  # of the clock; a smaller spread is steady
_FRESH_S = 5.0
_MOST_NAMED = 3
_LIMIT = short_share(GRAVE_NS / 1e9)


def irqs_headline(model: ScreenModel, frame: Frame, glyphs: Glyphs) -> Sequence[Row]:
    """Return the device that interrupts a target CPU most; empty if rates are unknown or no target is online."""
    if frame.irqs is None or not any(line.role == Role.TARGET for line in frame.cpus):
        return []
    unread = uncounted_cpus(frame) & set(frame.target)
    doubt: Row = [(f"interrupts unknown on {name_cpus(unread)}", "unknown")] if unread else []
    found = [
        (rate, cpu, line.label)
        for line in frame.irqs
        if line.label.isdecimal()
        for cpu, rate in line.rate_by_cpu.items()
        if cpu in frame.target and rate > 0
    ]
    if not found:
        return [doubt or [("no device interrupts a target CPU", "calm")]]
    rate, cpu, label = max(found)
    setting = model.irq_settings.get(label)
    style: Style = "grave" if rate >= LOUD_PER_S else "notable"
    said: Row = [
        (describe_rate(rate), style),
        (f" interrupt target CPU {cpu}", "plain"),
        (f"  {glyphs.cause} ", "faint"),
        (f"IRQ {label}", "strong"),
    ]
    named: Row = [(f" {setting.name}", "strong")] if setting is not None else []
    beside: Row = [("  ", "plain"), *doubt] if doubt else []
    return [[*said, *named, *beside], [*said, *beside]]


def clock_headline(model: ScreenModel, frame: Frame, glyphs: Glyphs) -> Sequence[Row]:
    """Return the range of the target CPUs' recent clocks; empty if none is known."""
    numbers = range(max(model.number + 1 - _RANGE_INTERVALS, model.history.first), model.number + 1)
    found_by_cpu = {cpu: model.clocks.range_of(cpu, numbers) for cpu in frame.target}
    read = {cpu for cpu in frame.target if None not in model.clocks.clocks(cpu, [model.number])}
    range_by_cpu = {
        cpu: found for cpu, found in found_by_cpu.items() if cpu in read and found is not None and _is_fresh(found)
    }
    ranges = range_by_cpu.values()
    if not ranges:
        return []
    low, high = min(each.lowest_khz for each in ranges), max(each.highest_khz for each in ranges)
    spread = (high - low) / high
    target: Row = [(f"target {format_cpu_list(frame.target)}: ", "plain")]
    if spread < _STEADY:
        said: Row = [*target, (f"{describe_clock(high)}, steady", "strong")]
    else:
        moved = f"{describe_clocks(low, high)}, spread {spread:.0%}"
        said = [*target, (moved, "notable")]
    unread = format_cpu_list(cpu for cpu in frame.target if cpu not in range_by_cpu)
    return [[*said, (f"  unknown on CPU {unread}", "unknown")] if unread else said]


def _is_fresh(found: ClockRange) -> bool:
    """Return whether the clock is recent: without a tick, a CPU's clock is not known to be steady."""
    return found.age_s is not None and found.age_s < _FRESH_S


def preflight_headline(model: ScreenModel, frame: Frame, glyphs: Glyphs) -> Sequence[Row]:
    """Return the number of checks that block a benchmark, and the number of their causes."""
    number_of = frame.number_of
    if frame.verdict is None:
        return []
    parts: list[Row] = []
    if number_of.get(Gravity.FAILED):
        parts.append([(_blocking(number_of[Gravity.FAILED], "check", "checks"), "grave")])
    if number_of.get(Gravity.UNANSWERED):
        parts.append([(_blocking(number_of[Gravity.UNANSWERED], "unknown", "unknown"), "unknown")])
    blocking = {*frame.failed, *frame.unknown} if parts else set()
    causes = {each.cause for each in frame.findings if each.id in blocking and each.cause is not None}
    if not parts:
        return _passing(model, frame)
    said: Row = [piece for at, part in enumerate(parts) for piece in ([(", ", "plain"), *part] if at else part)]
    tail: Row = [(f": {len(causes)} of {_causes(len(frame.causes))}", "plain")] if causes else []
    first = next((each.id for each in frame.findings if each.id in blocking), None)
    named: Row = [(f"  {glyphs.cause} ", "faint"), (first, "strong")] if first is not None else []
    return [[*said, *tail, *named], [*said, *tail], said]


def _passing(model: ScreenModel, frame: Frame) -> Sequence[Row]:
    """Return the number of passed checks, and the unknown ones; calm only if the verdict is stable."""
    number_of = frame.number_of
    is_calm = frame.verdict == "stable" and not (model.cursor is None and model.is_stale)
    passed, warned = number_of.get(Gravity.PASSED, 0), number_of.get(Gravity.WARNED, 0)
    said: Row = [(f"{passed} checks pass", "calm" if is_calm else "plain"), (f", {warned} warn", "plain")]
    count = number_of.get(Gravity.OPEN, 0)
    if not count:
        return [said]
    names = [each.id for each in frame.findings if each.gravity == Gravity.OPEN]
    named = f": {', '.join(names[:_MOST_NAMED])}{' …' * (count > _MOST_NAMED)}" if names else ""
    return [[*said, (f", {count} unknown{each}", "unknown")] for each in (named, "")]


def map_headline(model: ScreenModel, frame: Frame, glyphs: Glyphs, numbers: range) -> Sequence[Row]:
    """Return how many of the intervals were over the limit, on which target CPUs, and when it was worst."""
    if model.map.quantity != Quantity.NOISE or not numbers or not frame.target:
        return []
    count, unread = model.history.noisy_within(numbers)
    targets = [line.cpu for line in frame.cpus if line.role == Role.TARGET]
    unread_cpus = model.history.unread_cpus(targets, numbers)
    if unread == len(numbers):
        whose = f": {name_cpus(unread_cpus)}" if 0 < len(unread_cpus) < len(targets) else ""
        return [[(f"noise of the target CPUs unknown in all of {_intervals(unread)}{whose}", "unknown")]]
    doubt = _doubt(unread, unread_cpus)
    if not count:
        return [[(f"no target CPU over {_LIMIT} in {_intervals(len(numbers) - unread)}", "calm"), *doubt]]
    lost = [each or 0.0 for each in model.history.worst(numbers)]
    noisy = [number for number, each in zip(numbers, lost, strict=True) if each >= GRAVE_NS]
    most, worst_at = max(zip(lost, numbers, strict=True))
    over = model.history.cpus_over_limit(targets, numbers)
    cpus = [cpu for cpu in over if any((each or 0) >= GRAVE_NS for each in model.history.noise(cpu, noisy))]
    where = f" on {name_cpus(cpus)}" if cpus else ""
    said: Row = [(f"over {_LIMIT} in {count} of {len(numbers)} intervals{where}", "grave"), *doubt]
    at_ns = round((model.clocks.taken_at_s(worst_at) or 0.0) * 1e9)
    when = model.wall_clock(at_ns) or f"{(at_ns - (model.begin_ns or 0)) / 1e9:.0f} s"
    worst: Row = [(f"  {glyphs.cause} ", "faint"), (f"worst: {short_noise(most)} at {when}", "plain")]
    return [[*said, *worst], said]


def _doubt(unread: int, cpus: Sequence[int]) -> Row:
    """Return in how many intervals noise is unknown, and on which CPUs.

    CPUs may be unknown even if no interval is: another CPU was over the limit there.
    """
    parts = [str(unread)] if unread else []
    parts += ["unknown", f"on {name_cpus(cpus)}"] if cpus else ["unknown"] if unread else []
    return [(f", {' '.join(parts)}", "unknown")] if parts else []


def _intervals(count: int) -> str:
    return f"{count} interval{'s' * (count != 1)}"


def _causes(count: int) -> str:
    return f"{count} cause{'s' * (count != 1)}"


def _blocking(count: int, one: str, several: str) -> str:
    return f"1 {one} blocks" if count == 1 else f"{count} {several} block"
