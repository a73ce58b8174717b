"""What lasts for a while is told twice: when a figure has risen, and when it has been low again for some time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from noisewatch.cpus import name_cpus
from noisewatch.operations.frame.frame import Frame
from noisewatch.surfaces.tui.events.kinds import Event

Subject = tuple[str, int | None]  # who, or what; and the CPU, of what is told for each


@dataclass(frozen=True, slots=True)
class Episode:
    """`last_ns` is when the figure was last high, or unknown, and `last_number` that interval."""

    began_ns: int
    last_ns: int
    last_number: int
    highest: float
    total: float

    @property
    def lasted_s(self) -> float:
        return (self.last_ns - self.began_ns) / 1e9


@dataclass(frozen=True, slots=True)
class Watch:
    """When an episode begins and ends, and what is said of it: of its name, the CPUs in words, and itself."""

    kind: str
    begins_at: float
    ends_below: float
    rests_s: float  # for so long it has to be below
    readings: Callable[[Frame], Mapping[Subject, float | None]]
    absent: Callable[[Frame, Subject], float | None]  # the figure of what is not among the readings
    begun: Callable[[str, str, Episode], str]
    ended: Callable[[str, str, Episode], str]


@dataclass(slots=True)
class Episodes:
    """Those of one watch that last. What is unknown neither begins one nor ends it."""

    watch: Watch
    _lasting: dict[Subject, Episode] = field(default_factory=dict)

    def changes(self, frame: Frame, number: int) -> Iterator[Event]:
        """What began in this interval, and what ended, in the last one with it; the CPUs of one name together."""
        readings = self.watch.readings(frame)
        ended = self._follow(frame, number, readings)
        begun = {
            subject: Episode(
                began_ns=_start_ns(frame), last_ns=frame.taken_at_ns, last_number=number, highest=value, total=value
            )
            for subject, value in readings.items()
            if value is not None and value >= self.watch.begins_at and subject not in self._lasting
        }
        self._lasting.update(begun)
        for name, cpus, episode in _by_name(ended):
            text = self.watch.ended(name, cpus, episode)
            yield Event(episode.last_ns, self.watch.kind, text, episode.last_number)
        for name, cpus, episode in _by_name(begun):
            yield Event(frame.taken_at_ns, self.watch.kind, self.watch.begun(name, cpus, episode), number)

    def _follow(self, frame: Frame, number: int, readings: Mapping[Subject, float | None]) -> dict[Subject, Episode]:
        """Those that are over; the others are as they are now."""
        ended = {}
        for subject, episode in list(self._lasting.items()):
            value = readings[subject] if subject in readings else self.watch.absent(frame, subject)
            if value is None or value >= self.watch.ends_below:
                self._lasting[subject] = replace(
                    episode,
                    last_ns=frame.taken_at_ns,
                    last_number=number,
                    highest=max(episode.highest, value or episode.highest),
                    total=episode.total + (value or 0),
                )
            elif frame.taken_at_ns - episode.last_ns >= self.watch.rests_s * 1e9:
                ended[subject] = self._lasting.pop(subject)
        return ended


def _start_ns(frame: Frame) -> int:
    return frame.taken_at_ns - round(frame.seconds * 1e9)


def _by_name(episodes: Mapping[Subject, Episode]) -> Iterable[tuple[str, str, Episode]]:
    """One a name, with all its CPUs in words; of the figures the highest, and the longest time."""
    subjects_by_name: dict[str, list[Subject]] = {}
    for subject in episodes:
        subjects_by_name.setdefault(subject[0], []).append(subject)
    for name, subjects in subjects_by_name.items():
        found = [episodes[subject] for subject in subjects]
        longest = max(found, key=lambda episode: episode.lasted_s)
        yield (
            name,
            name_cpus(cpu for _, cpu in subjects if cpu is not None),
            replace(longest, highest=max(episode.highest for episode in found)),
        )
