"""The runs of commands (`noisewatch run`) so far: the outcome of each repetition, and which repetition is running."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import accumulate

from msgspec import Struct

from noisewatch.cpus import name_cpus
from noisewatch.kernel.tasks.run_status import OUTCOMES
from noisewatch.operations.frame.frame import Frame, RepetitionLine, RunLine
from noisewatch.units import describe_count

RUNNING, ENDED = "running", "ended"
UNDISTURBED = "undisturbed"
_OTHER_OUTCOMES = "disturbed, unknown, failed or cut short"
_MOST_KEPT = 4096  # kept repetitions of a run: about an hour, at one per second
_MOST_RUNS = 64
_MOST_EVENTS = 8  # events per frame and run, so that they do not fill the log


class TrackedRun(Struct):
    """The last known state of a run. With `is_over`, it has ended or its process is gone."""

    line: RunLine
    is_over: bool = False
    repetitions: dict[int, RepetitionLine] = {}  # by their first number, in order

    @property
    def program(self) -> str:
        """The program of the run's first command."""
        return self.line.programs[0] if self.line.programs else "a command"

    @property
    def since_ns(self) -> int | None:
        """The start of the running repetition (ns), or None if no repetition runs or it is judged already."""
        line = self.line
        last = max((repetition.last for repetition in self.repetitions.values()), default=0)
        is_running = line.stage == RUNNING and not self.is_over and line.number is not None and line.number > last
        return line.since_ns if is_running else None


class RunHistory(Struct):
    """The known runs by their id."""

    by_id: dict[str, TrackedRun] = {}

    @property
    def has_any(self) -> bool:
        """Whether any run is known."""
        return bool(self.by_id)

    def follow(self, frame: Frame) -> Iterator[tuple[int, str, str]]:
        """Update the runs from a frame, and yield the time (ns), text and folding key of each event."""
        for line in frame.runs:
            yield from self._update_run(line, frame)
        current_ids = {line.id for line in frame.runs}
        for name, run in self.by_id.items():
            if not run.is_over and name not in current_ids:
                run.is_over = True
                yield frame.taken_at_ns, f"run of {run.program} is gone: its end was not reported", ""
        while len(self.by_id) > _MOST_RUNS:
            del self.by_id[next(iter(self.by_id))]

    def _update_run(self, line: RunLine, frame: Frame) -> Iterator[tuple[int, str, str]]:
        run = self.by_id.get(line.id)
        if run is None:
            run = self.by_id[line.id] = TrackedRun(line)
            repetitions = f": {line.wanted} repetitions" if line.wanted > 1 else ""
            yield frame.taken_at_ns, f"run of {run.program} began{repetitions}", ""
        run.line = line
        event_count = 0
        for repetition in line.repetitions:
            is_new = repetition.number not in run.repetitions
            run.repetitions[repetition.number] = repetition
            if is_new and repetition.outcome != UNDISTURBED:
                event_count += 1
                if event_count <= _MOST_EVENTS:
                    yield (
                        repetition.began_ns,
                        describe_repetition(repetition),
                        f"run of {run.program} {repetition.outcome}",
                    )
        while len(run.repetitions) > _MOST_KEPT:
            del run.repetitions[next(iter(run.repetitions))]
        if event_count > _MOST_EVENTS:
            more = describe_count(event_count - _MOST_EVENTS, "more repetition")
            yield frame.taken_at_ns, f"{more}: {_OTHER_OUTCOMES}", ""
        if line.stage == ENDED and not run.is_over:
            run.is_over = True
            yield frame.taken_at_ns, f"run of {run.program} ended: {describe_counts(line)}", ""

    def repetitions(self) -> list[RepetitionLine]:
        return [repetition for run in self.by_id.values() for repetition in run.repetitions.values()]

    def running_since(self) -> list[tuple[int, int]]:
        """Return the number and start (ns) of each running repetition."""
        runs = ((run.line.number, run.since_ns) for run in self.by_id.values())
        return [(number, since_ns) for number, since_ns in runs if number is not None and since_ns is not None]


def describe_repetition(repetition: RepetitionLine) -> str:
    """Return a text such as `run 7 disturbed: stress-ng (pid 812) on CPU 3: 12 ms`, or `runs 7-19 undisturbed`."""
    which = (
        f"run {repetition.number}"
        if repetition.number == repetition.last
        else f"runs {repetition.number}-{repetition.last}"
    )
    return f"{which} {repetition.outcome}" + (f": {repetition.reason}" if repetition.reason else "")


def describe_counts(line: RunLine) -> str:
    """Return the number of repetitions by outcome: `9 undisturbed, 1 disturbed`."""
    named = zip(line.counts, OUTCOMES, strict=False)
    return ", ".join(f"{count} {name}" for count, name in named if count) or "no verdict"


def describe_run(line: RunLine, target: Collection[int]) -> str:
    """Return the run's current state, such as `run 7/10 of bench`, or an empty text if it is over.

    The run's CPUs are named unless all of them are target CPUs.
    """
    program = line.programs[0] if line.programs else "a command"
    program += "" if set(line.cpus) <= set(target) else f" on {name_cpus(line.cpus)}"
    if line.stage == RUNNING and line.number is not None:
        of = f"/{line.wanted}" if line.wanted > 1 else ""
        return f"run {line.number}{of} of {program}"
    return "" if line.stage == ENDED else f"run of {program}: {line.stage}"


def latest_ends_ns(repetitions: Iterable[RepetitionLine]) -> list[int]:
    """Return for each repetition the latest end (ns) of it and all earlier ones, even if several runs overlap."""
    return list(accumulate((repetition.ended_ns for repetition in repetitions), max))


def overlapping_repetitions(
    repetitions: Sequence[RepetitionLine], ends_ns: Sequence[int], begin_ns: int, end_ns: int
) -> list[RepetitionLine]:
    """Return the repetitions that overlap the span.

    `repetitions` must be ordered by start; `ends_ns` are their `latest_ends_ns`.
    """
    overlapping_ones = []
    for repetition in repetitions[bisect_right(ends_ns, begin_ns) :]:
        if repetition.began_ns > end_ns:
            break
        if repetition.ended_ns > begin_ns:
            overlapping_ones.append(repetition)
    return overlapping_ones
