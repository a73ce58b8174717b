"""The result of a kernel trace of a measurement or a command: which sources had the CPUs, when, and for how long.

No file of a machine contains this: a live machine is traced, and a recording contains its trace. A traced thread's
process is looked up in /proc while the thread exists.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct

from noisewatch.cpus import CpuSet
from noisewatch.errors import CannotMeasure, Malformed, Unreadable
from noisewatch.kernel.numbers import count_of, field_of, is_count_in
from noisewatch.kernel.tasks.files import parse_stat
from noisewatch.kernel.trace.events import INTERRUPTS, kind_of_vector
from noisewatch.kernel.trace.own_threads import StateTimes, TracedThread
from noisewatch.kinds import INTERRUPT_KINDS, THREADS, Kind, Tracer
from noisewatch.machine import Json, Machine
from noisewatch.text import clean

QUESTION = "trace"
_KERNELS = "kworker/"  # kernel threads that may have ended before they are looked up
_UNTRACED = "untraced"
NOT_TRACED = "nothing was traced"
_LONGEST_TICK_PERIOD_NS = 10_000_000  # longest time from one tick to the next; each tick is an event
_KINDS = {kind.value: kind for kind in (Kind.IDLE, *INTERRUPT_KINDS - {Kind.TIMER}, Kind.SOFTIRQ, *THREADS)}
_SOFTIRQS = ("HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU")


class Parent(Struct, frozen=True):
    """A thread's nearest living ancestor. `is_process` is whether this is the process to which the thread belonged."""

    pid: int
    name: str
    is_process: bool


class Thread(Struct, frozen=True):
    """A thread at the time of its trace. `pid` is None if it had ended before it was looked up."""

    tid: int
    name: str
    pid: int | None
    is_kernel: bool
    parent: Parent | None = None  # None if the thread has not ended, or its birth was not traced


class TracedSource(Struct, frozen=True):
    """A source that had the CPU. `irq` is a device's IRQ; `thread` is the source itself, or the sender of an IPI."""

    kind: Kind
    name: str
    irq: int | None = None
    thread: Thread | None = None
    function: str | None = None  # called by an interrupt between CPUs, or run by a timer
    vector: str = ""  # name of the CPU's own interrupt through which a call arrived


class RunStats(Struct, frozen=True):
    """How often and how long (ns) a source had the CPU, without the time in which it was itself interrupted."""

    count: int
    own_ns: int
    max_ns: int
    count_by_length: Mapping[int, int]  # by length in ns, rounded down


class CpuPieces(Struct, frozen=True):
    """The trace of one CPU. `start_ns`, `end_ns` and `source` list its uninterrupted runs, without idleness."""

    cpu: int
    lost_events: int | None  # None means unknown
    lost_pieces: int  # number of runs that were left out because there were too many
    unseen_switches: int  # thread switches without an event, noticed at the next event
    # Time before such switches were noticed: counted for the new thread, but the old one may have had the CPU.
    unseen_ns: int
    sources: tuple[TracedSource, ...]
    stats: tuple[RunStats, ...]  # one for each of `sources`
    start_ns: tuple[int, ...]
    end_ns: tuple[int, ...]
    source: tuple[int, ...]  # indices in `sources`

    @property
    def is_whole(self) -> bool:
        """Whether no event was lost (False if unknown), and no run is beyond the limit."""
        return self.lost_events == 0 and self.lost_pieces == 0


class Trace(Struct, frozen=True):
    """A trace. `begin_ns` is its start on CLOCK_MONOTONIC; all other times are since then."""

    begin_ns: int
    length_ns: int
    uncovered: tuple[str, ...]
    cpus: tuple[CpuPieces, ...]
    tracer: Tracer = Tracer.EVENTS

    @property
    def covers_all_interrupts(self) -> bool:
        """Whether the trace covers all kinds in INTERRUPTS, so none of them explains unaccounted time."""
        return not set(INTERRUPTS).intersection(self.uncovered)


def read_trace(machine: Machine, answer: Callable[[], Json]) -> Trace | str:
    """Return the collected trace, or the reason why there is none."""
    try:
        reply = machine.ask(QUESTION, answer)
        if isinstance(reply, dict) and isinstance(reply.get(_UNTRACED), str):
            return clean(reply[_UNTRACED])
        return parse_trace(reply)
    except (Unreadable, Malformed) as error:
        return error.reason
    except CannotMeasure as error:
        return str(error)


def failed_trace(reason: str) -> Json:
    """Return the answer for a trace that failed for this reason; a recording contains it instead of the trace."""
    return {_UNTRACED: reason}


def parse_trace(answer: Json) -> Trace:
    """Parse the trace that a collector wrote. Raise Malformed."""
    threads = {tid: parse_thread(tid, fields) for tid, fields in field_of(answer, "threads", dict).items()}
    return Trace(
        begin_ns=count_of(answer, "begin_ns"),
        length_ns=count_of(answer, "length_ns"),
        uncovered=tuple(clean(str(name)) for name in field_of(answer, "untold", list)),
        cpus=tuple(_parse_cpu(fields, threads) for fields in field_of(answer, "cpus", list)),
        tracer=Tracer.OSNOISE if answer.get("tracer") == Tracer.OSNOISE else Tracer.EVENTS,
    )


def parse_thread(tid: str, fields: Json) -> Thread:
    """Parse a thread that `describe_thread` wrote. Raise Malformed."""
    pid = fields.get("pid") if isinstance(fields, dict) else None
    if not isinstance(fields, dict) or not tid.isdecimal() or not (pid is None or type(pid) is int):
        raise Malformed("a thread of a trace", str(fields))
    name = clean(str(fields.get("name") or "?"))
    is_kernel = fields.get("is_kernel")
    is_worker = is_kernel is None and name.startswith(_KERNELS)
    return Thread(
        tid=int(tid),
        name=name,
        pid=pid,
        is_kernel=is_kernel is True or is_worker,
        parent=_parse_parent(fields.get("parent")),
    )


def _parse_parent(fields: Json) -> Parent | None:
    """Return the parent, or None if it is missing, as in older recordings."""
    if not isinstance(fields, dict) or type(fields.get("pid")) is not int:
        return None
    return Parent(fields["pid"], clean(str(fields.get("name") or "?")), fields.get("is_process") is True)


def _parse_cpu(fields: Json, threads: Mapping[str, Thread]) -> CpuPieces:
    sources = tuple(parse_source(row, threads) for row in field_of(fields, "sources", list))
    stats = tuple(_parse_stats(row) for row in field_of(fields, "spells", list))
    words = field_of(fields, "pieces", list)
    if len(stats) != len(sources) or len(words) % 3 or not all(is_count_in(word) for word in words):
        raise Malformed("pieces of a trace", str(words[:3]))
    starts, ends, numbers = tuple(words[::3]), tuple(words[1::3]), tuple(words[2::3])
    if not all(number < len(sources) for number in numbers) or any(
        end > start for end, start in zip(ends, starts[1:], strict=False)
    ):
        raise Malformed("pieces of a trace one after the other", str(words[:3]))
    return CpuPieces(
        cpu=count_of(fields, "cpu"),
        lost_events=_count_or_none(fields, "lost_events"),
        lost_pieces=count_of(fields, "lost_pieces"),
        unseen_switches=count_of(fields, "unseen_switches"),
        unseen_ns=_parse_missed_ns(fields),
        sources=sources,
        stats=stats,
        start_ns=starts,
        end_ns=ends,
        source=numbers,
    )


def _parse_missed_ns(fields: Json) -> int:
    """Return the unobserved time (ns); for older recordings, an upper bound from the number of switches."""
    has_it = "unseen_ns" in fields
    return count_of(fields, "unseen_ns") if has_it else count_of(fields, "unseen_switches") * _LONGEST_TICK_PERIOD_NS


def _count_or_none(fields: Json, name: str) -> int | None:
    """Return the count in the field, None (unknown) for null. Raise Malformed, also if the field is missing."""
    return None if name in fields and fields[name] is None else count_of(fields, name)


def parse_source(row: Json, threads: Mapping[str, Thread]) -> TracedSource:
    """Parse a source: [kind, name, number, function]. Raise Malformed.

    Recordings of earlier versions contain some of the CPU's own interrupts as a device's IRQ 0, with the vector's name.
    """
    if not isinstance(row, list) or len(row) != 4 or str(row[0]) not in _KINDS or not is_count_in(row[2]):
        raise Malformed("a source of a trace", str(row))
    name, number, function = clean(str(row[1])), row[2], row[3]
    kind = _KINDS[str(row[0])]
    if kind == Kind.IRQ:
        kind = kind_of_vector(name) or kind
    called = clean(function) if isinstance(function, str) else None
    if kind == Kind.IRQ:
        return TracedSource(kind, name or str(number), irq=number, function=called)
    if kind == Kind.SOFTIRQ:
        return TracedSource(kind, _SOFTIRQS[number] if number < len(_SOFTIRQS) else str(number))
    if kind == Kind.THREAD:
        thread = threads.get(str(number)) or Thread(number, name or "?", None, False)
        return TracedSource(Kind.KERNEL_THREAD if thread.is_kernel else kind, name or thread.name, thread=thread)
    sender = threads.get(str(number)) if kind == Kind.IPI and number else None
    return TracedSource(kind, name, thread=sender, function=called, vector=name)


def _parse_stats(row: Json) -> RunStats:
    if not isinstance(row, list) or len(row) != 4 or not all(map(is_count_in, row[:3])):
        raise Malformed("[count, ns, longest, lengths] of a trace", str(row))
    words = row[3]
    if not isinstance(words, list) or len(words) % 2 or not all(map(is_count_in, words)):
        raise Malformed("lengths of a trace", str(words))
    count, own_ns, max_ns = row[:3]
    return RunStats(count, own_ns, max_ns, dict(zip(words[::2], words[1::2], strict=True)))


def describe_thread(tid: int, name: str) -> dict[str, Json]:
    """Return the thread's name and, unless it has ended, its process and whether it is a kernel thread."""
    thread: dict[str, Json] = {"name": clean(name), "pid": None, "is_kernel": None}
    try:
        stat = parse_stat(Path(f"/proc/{tid}/stat").read_text(errors="replace"))
        status = Path(f"/proc/{tid}/status").read_text(errors="replace")
    except (OSError, Malformed):
        return thread
    process = [line.split()[1] for line in status.splitlines() if line.startswith("Tgid:\t")]
    thread["name"] = thread["name"] or stat.name
    thread["is_kernel"] = stat.is_kernel
    thread["pid"] = int(process[0]) if process and process[0].isdecimal() else None
    return thread


_USE_DOUBT_NS = 100_000  # CPU time at a process's start and end, which the kernel and the trace may count differently
_CLOCKS_SHARE = 0.001  # twice the maximum slew of CLOCK_MONOTONIC (0.5 ms per second); CPU time is not slewed


class TracedTime(Struct, frozen=True):
    """All runs of one source on one CPU during a command. Moments are on CLOCK_MONOTONIC."""

    cpu: int
    source: TracedSource
    ns: int  # time on the CPU, without the time in which the source was itself interrupted
    count: int  # uninterrupted runs
    begin_ns: int  # start of the first run
    end_ns: int  # end of the last run
    is_own: bool = False  # whether the source is an interrupt sent by a thread of the command
    doubt_ns: int = 0  # part of `ns` in which the CPU may have been idle, or running the command


class TraceWindow(Struct, frozen=True):
    """The complete trace of one command, from its start to its end on CLOCK_MONOTONIC."""

    begin_ns: int
    end_ns: int
    own_ns_by_cpu: Mapping[int, int]  # time of the command's threads, by traced CPU
    times: tuple[TracedTime, ...]  # time of all other sources
    uncovered: tuple[str, ...] = ()  # what this kernel has no events for, for example the senders of IPIs
    # Part of the command's time that other threads may have used: some kernels do not report all switches.
    doubt_ns: int = 0
    threads: tuple[TracedThread, ...] = ()  # the command's threads that are kept individually
    other_threads_ns: int = 0  # time of the command's other threads
    states: StateTimes = StateTimes()  # how long the command's threads were kept from running
    # How much earlier the command's first process may have ended; None if its end is not in the trace.
    end_doubt_ns: int | None = None

    @property
    def traced(self) -> CpuSet:
        """The traced CPUs."""
        return frozenset(self.own_ns_by_cpu)

    def own_ns(self, cpus: CpuSet) -> int:
        """Return the time (ns) that the command's threads ran on `cpus`."""
        return sum(self.own_ns_by_cpu.get(cpu, 0) for cpu in cpus)

    def interrupted_ns(self, cpus: CpuSet) -> int:
        """Return the time (ns) of interrupts on `cpus`; the kernel may have counted it as the command's CPU time."""
        return sum(time.ns for time in self.times if time.source.kind not in THREADS and time.cpu in cpus)

    def elsewhere_ns(self, used_ns: int, cpus: CpuSet) -> int:
        """Return a lower bound of the command's CPU time (ns) on CPUs other than `cpus`, of `used_ns` on all CPUs."""
        doubt_ns = _USE_DOUBT_NS + round(used_ns * _CLOCKS_SHARE)
        return max(used_ns - self.own_ns(cpus) - self.interrupted_ns(cpus) - doubt_ns, 0)

    @property
    def covers_all_interrupts(self) -> bool:
        """Whether the trace covers all kinds in INTERRUPTS, so none of them explains unaccounted time."""
        return not set(INTERRUPTS).intersection(self.uncovered)
