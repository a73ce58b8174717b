"""The clock of each CPU by interval, and the heat and power of the packages of target CPUs.

A clock takes four bytes: 7 MB per hour for 512 CPUs. Since Linux 5.19, x86 reports the clock measured up to a CPU's
last tick. Without a tick in the interval, the clock is old or merely the clock that the driver requested: such clocks
are kept, and marked as stale.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from enum import StrEnum
from typing import Self

from msgspec import Struct

from noisewatch.cpus import parse_cpu_list
from noisewatch.kinds import Kind, Role
from noisewatch.operations.frame.frame import ClockPackage, Frame
from noisewatch.surfaces.tui.state.clock_falls import DROP, ClockFalls
from noisewatch.surfaces.tui.state.irq_history import IrqHistory
from noisewatch.surfaces.tui.state.noise import highest_if_certain
from noisewatch.surfaces.tui.state.ring import CAPACITY, Ring, Rings

HOT = 0.85  # share of the critical temperature, or of the power limit


def share_of_heat(frame: Frame) -> float:
    """Return the highest ratio of a temperature to its critical temperature, or NaN if unknown.

    The ratio is unknown if any temperature is unknown and no other temperature is HOT.
    """
    degrees = [(package.celsius, package.critical_celsius) for package in _packages(frame)]
    degrees += [(sensor.celsius, sensor.critical_celsius) for sensor in frame.conditions.temperatures]
    return _highest(degrees)


def share_of_power(frame: Frame) -> float:
    """Return the highest power of a target package as a share of PL1 (or else its rated power), or NaN if unknown."""
    return _highest((package.watts, package.long_limit_w or package.rated_w) for package in _packages(frame))


def available_figures(frame: Frame) -> set[str]:
    """Return which figures, `heat` or `power`, are known for at least one target package."""
    figures = {
        "heat": [package.celsius for package in _packages(frame)],
        "power": [package.watts for package in _packages(frame)],
    }
    return {name for name, values in figures.items() if any(value is not None for value in values)}


def times_limited(frame: Frame) -> dict[str, int]:
    """Return how many times each target package and core reached its power limit; unknown counts are left out."""
    counts = {f"package {package.package}": package.power_limit_count for package in _packages(frame)}
    cpus = frame.clock.cpus if frame.clock is not None else ()
    counts |= {f"core of {cpu.cpu}": cpu.power_limit_count for cpu in cpus if cpu.cpu in frame.target}
    return {what: count for what, count in counts.items() if count is not None}


def _packages(frame: Frame) -> list[ClockPackage]:
    packages, target = frame.clock.packages if frame.clock is not None else (), set(frame.target)
    return [package for package in packages if not target.isdisjoint(parse_cpu_list(package.cpus))]


def _highest(values: Iterable[tuple[float | None, float | None]]) -> float:
    highest = highest_if_certain(
        (value / limit if value is not None and limit else None for value, limit in values), HOT
    )
    return math.nan if highest is None else highest


_TENS = 4  # digits of kHz that `distinct_clocks` leaves out
_UNKNOWN = 0
_KNOWS_TICKS, _BY_HEAT, _BY_POWER, _UNCOUNTED = 1, 2, 4, 8


class ClockGraph(StrEnum):
    """The clock to draw over time: the slowest target CPU's, each target CPU's, or the mean of the target CPUs."""

    SLOWEST = "slowest"
    PER_CPU = "each"
    MEAN = "mean"


class ClockRange(Struct, frozen=True):
    """The clocks (kHz) of one CPU over some intervals; `age_s` is the time since the last tick that had a clock.

    `age_s` is 0 for a tick in the last interval, and None if no such tick is kept. Lowest and highest clock are from
    intervals with a tick, if there are any.
    """

    lowest_khz: int
    highest_khz: int
    last_khz: int
    age_s: float | None
    knows_ticks: bool = True  # false if `age_s` is None because ticks are unknown in some of the intervals
    is_stale: bool = False  # no interval is known to have a tick, so the spread is unknown


class ReportedFigures:
    """The CPUs for which each figure was ever reported in the session, so that a column stays once it was shown.

    Figures are `age` (of a clock), `heat`, `slowed`, `limited` (by power), `C0`, and idle states by their names.
    """

    def __init__(self) -> None:
        self.cpus: defaultdict[str, set[int]] = defaultdict(set)
        self.idle_names: tuple[str, ...] = ()  # names of idle states, the lightest first

    @classmethod
    def of(cls, frame: Frame) -> Self:
        reported = cls()
        reported.add(frame)
        return reported

    def names(self, cpus: Set[int]) -> set[str]:
        """Return the names of the figures reported for any of the CPUs."""
        return {name for name, cpus_with_figure in self.cpus.items() if not cpus_with_figure.isdisjoint(cpus)}

    def add(self, frame: Frame) -> None:
        if frame.clock is None:
            return
        self.idle_names = frame.clock.idle_names or self.idle_names
        for figures in frame.clock.cpus:
            shares = zip(frame.clock.idle_names, figures.idle_shares or (), strict=False)
            names = {name for name, share in shares if share is not None}
            names |= {"heat"} if figures.celsius is not None else set()
            slowdown_counts = (figures.slowed_ms, figures.throttles, figures.power_limit_count)
            names |= {"slowed"} if any(figure is not None for figure in slowdown_counts) else set()
            names |= {"limited"} if figures.power_limit_count else set()
            names |= {"C0"} if figures.awake_share is not None else set()
            for name in names:
                self.cpus[name].add(figures.cpu)


class ClockHistory:
    """The clocks, heat and power by interval, numbered as in History."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._at_s = Ring("d", math.nan, capacity)
        self._khz = Rings[int, int]("i", _UNKNOWN, capacity)  # clocks of each CPU; a negative value is a stale clock
        self._slowest = Ring("i", _UNKNOWN, capacity)
        self._last_whole = _UNKNOWN  # the slowest clock of the last interval in which all clocks were known
        self._means = Ring("f", math.nan, capacity)
        self._flags = Ring("B", 0, capacity)
        self._heat = Ring("f", math.nan, capacity)  # share of the critical temperature
        self._power = Ring("f", math.nan, capacity)  # share of the power limit
        self._limited: Mapping[str, int] = {}  # times that each power limit was reached, since boot
        self.reported = ReportedFigures()
        self.falls = ClockFalls(capacity)

    def add(self, frame: Frame, irqs: IrqHistory) -> None:
        """Append the next interval; the settings of `irqs` identify the interrupts that are ticks."""
        ticks = {label for label, setting in irqs.settings.items() if setting.kind == Kind.TICK}
        ticked = {cpu for line in frame.irqs or () if line.label in ticks for cpu in line.cpus}
        flags = _KNOWS_TICKS if ticks and frame.irqs is not None else 0
        throttle_causes = {throttled.by for throttled in frame.conditions.throttled if throttled.times}
        flags |= _BY_HEAT if "heat" in throttle_causes else 0
        flags |= _BY_POWER if self._is_limited(frame) or "power" in throttle_causes else 0
        flags |= _UNCOUNTED if any(throttled.times is None for throttled in frame.conditions.throttled) else 0
        self._flags.add(flags)
        self.reported.add(frame)
        self._heat.add(share_of_heat(frame))
        self._power.add(share_of_power(frame))
        khz_by_cpu = {
            line.cpu: line.current_khz if line.cpu in ticked else -line.current_khz
            for line in frame.cpus
            if line.current_khz is not None
        }
        self.reported.cpus["age"].update(cpu for cpu, khz in khz_by_cpu.items() if khz < 0)
        self._khz.add(khz_by_cpu)
        targets = [khz_by_cpu.get(line.cpu, _UNKNOWN) for line in frame.cpus if line.role == Role.TARGET]
        self._slowest.add(self._slowest_of(targets))
        self._means.add(math.nan if _UNKNOWN in targets else _mean(targets))
        fresh = {cpu: khz for cpu in frame.target if (khz := khz_by_cpu.get(cpu, _UNKNOWN)) > 0}
        self.falls.add(frame, self._at_s.count, fresh)
        self._at_s.add(frame.taken_at_ns / 1e9)

    def _slowest_of(self, targets: Sequence[int]) -> int:
        """Return the slowest clock, or _UNKNOWN if any clock is unknown, because that CPU may be the slowest.

        Even if a clock is unknown, return the slowest known clock if it is more than DROP below the last certain one.
        """
        slowest = _slowest(targets)
        if _UNKNOWN not in targets:
            self._last_whole = slowest
        return slowest if _UNKNOWN not in targets or 0 < slowest < (1 - DROP) * self._last_whole else _UNKNOWN

    def clocks(self, cpu: int, numbers: Iterable[int]) -> list[int | None]:
        """Return the CPU's clock (kHz) by interval, stale clocks included; None means unknown or not kept."""
        return [abs(khz) or None for khz in self._khz.read(cpu, numbers)]

    def slowest(self, numbers: Iterable[int]) -> list[int | None]:
        """Return the slowest target CPU's clock (kHz) by interval, of CPUs with a tick if any; None means unknown."""
        return [abs(khz) or None for khz in self._slowest.read(numbers)]

    def are_stale(self, numbers: Iterable[int], cpu: int | None = None) -> list[bool]:
        """Return, by interval, whether the clock of `cpu`, or by default of the slowest target CPU, is stale."""
        return [khz < 0 for khz in (self._slowest.read(numbers) if cpu is None else self._khz.read(cpu, numbers))]

    def means(self, numbers: Iterable[int]) -> list[float | None]:
        """Return the target CPUs' mean clock (kHz) by interval, of CPUs with a tick if any; None means unknown."""
        return _none_if_unknown(self._means.read(numbers))

    def distinct_clocks(self, cpus: Sequence[int], numbers: Iterable[int]) -> list[frozenset[int]]:
        """Return the CPUs' distinct clocks (kHz, rounded to 10 MHz) by interval."""
        asked = list(numbers)
        columns = [self._khz.read(cpu, asked) for cpu in cpus]
        return [
            frozenset(round(abs(column[index]), -_TENS) for column in columns) - {_UNKNOWN}
            for index in range(len(asked))
        ]

    def drops(self) -> list[int]:
        """Return the kept intervals in which a target CPU's clock fell by more than DROP.

        The fall is measured from the highest of the CPU's ten previous clocks or, if it is slow, from the highest clock
        that the CPU held for ten intervals. Unknown and stale clocks are skipped.
        """
        return self.falls.numbers

    def heat(self, numbers: Iterable[int]) -> list[float | None]:
        """Return the highest temperature, as a share of the critical temperature, by interval; None means unknown."""
        return _none_if_unknown(self._heat.read(numbers))

    def power(self, numbers: Iterable[int]) -> list[float | None]:
        """Return the highest power of a target package as a share of its limit, by interval; None means unknown."""
        return _none_if_unknown(self._power.read(numbers))

    def slowdown_causes(self, numbers: Iterable[int]) -> list[tuple[bool, bool]]:
        """Return by interval whether heat slowed a target CPU, and whether a power limit was reached."""
        return [(bool(flags & _BY_HEAT), bool(flags & _BY_POWER)) for flags in self._flags.read(numbers)]

    def are_uncounted(self, numbers: Iterable[int]) -> list[bool]:
        """Return by interval whether a core's or package's number of throttles is unknown."""
        return [bool(flags & _UNCOUNTED) for flags in self._flags.read(numbers)]

    def _is_limited(self, frame: Frame) -> bool:
        """Return whether a power limit was reached more often than in the frame before; new counts are ignored."""
        before, self._limited = self._limited, times_limited(frame)
        return any(count > before.get(what, count) for what, count in self._limited.items())

    def range_of(self, cpu: int, numbers: range) -> ClockRange | None:
        """Return the range of the CPU's clocks in the intervals, or None if no clock is known."""
        read = self._khz.read(cpu, numbers)
        measured_khz = [khz for khz in read if khz]
        if not measured_khz:
            return None
        fresh = [khz for khz in measured_khz if khz > 0] or [-khz for khz in measured_khz]
        kept = range(max(numbers.start, self._flags.first), min(numbers.stop, self._flags.count))
        age_s = self._age_s(cpu, kept[-1])
        knows_ticks = age_s is not None or all(flags & _KNOWS_TICKS for flags in self._flags.read(kept))
        is_stale = max(measured_khz) < 0
        return ClockRange(min(fresh), max(fresh), abs(measured_khz[-1]), age_s, knows_ticks, is_stale)

    def extremes(self, cpu: int, numbers: Iterable[int]) -> tuple[int, int] | None:
        """Return the CPU's lowest and highest clock (kHz) in intervals with a tick, or None if there is none."""
        values = self._khz.read(cpu, numbers)
        highest = max(values, default=_UNKNOWN)
        if highest <= 0:
            return None
        lowest = min(values)
        return (lowest if lowest > 0 else min(khz for khz in values if khz > 0)), highest

    def end_time_s(self, number: int) -> float | None:
        """Return the end of the interval (CLOCK_MONOTONIC, seconds), or None if it is not kept."""
        return self._at_s.at(number) if number in self._at_s.kept else None

    def _age_s(self, cpu: int, number: int) -> float | None:
        earlier = range(self._at_s.first, number + 1)
        khz_by_number = zip(reversed(earlier), reversed(self._khz.read(cpu, earlier)), strict=True)
        ticked = next((tick_number for tick_number, khz in khz_by_number if khz > 0), None)
        return None if ticked is None else self._at_s.at(number) - self._at_s.at(ticked)


def _slowest(clocks: Iterable[int]) -> int:
    """Return the slowest clock with a tick or else, negated, the slowest stale clock; _UNKNOWN if there is none."""
    measured_khz = [khz for khz in clocks if khz]
    return min((khz for khz in measured_khz if khz > 0), default=max(measured_khz, default=_UNKNOWN))


def _mean(clocks: Sequence[int]) -> float:
    measured = [khz for khz in clocks if khz > 0] or [-khz for khz in clocks]
    return sum(measured) / len(measured) if measured else math.nan


def _none_if_unknown(shares: Iterable[float]) -> list[float | None]:
    return [share if share > 0 else None for share in shares]  # NaN is not > 0
