"""Culprits by CPU from the kernel's trace: of a whole trace, or of one repetition of a command.

Culprits of a whole trace have a count, a time and lengths. Culprits of a repetition have exact times, and exclude the
command's threads. Ended threads with the same name and parent are one culprit, because a script may start hundreds of
short ones.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import reduce

from msgspec import Struct
from msgspec.structs import replace

from noisewatch.cpus import CpuSet
from noisewatch.kernel.interrupts.irqs import Irqs
from noisewatch.kernel.trace.events import is_tick_function, name_of_timer
from noisewatch.kernel.trace.runs import CpuPieces, Parent, Thread, Trace, TracedSource, TracedTime, TraceWindow
from noisewatch.kinds import THREADS, Kind
from noisewatch.model.interval.disturbance import TIMER_INTERRUPTS, Disturbance, is_far_above_tick
from noisewatch.model.rhythm import rhythm_of


class Crowd(Struct, frozen=True):
    """Threads of one name that ended before they were looked up. `pid` is the process that started them, if known."""

    kind: Kind
    name: str
    pid: int | None


def crowds_of(sources: Sequence[TracedSource], name_of: Callable[[TracedSource], str]) -> Mapping[int, Crowd]:
    """Return the crowds by source number: several ended threads of one kind, name and parent are a crowd."""
    alike: dict[tuple[Kind, str, Parent | None], dict[int, int]] = defaultdict(dict)
    for number, source in enumerate(sources):
        thread = source.thread
        if thread is not None and thread.pid is None:
            name = name_of(source) if source.kind == Kind.IPI else thread.name
            alike[source.kind, name, thread.parent][number] = thread.tid
    crowd_by_number: dict[int, Crowd] = {}
    for (kind, name, parent), tid_by_number in alike.items():
        count = len(set(tid_by_number.values()))
        if count > 1:
            crowd = Crowd(kind, _crowd_name(name, parent, count), parent.pid if parent is not None else None)
            crowd_by_number |= dict.fromkeys(tid_by_number, crowd)
    return crowd_by_number


def _crowd_name(name: str, parent: Parent | None, count: int) -> str:
    """Return the name of a crowd: `cc1 (523 ended children of make)`."""
    if parent is None:
        return f"{name} ({count} ended threads)"
    return f"{name} ({count} ended {'threads' if parent.is_process else 'children'} of {parent.name})"


MOSTLY = 0.5  # least share of the time for which the CPU's main thread runs
_MOST_ALIKE = 3  # threads of one name that are listed separately: a script starts hundreds
_NOTABLE = 0.01  # a thread that runs for a larger share of the time is always listed separately
_Key = tuple[Kind, str, int | None]  # kind, name, TID
_NAME_OF_VECTOR = {
    "call_function": "function call",
    "call_function_single": "function call",
    "irq_work": "deferred work",
    "reschedule": "reschedule",
}


class MeasuredCulprit(Struct, frozen=True):
    """A source on one CPU in a whole trace. Lengths (ns) are rounded down by < 25% and exclude nested interruptions."""

    disturbance: Disturbance
    count: int
    max_ns: int
    count_by_length: Mapping[int, int]

    def quantile_ns(self, share: float) -> int:
        """Return the length (ns) of rank ⌈share · count⌉, rounded like the keys of `count_by_length`."""
        rank, cumulated = max(-int(-share * self.count // 1), 1), 0
        for length in sorted(self.count_by_length):
            cumulated += self.count_by_length[length]
            if cumulated >= rank:
                return length
        return self.max_ns


class TracedCpu(Struct, frozen=True):
    """The traced sources of one CPU.

    `main_thread` used the CPU for at least half of the time, if any thread did. It suffers from the noise, so it is not
    a culprit.
    """

    cpu: int
    lost_events: int | None  # None means unknown
    unseen_switches: int
    main_thread: MeasuredCulprit | None
    culprits: tuple[MeasuredCulprit, ...]  # the costliest first

    @property
    def stolen_ns(self) -> int:
        return sum(culprit.disturbance.stolen_ns or 0 for culprit in self.culprits)


class Others(Struct, frozen=True):
    """All sources on a CPU except noisewatch's, the costliest first. Any of them may have used `doubt_ns` less."""

    disturbances: tuple[Disturbance, ...]
    doubt_ns: int


def culprits_of(trace: Trace, irqs: Irqs | None, hz: int | None = None) -> tuple[TracedCpu, ...]:
    """Return all sources of the traced CPUs; `hz` is the kernel's tick rate, or None if unknown."""
    return tuple(_traced(with_kinds(cpu, irqs, trace.length_ns, hz), trace.length_ns, irqs) for cpu in trace.cpus)


def with_kinds(cpu: CpuPieces, irqs: Irqs | None, length_ns: int, hz: int | None) -> CpuPieces:
    """Return the CPU's trace with the final kind of each source.

    Only /proc/interrupts shows whether an interrupt is the CPU's own timer. A timer's function or rate shows whether it
    is the tick.
    """
    kinds = [kind_of_source(source, irqs) for source in cpu.sources]
    for number, (source, stats) in enumerate(zip(cpu.sources, cpu.stats, strict=True)):
        rate_per_s = stats.count * 1e9 / length_ns if length_ns else 0.0
        if kinds[number] == Kind.TICK and source.function is None and is_far_above_tick(rate_per_s, hz):
            kinds[number] = Kind.TIMER
    sources = zip(cpu.sources, kinds, strict=True)
    return replace(cpu, sources=tuple(replace(source, kind=kind) for source, kind in sources))


def kind_of_source(source: TracedSource, irqs: Irqs | None) -> Kind:
    """Return the kind of the source by the number of its interrupt, or by the function that its timer ran."""
    if source.kind not in (Kind.TICK, Kind.IRQ):
        return source.kind
    if source.function is not None:
        return Kind.TICK if is_tick_function(source.function) else Kind.TIMER
    irq = irqs.by_number.get(source.irq) if irqs is not None and source.irq is not None else None
    return irq.kind if irq is not None else source.kind


def others_of(cpu: CpuPieces, length_ns: int, irqs: Irqs | None, spinner_tid: int, own_pids: frozenset[int]) -> Others:
    """Return the sources on the CPU, except noisewatch's spinning loop and its other processes."""
    loops = {
        source.thread.name for source in cpu.sources if source.thread is not None and source.thread.tid == spinner_tid
    }
    idle = TracedSource(Kind.IDLE, Kind.IDLE)

    def is_own(thread: Thread) -> bool:
        parent = thread.parent
        if thread.tid == spinner_tid or thread.pid in own_pids or (parent is not None and parent.pid in own_pids):
            return True
        # An unknown thread with the loop's name, such as the process that started the loop.
        return thread.pid is None and parent is None and thread.name in loops

    sources = tuple(
        idle if source.kind in THREADS and source.thread is not None and is_own(source.thread) else source
        for source in cpu.sources
    )
    traced = _traced(replace(cpu, sources=sources), length_ns, irqs)
    measured = (traced.main_thread, *traced.culprits) if traced.main_thread is not None else traced.culprits
    return Others(tuple(culprit.disturbance for culprit in measured), cpu.unseen_ns)


def name_of_source(source: TracedSource, irqs: Irqs | None) -> str:
    """Return a name such as `36 virtio1-req.0 (Virtio block device)`, `NET_RX` or `flush_tlb_func, called by …`."""
    if source.kind == Kind.TICK:
        return "timer tick"
    if source.kind == Kind.TIMER:
        return name_of_timer(source.function) if source.function is not None else TIMER_INTERRUPTS
    if source.irq is not None:
        irq = irqs.by_number.get(source.irq) if irqs is not None else None
        name = f"{source.irq} {', '.join(irq.actions) if irq is not None else ''}".strip()
        device = irq.device if irq is not None else None
        return f"{name} ({device})" if device not in (None, "none") else name
    if source.kind != Kind.IPI:
        return source.name
    called = source.function or _NAME_OF_VECTOR.get(source.name, source.name)
    return f"{called}, called by {source.thread.name}" if source.thread is not None else called


def _traced(cpu: CpuPieces, length_ns: int, irqs: Irqs | None) -> TracedCpu:
    together: dict[_Key, list[int]] = defaultdict(list)
    crowds: dict[Crowd, list[int]] = defaultdict(list)
    crowd_by_number = crowds_of(cpu.sources, lambda source: name_of_source(source, irqs))
    for number, source in enumerate(cpu.sources):
        if number in crowd_by_number and cpu.stats[number].count:
            crowds[crowd_by_number[number]].append(number)
        elif source.kind != Kind.IDLE and cpu.stats[number].count:
            tid = source.thread.tid if source.thread is not None else None
            name = source.thread.name if source.kind in THREADS and source.thread else ""
            together[source.kind, name or name_of_source(source, irqs), tid].append(number)
    measured = [
        (_culprit(cpu, numbers, key, length_ns), numbers)
        for key, numbers in _merge_by_name(cpu, together, length_ns).items()
    ]
    measured += [
        (_culprit(cpu, numbers, (crowd.kind, crowd.name, None), length_ns, crowd.pid), numbers)
        for crowd, numbers in crowds.items()
    ]
    measured.sort(key=lambda pair: -(pair[0].disturbance.stolen_ns or 0))
    works = next(
        (culprit for culprit, _ in measured if culprit.disturbance.kind == Kind.THREAD and culprit.disturbance.tid),
        None,
    )
    if works is not None and (works.disturbance.share or 0.0) < MOSTLY:
        works = None
    runs = _runs_by_source(cpu)
    return TracedCpu(
        cpu=cpu.cpu,
        lost_events=cpu.lost_events,
        unseen_switches=cpu.unseen_switches,
        main_thread=works,
        culprits=tuple(
            _with_rhythm(culprit, cpu, [run for number in numbers for run in runs.get(number, ())], length_ns)
            for culprit, numbers in measured
            if culprit is not works
        ),
    )


def _runs_by_source(cpu: CpuPieces) -> Mapping[int, list[int]]:
    """Return the runs of each source, as indices; none if runs are missing, because the rest may seem regular."""
    runs: dict[int, list[int]] = defaultdict(list)
    for run, number in enumerate(cpu.source if cpu.is_whole else ()):
        runs[number].append(run)
    return runs


def _with_rhythm(culprit: MeasuredCulprit, cpu: CpuPieces, runs: Iterable[int], length_ns: int) -> MeasuredCulprit:
    """Return the culprit with the rhythm of its runs, if they are regular."""
    ordered = sorted(runs)
    rhythm = rhythm_of([cpu.start_ns[run] for run in ordered], [cpu.end_ns[run] for run in ordered], length_ns)
    return culprit if rhythm is None else replace(culprit, disturbance=replace(culprit.disturbance, rhythm=rhythm))


def _merge_by_name(cpu: CpuPieces, together: Mapping[_Key, list[int]], length_ns: int) -> Mapping[_Key, list[int]]:
    """Merge threads with the same name if there are many; keep those that used more than 1% of the CPU separate."""
    alike: dict[tuple[Kind, str], list[int | None]] = defaultdict(list)
    for kind, name, tid in together:
        alike[kind, name].append(tid)
    merged: dict[_Key, list[int]] = {}
    for (kind, name), tids in alike.items():
        own_ns_by_tid = {tid: sum(cpu.stats[number].own_ns for number in together[kind, name, tid]) for tid in tids}
        are_few = len(tids) <= _MOST_ALIKE
        apart = {tid for tid in tids if are_few or own_ns_by_tid[tid] > _NOTABLE * length_ns}
        rest = [tid for tid in tids if tid not in apart]
        merged.update(((kind, name, tid), together[kind, name, tid]) for tid in apart)
        if rest:
            numbers = [number for tid in rest for number in together[kind, name, tid]]
            merged[kind, f"{name} ({len(rest)} threads)", None] = numbers
    return merged


def _culprit(cpu: CpuPieces, numbers: list[int], key: _Key, length_ns: int, pid: int | None = None) -> MeasuredCulprit:
    """Merge the sources into one culprit; `pid` is the process that started a crowd."""
    _, name, tid = key
    source = cpu.sources[numbers[0]]
    stats = [cpu.stats[number] for number in numbers]
    own_ns, count = sum(run_stats.own_ns for run_stats in stats), sum(run_stats.count for run_stats in stats)
    lengths: Counter[int] = Counter()
    for run_stats in stats:
        lengths.update(run_stats.count_by_length)
    thread = source.thread
    disturbance = Disturbance(
        kind=source.kind,
        name=name,
        cpu=cpu.cpu,
        stolen_ns=own_ns,
        share=own_ns / length_ns if length_ns else None,
        rate_per_s=count * 1e9 / length_ns if length_ns else None,
        pid=thread.pid if thread is not None and tid is not None else pid,
        tid=tid,
        irq=source.irq,
    )
    return MeasuredCulprit(disturbance, count, max(run_stats.max_ns for run_stats in stats), lengths)


# Functions called by an IPI that only wakes a thread.
_WAKING = frozenset({"sched_ttwu_pending", "__ttwu_queue_wakelist"})
_RESCHEDULE = "reschedule"


class TracedCulprit(Struct, frozen=True):
    """One source on one CPU within a repetition. Its times are defined as in TracedTime.

    `is_own`: an interrupt that the command sent. `wakes`: an IPI that only wakes a thread, whatever its sender, or an
    IPI of which neither the function nor the sender is known.
    """

    cpu: int
    kind: Kind
    name: str
    pid: int | None
    irq: int | None
    ns: int
    count: int
    begin_ns: int
    end_ns: int
    is_own: bool = False
    wakes: bool = False
    doubt_ns: int = 0
    is_other_thread: bool = False  # whether it is a thread of its process other than the main thread


def threads_in(window: TraceWindow, cpus: CpuSet) -> list[TracedCulprit]:
    """Return other processes' threads on the CPUs, the costliest first.

    Ended threads with the same name and parent are one culprit.
    """
    times = [time for time in window.times if time.source.kind in THREADS and time.cpu in cpus]
    crowds = crowds_of([time.source for time in times], lambda source: source.name)
    named = [
        (crowd.name, crowd.pid) if (crowd := crowds.get(at)) else _name_and_pid(time) for at, time in enumerate(times)
    ]
    culprits = (
        _culprit_of_time(time, time.source.kind, name, pid) for time, (name, pid) in zip(times, named, strict=True)
    )
    return _merge_culprits(culprits)


def interruptions_in(window: TraceWindow, cpu: int, irqs: Irqs | None) -> list[TracedCulprit]:
    """Return the interruptions on the CPU, including the tick, the costliest first."""
    return _merge_culprits(_interruptions(window.times, cpu, irqs))


def _interruptions(times: Iterable[TracedTime], cpu: int, irqs: Irqs | None) -> Iterator[TracedCulprit]:
    for time in times:
        source = time.source
        if source.kind in THREADS or time.cpu != cpu:
            continue
        kind = kind_of_source(source, irqs)
        name = name_of_source(replace(source, kind=kind), irqs)
        is_unattributed = source.function is None and source.thread is None
        wakes = kind == Kind.IPI and (source.name == _RESCHEDULE or source.function in _WAKING or is_unattributed)
        pid = source.thread.pid if source.thread is not None else None
        yield replace(_culprit_of_time(time, kind, name, pid), wakes=wakes)


def _name_and_pid(time: TracedTime) -> tuple[str, int | None]:
    thread = time.source.thread
    return (thread.name, _pid_of(thread)) if thread is not None else (time.source.name, None)


def _pid_of(thread: Thread) -> int | None:
    """Return the PID of the thread's process. An ended thread's is None unless its start was traced."""
    if thread.pid is not None or thread.parent is None:
        return thread.pid
    return thread.parent.pid if thread.parent.is_process else thread.tid


def _culprit_of_time(time: TracedTime, kind: Kind, name: str, pid: int | None) -> TracedCulprit:
    return TracedCulprit(
        cpu=time.cpu,
        kind=kind,
        name=name,
        pid=pid,
        irq=time.source.irq,
        ns=time.ns,
        count=time.count,
        begin_ns=time.begin_ns,
        end_ns=time.end_ns,
        is_own=time.is_own,
        doubt_ns=time.doubt_ns,
        is_other_thread=time.source.thread is not None and time.source.thread.tid != pid,
    )


def _merge_culprits(culprits: Iterable[TracedCulprit]) -> list[TracedCulprit]:
    """Merge culprits that differ only in their times; the costliest come first."""
    alike: Mapping[object, list[TracedCulprit]] = defaultdict(list)
    for culprit in culprits:
        key = culprit.cpu, culprit.kind, culprit.name, culprit.pid, culprit.irq, culprit.is_own, culprit.wakes
        alike[key].append(culprit)
    return sorted(map(_sum, alike.values()), key=lambda culprit: -culprit.ns)


def _sum(culprits: Sequence[TracedCulprit]) -> TracedCulprit:
    return reduce(
        lambda one, other: replace(
            one,
            ns=one.ns + other.ns,
            count=one.count + other.count,
            begin_ns=min(one.begin_ns, other.begin_ns),
            end_ns=max(one.end_ns, other.end_ns),
            doubt_ns=one.doubt_ns + other.doubt_ns,
        ),
        culprits,
    )
