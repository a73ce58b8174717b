"""Overlays above the monitor, and the host of at most one overlay.

An overlay has a title, lines to scroll, and keys. The host announces it, counts down to its start, runs it in a thread,
and closes it.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar

from noisewatch.cpus import name_cpus
from noisewatch.errors import CannotMeasure, NoisewatchError
from noisewatch.faults import Boundary, contain_faults
from noisewatch.operations.frame.frame import Frame
from noisewatch.surfaces.drawing.text_row import Row, cut, with_notice
from noisewatch.surfaces.drawing.wraps import wrap_all, wrap_hanging
from noisewatch.surfaces.tui.state.run_history import describe_run

if TYPE_CHECKING:
    from textual.app import App

    from noisewatch.machine import Machine
    from noisewatch.machine.spinning.calibration.run import Progress
    from noisewatch.model.calibration.figures import Calibration
    from noisewatch.operations.preflight import PreflightOptions


Result = TypeVar("Result")
_NO_TARGET = "There is no target CPU."


class OverlayState(StrEnum):
    """The state of an overlay between the key that opens it and the key that closes it."""

    ANNOUNCED = "announced"
    RUNNING = "running"
    OVER = "over"


Show = Callable[[Callable[[], None]], None]  # changes the overlay and draws it; raises CannotMeasure once it is closed


@dataclass(frozen=True, slots=True)
class MachineAccess:
    """The functions that open the shown machine and that return a preflight's options; None if unavailable."""

    open_machine: Callable[[], Machine] | None = None
    preflight_options: Callable[[], PreflightOptions] | None = None

    def open(self) -> Machine:
        """Return the shown machine. Raise CannotMeasure if it is unavailable."""
        if self.open_machine is None:
            raise CannotMeasure("there is no machine")
        return self.open_machine()


@dataclass(slots=True)
class Overlay(ABC, Generic[Result]):
    """An overlay: a key opens it with an announcement of its cost, a countdown or a key starts it, a key closes it."""

    title: ClassVar[str] = ""
    no_result: ClassVar[str] = ""  # text before the reason of a failure
    pauses_sampler: ClassVar[bool] = True
    names_target: ClassVar[bool] = True  # whether the title names the target CPUs
    target: tuple[int, ...]
    refusal: str | None = None
    origin: str | None = None  # origin of the frames; None means this host
    runs: str = ""  # runs of `noisewatch run` on this host, which a start would disturb
    left_s: int = 0  # seconds until the announced overlay starts by itself; 0 if it waits for a key
    state: OverlayState = OverlayState.ANNOUNCED
    failure: str | None = None
    result: Result | None = None
    offset: int = 0
    notice: str | None = None  # message on the effect of the last key

    @classmethod
    def of(cls, frame: Frame | None) -> Self:
        """Return the overlay for the frame's target CPUs."""
        if frame is None or not frame.target:
            return cls((), _NO_TARGET)
        runs = (describe_run(run, frame.target) for run in frame.runs)
        return cls(frame.target, origin=frame.origin, runs=", ".join(filter(None, runs)))

    @property
    def costs_nothing(self) -> bool:
        """Whether the overlay starts at once, because its first step measures and changes nothing."""
        return self.origin is not None

    @property
    def doing(self) -> str:
        """The text on the progress, next to the keys; empty if there is none."""
        return ""

    @abstractmethod
    def measure_once(self, access: MachineAccess, show: Show) -> Result | str:
        """Return the result, or the reason for a missing result. Raise NoisewatchError if measuring fails."""

    @abstractmethod
    def lines(self, width: int, height: int, in_unicode: bool) -> Sequence[str | Row]:
        """Return all lines of the overlay; `height` lines are visible at a time."""

    def measure(self, access: MachineAccess, show: Show) -> Callable[[], None]:
        """Measure, and return the function that stores the result. A thread repeats this while the overlay runs."""
        try:
            result = self.measure_once(access, show)
        except NoisewatchError as error:
            result = str(error)
        return lambda: self.finish(result)

    def finish(self, result: Result | str) -> None:
        """Store the result, or the reason for the failure."""
        self.state = OverlayState.OVER
        if isinstance(result, str):
            self.failure = f"{self.no_result}{result}"
        else:
            self.result = result

    def rows(self, width: int, height: int, in_unicode: bool) -> list[Row]:
        """Return the rows of the screen."""
        lines = [*self._start_lines(width), *self.lines(width, max(height - 2, 1), in_unicode)]
        return self.frame_lines(self.title, lines, width, height, self.doing, in_unicode)

    def _start_lines(self, width: int) -> list[str | Row]:
        """Return lines on when the announced overlay starts; empty if it is not announced or cannot start."""
        if self.state != OverlayState.ANNOUNCED or not self.can_start:
            return []
        if self.left_s:
            return [[(f"Starts in {self.left_s} s", "strong"), (": enter starts now, esc stops", "plain")], ""]
        why = [f"{self.runs}: starting now is a disturbance; enter starts anyway.", ""] if self.runs else []
        return list(wrap_lines(why, width))

    @abstractmethod
    def announcement(self) -> list[str]:
        """Return lines that announce what the overlay will do, and its cost."""

    def message(self, width: int) -> list[str]:
        """Return the reason for a missing result, or else the announcement."""
        reason = self.refusal or self.failure
        return wrap_lines([reason] if reason else self.announcement(), width)

    def end(self) -> None:
        """Release resources kept between measurements, in the thread that measured."""

    def reports(self) -> dict[str, str]:
        """Return the result as the contents of files, by suffix; empty without a result or a file format."""
        return {}

    @property
    def has_scripts(self) -> bool:
        """Whether there is anything to fix."""
        return False

    def scripts(self) -> dict[str, str]:
        """Return the fix script and its undo script, by suffix; empty if there is nothing to fix."""
        return {}

    @property
    def calibration(self) -> Calibration | None:
        """The calibration in the result, or None."""
        return None

    def fail(self, reason: str) -> None:
        """End the overlay without a result."""
        self.state, self.failure = OverlayState.OVER, f"Failed: {reason}"

    def rows_of_fault(self, reason: str, width: int, height: int) -> list[Row]:
        """Return rows that show the reason instead of an overlay that cannot be drawn."""
        return self.frame_lines(self.title, wrap_lines([f"Cannot be drawn: {reason}"], width), width, height)

    @property
    def start_verb(self) -> str:
        """The effect of the enter key, while the overlay can start."""
        return "starts now" if self.left_s else "starts"

    @property
    def has_next_step(self) -> bool:
        """Whether the result allows a further step; the enter key then starts that step."""
        return False

    @property
    def can_start(self) -> bool:
        is_ready = self.state == OverlayState.ANNOUNCED or (self.state == OverlayState.OVER and self.has_next_step)
        return is_ready and self.refusal is None

    def frame_lines(
        self,
        title: str,
        lines: Sequence[str | Row],
        width: int,
        height: int,
        doing: str = "",
        in_unicode: bool = False,
    ) -> list[Row]:
        """Return the visible lines between a title and the keys; `doing` is shown next to the keys."""
        room = max(height - 2, 1)
        self.offset = max(min(self.offset, len(lines) - (height - 2)), 0)
        shown = lines[self.offset : self.offset + room]
        filled: list[Row] = [cut(self.row_of_line(line) if isinstance(line, str) else line, width) for line in shown]
        filled += [[] for _ in range(height - 2 - len(filled))]
        whole = f"{title} {name_cpus(self.target)}" if self.names_target else title
        first: Row = [(whole[:width], "title")]
        keys = self._keys(len(lines), room, "↑ ↓" if in_unicode else "up down")
        last: Row = [piece for key, does in keys for piece in ((f" {key} ", "key"), (f"{does} ", "plain"))]
        last = [*last, (f" {doing}", "faint")]
        rows = [first, *filled, cut(last, width)][:height]
        return with_notice(rows, self.notice, width) if self.notice and height > 1 else rows

    def row_of_line(self, line: str) -> Row:
        """Return a line as a row; its meaning must not depend on its styles."""
        return [(line, "plain")]

    def _keys(self, count: int, room: int, arrows: str) -> Iterator[tuple[str, str]]:
        """Yield each key that has an effect now, with the effect."""
        is_over = self.state == OverlayState.OVER and self.failure is None
        if self.can_start:
            yield "enter", self.start_verb
        yield "esc", "stops" if self.state == OverlayState.RUNNING or self.left_s else "goes back"
        if count > room:
            yield arrows, f"scroll: {self.offset + 1} to {min(self.offset + room, count)} of {count}"
        if is_over:
            yield "e", "exports"
        if is_over and self.has_scripts:
            yield "F", "writes the fix script"


AnOverlay = TypeVar("AnOverlay", bound=Overlay[Any])


class QuietListener(Generic[AnOverlay]):
    """A listener that shows nothing; each overlay overrides the methods for what it shows.

    `show` raises CannotMeasure after the overlay was closed, which stops the measurement.
    """

    def __init__(self, overlay: AnOverlay, show: Show) -> None:
        self._overlay, self._show = overlay, show

    def on_sampling(self, doing: str, done_s: float, total_s: float) -> None:
        self._show(lambda: None)

    def on_calibrating(self, progress: Progress) -> None:
        self._show(lambda: None)

    def on_waiting(self, reasons: str, left_s: float) -> None:
        """Do nothing: overlays do not wait."""

    def on_remark(self, text: str) -> None:
        """Do nothing: the monitor's status row already shows remarks about this process."""

    def on_done(self) -> None:
        """Do nothing: the overlay's next picture replaces the progress."""


def wrap_lines(lines: Iterable[str], width: int) -> list[str]:
    """Return the lines wrapped to the width, with continuation lines indented further."""
    if width >= 40:
        return [part for line in lines for part in wrap_hanging(line, width) or [""]]
    return wrap_all(lines, width, "", keep="hyphens")


def overlay_named(name: str, frame: Frame | None) -> Overlay[Any]:
    """Return the overlay of that name, imported now: an earlier import would delay the first picture."""
    module = import_module(f"noisewatch.surfaces.tui.overlays.{name}")
    overlay_class: type[Overlay[Any]] = getattr(module, f"{name.capitalize()}Overlay")
    return overlay_class.of(frame)


DISTURBS = (
    "This disturbs any benchmark that runs there now, and may slow CPUs that share a core or a cache with them. "
    "The monitor pauses."
)
_COUNTDOWN, _COUNT_S = 3, 1.0  # counts before an overlay starts by itself, and seconds between them
_DRAW_EVERY_S = 0.25  # a calibration reports progress more often, and its chart takes milliseconds to draw


class OverlayHost:
    """The host of at most one overlay.

    `pause` and `resume` control the sampler, which would otherwise observe the calibration. `keep` is called with the
    overlay after each measurement.
    """

    def __init__(
        self,
        app: App[None],
        access: MachineAccess,
        draw: Callable[[], None],
        pause: Callable[[], None],
        resume: Callable[[], None],
        keep: Callable[[Overlay[Any]], None],
    ) -> None:
        self._app = app
        self._access = access
        self._draw, self._pause, self._resume, self._keep = draw, pause, resume, keep
        self.shown: Overlay[Any] | None = None
        self._next_draw_s = 0.0

    def announce(self, overlay: Overlay[Any]) -> None:
        """Show the overlay with its cost, and start it after a countdown; during a run, only a key starts it."""
        if self.shown is not None:
            return
        self.shown = overlay
        if overlay.can_start and not overlay.costs_nothing and not overlay.runs:
            overlay.left_s = _COUNTDOWN
            self._app.set_timer(_COUNT_S, lambda: self._count(overlay))

    def _count(self, overlay: Overlay[Any]) -> None:
        """Count down, and then start the overlay, unless a key has started or closed it."""
        if self.shown is not overlay or not overlay.left_s:
            return
        overlay.left_s -= 1
        if overlay.left_s:
            self._app.set_timer(_COUNT_S, lambda: self._count(overlay))
        else:
            self.start()
        self._draw()

    def start(self) -> None:
        """Start the announced overlay."""
        overlay = self.shown
        if overlay is None or not overlay.can_start:
            return
        overlay.state, overlay.left_s = OverlayState.RUNNING, 0
        if overlay.pauses_sampler:
            self._pause()
        self._app.run_worker(lambda: self._run(overlay), thread=True)

    def leave(self) -> None:
        """Close the overlay; a running measurement stops when it next updates the overlay."""
        overlay, self.shown = self.shown, None
        if overlay is not None and overlay.pauses_sampler and overlay.state == OverlayState.RUNNING:
            self._resume()

    def _run(self, overlay: Overlay[Any]) -> None:
        """Measure in a thread; the main thread changes and draws the overlay."""
        try:
            while overlay.state == OverlayState.RUNNING and self.shown is overlay and self._app.is_running:
                take = self._measure(overlay)
                if self._app.is_running:
                    self._app.call_from_thread(self._finish, overlay, take)
        finally:
            overlay.end()

    def _measure(self, overlay: Overlay[Any]) -> Callable[[], None]:
        """Measure, and return the function that stores the result, or the reason for the failure, in the overlay."""

        def failed(reason: str) -> Callable[[], None]:
            return lambda: overlay.fail(reason)

        return contain_faults(lambda: overlay.measure(self._access, lambda change: self._show(overlay, change)), failed)

    def _show(self, overlay: Overlay[Any], change: Callable[[], None]) -> None:
        """Change and draw the overlay. Raise CannotMeasure if the overlay has been closed."""
        if self.shown is not overlay or not self._app.is_running:
            raise CannotMeasure("stopped")
        self._app.call_from_thread(self._change, change)

    def _change(self, change: Callable[[], None]) -> None:
        change()
        if time.monotonic() >= self._next_draw_s:
            self._next_draw_s = time.monotonic() + _DRAW_EVERY_S
            self._draw()

    def _finish(self, overlay: Overlay[Any], take: Callable[[], None]) -> None:
        if self.shown is not overlay:
            return
        with Boundary(overlay.fail):
            take()
            self._keep(overlay)
        self._draw()
        if overlay.pauses_sampler and overlay.state != OverlayState.RUNNING:
            self._resume()
