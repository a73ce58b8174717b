"""The selected row, which follows its culprit, check or IRQ when rows are sorted again.

Until a key has chosen a row, the first row is selected. Culprits of about the same cost swap rows every second, but a
key must apply to the row that the user saw selected. So the selection stays with its culprit until another culprit
clearly costs more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from noisewatch.kinds import Kind
from noisewatch.operations.frame.frame import CulpritLine, FindingLine, Frame
from noisewatch.surfaces.tui.state.folding import FoldedLine
from noisewatch.surfaces.tui.state.irq_history import IrqRow

Line = TypeVar("Line", CulpritLine, FindingLine, IrqRow)
Selectable = CulpritLine | FindingLine | IrqRow

_CLEARLY = 2.0  # factor by which another culprit must cost more
_FIRST_ROWS = 5  # an unchosen selection below these rows returns to the first row


class Listing(Struct, Generic[Line], frozen=True):
    """The rows of a list, and the index of the selected row.

    With `is_gone`, the selected row is no longer in the data, but keeps its place. With `is_chosen`, a key chose it.
    """

    lines: tuple[Line, ...]
    at: int
    is_gone: bool = False
    is_chosen: bool = True

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
        """Return the first row to show in a window of `room` rows that contains the selected row.

        If no row was chosen, the window also contains the first row if possible.
        """
        if not self.is_chosen and self.at < room:
            return 0
        return max(min(self.at - room // 2, len(self.lines) - room), 0)


class Selection(Struct, frozen=True):
    """The row that a key has chosen, and the row that was drawn as selected."""

    chosen: Selectable | None = None
    row: int = 0  # the last row of the chosen line
    drawn: Selectable | None = None  # the line drawn as selected

    def listing(
        self, lines: list[Line], of: type[Line], weight: Callable[[Line], float] | None = None
    ) -> Listing[Line]:
        """Return the lines, including the chosen line; if that line is gone, it is inserted at its last row.

        If no line was chosen, the first row is selected or, with a `weight`, a drawn row of similar weight.
        """
        chosen = self.chosen
        if not isinstance(chosen, of):
            return Listing(tuple(lines), self._row_shown(lines, of, weight), is_chosen=False)
        place = _place_of(chosen, lines)
        if place is not None:
            return Listing(tuple(lines), place)
        at = min(self.row, len(lines))
        with_it = lines.copy()
        with_it.insert(at, chosen)
        return Listing(tuple(with_it), at, is_gone=True)

    def _row_shown(self, lines: list[Line], of: type[Line], weight: Callable[[Line], float] | None) -> int:
        """Return the row of the line drawn as selected, or 0 if it is gone, too low, or clearly outweighed by row 0."""
        if weight is None or not isinstance(self.drawn, of):
            return 0
        at = _place_of(self.drawn, lines)
        if at is None or at >= _FIRST_ROWS:
            return 0
        return at if _CLEARLY * weight(lines[at]) > weight(lines[0]) else 0

    def is_about(self, line: Selectable) -> bool:
        """Return whether a key has chosen the line, or the screen has drawn it as selected."""
        return any(candidate is not None and is_same(candidate, line) for candidate in (self.chosen, self.drawn))

    def after(self, listing: Listing[Line]) -> Selection:
        """Return the selection with the chosen line updated from the listing."""
        is_so = self.chosen is None or (self.chosen is listing.selected and self.row == listing.at)
        return self if is_so else Selection(listing.selected, listing.at, self.drawn)

    def with_drawn(self, line: Selectable | None) -> Selection:
        """Return the selection with the line that the screen draws as selected."""
        return self if line is self.drawn else Selection(self.chosen, self.row, line)

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
        return Selection(listing.lines[at], at) if listing.lines else self


def is_same(line: Selectable, other: Selectable) -> bool:
    """Return whether both lines are the same culprit (on any CPU), the same check, or the same IRQ."""
    if isinstance(line, IrqRow) and isinstance(other, IrqRow):
        return not set(line.labels).isdisjoint(other.labels)  # one IRQ of a device, or all of them
    return _identity(line) == _identity(other)


def _identity(line: Selectable) -> tuple[object, ...]:
    """Return the identity of a line; threads are identified by number, because kernel threads change their names."""
    if isinstance(line, FindingLine):
        return (line.id,)
    if isinstance(line, IrqRow):
        return (line.labels,)
    if isinstance(line, FoldedLine):
        return (line.kind, line.name, line.pid, line.irq)
    return (Kind.THREAD, line.tid) if line.tid is not None else (line.kind, line.name, line.pid, line.irq)


def _place_of(chosen: Selectable, lines: list[Line]) -> int | None:
    """Return the index of the chosen line, or None; a thread may be on another CPU now."""
    if isinstance(chosen, IrqRow):
        same = [at for at, line in enumerate(lines) if is_same(line, chosen)]
    else:
        identity = _identity(chosen)
        same = [at for at, line in enumerate(lines) if _identity(line) == identity]
    here = [at for at in same if _cpu_of(lines[at]) == _cpu_of(chosen)]
    is_elsewhere = isinstance(chosen, FoldedLine) or (isinstance(chosen, CulpritLine) and chosen.tid is not None)
    matches = here or (same if is_elsewhere else [])
    return max(matches, key=lambda at: _name_of(lines[at]) == _name_of(chosen), default=None)


def _cpu_of(line: Selectable) -> int | None:
    return line.cpu if isinstance(line, CulpritLine) else None


def _name_of(line: Selectable) -> str:
    return line.id if isinstance(line, FindingLine) else line.name
