"""What the kernel's trace has told of some CPUs: who had them, when, and for how long.

No file says this afterwards: a live machine is traced, a recording answers what was traced when it was made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from noisewatch.errors import CannotMeasure, Malformed, Unreadable
from noisewatch.kernel.numbers import count_of, field_of, is_count_in
from noisewatch.kernel.trace.events import INTERRUPTS, kind_of_vector
from noisewatch.kinds import INTERRUPT_KINDS, THREADS, Kind, Tracer
from noisewatch.machine import Json, Machine
from noisewatch.records import dataclass
from noisewatch.text import clean

QUESTION = "trace"
_KERNELS = "kworker/"  # these end, and nobody can be asked about them any more
_UNTRACED = "untraced"
NOT_TRACED = "nothing was traced"
_LONGEST_UNSEEN_NS = 10_000_000  # from one tick, which is an event, to the next
_KINDS = {kind.value: kind for kind in (Kind.IDLE, *INTERRUPT_KINDS - {Kind.TIMER}, Kind.SOFTIRQ, *THREADS)}
_SOFTIRQS = ("HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU")


@dataclass(frozen=True, slots=True)
class Parent:
    """The process that has started a thread, or its parents; `is_process`: the one that it was a thread of."""

    pid: int
    name: str
    is_process: bool


@dataclass(frozen=True, slots=True)
class Thread:
    """A thread as it was when it was traced. `pid` is None where it had ended before anybody asked."""

    tid: int
    name: str
    pid: int | None
    is_kernel: bool
    parent: Parent | None = None  # of one that has ended; None where nobody saw it begin


@dataclass(frozen=True, slots=True)
class TracedSource:
    """Who had the CPU: `irq` of a device, `thread` of a thread, and of an interrupt between CPUs who sent it."""

    kind: Kind
    name: str
    irq: int | None = None
    thread: Thread | None = None
    function: str | None = None  # that an interrupt between CPUs calls, or that a timer ran
    vector: str = ""  # by which it came


@dataclass(frozen=True, slots=True)
class RunStats:
    """How often it had the CPU, and for how long, interruptions of its own left out."""

    count: int
    own_ns: int
    max_ns: int
    count_by_length: Mapping[int, int]  # ns, rounded down


@dataclass(frozen=True, slots=True)
class CpuPieces:
    """One CPU. The columns are uninterrupted runs of one source, in order; idleness is left out."""

    cpu: int
    lost_events: int | None  # None is unknown
    lost_pieces: int  # there was more than the columns hold
    unseen_switches: int  # after which the time since the event before was counted for whoever was seen then
    unseen_ns: int  # all that time
    sources: tuple[TracedSource, ...]
    stats: tuple[RunStats, ...]  # as many as sources
    start_ns: tuple[int, ...]
    end_ns: tuple[int, ...]
    source: tuple[int, ...]  # the number of the source

    @property
    def is_whole(self) -> bool:
        """Whether the columns hold all that happened."""
        return self.lost_events == 0 and self.lost_pieces == 0


@dataclass(frozen=True, slots=True)
class Trace:
    """A trace. Times are since its begin, which is on CLOCK_MONOTONIC."""

    begin_ns: int
    length_ns: int
    untold: tuple[str, ...]  # what this kernel has no events for
    cpus: tuple[CpuPieces, ...]
    tracer: Tracer = Tracer.EVENTS

    @property
    def tells_all_interrupts(self) -> bool:
        """Whether a time in which nobody was seen was not the kernel's."""
        return not set(INTERRUPTS).intersection(self.untold)


def read_trace(machine: Machine, answer: Callable[[], Json]) -> Trace | str:
    """The trace that was collected; the reason where there is none."""
    try:
        said = machine.ask(QUESTION, answer)
        if isinstance(said, dict) and isinstance(said.get(_UNTRACED), str):
            return clean(said[_UNTRACED])
        return parse_trace(said)
    except (Unreadable, Malformed) as error:
        return error.reason
    except CannotMeasure as error:
        return str(error)


def untraced(reason: str) -> Json:
    """The answer where nothing could be traced; a recording keeps why."""
    return {_UNTRACED: reason}


def parse_trace(answer: Json) -> Trace:
    """The trace that a collector put down. Raises Malformed."""
    threads = {tid: parse_thread(tid, said) for tid, said in field_of(answer, "threads", dict).items()}
    return Trace(
        begin_ns=count_of(answer, "begin_ns"),
        length_ns=count_of(answer, "length_ns"),
        untold=tuple(clean(str(name)) for name in field_of(answer, "untold", list)),
        cpus=tuple(_parse_cpu(said, threads) for said in field_of(answer, "cpus", list)),
        tracer=Tracer.OSNOISE if answer.get("tracer") == Tracer.OSNOISE else Tracer.EVENTS,
    )


def parse_thread(tid: str, said: Json) -> Thread:
    """A thread as `describe_thread` has it. Raises Malformed."""
    pid = said.get("pid") if isinstance(said, dict) else None
    if not isinstance(said, dict) or not tid.isdecimal() or not (pid is None or type(pid) is int):
        raise Malformed("a thread of a trace", str(said))
    name = clean(str(said.get("name") or "?"))
    is_kernel = said.get("is_kernel")
    is_worker = is_kernel is None and name.startswith(_KERNELS)
    return Thread(
        tid=int(tid),
        name=name,
        pid=pid,
        is_kernel=is_kernel is True or is_worker,
        parent=_parse_parent(said.get("parent")),
    )


def _parse_parent(said: Json) -> Parent | None:
    """None where it is not told, as in recordings before it was."""
    if not isinstance(said, dict) or type(said.get("pid")) is not int:
        return None
    return Parent(said["pid"], clean(str(said.get("name") or "?")), said.get("is_process") is True)


def _parse_cpu(said: Json, threads: Mapping[str, Thread]) -> CpuPieces:
    sources = tuple(parse_source(each, threads) for each in field_of(said, "sources", list))
    stats = tuple(_parse_stats(each) for each in field_of(said, "spells", list))
    words = field_of(said, "pieces", list)
    if len(stats) != len(sources) or len(words) % 3 or not all(is_count_in(word) for word in words):
        raise Malformed("pieces of a trace", str(words[:3]))
    starts, ends, numbers = tuple(words[::3]), tuple(words[1::3]), tuple(words[2::3])
    if not all(number < len(sources) for number in numbers) or any(
        end > start for end, start in zip(ends, starts[1:], strict=False)
    ):
        raise Malformed("pieces of a trace one after the other", str(words[:3]))
    return CpuPieces(
        cpu=count_of(said, "cpu"),
        lost_events=_known(said, "lost_events"),
        lost_pieces=count_of(said, "lost_pieces"),
        unseen_switches=count_of(said, "unseen_switches"),
        unseen_ns=_unseen_ns(said),
        sources=sources,
        stats=stats,
        start_ns=starts,
        end_ns=ends,
        source=numbers,
    )


def _unseen_ns(said: Json) -> int:
    """Recordings before it was kept tell only how often."""
    has_it = "unseen_ns" in said
    return count_of(said, "unseen_ns") if has_it else count_of(said, "unseen_switches") * _LONGEST_UNSEEN_NS


def _known(said: Json, name: str) -> int | None:
    """The field, which is there; null is unknown."""
    return None if name in said and said[name] is None else count_of(said, name)


def parse_source(said: Json, threads: Mapping[str, Thread]) -> TracedSource:
    """Of kind, name, number and function. Raises Malformed.

    Recordings of earlier versions call some of the CPU's own interrupts a device's: IRQ 0, with a vector's name.
    """
    if not isinstance(said, list) or len(said) != 4 or str(said[0]) not in _KINDS or not is_count_in(said[2]):
        raise Malformed("a source of a trace", str(said))
    name, number, function = clean(str(said[1])), said[2], said[3]
    kind = _KINDS[str(said[0])]
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


def _parse_stats(said: Json) -> RunStats:
    if not isinstance(said, list) or len(said) != 4 or not all(map(is_count_in, said[:3])):
        raise Malformed("[count, ns, longest, lengths] of a trace", str(said))
    words = said[3]
    if not isinstance(words, list) or len(words) % 2 or not all(map(is_count_in, words)):
        raise Malformed("lengths of a trace", str(words))
    count, own_ns, max_ns = said[:3]
    return RunStats(count, own_ns, max_ns, dict(zip(words[::2], words[1::2], strict=True)))
