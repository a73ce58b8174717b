"""Samples the machine as frames, interval after interval; a recording is sampled as fast as it is read."""

from __future__ import annotations

import gc
import math
import os
import resource
import time
from collections import deque
from collections.abc import Callable, Hashable, Iterator
from typing import Any

from msgspec import structs
from msgspec.structs import replace

from noisewatch.cpus import CpuSet
from noisewatch.judgement.case import Case, rules_for
from noisewatch.judgement.catalogue import CATALOGUE
from noisewatch.judgement.remembered import Remembered
from noisewatch.judgement.rules import Rules
from noisewatch.judgement.terms import Severity
from noisewatch.judgement.verdict import Verdict, judge
from noisewatch.kernel.snapshot.snapshot import Snapshot, SnapshotOptions, read_snapshot
from noisewatch.kernel.tasks.threads import TaskReader
from noisewatch.machine import Machine
from noisewatch.machine.recording.replay import Recording
from noisewatch.model.interval.disturbance import disturbances_of
from noisewatch.model.interval.interval import Interval, interval_between
from noisewatch.operations.frame.frame import Frame
from noisewatch.operations.frame.making import News, RunLines, frame_of
from noisewatch.operations.idle_probe import IdleProbe
from noisewatch.operations.pinning import pin_to_housekeeping
from noisewatch.text import printable
from noisewatch.units import NS_PER_S

TASK_BUDGET_SHARE = 0.005  # share of the interval for reading threads: half of the monitor's whole budget
_FIRST_INTERVAL_S = 0.5  # so the first rates come early; a tick of 10 ms is 2% of this interval
_JUDGED_NS = 4_900_000_000  # almost five intervals of 1 s, of which a tick of 10 ms is 1%; wake-ups are not exact
_YOUNG_OBJECTS = 100_000  # new objects before a garbage collection: those of ten frames with 512 CPUs, some MB
_NO_RATES = "no rates: a copied tree of /proc and /sys is a single snapshot"
_RULES = Rules(is_profile_given=False)
_SHOWN = tuple(check for check in CATALOGUE if check.severity != Severity.INFORMATION)  # frames contain no other checks


def sample_frames(
    machine: Machine,
    options: SnapshotOptions,
    interval_s: float,
    sleep: Callable[[float], None] = time.sleep,
    idle_probe: IdleProbe | None = None,
    clock: Request | None = None,
    answers: Request | None = None,
    begun: tuple[TaskReader, Snapshot] | None = None,
) -> Iterator[Frame]:
    """Yield a frame without rates at once, then one per interval; the last one of a recording or copy is marked.

    `begun` is the first snapshot, if it has been taken, with its reader. The `idle_probe` only works on this host.
    Another machine's frames contain all recorded clocks and the answers of all judged checks; this host's do so while
    `clock` and `answers` are enabled.
    """
    task_reader, first = begun or (TaskReader(), None)
    probe = idle_probe if machine.is_live else None
    sampler = _Sampler(machine, options, task_reader, probe, clock, answers, first)
    if isinstance(machine, Recording):
        yield from _replay(sampler, machine)
    elif not machine.is_live:
        yield sampler.next_frame(is_last=True)
    else:
        yield from _watch(sampler, interval_s, sleep)


def spare_collector() -> None:
    """Make Python's garbage collector run rarely, and skip modules: frames leave no cycles of objects.

    With 512 CPUs it would search the last seconds' snapshots a dozen times a second: 81 ms per frame instead of 67.
    """
    gc.freeze()
    gc.set_threshold(_YOUNG_OBJECTS)


def _watch(sampler: _Sampler, interval_s: float, sleep: Callable[[float], None]) -> Iterator[Frame]:
    """Yield the frames of this host.

    The first wake-up is timed from the end of the first reading, all others from the first wake-up, so delays do not
    add up.
    All threads are read once, later only those within the time budget.
    """
    yield sampler.next_frame()
    sampler.limit_tasks(round(interval_s * TASK_BUDGET_SHARE * NS_PER_S))
    wake_at = sampler.read_at_s + min(interval_s, _FIRST_INTERVAL_S)
    while True:
        sleep(max(wake_at - time.monotonic(), 0))
        yield sampler.next_frame()
        missed = max(time.monotonic() - wake_at, 0) // interval_s
        wake_at += (missed + 1) * interval_s


def _replay(sampler: _Sampler, recording: Recording) -> Iterator[Frame]:
    """Yield the frames of a recording as fast as their reader takes them."""
    frame = sampler.next_frame()
    while recording.advance():
        yield frame
        frame = sampler.next_frame()
    yield sampler.repeat_as_last(frame, recording.damage)


class Request:
    """A switch for readings or texts that only an open screen needs."""

    def __init__(self) -> None:
        self.is_enabled = False

    def set_enabled(self, is_enabled: object) -> None:
        """Switch the readings or texts on or off, effective from the next snapshot."""
        self.is_enabled = is_enabled is True


class _Sampler:
    """Keeps the snapshots of the last seconds, and builds a frame for each interval."""

    def __init__(
        self,
        machine: Machine,
        options: SnapshotOptions,
        task_reader: TaskReader,
        idle_probe: IdleProbe | None = None,
        clock: Request | None = None,
        answers: Request | None = None,
        first: Snapshot | None = None,
    ) -> None:
        self._machine = machine
        self._options = options
        self._task_reader = task_reader
        self._idle_probe = idle_probe
        self._clock, self._answers = clock or Request(), answers or Request()
        self._first = first
        self._recent: deque[Snapshot] = deque()
        self._pinned_off: CpuSet | None = None
        self._remark: str | None = None
        self._news = News()
        self._runs = RunLines()
        self._remembered = Remembered()
        self._verdict: Verdict | None = None
        self._decisive: object = None

    def limit_tasks(self, budget_ns: int) -> None:
        """Limit the time (ns) for reading threads from now on."""
        self._task_reader.limit(budget_ns)

    def next_frame(self, is_last: bool = False) -> Frame:
        previous = self._recent[-1] if self._recent else None
        snapshot = self._with_own_pids(self._take_snapshot(previous))
        self._pin(snapshot)
        self._recent.append(snapshot)
        while len(self._recent) > 2 and snapshot.taken_at_ns - self._recent[1].taken_at_ns >= _JUDGED_NS:
            self._recent.popleft()
        interval = None
        case = Case(snapshot, rules=rules_for(_RULES, snapshot), starts_benchmark=False)
        if previous is None or snapshot.taken_at_ns <= previous.taken_at_ns:
            self._recent = deque([snapshot])  # in an edited recording, time may run backwards
            case = replace(case, no_sample_reason=_NO_RATES)
        else:
            interval = interval_between(previous, snapshot)
        if interval is None:
            self._verdict = judge(case, _SHOWN, remembered=self._remembered) if is_last else None
        elif self._is_due(snapshot, interval):
            first, *between, _ = self._recent
            case = replace(case, interval=interval_between(first, snapshot, between), remembered=self._remembered)
            self._verdict = judge(case, _SHOWN, remembered=self._remembered)
        frame = frame_of(snapshot, interval, self._verdict, **self._extra_fields(snapshot, interval, is_last))
        return self._with_idle_probe(snapshot, interval, frame)

    def _is_due(self, snapshot: Snapshot, interval: Interval) -> bool:
        """Return whether to judge now: decisive values have changed, or the last verdict is older than a sample.

        A recording is judged at each snapshot, and so is this host while a screen shows all answers.
        """
        last = self._verdict.case if self._verdict is not None else None
        decisive, self._decisive = self._decisive, decisive_values(snapshot, interval)
        return (
            not self._machine.is_live
            or self._answers.is_enabled
            or last is None
            or last.sample.length_ns < _JUDGED_NS
            or snapshot.taken_at_ns - last.snapshot.taken_at_ns >= _JUDGED_NS
            or self._decisive != decisive
        )

    def _take_snapshot(self, previous: Snapshot | None) -> Snapshot:
        first, self._first = self._first, None
        if first is not None:
            return first
        options = replace(self._options, asks_clock=self._clock.is_enabled or not self._machine.is_live)
        return read_snapshot(self._machine, options, self._task_reader, previous)

    @property
    def read_at_s(self) -> float:
        """The machine's time when the last snapshot's threads had been read (s)."""
        return (self._recent[-1].taken_at_ns + self._recent[-1].tasks_lag_ns) / NS_PER_S

    def _with_own_pids(self, snapshot: Snapshot) -> Snapshot:
        """Return the snapshot with the idle probe's processes as our own.

        The processes are listed after the threads were read, so none is missing.
        """
        own_pids = self._idle_probe.own_pids if self._idle_probe is not None else frozenset()
        return replace(snapshot, own_pids=snapshot.own_pids | own_pids) if own_pids else snapshot

    def _with_idle_probe(self, snapshot: Snapshot, interval: Interval | None, frame: Frame) -> Frame:
        """Let the idle probe decide where to spin next, and return the frame with its results."""
        if self._idle_probe is None:
            return frame
        self._idle_probe.follow(snapshot, interval)
        return self._idle_probe.annotate(frame)

    def repeat_as_last(self, frame: Frame, remark: str | None) -> Frame:
        """Return the frame again, marked as the last one, with the remark if there is one."""
        return structs.replace(frame, is_last=True, remark=remark or frame.remark)

    def _extra_fields(self, snapshot: Snapshot, interval: Interval | None, is_last: bool) -> dict[str, Any]:
        return {
            **self._news.of(snapshot),
            "runs": self._runs.of(snapshot, interval),
            "remembered": self._remembered,
            "has_answers": self._answers.is_enabled or not self._machine.is_live,
            "sampler_cpu_s": time.process_time() if self._machine.is_live else None,
            "sampler_wakeups": resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw if self._machine.is_live else None,
            "origin": self._origin(),
            "is_last": is_last,
            "remark": self._remark,
        }

    def _origin(self) -> str | None:
        if self._machine.is_live:
            return None
        kind = "replay of" if isinstance(self._machine, Recording) else "copied tree"
        return f"{kind} {printable(os.path.basename(self._machine.name.rstrip('/')))}"

    def _pin(self, snapshot: Snapshot) -> None:
        """Stay off the target CPUs, which may change when a partition is created or a CPU comes online."""
        if snapshot.target.cpus != self._pinned_off:
            self._pinned_off = snapshot.target.cpus
            self._remark = pin_to_housekeeping(snapshot)


# While the decisive values are unchanged, the last verdict is shown for some seconds. On a quiet machine with 4 CPUs,
# where they seldom change, a frame then takes 2.8 ms to compute instead of 3.3.
_LEAST_TAKEN = 0.001  # share of a target CPU's time: half of the share at which checks warn with the default budget
_LEAST_BUSY = 0.05  # share of another CPU's time at which the check of siblings fails
_STEP = 4


def decisive_values(snapshot: Snapshot, interval: Interval) -> Hashable:
    """Return the values that decide the verdict, such as settings, noise by target CPU, and load of other CPUs.

    Amounts are rounded up to powers of four. Equal values lead to the same verdict, except for slow changes such as
    heat or memory.
    """
    culprits = frozenset(
        (cpu, culprit.kind, culprit.name, culprit.tid, amount)
        for cpu in snapshot.target.cpus
        for culprit in disturbances_of(interval, cpu)
        if (amount := _power_of_four(culprit.share, _LEAST_TAKEN)) != 0
    )
    others = sorted(interval.load_by_cpu.keys() - snapshot.target.cpus)
    busy = tuple(_power_of_four(interval.busy_share(cpu), _LEAST_BUSY) for cpu in others)
    settings = (
        snapshot.settings.read_at_ns,
        snapshot.target.cpus,
        snapshot.online.online,
    )
    counted = tuple((counts.reason, frozenset(counts.cpus)) for counts in (interval.interrupts, interval.softirqs))
    known = (frozenset(snapshot.reason_by_path), snapshot.tasks is None, frozenset(interval.load_by_cpu), counted)
    return settings, known, culprits, busy


def _power_of_four(share: float | None, least: float) -> int | None:
    """Return the share relative to `least` as an exponent of four, rounded up; 0 up to `least`, None if unknown."""
    return None if share is None else max(math.ceil(math.log(share / least, _STEP)), 0) if share > 0 else 0
