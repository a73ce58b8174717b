"""The rate of each IRQ by interval, and the moves of IRQs with their texts for the log of events.

An IRQ that has interrupted takes four bytes per interval: 12 MB after an hour of 850 such IRQs. The history takes 30 MB
at most, because the IRQs that have been silent for longest are dropped. Settings are kept once per change.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from noisewatch.cpus import CpuSet, name_cpus
from noisewatch.kinds import Kind, Role
from noisewatch.operations.frame.frame import Frame, IrqSetting
from noisewatch.surfaces.tui.state.history import cpus_in
from noisewatch.surfaces.tui.state.ring import CAPACITY, Changes, Ring
from noisewatch.units import describe_count

RATES = (1, 10, 30, 100, 1_000, 5_000, 10_000, 40_000)  # the lowest interrupts/s of each level
FREQUENT_PER_S = 1_000  # at this rate, the interrupts of one device count as frequent
_RISE_INTERVALS = 10
_MOST_IRQS = 2048
_MOST_MOVES = 8  # kept moves of one IRQ
_MOST_SPANS = 8  # kept spans of one IRQ; within a span the same affinities are known
_NO_SETTINGS: Mapping[str, IrqSetting] = {}


class IrqRow(Struct, frozen=True):
    """A row of /proc/interrupts, or all rows of a device. Rates are per second; a `total` of None is unknown."""

    label: str
    name: str
    kind: Kind
    total: float | None
    rate_by_cpu: Mapping[int, float] = {}
    settings: tuple[IrqSetting, ...] = ()  # settings of each IRQ of the row; empty if not reported

    @property
    def is_numbered(self) -> bool:
        """Whether the row belongs to a device, not to the CPUs themselves."""
        return self.kind == Kind.IRQ or self.label.isdecimal() or len(self.settings) > 1

    @property
    def short_name(self) -> str:
        """`IRQ 205`, or the name of the row if it has no number or several."""
        return f"IRQ {self.label}" if self.label.isdecimal() and len(self.settings) < 2 else self.name

    @property
    def labels(self) -> tuple[str, ...]:
        """The row's labels in /proc/interrupts."""
        return tuple(setting.label for setting in self.settings) or (self.label,)

    @property
    def allowed(self) -> CpuSet | None:
        """The CPUs that the row's IRQs may go to, or None if they are unknown for any of the IRQs."""
        return _union(setting.allowed for setting in self.settings) if self.settings else None

    @property
    def effective(self) -> CpuSet | None:
        """The CPUs that the row's IRQs go to (effective affinity), or None if unknown for any IRQ (old kernels)."""
        return _union(setting.effective for setting in self.settings) if self.settings else None


def level_of_rate(per_s: float) -> int:
    """Return the level of a rate: 0 for none, 1 for any, up to 8 for at least 40 000/s."""
    return max(sum(per_s >= rate for rate in RATES), int(per_s > 0))


def _union(lists: Iterable[str | None]) -> CpuSet | None:
    cpu_lists = list(lists)
    return None if None in cpu_lists else frozenset[int]().union(*map(cpus_in, cpu_lists))


def uncounted_cpus(frame: Frame) -> CpuSet:
    """Return the online CPUs whose interrupts are unknown, such as a CPU that came online in the interval."""
    return frozenset(line.cpu for line in frame.cpus if line.interrupts_per_s is None and line.role != Role.OFFLINE)


class IrqMove(Struct, frozen=True):
    """A change of an IRQ's affinity. `before` and `after` are CPU lists; settings are read every 10 s."""

    label: str
    name: str
    at_ns: int  # CLOCK_MONOTONIC of the frame that shows the move
    number: int  # interval of that frame
    before: str
    after: str
    is_effective: bool  # false if the allowed CPUs changed, because only they are reported
    balancer: str | None = None  # a running process that moves IRQs: `irqbalance (pid 812)`


class AffinitySpan(Struct, frozen=True):
    """A span, from interval `number` on, in which the same kinds of an IRQ's affinity are known."""

    name: str
    number: int
    at_ns: int  # CLOCK_MONOTONIC of the span's first frame
    has_effective: bool  # the effective affinity is known
    has_allowed: bool  # the allowed CPUs are known
    is_less: bool  # less is known than in the span before


class _Rates(Ring[float]):
    """The interrupts per second of one IRQ; its first interrupt was in interval `begin`, and earlier rates are 0."""

    def __init__(self, begin: int, capacity: int) -> None:
        super().__init__("f", 0.0, capacity, begin)
        self.last_heard = self.begin = begin


class IrqHistory:
    """The rates, settings and moves of IRQs by interval, numbered as in History.

    Labels are as in /proc/interrupts: `205`, `LOC`.
    """

    def __init__(self, capacity: int = CAPACITY) -> None:
        self.capacity = capacity
        self.count = 0
        self.settings: Mapping[str, IrqSetting] = _NO_SETTINGS  # the newest, silent IRQs included
        self._kept_settings = Changes[tuple[IrqSetting, ...]]()
        self._kept_settings.add(-1, ())
        self._shown: tuple[tuple[IrqSetting, ...], Mapping[str, IrqSetting]] = ((), _NO_SETTINGS)
        self._rates_by_label: dict[str, _Rates] = {}
        self._lost_until = -1  # the last interval in which rates may be missing: IRQs did not fit, or were dropped
        self._uncounted = Changes[CpuSet | None]()  # CPUs with unknown interrupts; None: all CPUs
        self._places: dict[str, _Place] = {}
        self._moves: dict[str, deque[IrqMove]] = {}
        self._spans: dict[str, deque[AffinitySpan]] = {}

    def add(self, frame: Frame) -> None:
        """Append the rates of the next interval."""
        number, self.count = self.count, self.count + 1
        uncounted = uncounted_cpus(frame) if frame.irqs is not None else None
        if not number or uncounted != self._uncounted.last:
            self._uncounted.add(number, uncounted)
        self._uncounted.forget(self.count - self.capacity)
        rate_by_label = {line.label: line.total for line in frame.irqs or ()}
        for label in rate_by_label.keys() - self._rates_by_label.keys():
            if not self._make_room(number):
                self._lost_until = number
            else:
                self._rates_by_label[label] = _Rates(number, self.capacity)
        for label, rates in self._rates_by_label.items():
            rate = rate_by_label.get(label, 0.0)
            rates.add(rate)
            rates.last_heard = number if rate else rates.last_heard

    def _make_room(self, number: int) -> bool:
        """Return whether another IRQ fits; if needed, drop the IRQ that has been silent for longest."""
        if len(self._rates_by_label) < _MOST_IRQS:
            return True
        label = min(self._rates_by_label, key=lambda candidate: self._rates_by_label[candidate].last_heard)
        if self._rates_by_label[label].last_heard >= number - 1:
            return False
        del self._rates_by_label[label]
        self._lost_until = number
        return True

    def _is_lost(self, rates: _Rates | None, number: int) -> bool:
        """Return whether the IRQ's rate in that interval may have been dropped."""
        return number <= self._lost_until and (rates is None or number < rates.begin)

    def rates(self, label: str, numbers: Iterable[int]) -> list[float | None]:
        """Return the IRQ's interrupts per second on all CPUs together, by interval; None means unknown or not kept.

        If a CPU that the IRQ may go to was not counted, the rate is unknown unless the other CPUs' rate is high.
        """
        rates = self._rates_by_label.get(label)
        return [None if self._is_lost(rates, number) else self._rate(label, rates, number) for number in numbers]

    def total_rates(self, labels: Sequence[str], numbers: Sequence[int]) -> list[float | None]:
        """Return the interrupts per second of several IRQs together, by interval; None if any of them is unknown."""
        return [
            None if None in rates else sum(rate for rate in rates if rate is not None)
            for rates in zip(*(self.rates(label, numbers) for label in labels), strict=True)
        ]

    def rises(self, labels: Sequence[str]) -> list[int]:
        """Return the kept intervals in which the IRQs' rate reached a higher level than in the ten known ones before.

        The first known interval is not a rise.
        """
        kept = range(max(self.count - self.capacity, 0), self.count)
        lately, rises = deque[int](maxlen=_RISE_INTERVALS), list[int]()
        for number, rate in zip(kept, self.total_rates(labels, kept), strict=True):
            if rate is None:
                continue
            level = level_of_rate(rate)
            if lately and level > max(lately):
                rises.append(number)
            lately.append(level)
        return rises

    def _rate(self, label: str, rates: _Rates | None, number: int) -> float | None:
        kept = max(self.count - self.capacity, 0) <= number < self.count
        uncounted = self._uncounted.at(number)[1] if kept else None
        if uncounted is None:
            return None
        rate = rates.at(number) if rates is not None else 0.0
        return None if rate < FREQUENT_PER_S and self._may_go(label, uncounted, number) else rate

    def _may_go(self, label: str, cpus: CpuSet, number: int) -> bool:
        """Return whether the IRQ may have interrupted one of the CPUs; true if its allowed CPUs are unknown."""
        if not cpus:
            return False
        setting = self.settings_at(number).get(label)
        if setting is None or setting.allowed is None:
            return True
        return not cpus.isdisjoint(cpus_in(setting.allowed) | cpus_in(setting.effective))

    def is_silent(self, label: str, numbers: range) -> bool:
        """Return whether the IRQ is known not to have interrupted in any of the intervals."""
        uncounted = {self._uncounted.at(number)[1] for number in numbers}
        cpus = frozenset[int]().union(*(cpus for cpus in uncounted if cpus))
        if None in uncounted or self._may_go(label, cpus, numbers[-1]):
            return False
        rates = self._rates_by_label.get(label)
        if self._is_lost(rates, numbers.start):
            return False
        return rates is None or rates.last_heard < numbers.start or not any(rates.at(number) for number in numbers)

    def follow(self, frame: Frame, number: int) -> list[IrqMove]:
        """Update the settings from the frame, if it has them, and return the moves since the last settings."""
        if frame.irq_settings is None:
            return []
        self._keep_settings(frame.irq_settings, number)
        before, self._places = self._places, {}
        moves = []
        for setting in frame.irq_settings:
            earlier = before.get(setting.label)
            if earlier is not None and earlier.name != setting.name:
                earlier = None  # the IRQ number belongs to another driver now
            place = _place_of(setting)
            if place is None or (earlier is not None and earlier.is_effective and not place.is_effective):
                place = earlier  # the earlier place is more precise, or the only one
            if place is None:
                continue
            self._places[setting.label] = place
            if earlier is not None and earlier.is_effective == place.is_effective and earlier.cpus != place.cpus:
                moves.append(
                    IrqMove(
                        label=setting.label,
                        name=setting.name,
                        at_ns=frame.taken_at_ns,
                        number=number,
                        before=earlier.cpus,
                        after=place.cpus,
                        is_effective=place.is_effective,
                        balancer=frame.irq_balancer,
                    )
                )
        self._keep(moves)
        self._keep_spans(frame.irq_settings, frame, number)
        return moves

    def _keep_spans(self, settings: Iterable[IrqSetting], frame: Frame, number: int) -> None:
        """Update all affinity spans; drop a removed IRQ's spans when the interval of its removal is dropped."""
        setting_by_label = {
            setting.label: (setting.name, setting.effective is not None, setting.allowed is not None)
            for setting in settings
        }
        removed, first = ("", False, False), self.count - self.capacity
        self._spans = {
            label: spans
            for label, spans in self._spans.items()
            if label in setting_by_label or spans[-1].number >= first
        }
        for label in self._spans.keys() | setting_by_label.keys():
            name, has_effective, has_allowed = setting_by_label.get(label, removed)
            spans = self._spans.setdefault(label, deque(maxlen=_MOST_SPANS))
            last = spans[-1] if spans and spans[-1].name == name else None
            if last is None or (last.has_effective, last.has_allowed) != (has_effective, has_allowed):
                is_less = last is not None and (
                    (last.has_effective and not has_effective) or (last.has_allowed and not has_allowed)
                )
                spans.append(AffinitySpan(name, number, frame.taken_at_ns, has_effective, has_allowed, is_less))

    def affinity_span(self, of: IrqSetting, number: int) -> AffinitySpan | None:
        """Return the IRQ's affinity span that contains interval `number`, or None if it is not kept."""
        spans = [span for span in self._spans.get(of.label, ()) if span.number <= number and span.name == of.name]
        return spans[-1] if spans else None

    def _keep_settings(self, settings: Iterable[IrqSetting], number: int) -> None:
        """Keep the new settings; unchanged settings share the old objects."""
        settings_before = self.settings
        kept = tuple(
            setting if settings_before.get(setting.label) != setting else settings_before[setting.label]
            for setting in settings
        )
        self.settings = {setting.label: setting for setting in kept}
        self._kept_settings.add(number, kept)
        self._kept_settings.forget(self.count - self.capacity)

    def settings_at(self, number: int) -> Mapping[str, IrqSetting]:
        """Return the last settings up to that interval, by label; empty before the first settings."""
        texts = self._kept_settings.at(number)[1]
        if self._shown[0] is not texts:
            self._shown = texts, {setting.label: setting for setting in texts}
        return self._shown[1]

    def _keep(self, moves: Iterable[IrqMove]) -> None:
        """Add the moves; drop a removed IRQ's moves once the last of them is older than all kept intervals."""
        for move in moves:
            self._moves.setdefault(move.label, deque(maxlen=_MOST_MOVES)).append(move)
        first = self.count - self.capacity
        self._moves = {
            label: moves for label, moves in self._moves.items() if label in self.settings or moves[-1].number >= first
        }

    def moves(self, of: IrqSetting, number: int) -> list[IrqMove]:
        """Return the IRQ's last moves up to that interval, the newest last, except moves under an earlier driver."""
        return [move for move in self._moves.get(of.label, ()) if move.number <= number and move.name == of.name]

    def has_moved(self, number: int) -> bool:
        """Return whether any kept move happened up to that interval."""
        return any(moves[0].number <= number for moves in self._moves.values())

    def knows_moves(self, of: IrqSetting, number: int) -> bool:
        """Return whether the IRQ's last move up to that interval, if any, is kept: only the newest moves are."""
        kept = self._moves.get(of.label)
        return kept is None or len(kept) < _MOST_MOVES or kept[0].number <= number


class _Place(Struct, frozen=True):
    name: str
    cpus: str
    is_effective: bool


def _place_of(setting: IrqSetting) -> _Place | None:
    """Return the effective affinity, or else the allowed CPUs; None if unknown or, before the IRQ's start, empty."""
    if setting.effective is not None:
        return _Place(setting.name, setting.effective, True) if setting.effective else None
    return _Place(setting.name, setting.allowed, False) if setting.allowed else None


_MOST_SENTENCES = 8  # sentences per interval, so that a balancer that moves a hundred IRQs does not fill the log


def describe_moves(moves: Sequence[IrqMove], target: CpuSet) -> Iterator[str]:
    """Yield a sentence for each of the first moves (from or to target CPUs first), and one sentence for the rest."""
    ordered = sorted(moves, key=lambda move: not (cpus_in(move.before) | cpus_in(move.after)) & target)
    yield from map(_sentence, ordered[:_MOST_SENTENCES])
    rest = ordered[_MOST_SENTENCES:]
    if rest:
        yield f"{describe_count(len(rest), 'more IRQ')} moved: {', '.join(move.label for move in rest)}"


def _sentence(move: IrqMove) -> str:
    irq = f"IRQ {move.label}{f' ({move.name})' if move.name else ''}"
    before, after = name_cpus(cpus_in(move.before)), name_cpus(cpus_in(move.after))
    by = f" (by {move.balancer}?)" if move.balancer is not None else ""
    if move.is_effective:
        return f"{irq} moved from {before} to {after}{by}"
    return f"{irq} may now go to {after} instead of {before}{by}"
