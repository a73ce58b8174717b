"""The rows of the IRQ screen: each IRQ or device, its rate on each CPU, and its allowed CPUs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from noisewatch.kinds import Kind, Role
from noisewatch.operations.frame.frame import CulpritLine, Frame, IrqLine, IrqSetting
from noisewatch.surfaces.tui.state.filters import SortOrder, kind_named
from noisewatch.surfaces.tui.state.history import cpus_in
from noisewatch.surfaces.tui.state.irq_history import IrqMove, IrqRow, level_of_rate

if TYPE_CHECKING:
    from noisewatch.surfaces.tui.state.screen_model import ScreenModel

_SILENT_AFTER = 60  # intervals
_SHOWN_MOVE_S = 60
_NOTHING: Mapping[int, float] = {}


def all_rows(model: ScreenModel) -> list[IrqRow]:
    """Return a row for each known IRQ, or for each device if IRQs are grouped, silent ones included."""
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
    """Return the row of one IRQ, or None if its settings are not reported."""
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
    """Return one row for each device with all its IRQs; an IRQ without a known device keeps its own row."""
    rows_by_device: dict[str, list[IrqRow]] = {}
    for row in rows:
        device = row.settings[0].device if row.is_numbered and row.settings else None
        rows_by_device.setdefault(device or f"IRQ {row.label}", []).append(row)
    return [_device_row(device, group) for device, group in rows_by_device.items()]


def _device_row(device: str, rows: Sequence[IrqRow]) -> IrqRow:
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
    """Return the rows to show, devices first, and the number of hidden silent rows.

    A row is silent if its IRQs have not interrupted in the last 60 intervals and were not moved in the last minute. The
    selected row is never hidden, and a filter also shows silent rows.
    """
    words = model.irq_filter.casefold().split()
    rows = [row for row in all_rows(model) if all(_matches(model, row, word) for word in words)]
    shows_silent = model.shows_silent_irqs or words
    shown = rows if shows_silent else [row for row in rows if not _is_silent(model, row)]
    return _in_order(model, shown), len(rows) - len(shown)


def _matches(model: ScreenModel, row: IrqRow, word: str) -> bool:
    """Return whether a filter word matches: an IRQ's number, part of its name or device, `cpu:LIST`, `kind:WORD`.

    `cpu:LIST` matches the CPUs that an IRQ interrupts or goes to. `!` before a word negates it.
    """
    if word.startswith("!") and len(word) > 1:
        return not _matches(model, row, word[1:])
    key, colon, value = word.partition(":")
    if colon and key == "cpu":
        interrupted = {cpu for cpu, rate in row.rate_by_cpu.items() if rate > 0}
        return not cpus_in(value).isdisjoint(interrupted | (row.effective or frozenset()))
    if colon and key == "kind":
        return row.kind == kind_named(value)
    if word.isdecimal():
        return word in row.labels
    names = (row.label, row.name, *(setting.device or "" for setting in row.settings))
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
    """Return the rows ordered by their rate's level (so small changes do not move rows), or by rate or CPU."""

    def key(row: IrqRow) -> tuple[bool, float]:
        if model.sort == SortOrder.CPU:
            return not row.is_numbered, min(busiest_first(row), default=1 << 20)
        total = row.total or 0.0
        return not row.is_numbered, -total if model.sort == SortOrder.RATE else -level_of_rate(total)

    return sorted(rows, key=key)


def last_move(model: ScreenModel, row: IrqRow) -> IrqMove | None:
    """Return the row's last move up to the shown interval, or None."""
    return max(moves_of(model, row), key=lambda move: move.at_ns, default=None)


def moves_of(model: ScreenModel, row: IrqRow) -> list[IrqMove]:
    """Return the last moves of the row's IRQs up to the shown interval."""
    return [move for setting in row.settings for move in model.irqs.moves(setting, model.number)]


def move_words(model: ScreenModel, row: IrqRow) -> str:
    """Return how long ago an IRQ of the row moved, and how: `11 s, 1→5`; empty if none moved."""
    move, frame = last_move(model, row), model.frame
    if move is None or frame is None:
        return ""
    ago = (frame.taken_at_ns - move.at_ns) / 1e9
    when = f"{ago:.0f} s" if ago < 100 else f"{ago / 60:.0f} min"
    return f"{when}, {move.before}→{move.after}"


def movable_word(row: IrqRow) -> str:
    """Return whether the IRQs can be moved: `yes`, `no`, `?`, `mgd` (only by the kernel), or `some` if they differ."""
    words = {
        "mgd" if setting.is_managed else {True: "yes", False: "no", None: "?"}[setting.movable]
        for setting in row.settings
    }
    return words.pop() if len(words) == 1 else "some" if words else "?"


def busiest_first(row: IrqRow) -> list[int]:
    """Return the CPUs that the row interrupts, the busiest first, or else its effective or allowed CPUs."""
    if row.rate_by_cpu:
        return sorted(row.rate_by_cpu, key=lambda cpu: -row.rate_by_cpu[cpu])
    return sorted(row.effective or row.allowed or ())


def disturbs_target(model: ScreenModel, row: IrqRow) -> bool:
    """Return whether the row interrupts, or goes to, a target CPU or its sibling."""
    lines = model.frame.cpus if model.frame is not None else ()
    disturbed = {line.cpu for line in lines if line.role in (Role.TARGET, Role.SIBLING)}
    interrupted = {cpu for cpu, rate in row.rate_by_cpu.items() if rate > 0}
    return not disturbed.isdisjoint(interrupted | (row.effective or frozenset()))


def culprit_of(model: ScreenModel, row: IrqRow) -> CulpritLine | None:
    """Return the row's costliest culprit in the frame, or a new culprit without a known cost; None without a CPU."""
    frame = model.frame
    culprits = culprits_of(model, row)
    if culprits:
        return max(culprits, key=lambda line: line.stolen_ns_per_s)
    cpus = busiest_first(row)
    if frame is None or not cpus:
        return None
    busiest = max(
        row.settings, key=lambda setting: model.irqs.rates(setting.label, [model.number])[0] or 0.0, default=None
    )
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
        irq=busiest.irq if busiest is not None else int(row.label) if row.label.isdecimal() else None,
    )


def culprits_of(model: ScreenModel, row: IrqRow) -> list[CulpritLine]:
    """Return the frame's culprits that are the row's IRQs."""
    numbers = {setting.irq for setting in row.settings} - {None}
    lines = model.frame.culprits if model.frame is not None else ()
    if numbers:
        return [line for line in lines if line.irq in numbers and line.kind == row.kind]
    return [line for line in lines if line.kind == row.kind and line.name == row.name]
