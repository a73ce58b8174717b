"""The log of changes from one frame to the next, and of the kernel's device events."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import field

from noisewatch.cpus import CpuSet, format_cpu_list, name_cpus
from noisewatch.kinds import Role
from noisewatch.operations.frame.frame import ClockLimits, Frame
from noisewatch.records import dataclass
from noisewatch.surfaces.tui.events.kinds import Event, EventKind, folded, is_same_event
from noisewatch.surfaces.tui.events.watches import Episodes, all_episodes
from noisewatch.surfaces.tui.state.history import cpus_in
from noisewatch.units import short_seconds

_GOVERNOR, _LOWEST, _HIGHEST, _TURBO, _MAINS = "governor", "minimum frequency", "maximum frequency", "turbo", "mains"
Value = str | int | bool
Setting = tuple[str, int | None]  # name, and CPU
_MOST = 1000


@dataclass(slots=True)
class LastSettings:
    """The last known value of each setting, so that a setting that was unreadable in between is still compared."""

    _value_by_setting: dict[Setting, Value] = field(default_factory=dict)
    _turbo: str | None = None  # as the last frame had it
    _limits: tuple[ClockLimits, ...] = ()

    def changes(self, frame: Frame) -> Iterator[tuple[EventKind, str]]:
        """Yield settings whose value differs from the last known one; a first value is not a change."""
        if self._turbo is not None and frame.turbo is None:
            yield EventKind.CLOCK, f"turbo is now unknown, was {self._turbo}"
        cpus_by_change: dict[tuple[str, Value, Value], list[int]] = {}
        for setting, value in self._settings(frame):
            old = self._value_by_setting.get(setting)
            if old is not None and value is not None and old != value:
                cpus_by_change.setdefault((setting[0], old, value), []).append(setting[1] or 0)
            if value is not None:
                self._value_by_setting[setting] = value
        self._turbo, self._limits = frame.turbo, frame.conditions.clock_limits
        for (name, old, new), cpus in cpus_by_change.items():
            yield (
                (EventKind.POWER, _of_mains(old, new))
                if name == _MAINS
                else (EventKind.CLOCK, _of_clock(name, old, new, cpus))
            )

    def _settings(self, frame: Frame) -> Iterator[tuple[Setting, Value | None]]:
        """Yield the settings with their values; limits only if they changed, as hundreds of CPUs have the same ones."""
        yield (_TURBO, None), frame.turbo
        yield (_MAINS, None), frame.conditions.mains_power
        for line in frame.cpus:
            yield (_GOVERNOR, line.cpu), line.governor
        for limits in frame.conditions.clock_limits if frame.conditions.clock_limits != self._limits else ():
            for cpu in cpus_in(limits.cpus):
                yield (_LOWEST, cpu), limits.min_khz
                yield (_HIGHEST, cpu), limits.max_khz


def _of_clock(name: str, old: Value, new: Value, cpus: list[int]) -> str:
    if name == _TURBO:
        return f"turbo is now {new}, was {old}"
    return f"the {name} of {name_cpus(cpus)} is now {_figure(new)}, was {_figure(old)}"


def _figure(value: Value) -> str:
    return f"{value / 1000:g} MHz" if isinstance(value, int) else value


def _of_mains(old: Value, new: Value) -> str:
    if new is False:
        return "mains power lost: running on battery"
    return (
        "mains power is back" if (old, new) == (False, True) else f"mains power is now {_power(new)}, was {_power(old)}"
    )


def _power(value: Value) -> str:
    return "on" if value is True else f"{value}"


@dataclass(slots=True)
class EventLog:
    """The last events by their time, the newest last."""

    events: deque[Event] = field(default_factory=lambda: deque(maxlen=_MOST))
    silence: str | None = None  # why there are no device events
    chosen: Event | None = None  # selected by a key; None is the newest
    drawn: Event | None = None  # drawn as selected
    filter: str = ""
    folds: bool = True  # whether repeated events are one line
    _judged: Frame | None = None  # the last frame with a verdict
    _settings: LastSettings = field(default_factory=LastSettings)
    _episodes: tuple[Episodes, ...] = field(default_factory=all_episodes)

    def add(self, event: Event) -> None:
        """Insert the event at its time, unless this or the preceding interval contains it already.

        A CPU that goes offline is reported by the kernel, and again by the next frame. An event's end, or the outcome
        of a repetition, is known only later.
        """
        for earlier in reversed(self.events):
            if earlier.number < event.number - 1:
                break
            if (earlier.kind, earlier.text) == (event.kind, event.text):
                return
        later = []
        while self.events and _time_of(self.events[-1]) > _time_of(event):
            later.append(self.events.pop())
        self.events.append(event)
        self.events.extend(reversed(later))

    def compare(self, before: Frame | None, after: Frame, number: int) -> None:
        """Add the changes between two frames, the second of which is interval `number`."""
        judged, self._judged = self._judged, after if after.verdict is not None else self._judged
        for kind, text in changes(before, after):
            self.add(Event(after.taken_at_ns, kind, text, number))
        if judged is not None and (event := _change_of_verdict(judged, after, number)) is not None:
            self.add(event)
        for kind, text in self._settings.changes(after):
            self.add(Event(after.taken_at_ns, kind, text, number))
        for episodes in self._episodes:
            for event in episodes.changes(after, number):
                self.add(event)

    def in_intervals(self, numbers: range) -> Iterator[Event]:
        """Yield the events of these intervals, the newest first."""
        for event in reversed(self.events):
            if event.number < numbers.start:
                return
            if event.number < numbers.stop:
                yield event

    def listed(self) -> list[Event]:
        """Return the events that match all words of the filter, the newest first; `!` before a word negates it.

        Repeated events are folded into one, unless folding is off.
        """
        words = [(word.removeprefix("!"), not word.startswith("!")) for word in self.filter.casefold().split()]
        matching = [
            event
            for event in reversed(self.events)
            if all(_matches_word(event, word) == is_so for word, is_so in words)
        ]
        return folded(matching) if self.folds else matching

    def row(self) -> int:
        """Return the row of the chosen event, or of the one before it if it is forgotten or filtered out."""
        listed, chosen = self.listed(), self.chosen
        if chosen is None:
            return 0
        at = next((at for at, event in enumerate(listed) if is_same_event(event, chosen)), None)
        if at is not None:
            return at
        before = (at for at, event in enumerate(listed) if event.at_ns <= chosen.at_ns)
        return next(before, max(len(listed) - 1, 0))

    def selected(self) -> Event | None:
        """Return the event that the user sees selected."""
        listed = self.listed()
        drawn = self.drawn
        if self.chosen is None and drawn is not None and any(is_same_event(event, drawn) for event in listed):
            return drawn
        return listed[self.row()] if listed else None

    def choose(self, rows: int) -> None:
        """Move the selection down by this many rows."""
        listed = self.listed()
        if listed:
            self.chosen = listed[max(min(self.row() + rows, len(listed) - 1), 0)]


def _time_of(event: Event) -> tuple[int, int]:
    """Return the sort key: events of an interval precede device events at the same time, which belong to the next."""
    return event.at_ns, event.number


def _matches_word(event: Event, word: str) -> bool:
    return word in f"{event.kind} {event.text}".casefold()


def changes(before: Frame | None, after: Frame) -> Iterator[tuple[EventKind, str]]:
    """Yield CPUs that went offline or came online, and a change of the target CPUs."""
    if before is None:
        return
    online_before, online_after = _online(before), _online(after)
    if removed := online_before - online_after:
        yield EventKind.HOT_PLUG, f"{name_cpus(removed)} went offline"
    if added := online_after - online_before:
        yield EventKind.HOT_PLUG, f"{name_cpus(added)} came online"
    if before.target != after.target:
        chosen = f"{format_cpu_list(after.target) or 'none'} ({after.target_chosen_by})"
        yield EventKind.TARGET_SET, f"the target CPUs are now {chosen}, were {format_cpu_list(before.target) or 'none'}"


def _change_of_verdict(before: Frame, after: Frame, number: int) -> Event | None:
    """Return the event of a changed verdict or changed failures, or None.

    It is about the checks that failed or recovered, if it has only one of the two.
    """
    if (before.verdict, before.failed) == (after.verdict, after.failed):
        return None
    sentences = list(_changes_of_verdict(before, after))
    if not sentences:
        return None
    failed, recovered = frozenset(after.failed), frozenset(before.failed)
    failed, recovered = failed - recovered, recovered - failed
    return Event(
        after.taken_at_ns,
        EventKind.VERDICT,
        "; ".join(sentences),
        number,
        about=", ".join(sorted(failed or recovered)) if not (failed and recovered) else "",
        begins=bool(failed),
        failed=failed,
        recovered=recovered,
    )


def _online(frame: Frame) -> CpuSet:
    return frozenset(line.cpu for line in frame.cpus if line.role != Role.OFFLINE)


def _changes_of_verdict(before: Frame, after: Frame) -> Iterator[str]:
    """Yield the change of the verdict with new failures, and the recovered checks with the time that is judged.

    The time matters: a check recovers only when its failure is older than the judged time.
    """
    if None in (before.verdict, after.verdict):
        return
    failing, recovered = set(after.failed) - set(before.failed), set(before.failed) - set(after.failed)
    step = f"{before.verdict} → {after.verdict}" if before.verdict != after.verdict else ""
    if failing:
        yield f"{step or 'failing'}: {', '.join(sorted(failing))}"
    elif step:
        yield step
    if recovered:
        over = f" (last {short_seconds(after.judged_s)})" if after.judged_s is not None else ""
        yield f"recovered: {', '.join(sorted(recovered))}{over}"
