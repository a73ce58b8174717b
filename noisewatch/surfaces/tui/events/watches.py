"""Watchers that derive events from frames: changed CPUs, verdicts and settings, and episodes of high figures.

There are episodes of busy tasks, steal, throttling, cooling and heat.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from noisewatch.cpus import CpuSet, format_cpu_list, name_cpus
from noisewatch.kinds import Kind, Role
from noisewatch.operations.frame.frame import ClockLimits, CulpritLine, Frame
from noisewatch.surfaces.tui.events.kinds import BUSY_BEGINS, NEAR_CRITICAL, STEAL_BEGINS, Event, EventKind
from noisewatch.surfaces.tui.state.history import cpus_in
from noisewatch.units import describe_count, short_seconds, short_share

Watcher = Callable[[Frame, int], Iterator[Event]]  # yields the events of a frame; the number is its interval
Subject = tuple[str, int | None]  # name; and CPU, if readings are by CPU


class Episode(Struct, frozen=True):
    """An episode of a high figure; `last_ns` and `last_number` are of its last high or unknown interval.

    With `is_least`, the figures are lower bounds, because a frame may have left out a part.
    """

    began_ns: int
    last_ns: int
    last_number: int
    highest: float
    total: float
    is_least: bool = False

    @property
    def lasted_s(self) -> float:
        return (self.last_ns - self.began_ns) / 1e9


class Watch(Struct, frozen=True):
    """The rules for one kind of episode. Texts are made from the subject's name, its CPUs as text, and the episode."""

    kind: EventKind
    begins_at: float
    ends_below: float
    rests_s: float  # time below `ends_below` that ends the episode
    readings: Callable[[Frame], Mapping[Subject, float | None]]
    absent: Callable[[Frame, Subject], float | None]  # the figure of a subject without a reading
    describe_begin: Callable[[str, str, Episode], str]
    describe_end: Callable[[str, str, Episode], str]
    is_share: bool = False  # whether the figure is a share of a CPU
    is_least: Callable[[Frame, Subject], bool] = lambda frame, subject: False


class Episodes(Struct):
    """The current episodes of one watch. An unknown figure neither begins nor ends an episode."""

    watch: Watch
    _lasting: dict[Subject, Episode] = {}

    def changes(self, frame: Frame, number: int) -> Iterator[Event]:
        """Yield events for episodes that ended or began in this interval; episodes of the same name share an event.

        An episode ends with its last high or unknown interval.
        """
        readings = self.watch.readings(frame)
        if not readings and not self._lasting:
            return
        finished = self._follow(frame, number, readings)
        begun = {
            subject: Episode(
                began_ns=frame.taken_at_ns - round(frame.seconds * 1e9),
                last_ns=frame.taken_at_ns,
                last_number=number,
                highest=value,
                total=value,
                is_least=self.watch.is_least(frame, subject),
            )
            for subject, value in readings.items()
            if value is not None and value >= self.watch.begins_at and subject not in self._lasting
        }
        self._lasting.update(begun)
        if not finished and not begun:
            return
        for name, cpus, episode in _by_name(finished):
            text = self.watch.describe_end(name, cpus, episode)
            yield self._event(episode.last_ns, episode.last_number, text, name, cpus, episode, begins=False)
        for name, cpus, episode in _by_name(begun):
            text = self.watch.describe_begin(name, cpus, episode)
            yield self._event(frame.taken_at_ns, number, text, name, cpus, episode, begins=True)

    def _event(
        self, at_ns: int, number: int, text: str, name: str, cpus: str, episode: Episode, *, begins: bool
    ) -> Event:
        about = f"{name} on {cpus}" if cpus else name
        share = episode.highest if self.watch.is_share else None
        return Event(at_ns, self.watch.kind, text, number, about, begins=begins, share=share)

    def _follow(self, frame: Frame, number: int, readings: Mapping[Subject, float | None]) -> dict[Subject, Episode]:
        """Update the current episodes, and return the ended ones."""
        finished = {}
        for subject, episode in list(self._lasting.items()):
            value = readings[subject] if subject in readings else self.watch.absent(frame, subject)
            if value is None or value >= self.watch.ends_below:
                self._lasting[subject] = replace(
                    episode,
                    last_ns=frame.taken_at_ns,
                    last_number=number,
                    highest=max(episode.highest, value or episode.highest),
                    total=episode.total + (value or 0),
                    is_least=episode.is_least or self.watch.is_least(frame, subject),
                )
            elif frame.taken_at_ns - episode.last_ns >= self.watch.rests_s * 1e9:
                finished[subject] = self._lasting.pop(subject)
        return finished


def _by_name(episodes: Mapping[Subject, Episode]) -> Iterable[tuple[str, str, Episode]]:
    """Yield one episode per name, with all its CPUs as text, the highest figure and the longest duration."""
    subjects_by_name: dict[str, list[Subject]] = {}
    for subject in episodes:
        subjects_by_name.setdefault(subject[0], []).append(subject)
    for name, subjects in subjects_by_name.items():
        same_name = [episodes[subject] for subject in subjects]
        longest = max(same_name, key=lambda episode: episode.lasted_s)
        yield (
            name,
            name_cpus(cpu for _, cpu in subjects if cpu is not None),
            replace(
                longest,
                highest=max(episode.highest for episode in same_name),
                is_least=any(episode.is_least for episode in same_name),
            ),
        )


# Episodes end at a lower value than they begin at, so a figure that swings between the two values is one episode.
_COOL = 0.1  # share of a CPU
_HOT_RESTS_S = 5
_STEAL_ENDS = 0.01  # share of a CPU: less than one tick of 10 ms in a second
_STEAL_RESTS_S = 10
_THROTTLING_RESTS_S = 10
_BY = {"heat": "thermal throttling", "power": "throttling by the power limit"}
_FAR = 10  # °C below the critical temperature


def _on_targets(*kinds: str, name_of: Callable[[CulpritLine], str]) -> Callable[[Frame], Mapping[Subject, float]]:
    """Return a function that returns the noise of these kinds on each target CPU, as a share of its time."""

    def readings(frame: Frame) -> Mapping[Subject, float]:
        shares: dict[Subject, float] = defaultdict(float)
        for line in frame.culprits:
            if line.kind in kinds and line.role == Role.TARGET:
                shares[name_of(line), line.cpu] += line.stolen_ns_per_s / 1e9
        return shares

    return readings


def _absent_culprit(frame: Frame, subject: Subject) -> float | None:
    """Return 0 if the frame has all the CPU's culprits, or the CPU is offline or not a target; otherwise None."""
    line = next((line for line in frame.cpus if line.cpu == subject[1]), None)
    if line is None or line.role == Role.OFFLINE:
        return 0.0
    return 0.0 if line.role != Role.TARGET or frame.has_all_culprits_of(line.cpu) else None


def _process(line: CulpritLine) -> str:
    """Return the name for a process's threads, with the process ID; unattributed time has its own name."""
    if line.kind == Kind.UNATTRIBUTED:
        return "short-lived threads"
    return line.name + (f" [{line.pid}]" if line.pid is not None else "")


def _busy(frame: Frame) -> Mapping[Subject, float | None]:
    """Return the shares of busy processes; a small share is unknown (None) if the frame may leave out threads."""
    shares = _on_targets(Kind.THREAD, Kind.KERNEL_THREAD, Kind.UNATTRIBUTED, name_of=_process)(frame)
    return {subject: None if share < _COOL and _is_cut(frame, subject) else share for subject, share in shares.items()}


def _is_cut(frame: Frame, subject: Subject) -> bool:
    return frame.is_cut and subject[1] is not None and not frame.has_all_culprits_of(subject[1])


def _least(episode: Episode) -> str:
    return ("at least " if episode.is_least else "") + short_share(episode.highest)


def _begin_text(name: str, cpus: str, episode: Episode) -> str:
    return f"{name}: {_least(episode)} of {cpus}"


_BUSY = Watch(
    EventKind.BUSY, BUSY_BEGINS, _COOL, _HOT_RESTS_S,
    readings=_busy,
    absent=_absent_culprit,
    describe_begin=_begin_text,
    describe_end=lambda name, cpus, episode: f"{name} off {cpus} after {episode.lasted_s:.0f} s ({_peak(episode)})",
    is_share=True,
    is_least=_is_cut,
)  # fmt: skip
_STEAL = Watch(
    EventKind.STEAL, STEAL_BEGINS, _STEAL_ENDS, _STEAL_RESTS_S,
    readings=_on_targets(Kind.OUTSIDE, name_of=lambda line: "steal"),
    absent=_absent_culprit,
    describe_begin=_begin_text,
    describe_end=lambda name, cpus, episode: f"{name} on {cpus} ended"
    f" after {episode.lasted_s:.0f} s ({_peak(episode)})",
    is_share=True,
)  # fmt: skip


def _peak(episode: Episode) -> str:
    return f"peak {_least(episode)}"


def _throttle_counts(frame: Frame) -> Mapping[Subject, float | None]:
    return {
        (f"{_BY[throttled.by]} of the {throttled.what} of {_cpus(throttled.cpus)}", None): throttled.times
        for throttled in frame.conditions.throttled
    }


def _absent_throttle_count(frame: Frame, subject: Subject) -> float | None:
    """Return 0 if all counters were read, because unchanged counters are not listed; otherwise None."""
    is_measured = frame.seconds > 0 and all(throttled.times is not None for throttled in frame.conditions.throttled)
    return 0.0 if is_measured else None


def _cpus(listed: str) -> str:
    return f"{'CPU' if listed.isdigit() else 'CPUs'} {listed}"


def _count_text(episode: Episode) -> str:
    return describe_count(round(episode.total), "time")


_THROTTLING = Watch(
    EventKind.HEAT, 1, 1, _THROTTLING_RESTS_S,
    readings=_throttle_counts,
    absent=_absent_throttle_count,
    describe_begin=lambda name, cpus, episode: f"{name}: {_count_text(episode)} in this interval",
    describe_end=lambda name, cpus, episode: f"no {name} for {_THROTTLING_RESTS_S} s:"
    f" {_count_text(episode)} within {episode.lasted_s:.0f} s",
)  # fmt: skip
_COOLING = Watch(
    EventKind.HEAT, 1, 1, 0,
    readings=lambda frame: {(device.kind, None): device.highest_state for device in frame.conditions.cooling or ()},
    absent=lambda frame, subject: None if frame.conditions.cooling is None else 0.0,
    describe_begin=lambda name, cpus, episode: f"processor slowed to cool it: {name} at state {episode.highest:.0f}",
    describe_end=lambda name, cpus, episode: f"processor no longer slowed: {name} was at state {episode.highest:.0f}"
    f" for {episode.lasted_s:.0f} s",
)  # fmt: skip


def _degrees_above_critical(frame: Frame) -> Mapping[Subject, float | None]:
    return {
        (f"{sensor.name} (critical at {sensor.critical_celsius:g} °C)", None): None
        if sensor.celsius is None
        else sensor.celsius - sensor.critical_celsius
        for sensor in frame.conditions.temperatures
        if sensor.critical_celsius is not None
    }


def _headroom_text(name: str, cpus: str, episode: Episode) -> str:
    left = -episode.highest
    return f"{name}: {f'{left:.0f} °C left' if left > 0 else 'reached'}"


_CRITICAL = Watch(
    EventKind.HEAT, -NEAR_CRITICAL, -_FAR, 0,
    readings=_degrees_above_critical,
    absent=lambda frame, subject: None,
    describe_begin=_headroom_text,
    describe_end=lambda name, cpus, episode: f"{name}: more than {_FAR} °C left again, after {episode.lasted_s:.0f} s",
)  # fmt: skip

WATCHES = (_BUSY, _STEAL, _THROTTLING, _COOLING, _CRITICAL)


class LastCpus(Struct):
    """The online CPUs (None before the first frame) and the target CPUs of the previous frame."""

    _online: CpuSet | None = None
    _target: tuple[int, ...] = ()

    def changes(self, frame: Frame, number: int) -> Iterator[Event]:
        """Yield CPUs that went offline or came online, and a change of the target CPUs."""
        online = frozenset(line.cpu for line in frame.cpus if line.role != Role.OFFLINE)
        online_before, self._online = self._online, online
        target_before, self._target = self._target, frame.target
        if online_before is None:
            return
        if removed := online_before - online:
            yield Event(frame.taken_at_ns, EventKind.HOT_PLUG, f"{name_cpus(removed)} went offline", number)
        if added := online - online_before:
            yield Event(frame.taken_at_ns, EventKind.HOT_PLUG, f"{name_cpus(added)} came online", number)
        if target_before != frame.target:
            chosen = f"{format_cpu_list(frame.target) or 'none'} ({frame.target_chosen_by})"
            text = f"the target CPUs are now {chosen}, were {format_cpu_list(target_before) or 'none'}"
            yield Event(frame.taken_at_ns, EventKind.TARGET_SET, text, number)


class LastVerdict(Struct):
    """The last frame with a verdict."""

    _judged: Frame | None = None

    def changes(self, frame: Frame, number: int) -> Iterator[Event]:
        """Yield an event if the verdict or the failed checks changed.

        Its `about` lists the checks that failed or the checks that recovered; it is empty if there are both.
        """
        before, self._judged = self._judged, frame if frame.verdict is not None else self._judged
        sentences = list(_changes_of_verdict(before, frame)) if before is not None else []
        if before is None or not sentences:
            return
        failed, recovered = frozenset(frame.failed), frozenset(before.failed)
        failed, recovered = failed - recovered, recovered - failed
        yield Event(
            frame.taken_at_ns,
            EventKind.VERDICT,
            "; ".join(sentences),
            number,
            about=", ".join(sorted(failed or recovered)) if not (failed and recovered) else "",
            begins=bool(failed),
            failed=failed,
            recovered=recovered,
        )


def _changes_of_verdict(before: Frame, after: Frame) -> Iterator[str]:
    """Yield the verdict's change with new failures, and the recovered checks with the judged time.

    The judged time is shown because a check recovers only when its failure is older than that time.
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


_GOVERNOR, _LOWEST, _HIGHEST, _TURBO, _MAINS = "governor", "minimum frequency", "maximum frequency", "turbo", "mains"
Value = str | int | bool
Setting = tuple[str, int | None]  # name, and CPU


class LastSettings(Struct):
    """The last known value of each setting; it is compared even if the setting was unreadable in between."""

    _value_by_setting: dict[Setting, Value] = {}
    _turbo: str | None = None  # the state of turbo in the last frame
    _limits: tuple[ClockLimits, ...] = ()

    def changes(self, frame: Frame, number: int) -> Iterator[Event]:
        """Yield an event for each setting that differs from its last known value; a first value is not a change."""
        if self._turbo is not None and frame.turbo is None:
            text = f"turbo is now unknown, was {self._turbo}"
            yield Event(frame.taken_at_ns, EventKind.CLOCK, text, number)
        cpus_by_change: dict[tuple[str, Value, Value], list[int]] = {}
        for setting, value in self._settings(frame):
            value_before = self._value_by_setting.get(setting)
            if value_before is not None and value is not None and value_before != value:
                cpus_by_change.setdefault((setting[0], value_before, value), []).append(setting[1] or 0)
            if value is not None:
                self._value_by_setting[setting] = value
        self._turbo, self._limits = frame.turbo, frame.conditions.clock_limits
        for (name, value_before, new), cpus in cpus_by_change.items():
            is_mains = name == _MAINS
            kind = EventKind.POWER if is_mains else EventKind.CLOCK
            text = _mains_text(value_before, new) if is_mains else _clock_text(name, value_before, new, cpus)
            yield Event(frame.taken_at_ns, kind, text, number)

    def _settings(self, frame: Frame) -> Iterator[tuple[Setting, Value | None]]:
        """Yield the settings with their values; limits only if they changed, because hundreds of CPUs have them."""
        yield (_TURBO, None), frame.turbo
        yield (_MAINS, None), frame.conditions.mains_power
        for line in frame.cpus:
            yield (_GOVERNOR, line.cpu), line.governor
        for limits in frame.conditions.clock_limits if frame.conditions.clock_limits != self._limits else ():
            for cpu in cpus_in(limits.cpus):
                yield (_LOWEST, cpu), limits.min_khz
                yield (_HIGHEST, cpu), limits.max_khz


def _clock_text(name: str, old: Value, new: Value, cpus: list[int]) -> str:
    if name == _TURBO:
        return f"turbo is now {new}, was {old}"
    return f"the {name} of {name_cpus(cpus)} is now {_figure(new)}, was {_figure(old)}"


def _figure(value: Value) -> str:
    return f"{value / 1000:g} MHz" if isinstance(value, int) else value


def _mains_text(old: Value, new: Value) -> str:
    if new is False:
        return "mains power lost: running on battery"
    return (
        "mains power is back" if (old, new) == (False, True) else f"mains power is now {_power(new)}, was {_power(old)}"
    )


def _power(value: Value) -> str:
    return "on" if value is True else f"{value}"


def new_watchers() -> tuple[Watcher, ...]:
    """Return new watchers, without a previous frame; the log calls them in this order."""
    return (
        LastCpus().changes,
        LastVerdict().changes,
        LastSettings().changes,
        *(Episodes(watch).changes for watch in WATCHES),
    )
