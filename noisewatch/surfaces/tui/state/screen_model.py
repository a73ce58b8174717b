"""The monitor's state: the data from frames, the shown interval, the screen, the selected row, and the map's view."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from noisewatch.judgement.terms import Area
from noisewatch.operations.frame.frame import CpuLine, CulpritLine, FindingLine, Frame, IrqSetting, PlaceLine
from noisewatch.surfaces.tui.events.kinds import Event, EventKind
from noisewatch.surfaces.tui.events.log import EventLog
from noisewatch.surfaces.tui.state.baseline import Baseline, baseline_of
from noisewatch.surfaces.tui.state.clock_history import ClockGraph, ClockHistory
from noisewatch.surfaces.tui.state.culprit_history import CulpritHistory
from noisewatch.surfaces.tui.state.filters import SORT_ORDERS, SortOrder, listed_culprits, weight_of, worst_cpu
from noisewatch.surfaces.tui.state.folding import cpus_of
from noisewatch.surfaces.tui.state.history import CpuPlaces, CpuReadings, History, WallTimes, wall_clock_of
from noisewatch.surfaces.tui.state.irq_history import IrqHistory, IrqRow, describe_moves
from noisewatch.surfaces.tui.state.irq_table import culprit_of, listed_rows
from noisewatch.surfaces.tui.state.leading import leading_culprit, row_of_culprit, row_of_interrupt
from noisewatch.surfaces.tui.state.map_view import MapView, Quantity, next_of
from noisewatch.surfaces.tui.state.own_cost import OwnCost
from noisewatch.surfaces.tui.state.run_history import RunHistory
from noisewatch.surfaces.tui.state.selection import Line, Listing, Selection, is_same

if TYPE_CHECKING:
    from noisewatch.model.calibration.figures import Calibration
    from noisewatch.operations.advise import Advice


ZOOMS = (1, 2, 10, 60)  # intervals per column
_MISSED, _LEAST_SILENCE_S = 3, 3.0


class Screen(StrEnum):
    """The screens of the monitor, in the order of their numbers, which are their keys."""

    OVERVIEW = "overview"
    MAP = "map"
    IRQS = "irqs"
    CLOCK = "clock"
    CPU = "cpu"
    EVENTS = "events"
    PREFLIGHT = "preflight"
    CULPRITS = "culprits"

    @property
    def number(self) -> int:
        return tuple(Screen).index(self) + 1


WITH_CULPRITS = (Screen.OVERVIEW, Screen.CULPRITS, Screen.CPU)  # the screens with a list of culprits


class ScreenModel(Struct):
    """The state from which all screens are drawn: the data from frames, and the part of it that is shown.

    Frames are collected even while the picture is frozen or an earlier interval is shown.
    """

    history: History = field(default_factory=History)
    newest: Frame | None = None
    begin_ns: int | None = None  # CLOCK_MONOTONIC of the first frame
    log: EventLog = field(default_factory=EventLog)
    wall_times: WallTimes = field(default_factory=WallTimes)
    irqs: IrqHistory = field(default_factory=IrqHistory)
    clocks: ClockHistory = field(default_factory=ClockHistory)
    cpu_readings: CpuReadings = field(default_factory=CpuReadings)
    culprit_noise: CulpritHistory = field(default_factory=CulpritHistory)
    cpu_places: CpuPlaces = field(default_factory=CpuPlaces)
    runs: RunHistory = field(default_factory=RunHistory)
    pace_s: float = 1.0  # requested time between frames
    opened: str | None = None  # the recording or the copied tree as the user named it; None: this host
    trouble: str | None = None
    silence: str | None = None  # why the picture is old, if frames stopped
    cursor: int | None = None  # number of the shown interval; None follows the newest
    pauses_on_spike: bool = False  # whether the next spike freezes the picture
    plays: bool = False  # whether a recording plays
    speed: float = 1.0
    zoom: int = ZOOMS[0]
    notice: str | None = None  # the effect of the last key, until the next key
    screen: Screen = Screen.OVERVIEW
    cpu: int | None = None  # the CPU on the screen of one CPU
    selection: Selection = Selection()
    last_lead: tuple[Frame, CulpritLine | None] | None = None  # a frame and its leading culprit
    baseline: Baseline | None = None
    calibration: Calibration | None = None  # the last calibration
    calibrated_at_ns: int | None = None
    filter: str = ""
    irq_filter: str = ""
    filter_before: str = ""  # the earlier filter, which escape restores
    is_typing: bool = False  # whether the filter is being typed
    advice: Advice | None = None  # the requested fix, until it is closed
    awaits_fix: bool = False  # a fix was requested, and is still being looked up
    fix_number: int = 0  # counts requested fixes
    opens_check: bool = False  # whether the selected check's reason, or all of the selected area, is shown
    area: Area | None = None  # the area of checks that is selected instead of a cause
    shows_all_checks: bool = False
    check_offset: int = 0  # number of rows that are scrolled out of the shown checks
    shows_all_cpus: bool = False
    folds: bool = True  # whether a culprit on several CPUs is one line
    groups_irqs: bool = False  # whether all IRQs of a device are one row
    shows_silent_irqs: bool = False
    silent_irqs: int = 0  # silent IRQs left out of the last listing
    clock_graph: ClockGraph = ClockGraph.SLOWEST
    map: MapView = MapView()
    sort: SortOrder = SortOrder.COST
    offset: int = 0
    own_cost: OwnCost | None = None

    @property
    def frame(self) -> Frame | None:
        """The shown frame."""
        return self.newest if self.cursor is None else self.history.frame(self.cursor)

    @property
    def is_past(self) -> bool:
        """Whether the newest frame is shown, but no longer describes the current state of the machine."""
        return self.cursor is None and self.is_stale

    @property
    def cpus(self) -> tuple[CpuLine, ...]:
        """The CPUs of the shown frame; none before the first frame."""
        return self.frame.cpus if self.frame is not None else ()

    @property
    def culprits(self) -> tuple[CulpritLine, ...]:
        """The culprits of the shown frame; none before the first frame."""
        return self.frame.culprits if self.frame is not None else ()

    @property
    def lead(self) -> CulpritLine | None:
        """The culprit that the headline of the shown frame names, or None."""
        if self.frame is None:
            return None
        frame, lead = self.last_lead or (None, None)
        if frame is not self.frame:
            lead = leading_culprit(self.frame, lead)
            self.last_lead = (self.frame, lead)
        return lead

    def cpu_of(self, culprit: CulpritLine) -> int:
        """Return the CPU that a culprit's row is about: the headline's CPU, if the headline names the culprit."""
        lead = self.lead
        is_lead = lead is not None and is_same(lead, culprit) and lead.cpu in cpus_of(culprit)
        return lead.cpu if lead is not None and is_lead else culprit.cpu

    @property
    def target(self) -> tuple[int, ...]:
        """The target CPUs of the shown frame; none before the first frame."""
        return self.frame.target if self.frame is not None else ()

    @property
    def irq_settings(self) -> Mapping[str, IrqSetting]:
        """The last IRQ settings up to the shown interval, by label."""
        return self.irqs.settings if self.cursor is None else self.irqs.settings_at(self.cursor)

    @property
    def has_room(self) -> bool:
        """Whether another frame can be added without dropping the shown interval."""
        return self.cursor is None or self.history.count - self.number < self.history.capacity

    @property
    def number(self) -> int:
        """The number of the shown interval; -1 before the first interval."""
        return self.history.count - 1 if self.cursor is None else self.cursor

    def add(self, frame: Frame, line: bytes | None = None) -> None:
        """Add the next frame and its encoded line; the first frame has no rates, so it is not added to the history.

        Move the cursor if its interval is no longer kept; set it to this interval if a spike should freeze the picture.
        """
        number = self.history.count
        self.log.watch(frame, number)
        for text in describe_moves(self.irqs.follow(frame, number), frozenset(frame.target)):
            self.log.add(Event(frame.taken_at_ns, EventKind.IRQ, text, number))
        for at_ns, text, about in self.runs.follow(frame):
            self.log.add(Event(at_ns, EventKind.RUN, text, self._interval_at(at_ns, number), about))
        if (late := self.late_reason(frame)) is not None:
            self.log.add(Event(frame.taken_at_ns, EventKind.MONITOR, late, number))
        self.begin_ns = frame.taken_at_ns if self.begin_ns is None else self.begin_ns
        self.newest = frame
        self.wall_times.add(frame)
        self.cpu_places.add(frame.places)
        self.silence = self.trouble = None
        if frame.seconds <= 0:
            return
        self.history.add(frame, line)
        self.irqs.add(frame)
        self.culprit_noise.add(frame)
        self.clocks.add(frame, self.irqs)
        self.cpu_readings.add(frame)
        if self.cursor is not None:
            if self.cursor < self.history.first:
                self.cursor, self.notice = self.history.first, "that interval is no longer kept; this is the oldest"
        elif self.pauses_on_spike and not self.is_recorded and self.history.is_spike(self.history.count - 1):
            self.cursor, self.pauses_on_spike = self.history.count - 1, False

    def toggle_freeze(self) -> None:
        """Freeze the picture at the newest interval, or follow the newest interval again."""
        self.cursor = self.history.count - 1 if self.cursor is None and self.history.count else None

    def toggle_pause_on_spike(self) -> None:
        """Toggle whether the next spike freezes the picture; switching this on resumes a frozen live picture."""
        self.pauses_on_spike = not self.pauses_on_spike
        if self.pauses_on_spike and not self.is_recorded:
            self.cursor = None

    def step(self, intervals: int) -> None:
        """Step by this many columns of the timeline, forward or back, and freeze the picture there."""
        if self.history.count:
            self.go_to_number(self.number + intervals * self.zoom)

    def go_to_number(self, number: int) -> None:
        """Show the interval, or the nearest kept interval; select the first row unless a key chose another."""
        self.selection = self.selection.sorted_again() if self.selection.chosen is not None else Selection()
        self.last_lead = None
        self.cursor, self.plays = max(min(number, self.history.count - 1), self.history.first), False

    def step_to_newest(self) -> None:
        """Follow the newest interval from now on."""
        self.cursor, self.plays = None, False

    def go_to_time(self, at_ns: int) -> None:
        """Show the interval that contains the CLOCK_MONOTONIC time (ns), or the nearest kept interval."""
        kept = self.history.kept
        if kept:
            at = bisect_left(kept, at_ns, key=lambda number: self.history.frame(number).taken_at_ns)
            self.go_to_number(kept[min(at, len(kept) - 1)])

    def step_to_spike(self, direction: int) -> None:
        """Show the next spike of a target CPU in that direction.

        On the clock screen it is the next clock drop, on the IRQ screen the next rise of the selected IRQ's rate, on
        the screen of one CPU the next spike of that CPU.
        """
        row = self.irq_listing().selected if self.screen == Screen.IRQS else None
        if self.screen == Screen.CLOCK:
            self.step_among(self.clocks.drops(), direction, "clock drop")
        elif row is not None:
            self._move_selection(0)  # the row stays selected, although another may be the first one then
            self.step_among(self.irqs.rises(row.labels), direction, f"rise of {row.short_name}")
        elif self.screen == Screen.CPU and self.cpu is not None:
            self.step_among(self.history.spikes(self.cpu), direction, f"spike of CPU {self.cpu}")
        else:
            drops = len(self.clocks.drops())
            hint = f"; clock drops on screen {Screen.CLOCK.number}: {drops}" if drops else ""
            self.step_among(self.history.spikes(), direction, f"spike{hint}")

    def step_to_event(self, direction: int) -> None:
        """Show the next interval with an event in that direction, if any."""
        happened = {event.number for event in self.log.events if event.number in self.history.kept}
        beyond = [number for number in happened if (number - self.number) * direction > 0]
        if beyond:
            self.go_to_number(min(beyond, key=lambda number: abs(number - self.number)))

    def show_event(self) -> None:
        """Show the selected event's interval on the overview, or set a notice if it is no longer kept."""
        event = self.log.selected()
        if event is None:
            return
        number = min(event.number, self.history.count - 1)  # a device event may be newer than all intervals
        if number < self.history.first:
            self.notice = "that interval is no longer kept"
        elif number >= 0:
            self.go_to_number(number)
            self.go_to(Screen.OVERVIEW)

    def step_among(self, numbers: Sequence[int], direction: int, what: str) -> None:
        """Show the next of these intervals in that direction, or set a notice if there is none."""
        beyond = [number for number in numbers if (number - self.number) * direction > 0]
        if beyond:
            self.go_to_number(beyond[0] if direction > 0 else beyond[-1])
        else:
            self.notice = f"no {'later' if direction > 0 else 'earlier'} {what}"

    def next_zoom(self) -> None:
        self.zoom = next_of(ZOOMS, self.zoom)

    def go_to(self, screen: str) -> None:
        """Show a screen, with its first row selected; the screen of one CPU starts with the worst target CPU."""
        self.screen = Screen(screen)
        self.close_fix()
        self.forget_selection()
        if screen == Screen.CPU and self.cpu is None and self.frame is not None:
            self.cpu = worst_cpu(self.frame.cpus)

    def go_to_cpu(self, cpu: int | None) -> None:
        """Show the screen of one CPU, for this CPU."""
        self.cpu = cpu
        self.go_to(Screen.CPU)

    def go_to_map(self, quantity: str) -> None:
        """Show the map of that quantity."""
        self.map = replace(self.map, quantity=Quantity(quantity))
        self.go_to(Screen.MAP)

    def open_pointed(self) -> None:
        """Show the CPU that is selected on the map."""
        self.go_to_cpu(self.map.pointed(self))

    def next(self, direction: int) -> None:
        """Show the next CPU in that direction on the screen of one CPU; on other screens, the next screen."""
        if self.screen == Screen.CPU:
            self.next_cpu(direction)
        else:
            self.go_to(next_of(tuple(Screen), self.screen, direction))

    def go_back(self) -> None:
        """Close the open fix or check, or else show the overview."""
        if self.has_opened:
            self.opens_check = self.shows_all_checks = False
            self.close_fix()
        else:
            self.go_to(Screen.OVERVIEW)

    @property
    def has_opened(self) -> bool:
        """Whether a fix, the reason of a check, or all checks replace a part of the screen."""
        return self.shows_fix or self.opens_check or self.shows_all_checks

    @property
    def shows_fix(self) -> bool:
        """Whether the selected culprit's fix is requested or shown, instead of the facts about the culprit."""
        return self.advice is not None or self.awaits_fix

    def ask_for_fix(self, selected: CulpritLine) -> None:
        """Request a fix for the culprit that is shown as selected, and keep it selected."""
        if self.screen == Screen.IRQS:
            self._move_selection(0)
        else:
            self.selection = replace(self.selection, chosen=selected)
        self.awaits_fix, self.fix_number = True, self.fix_number + 1

    def close_fix(self) -> None:
        """Close the fix, and show the facts about the selected culprit again."""
        self.advice, self.awaits_fix = None, False

    def _renew_fix(self) -> None:
        """If a fix is shown, request the new selection's fix, because another culprit's fix must not be copied."""
        self.awaits_fix, self.fix_number = self.shows_fix, self.fix_number + 1
        self.advice = None

    def next_cpu(self, direction: int) -> None:
        """Show the next CPU in that direction on the screen of one CPU."""
        cpus = [line.cpu for line in self.cpus]
        if cpus:
            self.cpu = next_of(cpus, self.cpu if self.cpu in cpus else cpus[0], direction)
            self.selection = Selection()
            self._renew_fix()

    def drill_in(self) -> None:
        """Show the CPU of the selected culprit, which stays selected."""
        if self.screen == Screen.CPU:
            return
        selected = self.selected()
        if selected is not None:
            self.cpu = self.cpu_of(selected)
        is_shown = selected is not None and self.frame is not None and selected in self.frame.culprits
        is_irq = self.screen == Screen.IRQS
        self.go_to(Screen.CPU)
        self.selection = Selection(selected) if is_shown or not is_irq else Selection()

    def forget_selection(self) -> None:
        """Reset the selection: the first shown row is selected until a key moves it."""
        self.selection, self.log.chosen = Selection(), None
        self.area, self.opens_check, self.shows_all_checks = None, False, False

    def listed(self) -> list[CulpritLine]:
        """Return the culprits that the screen lists, filtered and sorted."""
        return listed_culprits(self)

    def scroll_fix(self, rows: int) -> None:
        """Scroll the shown fix by this many rows."""
        if self.advice is not None:
            self.advice = replace(self.advice, offset=max(self.advice.offset + rows, 0))

    def select(self, rows: int) -> None:
        """Move the selection by this many rows; the newly selected culprit's fix replaces a shown fix."""
        if self.screen == Screen.EVENTS:
            self.log.choose(rows)
            return
        if self.screen == Screen.MAP:
            self.map = self.map.moved(self, rows)
            return
        before = self.selected()
        self._move_selection(rows)
        after = self.selected()
        is_other = before is None or after is None or before.cpu != after.cpu or not is_same(before, after)
        if is_other and before is not after:
            self._renew_fix()

    def _move_selection(self, rows: int) -> None:
        if self.frame is not None:
            self.selection = self.selection.holding(self.frame.taken_at_ns)
        if self.screen == Screen.PREFLIGHT:
            self._select_check(rows)
        elif self.screen == Screen.IRQS:
            self.selection = self.selection.moved(self.irq_listing(), rows)
        else:
            self.selection = self.selection.moved(self.listing(), rows)

    def _select_check(self, rows: int) -> None:
        """Move through the causes, and then through the areas below them; scroll an opened area or list instead.

        An opened cause is scrolled only by pages.
        """
        if self.shows_all_checks or (self.opens_check and (self.area is not None or abs(rows) > 1)):
            self.check_offset = max(self.check_offset + rows, 0)
            return
        self.check_offset = 0
        listing, areas = self.findings(), list(Area) if self.frame is not None and self.frame.gravities else []
        count = len(listing.lines)
        at = listing.at if self.area is None else count + areas.index(self.area)
        at = max(min(at + rows if count or self.area else at + rows - 1, count + len(areas) - 1), 0)
        self.area = areas[at - count] if areas and at >= count else None
        if self.area is None:
            self.selection = self.selection.moved(listing, at - listing.at)

    def toggle_check(self) -> None:
        """Open or close the reason of the selected check, or all checks of the selected area."""
        self.opens_check, self.check_offset = not self.opens_check, 0

    def toggle_all_checks(self) -> None:
        """Open or close the list of all checks, passed ones included."""
        self.shows_all_checks, self.check_offset = not self.shows_all_checks, 0

    def listing(self) -> Listing[CulpritLine]:
        """Return the culprits in their order, with the selected culprit at its current row."""
        folds = self.folds and self.screen != Screen.CPU
        lines = self._held(self.listed(), folds)
        is_elsewhere = self.lead is None or (self.screen == Screen.CPU and self.cpu != self.lead.cpu)
        leading = row_of_culprit(self.lead, lines) if self.lead is not None and not is_elsewhere else None
        return self._listing(lines, CulpritLine, lambda line: weight_of(line, self.sort, self.baseline), leading, folds)

    def findings(self) -> Listing[FindingLine]:
        """Return the checks that did not pass (one per cause, then checks without a cause), and the selected check."""
        leading = list(self.frame.leading) if self.frame is not None else []
        self.selection = self.selection.with_leading_check(self.frame)
        return self._listing(leading, FindingLine)

    def irq_listing(self) -> Listing[IrqRow]:
        """Return the rows of the IRQ screen in their order, with the selected row at its current place."""
        rows, self.silent_irqs = listed_rows(self)
        rows = self._held(rows, False)
        leading = row_of_interrupt(self.lead, rows, self.culprits) if self.lead is not None else None
        return self._listing(rows, IrqRow, lambda row: row.total or 0.0, leading)

    def _held(self, lines: list[Line], folds: bool) -> list[Line]:
        return self.selection.in_held_order(lines, self.frame.taken_at_ns, folds) if self.frame is not None else lines

    def _listing(
        self,
        lines: list[Line],
        of: type[Line],
        weight: Callable[[Line], float] | None = None,
        leading: int | None = None,
        folds: bool = False,
    ) -> Listing[Line]:
        """Return the lines, including the selected line, and update the selection from them."""
        listing = self.selection.listing(lines, of, weight, leading, folds)
        self.selection = self.selection.after(listing)
        return listing

    def selected(self) -> CulpritLine | None:
        """Return the culprit that is shown as selected (on the IRQ screen, the IRQ's costliest culprit), or None."""
        if self.screen == Screen.IRQS:
            row = self.selection.drawn if isinstance(self.selection.drawn, IrqRow) else self.irq_listing().selected
            return culprit_of(self, row) if row is not None else None
        if self.screen not in WITH_CULPRITS:
            return None
        drawn = self.selection.drawn
        return drawn if isinstance(drawn, CulpritLine) else self.listing().selected

    def note_drawn(self) -> None:
        """Store the row that is drawn as selected: keys apply to it until the next picture."""
        if self.screen == Screen.EVENTS:
            listed = self.log.listed()
            self.log.drawn = listed[self.log.row()] if listed else None
        elif self.screen in WITH_CULPRITS:
            self.selection = self.selection.with_drawn(self.listing())
        elif self.screen == Screen.IRQS:
            self.selection = self.selection.with_drawn(self.irq_listing())
        elif self.screen == Screen.PREFLIGHT:
            self.selection = self.selection.with_drawn(self.findings())

    def selected_finding(self) -> FindingLine | None:
        """Return the finding that is shown as selected."""
        drawn = self.selection.drawn
        return drawn if isinstance(drawn, FindingLine) else self.findings().selected

    def toggle_all_cpus(self) -> None:
        """Toggle between culprits on all CPUs and culprits only on target CPUs and their siblings."""
        self.shows_all_cpus = not self.shows_all_cpus

    def toggle_folding(self) -> None:
        """Toggle folding of a culprit's, device's or event's rows; on the clock screen, show the next graph."""
        if self.screen == Screen.IRQS:
            self.groups_irqs = not self.groups_irqs
        elif self.screen == Screen.CLOCK:
            self.clock_graph = next_of(tuple(ClockGraph), self.clock_graph)
        elif self.screen == Screen.EVENTS:
            self.log.folds = not self.log.folds
        else:
            self.folds = not self.folds
        self.selection = self.selection.sorted_again()

    def toggle_hidden(self) -> None:
        """Toggle the map between all CPUs and the selected CPU's cache or node; on other screens, silent IRQs."""
        if self.screen == Screen.MAP:
            self.map = self.map.with_part_toggled()
        else:
            self.shows_silent_irqs = not self.shows_silent_irqs

    def next_quantity(self) -> None:
        """Show the next quantity on the map."""
        self.map = self.map.with_next_quantity()

    def next_sort(self) -> None:
        sorts = tuple(SortOrder) if self.baseline is not None else SORT_ORDERS
        self.sort, self.selection = next_of(sorts, self.sort), self.selection.sorted_again()

    def mark_baseline(self) -> None:
        """Set the baseline, for later comparison, to the intervals up to the shown interval."""
        if self.history.count:
            self.baseline = baseline_of(self.history, self.number)

    def forget_baseline(self) -> None:
        """Stop comparing with the baseline, and stop sorting by change."""
        self.baseline = None
        self.sort = SortOrder.COST if self.sort == SortOrder.CHANGE else self.sort

    def scroll(self, lines: int, room: int) -> None:
        """Scroll the list of CPUs by this many rows; `room` CPUs are visible."""
        self.offset = max(min(self.offset + lines, len(self.cpus) - room), 0)

    def wall_clock(self, at: Frame | int | None = None) -> str | None:
        """Return the local time (`14:02:31`) of a frame, of a CLOCK_MONOTONIC time (ns), or of the shown frame."""
        at = at if at is not None else self.frame
        return self.wall_times.at(at) if isinstance(at, int) else wall_clock_of(at)

    def behind_s(self) -> float:
        """Return the seconds from the shown frame to the newest frame."""
        frame, newest = self.frame, self.newest
        return 0.0 if frame is None or newest is None else (newest.taken_at_ns - frame.taken_at_ns) / 1e9

    def into_s(self) -> float:
        """Return the seconds from the first frame to the shown frame."""
        frame, begin_ns = self.frame, self.begin_ns
        return 0.0 if frame is None or begin_ns is None else (frame.taken_at_ns - begin_ns) / 1e9

    def _interval_at(self, at_ns: int, newest: int) -> int:
        """Return the interval that contains the time: a kept interval, or `newest`, which is being added."""
        kept = range(self.history.first, newest)
        return kept.start + bisect_left(kept, at_ns / 1e9, key=lambda number: self.clocks.end_time_s(number) or 0.0)

    @property
    def is_stale(self) -> bool:
        """Whether the newest frame is no longer the current state of the machine."""
        return self.trouble is not None or self.silence is not None

    @property
    def longest_silence_s(self) -> float:
        """The longest time (s) without a frame for which the newest frame still counts as current."""
        return max(_MISSED * self.pace_s, _LEAST_SILENCE_S)

    def notice_silence(self, silent_s: float) -> None:
        """Set or clear `silence` after `silent_s` seconds without a frame."""
        if self.newest is None or self.newest.is_last or self.is_recorded:
            return
        is_late = silent_s > self.longest_silence_s
        self.silence = f"no frame for {silent_s:.0f} s: the sampler is stopped or gets no CPU time" if is_late else None

    def late_reason(self, frame: Frame | None) -> str | None:
        """Return why a live frame's interval is far longer than requested, or None if it is not."""
        if frame is None or frame.origin is not None or frame.seconds <= self.longest_silence_s:
            return None
        return f"no frame for {frame.seconds:.1f} s: the machine is overloaded, or the monitor was stopped"

    @property
    def is_recorded(self) -> bool:
        """Whether the shown machine is a recording or a copied tree."""
        return self.newest is not None and self.newest.origin is not None

    @property
    def places(self) -> Mapping[int, PlaceLine] | None:
        """The last known place of each CPU, or None if no place is known."""
        return self.cpu_places.by_cpu

    def in_order(self, cpus: Iterable[int]) -> list[int]:
        """Return the CPUs by node, last-level cache, core and sibling, or by number if places are unknown."""
        return self.cpu_places.sort(cpus)
