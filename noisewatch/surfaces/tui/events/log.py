"""The log of what changed from one frame to the next, and of what the kernel said of its devices meanwhile."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import field

from noisewatch.cpus import CpuSet, format_cpu_list, name_cpus, parse_cpu_list
from noisewatch.errors import Malformed
from noisewatch.kinds import Role
from noisewatch.operations.frame.frame import ClockLimits, Frame
from noisewatch.records import dataclass
from noisewatch.surfaces.tui.events.folds import folded, is_same_event
from noisewatch.surfaces.tui.events.kinds import Event, EventKind
from noisewatch.surfaces.tui.events.watches import Episodes, all_episodes
from noisewatch.units import short_seconds

_GOVERNOR, _LOWEST, _HIGHEST, _TURBO, _MAINS = "governor", "minimum frequency", "maximum frequency", "turbo", "mains"
Value = str | int | bool
Setting = tuple[str, int | None]  # what it is, and of which CPU
_MOST = 1000


@dataclass(slots=True)
class KnownSettings:
    """The last value that is known of each setting: one that could not be read meanwhile is compared all the same."""

    _value_by_setting: dict[Setting, Value] = field(default_factory=dict)
    _turbo: str | None = None  # as the last frame had it
    _limits: tuple[ClockLimits, ...] = ()

    def changes(self, frame: Frame) -> Iterator[tuple[EventKind, str]]:
        """What is now another value than the last known one. What had none was not set, but found out."""
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
        """Limits only where they are not those of the last frame: hundreds of CPUs have the same, every time."""
        yield (_TURBO, None), frame.turbo
        yield (_MAINS, None), frame.conditions.mains_power
        for line in frame.cpus:
            yield (_GOVERNOR, line.cpu), line.governor
        for limits in frame.conditions.clock_limits if frame.conditions.clock_limits != self._limits else ():
            for cpu in _cpus(limits.cpus):
                yield (_LOWEST, cpu), limits.min_khz
                yield (_HIGHEST, cpu), limits.max_khz


def _cpus(text: str) -> CpuSet:
    try:
        return parse_cpu_list(text)
    except Malformed:
        return frozenset()


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
    silence: str | None = None  # why nothing is heard of devices
    chosen: Event | None = None  # in the list of them; None is the newest
    drawn: Event | None = None  # what the user has seen selected
    filter: str = ""
    folds: bool = True  # what comes again and again into one line
    _judged: Frame | None = None  # the last frame with a verdict
    _settings: KnownSettings = field(default_factory=KnownSettings)
    _episodes: tuple[Episodes, ...] = field(default_factory=all_episodes)

    def add(self, event: Event) -> None:
        """Takes it in at its time, unless it has just been told: of a CPU that goes the kernel tells, and then the
        next frame. That something has ended, or how a repetition was, is known only after a while.
        """
        for known in reversed(self.events):
            if known.number < event.number - 1:
                break
            if (known.kind, known.text) == (event.kind, event.text):
                return
        later = []
        while self.events and _time_of(self.events[-1]) > _time_of(event):
            later.append(self.events.pop())
        self.events.append(event)
        self.events.extend(reversed(later))

    def compare(self, before: Frame | None, after: Frame, number: int) -> None:
        """Takes in what changed between two frames, the second of which is that interval."""
        judged, self._judged = self._judged, after if after.verdict is not None else self._judged
        for kind, text in changes(before, after):
            self.add(Event(after.taken_at_ns, kind, text, number))
        if judged is not None and (event := _change_of_verdict(judged, after, number)) is not None:
            self.add(event)
        for kind, text in self._settings.changes(after):
            self.add(Event(after.taken_at_ns, kind, text, number))
        for each in self._episodes:
            for event in each.changes(after, number):
                self.add(event)

    def within(self, numbers: range) -> Iterator[Event]:
        """The events of these intervals, the newest first."""
        for event in reversed(self.events):
            if event.number < numbers.start:
                return
            if event.number < numbers.stop:
                yield event

    def listed(self) -> list[Event]:
        """Those that all words of the filter hold for, the newest first; `!` before a word turns it round.

        What comes again and again is one of them, unless all are asked for.
        """
        words = [(word.removeprefix("!"), not word.startswith("!")) for word in self.filter.casefold().split()]
        found = [event for event in reversed(self.events) if all(_has(event, word) == is_so for word, is_so in words)]
        return folded(found) if self.folds else found

    def row(self) -> int:
        """Where the chosen one is listed; where it is forgotten, or left out, the one before it."""
        listed, chosen = self.listed(), self.chosen
        if chosen is None:
            return 0
        at = next((at for at, event in enumerate(listed) if is_same_event(event, chosen)), None)
        if at is not None:
            return at
        before = (at for at, event in enumerate(listed) if event.at_ns <= chosen.at_ns)
        return next(before, max(len(listed) - 1, 0))

    def selected(self) -> Event | None:
        """The one that the user sees selected."""
        listed = self.listed()
        drawn = self.drawn
        if self.chosen is None and drawn is not None and any(is_same_event(each, drawn) for each in listed):
            return drawn
        return listed[self.row()] if listed else None

    def choose(self, rows: int) -> None:
        """Moves so many rows down the list."""
        listed = self.listed()
        if listed:
            self.chosen = listed[max(min(self.row() + rows, len(listed) - 1), 0)]


def _time_of(event: Event) -> tuple[int, int]:
    """Of one time are what was in an interval, and then what a device said while the next one went on."""
    return event.at_ns, event.number


def _has(event: Event, word: str) -> bool:
    return word in f"{event.kind} {event.text}".casefold()


def changes(before: Frame | None, after: Frame) -> Iterator[tuple[EventKind, str]]:
    """CPUs that came and went, another target."""
    if before is None:
        return
    was, now = _online(before), _online(after)
    if gone := was - now:
        yield EventKind.HOT_PLUG, f"{name_cpus(gone)} went offline"
    if come := now - was:
        yield EventKind.HOT_PLUG, f"{name_cpus(come)} came online"
    if before.target != after.target:
        chosen = f"{format_cpu_list(after.target) or 'none'} ({after.target_chosen_by})"
        yield EventKind.TARGET_SET, f"the target CPUs are now {chosen}, were {format_cpu_list(before.target) or 'none'}"


def _change_of_verdict(before: Frame, after: Frame, number: int) -> Event | None:
    """What fails, or no longer fails; it is about those checks where it is one of the two."""
    if (before.verdict, before.failed) == (after.verdict, after.failed):
        return None
    said = list(_changes_of_verdict(before, after))
    if not said:
        return None
    failed, recovered = frozenset(after.failed), frozenset(before.failed)
    failed, recovered = failed - recovered, recovered - failed
    return Event(
        after.taken_at_ns,
        EventKind.VERDICT,
        "; ".join(said),
        number,
        about=", ".join(sorted(failed or recovered)) if not (failed and recovered) else "",
        begins=bool(failed),
        failed=failed,
        recovered=recovered,
    )


def _online(frame: Frame) -> CpuSet:
    return frozenset(line.cpu for line in frame.cpus if line.role != Role.OFFLINE)


def _changes_of_verdict(before: Frame, after: Frame) -> Iterator[str]:
    """The step from verdict to verdict with what fails since; what recovered, with the time that was judged: what ended
    within it has failed until now.
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
