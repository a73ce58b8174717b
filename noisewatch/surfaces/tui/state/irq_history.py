"""How often each IRQ interrupted, interval after interval, and when it was moved.

Of an IRQ that interrupted at all, four bytes an interval are kept: 12 MB after an hour of 850 such IRQs, and 30 MB at
most, as those that have been silent for longest give way. Settings are kept as often as they changed, each once.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Mapping
from operator import itemgetter

from noisewatch.cpus import CpuSet
from noisewatch.operations.frame.frame import Frame
from noisewatch.operations.frame.irqs import IrqSetting
from noisewatch.records import dataclass
from noisewatch.surfaces.tui.state.history import CAPACITY
from noisewatch.surfaces.tui.state.irq_table import LOUD_PER_S, cpus_in, uncounted_cpus

_MOST_IRQS = 2048
_MOST_MOVES = 8  # of one IRQ
_MOST_SPANS = 8  # of one IRQ, in each of which the same was known of where it goes
_NO_SETTINGS: Mapping[str, IrqSetting] = {}


@dataclass(frozen=True, slots=True)
class IrqMove:
    """An IRQ that goes, or may go, elsewhere. `before` and `after` are CPU lists; settings are read each 10 s."""

    label: str
    name: str
    at_ns: int  # CLOCK_MONOTONIC of the frame that told of it
    number: int  # and its interval
    before: str
    after: str
    is_effective: bool  # where it goes; else, where the kernel does not tell that, where it may go
    balancer: str | None = None  # a process that ran then and moves IRQs: `irqbalance (pid 812)`


@dataclass(frozen=True, slots=True)
class AffinityKnown:
    """What the settings of an IRQ told from that interval on, until they told something else."""

    name: str
    number: int
    at_ns: int  # CLOCK_MONOTONIC of the frame that told of it
    knows_goes: bool  # where it goes
    knows_may: bool  # where it may go
    is_less: bool  # than was told before


class _Rates:
    """One IRQ's interrupts per second: a ring from the interval in which it was first seen."""

    def __init__(self, first: int, capacity: int) -> None:
        self.last_heard = self.first = first
        self._capacity = capacity
        self._values = array("f")

    def put(self, number: int, rate: float) -> None:
        """That of the next interval."""
        at = (number - self.first) % self._capacity
        if at < len(self._values):
            self._values[at] = rate
        else:
            self._values.append(rate)
        self.last_heard = number if rate else self.last_heard

    def at(self, number: int) -> float:
        """That of an interval which is kept; nothing, before the first one."""
        return self._values[(number - self.first) % self._capacity] if number >= self.first else 0.0


class IrqHistory:
    """Goes by the numbers of History's intervals. Labels are those of /proc/interrupts: `205`, `LOC`."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self.capacity = capacity
        self.count = 0
        self.settings: Mapping[str, IrqSetting] = _NO_SETTINGS  # the last that were told, silent IRQs among them
        self._told: deque[tuple[int, tuple[IrqSetting, ...]]] = deque()  # and before, since which interval
        self._shown: tuple[tuple[IrqSetting, ...], Mapping[str, IrqSetting]] = ((), _NO_SETTINGS)
        self._rates_by_label: dict[str, _Rates] = {}
        self._lost_until = -1  # the interval up to which some that interrupted found no room, or were forgotten
        self._uncounted: list[CpuSet | None] = [None] * capacity  # whose interrupts are unknown; None is of all CPUs
        self._missed_of: tuple[int, range] = 0, range(0)
        self._missed: CpuSet | None = frozenset()  # what was asked last, and what it was
        self._places: dict[str, _Place] = {}
        self._moves: dict[str, deque[IrqMove]] = {}
        self._spans: dict[str, deque[AffinityKnown]] = {}

    def add(self, frame: Frame) -> None:
        """Takes in the rates of the next interval of the history."""
        number, self.count = self.count, self.count + 1
        uncounted, before = uncounted_cpus(frame), self._uncounted[(number - 1) % self.capacity]
        kept = before if uncounted == before else uncounted
        self._uncounted[number % self.capacity] = kept if frame.irqs is not None else None
        rate_by_label = {line.label: line.total for line in frame.irqs or ()}
        for label in rate_by_label.keys() - self._rates_by_label.keys():
            if not self._make_room(number):
                self._lost_until = number
            else:
                self._rates_by_label[label] = _Rates(number, self.capacity)
        for label, rates in self._rates_by_label.items():
            rates.put(number, rate_by_label.get(label, 0.0))

    def _make_room(self, number: int) -> bool:
        """Whether there is room for one more; the IRQ that has been silent for longest is forgotten for it."""
        if len(self._rates_by_label) < _MOST_IRQS:
            return True
        label = min(self._rates_by_label, key=lambda each: self._rates_by_label[each].last_heard)
        if self._rates_by_label[label].last_heard >= number - 1:
            return False
        del self._rates_by_label[label]
        self._lost_until = number
        return True

    def _is_lost(self, rates: _Rates | None, number: int) -> bool:
        """Whether it may have interrupted then without being kept."""
        return number <= self._lost_until and (rates is None or number < rates.first)

    def rates(self, label: str, numbers: Iterable[int]) -> list[float | None]:
        """Its interrupts per second on all CPUs together, by interval; None is unknown, or not kept.

        It is unknown as well where those of a CPU that it may go to are, unless those of the others are many.
        """
        rates = self._rates_by_label.get(label)
        return [None if self._is_lost(rates, number) else self._rate(label, rates, number) for number in numbers]

    def _rate(self, label: str, rates: _Rates | None, number: int) -> float | None:
        kept = max(self.count - self.capacity, 0) <= number < self.count
        uncounted = self._uncounted[number % self.capacity] if kept else None
        if uncounted is None:
            return None
        rate = rates.at(number) if rates is not None else 0.0
        return None if rate < LOUD_PER_S and self._may_go(label, uncounted, number) else rate

    def _may_go(self, label: str, cpus: CpuSet, number: int) -> bool:
        """Whether it may have interrupted one of these CPUs then: any CPU, where nothing tells where it may go."""
        if not cpus:
            return False
        setting = self.settings_at(number).get(label)
        if setting is None or setting.allowed is None:
            return True
        return not cpus.isdisjoint(cpus_in(setting.allowed) | cpus_in(setting.effective))

    def _uncounted_in(self, numbers: range) -> CpuSet | None:
        """The CPUs that were not counted in one of these intervals; None is of all CPUs."""
        if self._missed_of != (self.count, numbers):  # asked of each IRQ
            found = {self._uncounted[number % self.capacity] for number in numbers}
            self._missed_of = self.count, numbers
            self._missed = None if None in found else frozenset[int]().union(*(each for each in found if each))
        return self._missed

    def is_silent(self, label: str, numbers: range) -> bool:
        """Whether it is known to have interrupted nobody in any of these intervals."""
        uncounted = self._uncounted_in(numbers)
        if uncounted is None or (uncounted and self._may_go(label, uncounted, numbers[-1])):
            return False
        rates = self._rates_by_label.get(label)
        if self._is_lost(rates, numbers.start):
            return False
        return rates is None or rates.last_heard < numbers.start or not any(rates.at(number) for number in numbers)

    def most(self, label: str, numbers: Iterable[int]) -> float | None:
        """The highest of these rates; None where none is known."""
        return max((rate for rate in self.rates(label, numbers) if rate is not None), default=None)

    def follow(self, frame: Frame, number: int) -> list[IrqMove]:
        """Takes in the settings, where the frame tells of any; the IRQs that were moved since, by number."""
        if frame.irq_settings is None:
            return []
        self._keep_settings(frame.irq_settings, number)
        before, self._places = self._places, {}
        moves = []
        for setting in frame.irq_settings:
            known = before.get(setting.label)
            if known is not None and known.name != setting.name:
                known = None  # the number belongs to another driver now
            place = _last_known(known, _place_of(setting))
            if place is not None:
                self._places[setting.label] = place
            if known is not None and place is not None and _is_elsewhere(known, place):
                moves.append(_move(known, place, setting, frame, number))
        self._keep(moves)
        self._keep_spans(frame.irq_settings, frame, number)
        return moves

    def _keep_spans(self, settings: Iterable[IrqSetting], frame: Frame, number: int) -> None:
        """Those of one that has gone are kept for as long as intervals are; if it comes back, it begins anew."""
        told = {each.label: (each.name, each.effective is not None, each.allowed is not None) for each in settings}
        gone, first = ("", False, False), self.count - self.capacity
        self._spans = {
            label: spans for label, spans in self._spans.items() if label in told or spans[-1].number >= first
        }
        for label in self._spans.keys() | told.keys():
            name, goes, may = told.get(label, gone)
            spans = self._spans.setdefault(label, deque(maxlen=_MOST_SPANS))
            last = spans[-1] if spans and spans[-1].name == name else None
            if last is None or (last.knows_goes, last.knows_may) != (goes, may):
                is_less = last is not None and ((last.knows_goes and not goes) or (last.knows_may and not may))
                spans.append(AffinityKnown(name, number, frame.taken_at_ns, goes, may, is_less))

    def affinity_known(self, of: IrqSetting, number: int) -> AffinityKnown | None:
        """What is known of where it goes up to that interval, and since when; None where that is not kept."""
        spans = [each for each in self._spans.get(of.label, ()) if each.number <= number and each.name == of.name]
        return spans[-1] if spans else None

    def _keep_settings(self, settings: Iterable[IrqSetting], number: int) -> None:
        """What is as it was before is kept once."""
        known = self.settings
        kept = tuple(each if known.get(each.label) != each else known[each.label] for each in settings)
        self.settings = {setting.label: setting for setting in kept}
        self._told.append((number, kept))
        while len(self._told) > 1 and self._told[1][0] <= self.count - self.capacity:
            self._told.popleft()

    def settings_at(self, number: int) -> Mapping[str, IrqSetting]:
        """What was told last up to that interval, by label; nothing before anything was."""
        at = bisect_right(self._told, number, key=itemgetter(0)) - 1
        told = self._told[at][1] if at >= 0 else ()
        if self._shown[0] is not told:
            self._shown = told, {setting.label: setting for setting in told}
        return self._shown[1]

    def _keep(self, moves: Iterable[IrqMove]) -> None:
        """What is told of an IRQ that has been gone for longer than intervals are kept is forgotten."""
        for move in moves:
            self._moves.setdefault(move.label, deque(maxlen=_MOST_MOVES)).append(move)
        first = self.count - self.capacity
        self._moves = {
            label: found for label, found in self._moves.items() if label in self.settings or found[-1].number >= first
        }

    def moves(self, of: IrqSetting, number: int) -> list[IrqMove]:
        """Its last moves up to that interval, the newest last; not those of another driver that had its number."""
        return [move for move in self._moves.get(of.label, ()) if move.number <= number and move.name == of.name]

    def has_moved(self, number: int) -> bool:
        """Whether any IRQ was moved up to that interval, as far as moves are kept."""
        return any(found[0].number <= number for found in self._moves.values())

    def knows_moves(self, of: IrqSetting, number: int) -> bool:
        """Whether all that lie before that interval are told: of many the first ones are forgotten."""
        kept = self._moves.get(of.label)
        return kept is None or len(kept) < _MOST_MOVES or kept[0].number <= number


@dataclass(frozen=True, slots=True)
class _Place:
    name: str
    cpus: str
    is_effective: bool


def _place_of(setting: IrqSetting) -> _Place | None:
    """Where it goes, or else may go; None where neither is known, as of one that nobody has started."""
    if setting.effective is not None:
        return _Place(setting.name, setting.effective, True) if setting.effective else None
    return _Place(setting.name, setting.allowed, False) if setting.allowed else None


def _last_known(known: _Place | None, place: _Place | None) -> _Place | None:
    """The place, or the one before where this cannot be read now."""
    is_lost = place is None or (known is not None and known.is_effective and not place.is_effective)
    return known if is_lost else place


def _is_elsewhere(before: _Place, after: _Place) -> bool:
    return before.is_effective == after.is_effective and before.cpus != after.cpus


def _move(before: _Place, after: _Place, setting: IrqSetting, frame: Frame, number: int) -> IrqMove:
    return IrqMove(
        label=setting.label,
        name=setting.name,
        at_ns=frame.taken_at_ns,
        number=number,
        before=before.cpus,
        after=after.cpus,
        is_effective=after.is_effective,
        balancer=frame.irq_balancer,
    )
