"""Watches over each frame for the log: busy tasks, steal, throttling, cooling and heat."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field, replace

from noisewatch.cpus import name_cpus
from noisewatch.kinds import Kind, Role
from noisewatch.operations.frame.frame import CulpritLine, Frame
from noisewatch.records import dataclass
from noisewatch.surfaces.tui.events.kinds import Event, EventKind
from noisewatch.units import describe_count, short_share

Subject = tuple[str, int | None]  # name; and CPU, if readings are by CPU


@dataclass(frozen=True, slots=True)
class Episode:
    """An episode of a high figure; `last_ns` and `last_number` are of the last interval that was high or unknown.

    `is_least`: a frame may have left out a part of the figure.
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


@dataclass(frozen=True, slots=True)
class Watch:
    """When an episode begins and ends, and its texts, made from its name, the CPUs in words, and the episode."""

    kind: EventKind
    begins_at: float
    ends_below: float
    rests_s: float  # time that the figure has to be below
    readings: Callable[[Frame], Mapping[Subject, float | None]]
    absent: Callable[[Frame, Subject], float | None]  # the figure of a subject without a reading
    describe_begin: Callable[[str, str, Episode], str]
    describe_end: Callable[[str, str, Episode], str]
    is_share: bool = False  # whether the figure is a share of a CPU
    is_least: Callable[[Frame, Subject], bool] = lambda frame, subject: False


@dataclass(slots=True)
class Episodes:
    """The current episodes of one watch. An unknown figure neither begins nor ends an episode."""

    watch: Watch
    _lasting: dict[Subject, Episode] = field(default_factory=dict)

    def changes(self, frame: Frame, number: int) -> Iterator[Event]:
        """Yield the events of episodes that ended or began in this interval; CPUs of one name share an event.

        The end of an episode is dated to its last high interval.
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
            about = f"{name} on {cpus}" if cpus else name
            share = episode.highest if self.watch.is_share else None
            yield Event(episode.last_ns, self.watch.kind, text, episode.last_number, about, begins=False, share=share)
        for name, cpus, episode in _by_name(begun):
            about = f"{name} on {cpus}" if cpus else name
            text = self.watch.describe_begin(name, cpus, episode)
            share = episode.highest if self.watch.is_share else None
            yield Event(frame.taken_at_ns, self.watch.kind, text, number, about, share=share)

    def _follow(self, frame: Frame, number: int, readings: Mapping[Subject, float | None]) -> dict[Subject, Episode]:
        """Update the current episodes, and return those that ended."""
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
    """Yield one episode a name, with all its CPUs in words, the highest figure and the longest time."""
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


# An episode ends below the value at which it begins, so that a figure that swings between them makes one episode.
_HOT, _COOL = 0.2, 0.1  # of a CPU
_HOT_RESTS_S = 5
_STEAL_BEGINS, _STEAL_ENDS = 0.02, 0.01  # of a CPU: two ticks of 10 ms in a second, and less than one
_STEAL_RESTS_S = 10
_THROTTLING_RESTS_S = 10
_BY = {"heat": "thermal throttling", "power": "throttling by the power limit"}
_NEAR, _FAR = 5, 10  # °C below the critical temperature


def all_episodes() -> tuple[Episodes, ...]:
    """Return the watches, with no current episodes."""
    return tuple(Episodes(watch) for watch in (_BUSY, _STEAL, _THROTTLING, _COOLING, _CRITICAL))


def _on_targets(*kinds: str, name_of: Callable[[CulpritLine], str]) -> Callable[[Frame], Mapping[Subject, float]]:
    """Return a function for the noise of these kinds on each target CPU, as a share."""

    def readings(frame: Frame) -> Mapping[Subject, float]:
        shares: dict[Subject, float] = defaultdict(float)
        for line in frame.culprits:
            if line.kind in kinds and line.role == Role.TARGET:
                shares[name_of(line), line.cpu] += line.stolen_ns_per_s / 1e9
        return shares

    return readings


def _absent_culprit(frame: Frame, subject: Subject) -> float | None:
    """Return 0 if the frame has all culprits of the CPU, or the CPU is offline or no target now; else None."""
    line = next((line for line in frame.cpus if line.cpu == subject[1]), None)
    if line is None or line.role == Role.OFFLINE:
        return 0.0
    return 0.0 if line.role != Role.TARGET or frame.tells_all_of(line.cpu) else None


def _process(line: CulpritLine) -> str:
    """Return the name of a process; threads of one name share it."""
    if line.kind == Kind.UNATTRIBUTED:
        return "short-lived threads"
    return line.name + (f" [{line.pid}]" if line.pid is not None else "")


def _busy(frame: Frame) -> Mapping[Subject, float | None]:
    """Return the shares of busy processes; a small one is unknown if the frame may leave out threads of the process."""
    shares = _on_targets(Kind.THREAD, Kind.KERNEL_THREAD, Kind.UNATTRIBUTED, name_of=_process)(frame)
    return {subject: None if share < _COOL and _is_cut(frame, subject) else share for subject, share in shares.items()}


def _is_cut(frame: Frame, subject: Subject) -> bool:
    return frame.is_cut and subject[1] is not None and not frame.tells_all_of(subject[1])


def _least(episode: Episode) -> str:
    return ("at least " if episode.is_least else "") + short_share(episode.highest)


def _begin_text(name: str, cpus: str, episode: Episode) -> str:
    return f"{name}: {_least(episode)} of {cpus}"


_BUSY = Watch(
    EventKind.BUSY, _HOT, _COOL, _HOT_RESTS_S,
    readings=_busy,
    absent=_absent_culprit,
    describe_begin=_begin_text,
    describe_end=lambda name, cpus, episode: f"{name} off {cpus} after {episode.lasted_s:.0f} s ({_peak(episode)})",
    is_share=True,
    is_least=_is_cut,
)  # fmt: skip
_STEAL = Watch(
    EventKind.STEAL, _STEAL_BEGINS, _STEAL_ENDS, _STEAL_RESTS_S,
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
    """Return 0 if all counters were read: a counter that did not advance is not listed; else None."""
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
    EventKind.HEAT, -_NEAR, -_FAR, 0,
    readings=_degrees_above_critical,
    absent=lambda frame, subject: None,
    describe_begin=_headroom_text,
    describe_end=lambda name, cpus, episode: f"{name}: more than {_FAR} °C left again, after {episode.lasted_s:.0f} s",
)  # fmt: skip

# The meaning of each kind of event.
DESCRIPTIONS: Mapping[EventKind, str] = {
    EventKind.HOT_PLUG: "a CPU goes offline, or comes online",
    EventKind.TARGET_SET: "other CPUs become the target",
    EventKind.POWER: "mains power is lost, or comes back",
    EventKind.CLOCK: "a governor, turbo or a limit of the clock changes",
    EventKind.HEAT: f"a processor is throttled, or within {_NEAR} °C of critical",
    EventKind.STEAL: f"the hypervisor takes {short_share(_STEAL_BEGINS)} of a target CPU or more",
    EventKind.BUSY: f"a process takes {short_share(_HOT)} of a target CPU or more",
    EventKind.DEVICE: "a device comes, goes or changes",
    EventKind.VERDICT: "the verdict changes, or a check fails or recovers",
    EventKind.MONITOR: "noisewatch missed something itself",
    EventKind.IRQ: "an IRQ goes to other CPUs, or may go there",
    EventKind.RUN: "a run begins, ends, is disturbed or unknown",
}
