"""Falls of the target CPUs' clocks, and the changes of settings and conditions that explain them.

A change explains a fall only if it happened at the same time, concerns the same CPU, and can lower its clock. A fall
without such a change has no visible cause. A fall may also be slow: all of the last clocks are then lower than a clock
that the CPU held for as long.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from msgspec import Struct

from noisewatch.cpus import CpuSet
from noisewatch.operations.frame.frame import ClockFigures, ClockLimits, Frame
from noisewatch.surfaces.tui.state.history import cpus_in
from noisewatch.units import describe_clock

DROP = 0.05  # share of the clock: a larger fall within _DROP_INTERVALS intervals, or a larger slow fall, is a drop
_DROP_INTERVALS = 10
_TOGETHER = 2  # intervals: CPUs whose clocks fell within them share a fall
_MOST_FALLS = 128  # kept falls with their CPUs
_SELDOM_READ_S = 11.0  # settings that are read every ten seconds may show a change this much later
_HOTTEST = 0.97  # share of the critical temperature
_PERFORMANCE = "performance"
T = TypeVar("T", bound=Hashable)
_BY = {"heat": "throttled by heat", "power": "power limit reached"}


class ClockChange(Struct, frozen=True):
    """A change in interval `number` that can lower the clock of `cpus`; None means all CPUs.

    With `ceiling_khz`, it explains only falls from above this clock to about this clock or below. With
    `is_seldom_read`, the change may have happened up to ten seconds earlier.
    """

    number: int
    at_s: float
    cpus: CpuSet | None
    text: str
    ceiling_khz: int | None = None
    is_seldom_read: bool = False

    def explains(self, fall: ClockFall, cpu: int) -> bool:
        """Return whether the change can be the cause of the CPU's fall."""
        part = fall.parts[cpu]
        if self.number < part.since or (self.cpus is not None and cpu not in self.cpus):
            return False
        is_late = self.at_s > fall.at_s + _SELDOM_READ_S if self.is_seldom_read else self.number > fall.number + 1
        reaches = self.ceiling_khz is None or part.lowest_khz <= self.ceiling_khz * (1 + DROP) < part.from_khz
        return not is_late and reaches


class CpuFall(Struct):
    """One CPU's part in a fall.

    `since` is the last interval before the fall in which its clock was measured; of a slow fall, the last in which its
    clock was not lower than `from_khz`. `back` is the interval in which the clock had returned, or None if it has not.
    """

    from_khz: int
    lowest_khz: int
    since: int
    back: int | None = None


class ClockFall(Struct):
    """A fall of the clocks of some target CPUs at about the same time: in interval `number`, which ended at `at_s`."""

    number: int
    at_s: float
    parts: dict[int, CpuFall] = {}

    @property
    def worst(self) -> CpuFall:
        """The part of the CPU whose clock fell to the smallest share of its clock before."""
        return min(self.parts.values(), key=lambda part: part.lowest_khz / part.from_khz)

    @property
    def since(self) -> int:
        """The earliest `since` of the parts; all changes that can explain the fall are in this interval or later."""
        return min(part.since for part in self.parts.values())

    def back(self, number: int) -> int | None:
        """Return the interval, up to `number`, in which all CPUs' clocks had returned, or None if they have not."""
        backs = [part.back for part in self.parts.values()]
        last = max((back for back in backs if back is not None), default=None)
        return last if None not in backs and last is not None and last <= number else None


class _Recent(Struct):
    """The last measured clocks of one CPU, and its falls from which the clock has not returned.

    `held_khz` is the highest clock below which none of _DROP_INTERVALS successive clocks was, and `held` the last
    interval with a clock that was not lower. Single high clocks, as idle CPUs have, do not raise it.
    """

    clocks: deque[int]
    number: int = -1
    is_low: bool = False
    falls: list[CpuFall] = []
    held_khz: int = 0
    held: int = -1

    def has_sunk(self) -> bool:
        """Return whether all last clocks are lower than the held clock by more than DROP."""
        return max(self.clocks) < (1 - DROP) * self.held_khz

    def add(self, khz: int, number: int) -> None:
        """Append the clock measured in interval `number`."""
        self.clocks.append(khz)
        self.number = number
        if len(self.clocks) == _DROP_INTERVALS:
            self.held_khz = max(self.held_khz, min(self.clocks))
        if khz >= self.held_khz:
            self.held = number


class ClockFalls:
    """The falls and the changes of the kept intervals, numbered as in History."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._numbers = deque[int]()
        self._falls = deque[ClockFall]()
        self._changes = deque[ClockChange]()
        self._recent: dict[int, _Recent] = {}
        self._settings = _LastSettings()

    def add(self, frame: Frame, number: int, khz_by_cpu: Mapping[int, int]) -> None:
        """Append the next interval; `khz_by_cpu` are the clocks (kHz) that target CPUs' ticks measured in it."""
        self._changes.extend(self._settings.changes(frame, number))
        at_s = frame.taken_at_ns / 1e9
        for cpu, khz in khz_by_cpu.items():
            recent = self._recent.get(cpu)
            if recent is None:
                recent = self._recent[cpu] = _Recent(deque(maxlen=_DROP_INTERVALS))
            for part in recent.falls:
                part.lowest_khz = min(part.lowest_khz, khz)
                part.back = number if khz > (1 - DROP) * part.from_khz else None
            recent.falls = [part for part in recent.falls if part.back is None]
            highest = max(recent.clocks, default=khz)
            is_low = khz < (1 - DROP) * highest
            begun = CpuFall(highest, khz, recent.number) if is_low and not recent.is_low else None
            recent.add(khz, number)
            if begun is None and not recent.falls and recent.has_sunk():
                begun = CpuFall(recent.held_khz, khz, recent.held)
            if begun is not None:
                recent.falls.append(begun)
                self._fall_of(cpu, number, at_s).parts[cpu] = begun
            recent.is_low = is_low
        self._forget(number + 1 - self._capacity)

    def _fall_of(self, cpu: int, number: int, at_s: float) -> ClockFall:
        """Return the last fall if the CPU's clock fell with it, or else a new fall."""
        last = self._falls[-1] if self._falls else None
        if last is None or last.number < number - _TOGETHER or cpu in last.parts:
            if len(self._falls) == _MOST_FALLS:
                returned = (index for index, fall in enumerate(self._falls) if fall.back(number) is not None)
                del self._falls[next(returned, 0)]
            last = ClockFall(number, at_s)
            self._falls.append(last)
            self._numbers.append(number)
        return last

    def _forget(self, first: int) -> None:
        """Drop the falls before interval `first`, and the changes that explain only them."""
        while self._numbers and self._numbers[0] < first:
            self._numbers.popleft()
        while self._falls and self._falls[0].number < first and self._falls[0].back(first) is not None:
            self._falls.popleft()
        first_explained = min([first, *(fall.since for fall in self._falls)])
        while self._changes and self._changes[0].number < first_explained:
            self._changes.popleft()

    @property
    def numbers(self) -> list[int]:
        """The intervals in which a fall begins."""
        return list(dict.fromkeys(self._numbers))

    def last(self, numbers: range, target: Sequence[int]) -> ClockFall | None:
        """Return the fall of target CPUs to report at the end of `numbers`, or None.

        It is the last fall from which the clock has not returned, or else the last fall that began in `numbers`.
        """
        cpus = frozenset(target)
        begun = [fall for fall in self._falls if fall.number < numbers.stop and not cpus.isdisjoint(fall.parts)]
        lasting = [fall for fall in begun if fall.back(numbers.stop - 1) is None]
        recent = [fall for fall in begun if fall.number in numbers]
        reported = lasting or recent
        return reported[-1] if reported else None

    def causes(self, fall: ClockFall) -> dict[int, tuple[str, ...]]:
        """Return the changes that explain the fall, by CPU; a CPU without a visible cause has none."""
        near = [change for change in self._changes if fall.since <= change.number]
        return {
            cpu: tuple(dict.fromkeys(change.text for change in near if change.explains(fall, cpu)))
            for cpu in sorted(fall.parts)
        }


class _LastSettings(Struct):
    """The last known settings and conditions, to find those that changed; a first value is not a change."""

    governors: dict[int, str] = {}
    groups: tuple[ClockLimits, ...] = ()  # the last frame's groups of CPUs with equal limits
    limits: dict[int, tuple[int | None, int | None]] = {}
    preferences: dict[str, str] = {}
    long_limits_w: dict[int, float] = {}
    turbo: str | None = None
    mains: bool | str | None = None
    cooling: frozenset[str] | None = None

    def changes(self, frame: Frame, number: int) -> Iterator[ClockChange]:
        """Yield the changes of the frame that can lower a clock."""
        at_s, conditions = frame.taken_at_ns / 1e9, frame.conditions

        def change(
            text: str, cpus: Iterable[int] | None, ceiling: int | None = None, seldom: bool = False
        ) -> ClockChange:
            return ClockChange(number, at_s, None if cpus is None else frozenset(cpus), text, ceiling, seldom)

        for governor, cpus in _grouped(self._changed_governors(frame)).items():
            yield change(f"governor {governor}", cpus)
        for (text, ceiling), cpus in _grouped(self._changed_limits(frame)).items():
            yield change(text, cpus, ceiling, seldom=True)
        if frame.turbo == "off" and self.turbo == "on":
            bases = [group.base_khz for group in frame.clock.groups] if frame.clock is not None else []
            yield change("turbo off", None, max((khz for khz in bases if khz is not None), default=None))
        self.turbo = frame.turbo or self.turbo
        if conditions.mains_power is False and self.mains is True:
            yield change("mains power lost", None, seldom=True)
        self.mains = self.mains if conditions.mains_power is None else conditions.mains_power
        yield from (
            change(_BY.get(throttled.by, "throttled"), cpus_in(throttled.cpus))
            for throttled in conditions.throttled
            if throttled.times
        )
        if conditions.cooling is not None:
            active = frozenset(cooling.kind for cooling in conditions.cooling if cooling.active)
            for kind in sorted(active - self.cooling) if self.cooling is not None else ():
                yield change(f"cooling device {kind} active", None, seldom=True)
            self.cooling = active
        for cpus_text, share in _heat(frame):
            if share >= _HOTTEST:
                yield change(f"heat at {share:.0%} of critical", cpus_in(cpus_text) if cpus_text is not None else None)
        if frame.clock is not None:
            for text, affected in self._changed_figures(frame.clock):
                yield change(text, affected, seldom=True)

    def _changed_governors(self, frame: Frame) -> Iterator[tuple[int, str]]:
        for line in frame.cpus:
            if line.governor is None:
                continue
            before = self.governors.get(line.cpu)
            self.governors[line.cpu] = line.governor
            if before not in (None, line.governor) and line.governor != _PERFORMANCE:
                yield line.cpu, line.governor

    def _changed_limits(self, frame: Frame) -> Iterator[tuple[int, tuple[str, int | None]]]:
        """Yield CPUs with a lowered limit, each with its text and, for the upper limit, the limit."""
        groups = frame.conditions.clock_limits if frame.conditions.clock_limits != self.groups else ()
        self.groups = frame.conditions.clock_limits
        for group in groups:
            limits = group.min_khz, group.max_khz
            for cpu in cpus_in(group.cpus):
                before = self.limits.get(cpu, limits)
                self.limits[cpu] = limits
                for name, old, new, is_upper in (
                    ("limit", before[1], limits[1], True),
                    ("minimum", before[0], limits[0], False),
                ):
                    if old is not None and new is not None and new < old:
                        yield cpu, (f"{name} lowered to {describe_clock(new)}", new if is_upper else None)

    def _changed_figures(self, clock: ClockFigures) -> Iterator[tuple[str, CpuSet]]:
        """Yield energy preferences and power limits that changed, with their CPUs."""
        for group in clock.groups:
            if group.preference is None:
                continue
            before = self.preferences.get(group.cpus)
            self.preferences[group.cpus] = group.preference
            if before not in (None, group.preference) and group.preference != _PERFORMANCE:
                yield f"EPP {group.preference}", cpus_in(group.cpus)
        for package in clock.packages:
            if package.long_limit_w is None:
                continue
            limit_before = self.long_limits_w.get(package.package, package.long_limit_w)
            self.long_limits_w[package.package] = package.long_limit_w
            if package.long_limit_w < limit_before:
                yield f"power limit lowered to {package.long_limit_w:.0f} W", cpus_in(package.cpus)


def _grouped(items: Iterable[tuple[int, T]]) -> dict[T, list[int]]:
    """Return the CPUs by value."""
    cpus_by_value: dict[T, list[int]] = {}
    for cpu, value in items:
        cpus_by_value.setdefault(value, []).append(cpu)
    return cpus_by_value


def _heat(frame: Frame) -> Iterator[tuple[str | None, float]]:
    """Yield temperatures as shares of their critical temperature, each with its CPUs; None means all CPUs."""
    for sensor in frame.conditions.temperatures:
        if sensor.celsius is not None and sensor.critical_celsius:
            yield None, sensor.celsius / sensor.critical_celsius
    for package in frame.clock.packages if frame.clock is not None else ():
        if package.celsius is not None and package.critical_celsius:
            yield package.cpus, package.celsius / package.critical_celsius
