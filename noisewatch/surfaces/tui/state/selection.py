"""The selected row, which follows its culprit, check or IRQ when rows are sorted again.

Until a key has chosen a row, the leading row is selected, or else the first row. Culprits of about the same cost swap
rows every second, but a key must apply to the row that the user saw selected. So the selection stays with its culprit
until another culprit clearly costs more. While keys move the selection, rows keep the order in which they were drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Generic, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from noisewatch.operations.frame.frame import CulpritLine, FindingLine, Frame
from noisewatch.surfaces.drawing.table import first_row_with
from noisewatch.surfaces.tui.state.folding import FoldedLine, culprit_identity
from noisewatch.surfaces.tui.state.irq_history import IrqRow
from noisewatch.surfaces.tui.state.leading import CLEARLY

Line = TypeVar("Line", CulpritLine, FindingLine, IrqRow)
Selectable = CulpritLine | FindingLine | IrqRow

_HELD_NS = 5_000_000_000  # how long rows keep their order after a key has moved the selection
_FIRST_ROWS = 5  # an unchosen selection below these rows returns to the first row


class Listing(Struct, Generic[Line], frozen=True):
    """The rows of a list, and the index of the selected row.

    With `is_gone`, the selected row is no longer in the data, but keeps its place.
    """

    lines: tuple[Line, ...]
    at: int
    is_gone: bool = False

    @property
    def selected(self) -> Line | None:
        return self.lines[self.at] if self.lines else None

    @property
    def count(self) -> int:
        """The number of rows, without a selected row that is gone."""
        return len(self.lines) - self.is_gone

    @property
    def needed(self) -> int:
        """The number of rows of the whole table: a heading, and the rows or one row that explains an empty table."""
        return 1 + max(len(self.lines), 1)

    def first_in(self, room: int) -> int:
        """Return the first row to show in a window of `room` rows: the top of the list, if the selected row fits."""
        return first_row_with(self.at, len(self.lines), room)


class Selection(Struct, frozen=True):
    """The row that a key has chosen, the row that was drawn as selected, and the order of the drawn rows.

    With `folds`, a row stands for its culprit on all CPUs.
    """

    chosen: Selectable | None = None
    row: int = 0  # the last row of the chosen line
    drawn: Selectable | None = None  # the line drawn as selected
    order: tuple[Selectable, ...] = ()  # the drawn lines
    moved_at_ns: int | None = None  # time of the frame that was shown when a key last moved the selection

    def listing(
        self,
        lines: list[Line],
        of: type[Line],
        weight: Callable[[Line], float] | None = None,
        leading: int | None = None,
        folds: bool = False,
    ) -> Listing[Line]:
        """Return the lines, including the chosen line; if that line is gone, it is inserted at its last row.

        If no line was chosen, the `leading` row is selected, or else the first row or, with a `weight`, a drawn row of
        similar weight.
        """
        chosen = self.chosen
        if not isinstance(chosen, of):
            return Listing(tuple(lines), self._row_shown(lines, of, weight, folds) if leading is None else leading)
        place = _place_of(chosen, lines, folds)
        if place is not None:
            return Listing(tuple(lines), place)
        at = min(self.row, len(lines))
        with_it = lines.copy()
        with_it.insert(at, chosen)
        return Listing(tuple(with_it), at, is_gone=True)

    def _row_shown(self, lines: list[Line], of: type[Line], weight: Callable[[Line], float] | None, folds: bool) -> int:
        """Return the row of the line drawn as selected, or 0 if it is gone, too low, or clearly outweighed by row 0."""
        if weight is None or not isinstance(self.drawn, of):
            return 0
        at = _place_of(self.drawn, lines, folds)
        if at is None or at >= _FIRST_ROWS:
            return 0
        return at if CLEARLY * weight(lines[at]) > weight(lines[0]) else 0

    def in_held_order(self, lines: list[Line], now_ns: int, folds: bool) -> list[Line]:
        """Return the lines in the order in which they were drawn, if a key has just moved the selection.

        A new line is inserted above the first line that follows it in the requested order.
        """
        if self.moved_at_ns is None or not 0 <= now_ns - self.moved_at_ns <= _HELD_NS:
            return lines
        places = {_key(line, folds): at for at, line in enumerate(self.order)}
        requested = {_key(line, folds): at for at, line in enumerate(lines)}
        drawn = [line for line in lines if _key(line, folds) in places]
        held = sorted(drawn, key=lambda line: places[_key(line, folds)])
        for at, line in enumerate(lines):
            if _key(line, folds) not in places:
                after = (row for row, other in enumerate(held) if requested[_key(other, folds)] > at)
                held.insert(next(after, len(held)), line)
        return held

    def holding(self, now_ns: int) -> Selection:
        """Return the selection with rows that keep their order from now on."""
        return replace(self, moved_at_ns=now_ns)

    def sorted_again(self) -> Selection:
        """Return the selection with rows in the requested order."""
        return replace(self, moved_at_ns=None)

    def is_about(self, line: Selectable) -> bool:
        """Return whether a key has chosen the line, or the screen has drawn it as selected."""
        return any(candidate is not None and is_same(candidate, line) for candidate in (self.chosen, self.drawn))

    def after(self, listing: Listing[Line]) -> Selection:
        """Return the selection with the chosen line updated from the listing."""
        is_so = self.chosen is None or (self.chosen is listing.selected and self.row == listing.at)
        return self if is_so else replace(self, chosen=listing.selected, row=listing.at)

    def with_drawn(self, listing: Listing[Line]) -> Selection:
        """Return the selection with the line that the screen draws as selected, and the drawn lines."""
        return replace(self, drawn=listing.selected, order=listing.lines)

    def with_leading_check(self, frame: Frame | None) -> Selection:
        """Return the selection moved to the leading check of the chosen check's cause."""
        chosen, leading = self.chosen, frame.leading if frame is not None else ()
        if frame is None or not isinstance(chosen, FindingLine) or chosen.id in {finding.id for finding in leading}:
            return self
        cause = next((finding.cause for finding in frame.findings if finding.id == chosen.id), None)
        lead = next((finding for finding in leading if finding.cause == cause), None) if cause is not None else None
        return self if lead is None else replace(self, chosen=lead)

    def moved(self, listing: Listing[Line], rows: int) -> Selection:
        """Return the selection moved down by this many rows."""
        at = max(min(listing.at + rows, len(listing.lines) - 1), 0)
        return replace(self, chosen=listing.lines[at], row=at, drawn=None) if listing.lines else self


def is_same(line: Selectable, other: Selectable) -> bool:
    """Return whether both lines are the same culprit (on any CPU), the same check, or the same IRQ.

    Threads are compared by number, because kernel threads change their names; a folded line has several threads.
    """
    if isinstance(line, CulpritLine) and isinstance(other, CulpritLine):
        is_folded = isinstance(line, FoldedLine) or isinstance(other, FoldedLine)
        if not is_folded and line.tid is not None and other.tid is not None:
            return line.tid == other.tid
        return culprit_identity(line) == culprit_identity(other)
    if isinstance(line, IrqRow) and isinstance(other, IrqRow):
        return not set(line.labels).isdisjoint(other.labels)  # one IRQ of a device, or all of them
    return isinstance(line, FindingLine) and isinstance(other, FindingLine) and line.id == other.id


def _key(line: Selectable, folds: bool) -> Hashable:
    """Return the key of a line in the drawn order; without `folds`, a culprit's lines on several CPUs differ."""
    if isinstance(line, CulpritLine):
        return culprit_identity(line) if folds else (line.tid or culprit_identity(line), line.cpu)
    return line.id if isinstance(line, FindingLine) else line.labels


def _place_of(chosen: Selectable, lines: Sequence[Line], folds: bool) -> int | None:
    """Return the index of the chosen line, or None; a thread, or with `folds` any culprit, may have left its CPU."""
    key = _key(chosen, folds)
    same = [at for at, line in enumerate(lines) if is_same(line, chosen) or _key(line, folds) == key]
    here = [at for at in same if _cpu_of(lines[at]) == _cpu_of(chosen)]
    can_move = folds or isinstance(chosen, FoldedLine) or (isinstance(chosen, CulpritLine) and chosen.tid is not None)
    matches = here or (same if can_move else [])
    return max(matches, key=lambda at: _name_of(lines[at]) == _name_of(chosen), default=None)


def _cpu_of(line: Selectable) -> int | None:
    return line.cpu if isinstance(line, CulpritLine) else None


def _name_of(line: Selectable) -> str:
    return line.id if isinstance(line, FindingLine) else line.name
