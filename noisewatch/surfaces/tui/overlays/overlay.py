"""What a key asks for in the monitor: announced first, then running, then over; a title, lines to scroll, and keys."""

from __future__ import annotations

import textwrap
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from importlib import import_module
from typing import TYPE_CHECKING, ClassVar, Self

from noisewatch.cpus import name_cpus
from noisewatch.errors import CannotMeasure
from noisewatch.operations.frame.frame import Frame
from noisewatch.records import dataclass
from noisewatch.surfaces.tui.draw.text_row import Row, cut, with_notice

if TYPE_CHECKING:
    from noisewatch.machine import Machine
    from noisewatch.machine.spinning.calibration.run import Progress
    from noisewatch.model.calibration.figures import Calibration
    from noisewatch.operations.preflight import PreflightOptions

_NO_TARGET = "There is no target CPU."


class OverlayState(StrEnum):
    """Between the key that asks for an overlay and the one that goes back."""

    ANNOUNCED = "announced"
    RUNNING = "running"
    OVER = "over"


Show = Callable[[Callable[[], None]], None]  # changes the screen and draws it; raises CannotMeasure once it was left


@dataclass(frozen=True, slots=True)
class MachineAccess:
    """How overlays open the machine that is shown, and a preflight's options; None where there is none."""

    open_machine: Callable[[], Machine] | None = None
    preflight_options: Callable[[], PreflightOptions] | None = None

    def opened(self) -> Machine:
        """The machine. Raises CannotMeasure where there is none."""
        if self.open_machine is None:
            raise CannotMeasure("there is no machine")
        return self.open_machine()


@dataclass(slots=True)
class Overlay(ABC):
    """What a key asks for: announced with its cost, started by another key, and left again."""

    pauses_sampler: ClassVar[bool] = True
    names_target: ClassVar[bool] = True  # in its title
    target: tuple[int, ...]
    refusal: str | None = None
    origin: str | None = None  # what is looked at instead of this host
    state: OverlayState = OverlayState.ANNOUNCED
    failure: str | None = None
    offset: int = 0
    notice: str | None = None  # what a key has done

    @classmethod
    def of(cls, frame: Frame | None) -> Self:
        """For the CPUs that the frame is about."""
        if frame is None or not frame.target:
            return cls((), _NO_TARGET)
        return cls(frame.target, origin=frame.origin)

    @property
    def costs_nothing(self) -> bool:
        """Whether it only shows what was recorded."""
        return False

    @abstractmethod
    def measure(self, access: MachineAccess, show: Show) -> Callable[[], None]:
        """Does in a thread what was asked for; what has the screen take in the result. Again while it is running."""

    @abstractmethod
    def rows(self, width: int, height: int, in_unicode: bool) -> list[Row]:
        """The screen's rows."""

    def end(self) -> None:  # noqa: B027 - most keep nothing
        """Gives back what was kept from one measurement to the next, in the thread that measured."""

    def reports(self) -> dict[str, str]:
        """The result as files, by their suffix; none where it has no format of its own."""
        return {}

    @property
    def has_scripts(self) -> bool:
        """Whether there is anything to fix."""
        return False

    def scripts(self) -> dict[str, str]:
        """What would fix what was found, and undo it, by the suffix of the file; none where it has no verdict."""
        return {}

    @property
    def calibration(self) -> Calibration | None:
        """The gaps that were measured on the way."""
        return None

    def fail(self, reason: str) -> None:
        """It is over, and nothing came of it."""
        self.state, self.failure = OverlayState.OVER, f"Failed: {reason}"

    def rows_of_fault(self, reason: str, width: int, height: int) -> list[Row]:
        """The screen where it cannot be drawn."""
        return self.framed("nothing to show of", wrapped([f"Cannot be drawn: {reason}"], width), width, height)

    @property
    def can_start(self) -> bool:
        return self.state == OverlayState.ANNOUNCED and self.refusal is None

    def framed(
        self,
        title: str,
        lines: Sequence[str | Row],
        width: int,
        height: int,
        doing: str = "",
        in_unicode: bool = False,
    ) -> list[Row]:
        """The lines, as far as they are scrolled, between a title and the keys; `doing` is told while it runs."""
        room = max(height - 2, 1)
        self.offset = max(min(self.offset, len(lines) - (height - 2)), 0)
        shown = lines[self.offset : self.offset + room]
        filled: list[Row] = [cut(self.styled(line) if isinstance(line, str) else line, width) for line in shown]
        filled += [[] for _ in range(height - 2 - len(filled))]
        whole = f"{title} {name_cpus(self.target)}" if self.names_target else title
        first: Row = [(whole[:width], "title")]
        keys = self._keys(len(lines), room, "↑ ↓" if in_unicode else "up down")
        last: Row = [piece for key, does in keys for piece in ((f" {key} ", "key"), (f"{does} ", "plain"))]
        last = [*last, (f" {doing}", "faint")]
        rows = [first, *filled, cut(last, width)][:height]
        return with_notice(rows, self.notice, width) if self.notice and height > 1 else rows

    def styled(self, line: str) -> Row:
        """One of the lines, whose meaning hangs on no style."""
        return [(line, "plain")]

    def _keys(self, count: int, room: int, arrows: str) -> Iterator[tuple[str, str]]:
        """Those that do something now, with what that is."""
        is_over = self.state == OverlayState.OVER and self.failure is None
        if self.can_start:
            yield "enter", "starts"
        yield "esc", "stops" if self.state == OverlayState.RUNNING else "goes back"
        if count > room:
            yield arrows, f"scroll: {self.offset + 1} to {min(self.offset + room, count)} of {count}"
        if is_over:
            yield "e", "exports"
        if is_over and self.has_scripts:
            yield "F", "writes the fix script"


class QuietListener:
    """Shows nothing; an overlay's listener overrides what it shows. `show` ends what runs once the overlay is left."""

    def __init__(self, show: Show) -> None:
        self._show = show

    def on_sampling(self, doing: str, done_s: float, total_s: float) -> None:
        self._show(lambda: None)

    def on_calibrating(self, progress: Progress) -> None:
        self._show(lambda: None)

    def on_waiting(self, reasons: str, left_s: float) -> None:
        """An overlay does not wait."""

    def on_remark(self, text: str) -> None:
        """What it says of this process, the monitor's first line tells already."""

    def on_done(self) -> None:
        """The next part draws over it."""


def wrapped(lines: Iterable[str], width: int) -> list[str]:
    """What is too long for the screen goes on below, further in than it began."""
    return [part for line in lines for part in _wrapped(line, max(width, 10))]


def _wrapped(line: str, width: int) -> list[str]:
    further = " " * (len(line) - len(line.lstrip()) + 2) if width >= 40 else ""
    return textwrap.wrap(line, width, subsequent_indent=further, break_on_hyphens=False) or [""]


_MODULES = {
    "calibration": ("calibration", "CalibrationOverlay"),
    "trace": ("trace", "TraceOverlay"),
    "preflight": ("preflight", "PreflightOverlay"),
    "history": ("history", "HistoryOverlay"),
}


def overlay_named(name: str, frame: Frame | None) -> Overlay:
    """The screen, imported once it is asked for: the monitor's first picture comes first."""
    module, kind = _MODULES[name]
    found: type[Overlay] = getattr(import_module(f"noisewatch.surfaces.tui.overlays.{module}"), kind)
    return found.of(frame)
