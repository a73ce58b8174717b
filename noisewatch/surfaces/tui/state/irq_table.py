"""The rows of the IRQ screen: what interrupts, on which CPUs how often, and where it may go; or a device's together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING

from noisewatch.cpus import CpuSet, parse_cpu_list
from noisewatch.errors import Malformed
from noisewatch.kinds import Kind, Role
from noisewatch.operations.frame.frame import CulpritLine, Frame
from noisewatch.operations.frame.irqs import IrqLine, IrqSetting
from noisewatch.records import dataclass
from noisewatch.surfaces.tui.state.filters import SortOrder, kind_named

if TYPE_CHECKING:
    from noisewatch.surfaces.tui.state.irq_history import IrqMove
    from noisewatch.surfaces.tui.state.screen_model import ScreenModel

RATES = (1, 10, 30, 100, 1_000, 5_000, 10_000, 40_000)  # interrupts per second at which a level begins
LOUD_PER_S = 1_000  # interrupts of one device
_SILENT_AFTER = 60  # intervals
_SHOWN_MOVE_S = 60
_NOTHING: Mapping[int, float] = {}


@dataclass(frozen=True, slots=True)
class IrqRow:
    """One row of /proc/interrupts, or all of a device's; `total` and `rate_by_cpu` are per second, None is unknown."""

    label: str
    name: str
    kind: Kind
    total: float | None
    rate_by_cpu: Mapping[int, float] = field(default_factory=dict)
    settings: tuple[IrqSetting, ...] = ()  # of each IRQ; none where nothing tells of them

    @property
    def is_numbered(self) -> bool:
        """Whether it belongs to a device, and not to the CPU itself."""
        return self.kind == Kind.IRQ or self.label.isdecimal() or len(self.settings) > 1

    @property
    def labels(self) -> tuple[str, ...]:
        """Those of /proc/interrupts."""
        return tuple(setting.label for setting in self.settings) or (self.label,)

    @property
    def allowed(self) -> CpuSet | None:
        """Where it may go; None is unknown of one of them."""
        return _union(setting.allowed for setting in self.settings) if self.settings else None

    @property
    def goes_to(self) -> CpuSet | None:
        """Where it goes; None is unknown of one of them. Affinities of old kernels do not tell."""
        return _union(setting.effective for setting in self.settings) if self.settings else None


def level_of_rate(per_s: float) -> int:
    """0 for nothing, 1 for whatever is more, up to 8 for 40 000 a second and more."""
    return max(sum(per_s >= rate for rate in RATES), int(per_s > 0))


def cpus_in(text: str | None) -> CpuSet:
    """The CPUs of a list that the kernel wrote; none where it cannot be read."""
    try:
        return parse_cpu_list(text or "")
    except Malformed:
        return frozenset()


def _union(lists: Iterable[str | None]) -> CpuSet | None:
    found = list(lists)
    return None if None in found else frozenset[int]().union(*map(cpus_in, found))


def uncounted_cpus(frame: Frame) -> CpuSet:
    """The CPUs that are online and whose interrupts are unknown, as of one that has come in the interval."""
    return frozenset(line.cpu for line in frame.cpus if line.interrupts_per_s is None and line.role != Role.OFFLINE)


def all_rows(model: ScreenModel) -> list[IrqRow]:
    """All that is known to interrupt, silent ones among them, in the order of /proc/interrupts."""
    frame, settings = model.frame, model.irq_settings
    if frame is None:
        return []
    lines = {line.label: line for line in frame.irqs or ()}
    rows = [_row(setting, lines.get(setting.label), frame) for setting in settings.values()]
    rows += [
        IrqRow(label, "?", Kind.IRQ if label.isdecimal() else Kind.LOCAL, line.total, line.rate_by_cpu)
        for label, line in lines.items()
        if label not in settings
    ]
    return _by_device(rows) if model.groups_irqs else rows


def row_of(model: ScreenModel, label: str) -> IrqRow | None:
    """That of one IRQ; None where nothing tells of its settings."""
    frame, setting = model.frame, model.irq_settings.get(label)
    if frame is None or setting is None:
        return None
    return _row(setting, next((line for line in frame.irqs or () if line.label == label), None), frame)


def _row(setting: IrqSetting, line: IrqLine | None, frame: Frame) -> IrqRow:
    silent = None if frame.irqs is None else 0.0
    return IrqRow(
        label=setting.label,
        name=setting.name or setting.device or "",
        kind=setting.kind,
        total=silent if line is None else line.total,
        rate_by_cpu=_NOTHING if line is None else line.rate_by_cpu,
        settings=(setting,),
    )


def _by_device(rows: Sequence[IrqRow]) -> list[IrqRow]:
    """All IRQs of a device as one row; those of which no device is known stay alone."""
    rows_by_device: dict[str, list[IrqRow]] = {}
    for row in rows:
        device = row.settings[0].device if row.is_numbered and row.settings else None
        rows_by_device.setdefault(device or f"IRQ {row.label}", []).append(row)
    return [_together(device, group) for device, group in rows_by_device.items()]


def _together(device: str, rows: Sequence[IrqRow]) -> IrqRow:
    if len(rows) == 1:
        return rows[0]
    rate_by_cpu: dict[int, float] = {}
    for row in rows:
        for cpu, rate in row.rate_by_cpu.items():
            rate_by_cpu[cpu] = rate_by_cpu.get(cpu, 0.0) + rate
    totals = [row.total for row in rows if row.total is not None]
    return IrqRow(
        label=f"{len(rows)} of",
        name=device,
        kind=Kind.IRQ,
        total=sum(totals) if totals else None,
        rate_by_cpu=rate_by_cpu,
        settings=tuple(setting for row in rows for setting in row.settings),
    )


def listed_rows(model: ScreenModel) -> tuple[list[IrqRow], int]:
    """The rows to show, those of devices first, and how many silent ones are left out.

    One is silent that has not interrupted for the last 60 intervals, and was not moved in the last minute. What a
    filter lets through is shown, silent or not.
    """
    words = model.irq_filter.casefold().split()
    rows = [row for row in all_rows(model) if all(_matches(model, row, word) for word in words)]
    shows_silent = model.shows_silent_irqs or words
    shown = rows if shows_silent else [row for row in rows if not _is_silent(model, row)]
    return _in_order(model, shown), len(rows) - len(shown)


def _matches(model: ScreenModel, row: IrqRow, word: str) -> bool:
    """Whether a word of the filter holds: an IRQ's number, a part of its name or device, `cpu:LIST`, `kind:WORD`.

    An IRQ is of the CPUs that it interrupts, and of those that it goes to. `!` before a word turns it round.
    """
    if word.startswith("!") and len(word) > 1:
        return not _matches(model, row, word[1:])
    key, colon, value = word.partition(":")
    if colon and key == "cpu":
        heard = {cpu for cpu, rate in row.rate_by_cpu.items() if rate > 0}
        return not cpus_in(value).isdisjoint(heard | (row.goes_to or frozenset()))
    if colon and key == "kind":
        return row.kind == kind_named(value)
    if word.isdecimal():
        return word in row.labels
    names = (row.label, row.name, *(each.device or "" for each in row.settings))
    return any(word in name.casefold() for name in names)


def _is_silent(model: ScreenModel, row: IrqRow) -> bool:
    if row.total is None or row.total > 0 or model.selection.is_about(row):
        return False
    numbers = range(max(model.number + 1 - _SILENT_AFTER, 0), model.number + 1)
    if not all(model.irqs.is_silent(label, numbers) for label in row.labels):
        return False
    move, frame = last_move(model, row), model.frame
    return move is None or frame is None or frame.taken_at_ns - move.at_ns > _SHOWN_MOVE_S * 1e9


def _in_order(model: ScreenModel, rows: list[IrqRow]) -> list[IrqRow]:
    """By level, so that rows stay where they are while rates change a little; by rate, or where they go, if asked."""

    def key(row: IrqRow) -> tuple[bool, float]:
        if model.sort == SortOrder.CPU:
            return not row.is_numbered, min(busiest_first(row), default=1 << 20)
        known = row.total or 0.0
        return not row.is_numbered, -known if model.sort == SortOrder.RATE else -level_of_rate(known)

    return sorted(rows, key=key)


def last_move(model: ScreenModel, row: IrqRow) -> IrqMove | None:
    """The last one up to what is shown."""
    return max(moves_of(model, row), key=lambda move: move.at_ns, default=None)


def moves_of(model: ScreenModel, row: IrqRow) -> list[IrqMove]:
    """The last ones of its IRQs up to what is shown."""
    return [move for setting in row.settings for move in model.irqs.moves(setting, model.number)]


def move_words(model: ScreenModel, row: IrqRow) -> str:
    """How long ago it was moved, and from where: `11 s, 1→5`; empty where it was not."""
    move, frame = last_move(model, row), model.frame
    if move is None or frame is None:
        return ""
    ago = (frame.taken_at_ns - move.at_ns) / 1e9
    when = f"{ago:.0f} s" if ago < 100 else f"{ago / 60:.0f} min"
    return f"{when}, {move.before}→{move.after}"


def movable_word(row: IrqRow) -> str:
    """Whether it can be moved; `mgd` where the kernel alone does that, `some` where that differs within a device."""
    words = {"mgd" if each.is_managed else {True: "yes", False: "no", None: "?"}[each.movable] for each in row.settings}
    return words.pop() if len(words) == 1 else "some" if words else "?"


def busiest_first(row: IrqRow) -> list[int]:
    """The CPUs that it interrupts, else those that it goes to, else those that it may go to."""
    if row.rate_by_cpu:
        return sorted(row.rate_by_cpu, key=lambda cpu: -row.rate_by_cpu[cpu])
    return sorted(row.goes_to or row.allowed or ())


def disturbs_target(model: ScreenModel, row: IrqRow) -> bool:
    """Whether it interrupts, or goes to, a target CPU or one that shares a core with one."""
    lines = model.frame.cpus if model.frame is not None else ()
    disturbed = {line.cpu for line in lines if line.role in (Role.TARGET, Role.SIBLING)}
    heard = {cpu for cpu, rate in row.rate_by_cpu.items() if rate > 0}
    return not disturbed.isdisjoint(heard | (row.goes_to or frozenset()))


def culprit_of(model: ScreenModel, row: IrqRow) -> CulpritLine | None:
    """The costliest culprit of the frame that is this IRQ; else one made for it, whose cost is unknown."""
    frame = model.frame
    found = culprits_of(model, row)
    if found:
        return max(found, key=lambda line: line.stolen_ns_per_s)
    cpus = busiest_first(row)
    if frame is None or not cpus:
        return None
    one = max(row.settings, key=lambda each: model.irqs.rates(each.label, [model.number])[0] or 0.0, default=None)
    return CulpritLine(
        cpu=cpus[0],
        role=next((line.role for line in frame.cpus if line.cpu == cpus[0]), Role.HOUSEKEEPING),
        kind=row.kind,
        name=row.name or f"IRQ {row.label}",
        pid=None,
        tid=None,
        rate_per_s=row.total,
        stolen_ns_per_s=0.0,
        is_estimate=True,
        irq=one.irq if one is not None else int(row.label) if row.label.isdecimal() else None,
    )


def culprits_of(model: ScreenModel, row: IrqRow) -> list[CulpritLine]:
    """The culprits of the frame that are this IRQ, or one of this device."""
    numbers = {setting.irq for setting in row.settings} - {None}
    lines = model.frame.culprits if model.frame is not None else ()
    if numbers:
        return [line for line in lines if line.irq in numbers and line.kind == row.kind]
    return [line for line in lines if line.kind == row.kind and line.name == row.name]
