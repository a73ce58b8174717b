"""The trace events that show when one source takes a CPU from another, and how to parse their records on this kernel.

A page of the ring buffer has a time stamp (8 bytes), the size of its events in bytes (a long), and the events. Two bits
of the size are flags: events were lost before this page, and their number follows the last event. An event has 5 bits
of length or kind, 27 bits of ns since the previous event, and the record, whose layout its format describes.
https://docs.kernel.org/trace/ring-buffer-design.html, and /sys/kernel/tracing/events/header_event.

The kernel describes its trace events, which differ between kernels:

    /sys/kernel/tracing/events/sched/sched_switch/format
        ID: 372
        format:
            field:pid_t next_pid;   offset:56;   size:4;   signed:1;

https://docs.kernel.org/trace/events.html

An expired high-resolution timer runs the kernel's tick, or the function it was armed with:

    hrtimer_expire_entry: hrtimer=00000000f4b3 function=perf_swevent_hrtimer now=8123456789

kernel/time/tick-sched.c, kernel/events/core.c, kernel/time/hrtimer.c; https://docs.kernel.org/timers/highres.html
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping

from msgspec import Struct

from noisewatch.errors import Malformed
from noisewatch.kinds import Kind
from noisewatch.patterns import regex

_ID = regex(r"^ID: (\d{1,5})$", re.MULTILINE | re.ASCII)
_FIELD = regex(
    r"^\tfield:(?P<type>[^;]*?)\s?\b(?P<name>\w+)(?:\[\w*\])?;\toffset:(?P<offset>\d{1,5});\tsize:(?P<size>\d{1,5});",
    re.MULTILINE | re.ASCII,
)


class TraceField(Struct, frozen=True):
    """A field's offset and size (bytes) in an event's record."""

    offset: int
    size: int


class TraceFormat(Struct, frozen=True):
    """An event's number in trace records, and its fields by name."""

    id: int
    fields: Mapping[str, TraceField]


def parse_trace_format(text: str) -> TraceFormat:
    """Return the format of one event. Raise Malformed."""
    number = _ID.search(text)
    fields = {match["name"]: TraceField(int(match["offset"]), int(match["size"])) for match in _FIELD.finditer(text)}
    if number is None or "common_pid" not in fields:
        raise Malformed("`ID: 372` and `field:int common_pid; offset:4; size:4; signed:1;`", text[:40])
    return TraceFormat(int(number[1]), fields)


SWITCH, ENTER, EXIT, NMI, SEND, NOISE, BORN, EXPIRE, WAKE = range(9)
_LOST, _SIZE = 1 << 31, (1 << 30) - 1
_LONGEST_RECORD, _PADDING, _EXTEND = 28, 29, 30
_ABSOLUTE_BITS = (1 << 59) - 1
_HEADER = struct.Struct("=QQ")  # a page's header on a 64-bit kernel


class TraceEvent(Struct, frozen=True):
    """How to parse the records of one event. Offsets are in words from the record's start; None without the field.

    The second field depends on the event: the next thread's name, the length (ns) of an interruption that has ended,
    the called function, or clone's flags.
    """

    action: int
    kind: Kind = Kind.IDLE  # kind of the source that the event begins or ends
    name: str = ""
    word: int | None = None  # offset of a number: the IRQ, softirq, next or woken thread, called CPU, new thread
    second: int | None = None  # offset of the second field
    text: int | None = None  # offset of a word with the offset and length of a name
    state: int | None = None  # offset of the state in which the previous thread leaves the CPU


def is_after_loss(page: bytes) -> bool:
    """Return whether events were lost before this page. Raise struct.error if it is shorter than its header."""
    return bool(_HEADER.unpack_from(page)[1] & _LOST)


def begin_of(page: bytes) -> int:
    """Return the page's time stamp (ns). Raise struct.error if it is shorter than its header."""
    return int(_HEADER.unpack_from(page)[0])


def records(page: bytes) -> Iterator[tuple[int, int, memoryview]]:
    """Yield each record of a page: its time (ns), its offset in the page's words, and these words.

    Raise IndexError or struct.error if the page is malformed.
    """
    now, commit = _HEADER.unpack_from(page)
    begin_ns = now
    size = min(commit & _SIZE, len(page) - _HEADER.size) // 4 * 4
    words = memoryview(page)[_HEADER.size : _HEADER.size + size].cast("I")
    at, end = 0, len(words)
    while at < end:
        head = words[at]
        kind = head & 31
        if 0 < kind <= _LONGEST_RECORD:
            now += head >> 5
            yield now, at + 1, words
            at += 1 + kind
        elif kind == _EXTEND:
            now += (words[at + 1] << 27) + (head >> 5)
            at += 2
        elif kind == 0:
            now += head >> 5
            yield now, at + 2, words
            at += 1 + (words[at + 1] >> 2)
        elif kind == _PADDING:
            if not head >> 5:
                return
            at += 1 + (words[at + 1] >> 2)
        else:
            now = begin_ns & ~_ABSOLUTE_BITS | (words[at + 1] << 27) + (head >> 5)
            at += 2


def text_at(words: memoryview, at: int, place: int) -> str:
    """Return the name in the record at `at`. Its word `place` is the name's offset and length in bytes (__data_loc)."""
    begin, length = words[at + place] & 0xFFFF, words[at + place] >> 16
    record = words[at : at + (begin + length + 3) // 4].tobytes()
    return record[begin : begin + length].partition(b"\0")[0].decode("utf-8", "replace")


# The CPU's own interrupts on x86: events `irq_vectors/X_entry` and `irq_vectors/X_exit` frame them.
_VECTORS = {
    "local_timer": Kind.TICK,
    "reschedule": Kind.IPI,
    "call_function": Kind.IPI,
    "call_function_single": Kind.IPI,
    "irq_work": Kind.IPI,
    "x86_platform_ipi": Kind.IPI,
    "thermal_apic": Kind.LOCAL,
    "threshold_apic": Kind.LOCAL,
    "deferred_error_apic": Kind.LOCAL,
    "error_apic": Kind.LOCAL,
    "spurious_apic": Kind.LOCAL,
}
_FRAMED = {  # by entry and exit event: the source's kind, and the field that contains its number
    ("irq/irq_handler_entry", "irq/irq_handler_exit"): (Kind.IRQ, "irq"),
    ("irq/softirq_entry", "irq/softirq_exit"): (Kind.SOFTIRQ, "vec"),
    **{(f"irq_vectors/{name}_entry", f"irq_vectors/{name}_exit"): (kind, None) for name, kind in _VECTORS.items()},
    ("ipi/ipi_entry", "ipi/ipi_exit"): (Kind.IPI, None),  # on ARM and RISC-V
}
_SWITCH, _NMI = "sched/sched_switch", "nmi/nmi_handler"
_EXPIRE = "timer/hrtimer_expire_entry"  # shows which function a timer interrupt runs
# Shows which thread runs next on an idle CPU, because some kernels' idle loops have no switch event.
_WAKE = "sched/sched_wakeup"
_NOISES = {  # events of the osnoise tracer, written when an interruption ends
    "osnoise/irq_noise": (Kind.IRQ, "vector"),
    "osnoise/softirq_noise": (Kind.SOFTIRQ, "vector"),
    "osnoise/nmi_noise": (Kind.NMI, None),
}
_SENDS = {"csd/csd_queue_cpu": "func", "ipi/ipi_send_cpu": "callback"}  # Linux 6.5 and 6.4
BIRTHS = "task/task_newtask"  # written by the thread that starts a thread or a process
ESSENTIAL = (_SWITCH,)
ON_TARGET = (_SWITCH, _WAKE, _NMI, _EXPIRE, *(name for pair in _FRAMED for name in pair))
ON_TARGET_BY_OSNOISE = (_SWITCH, _WAKE, *_NOISES)
CONDITIONS = {_WAKE: "common_pid == 0"}  # filters of events; this one selects wake-ups by the idle loop
ON_ALL = tuple(_SENDS)

# What a trace covers if the kernel has at least one of these events, which differ between architectures.
INTERRUPTS = ("interrupts of devices", "softirqs", "interrupts between CPUs")
_EVENTS_BY_COVERAGE = {
    INTERRUPTS[0]: ("irq/irq_handler_entry", "osnoise/irq_noise"),
    INTERRUPTS[1]: ("irq/softirq_entry", "osnoise/softirq_noise"),
    INTERRUPTS[2]: ("irq_vectors/call_function_single_entry", "ipi/ipi_entry", "osnoise/irq_noise"),
    "NMIs": (_NMI, "osnoise/nmi_noise"),
    "the senders of IPIs (since Linux 6.4)": ON_ALL,
}


def list_uncovered(traced: Iterable[str]) -> list[str]:
    """Return what a trace of these events does not cover, such as `softirqs`."""
    return [what for what, names in _EVENTS_BY_COVERAGE.items() if not set(traced).intersection(names)]


Formats = Callable[[str], TraceFormat | None]


def kind_of_vector(name: str) -> Kind | None:
    """Return the kind of a CPU's own interrupt; None for any other name."""
    return _VECTORS.get(name)


def events_on_target(formats: Formats) -> Mapping[int, TraceEvent]:
    """Return by event number how to parse the events of traced CPUs that this kernel has."""
    events: dict[int, TraceEvent] = {}
    switch, wake, nmi, expire = formats(_SWITCH), formats(_WAKE), formats(_NMI), formats(_EXPIRE)
    if switch is not None:
        events[switch.id] = TraceEvent(
            action=SWITCH,
            kind=Kind.THREAD,
            name="",
            word=_word(switch, "next_pid"),
            second=_word(switch, "next_comm"),
            state=_word(switch, "prev_state"),
        )
    if wake is not None:
        events[wake.id] = TraceEvent(WAKE, word=_word(wake, "pid"))
    if nmi is not None:
        events[nmi.id] = TraceEvent(action=NMI, kind=Kind.NMI, name="NMI", word=None, second=_word(nmi, "delta_ns"))
    if expire is not None:
        events[expire.id] = TraceEvent(EXPIRE, second=_word(expire, "function"))
    for name, (kind, field) in _NOISES.items():
        noise = formats(name)
        if noise is not None:
            number = _word(noise, field) if field is not None else None
            events[noise.id] = TraceEvent(
                action=NOISE,
                kind=kind,
                name="NMI" if kind == Kind.NMI else "",
                word=number,
                second=_word(noise, "duration"),
                text=_word(noise, "desc"),
            )
    for (entry, exit_), (kind, field) in _FRAMED.items():
        begins, ends = formats(entry), formats(exit_)
        if begins is None or ends is None:
            continue
        name = "" if field is not None else entry.partition("/")[2].removesuffix("_entry")
        word = _word(begins, field) if field is not None else None
        events[begins.id] = TraceEvent(ENTER, kind, name, word)
        events[ends.id] = TraceEvent(EXIT, kind, name, _word(ends, field) if field is not None else None)
    return events


def events_of_senders(formats: Formats) -> Mapping[int, TraceEvent]:
    """Return by event number how to parse the events of all CPUs: calls between CPUs, and births of threads."""
    format_by_name = {name: format for name in _SENDS if (format := formats(name)) is not None}
    events = {
        trace_format.id: TraceEvent(
            action=SEND,
            kind=Kind.IPI,
            name=name,
            word=_word(trace_format, "cpu"),
            second=_word(trace_format, _SENDS[name]),
        )
        for name, trace_format in format_by_name.items()
    }
    born = formats(BIRTHS)
    if born is not None:
        events[born.id] = TraceEvent(
            action=BORN, kind=Kind.THREAD, name="", word=_word(born, "pid"), second=_word(born, "clone_flags")
        )
    return events


def _word(of: TraceFormat, name: str) -> int | None:
    """Return the field's offset in words, or None if it is missing or not aligned."""
    field = of.fields.get(name)
    return field.offset // 4 if field is not None and field.offset % 4 == 0 else None


# The last two functions exist until Linux 6.8.
_TICK_FUNCTIONS = frozenset({"tick_nohz_handler", "tick_sched_timer", "tick_nohz_highres_handler"})
_MEANINGS = {
    "perf_swevent_hrtimer": "a profiler's",
    "hrtimer_wakeup": "threads that sleep",
    "posix_timer_fn": "a program's timer",
    "it_real_fn": "a program's timer",
    "timerfd_tmrproc": "a program's timer",
    "apic_timer_fn": "a virtual machine's",
    "kvm_bg_timer_expire": "a virtual machine's",
    "watchdog_timer_fn": "the watchdog for lock-ups",
    "sched_cfs_period_timer": "a CPU quota's",
    "sched_cfs_slack_timer": "a CPU quota's",
    "osnoise_timer_callback": "a tracer's",
}


def is_tick_function(function: str) -> bool:
    """Return whether a high-resolution timer with this function is the tick."""
    return function in _TICK_FUNCTIONS


def name_of_timer(function: str) -> str:
    """Return the function with its meaning, if known: `perf_swevent_hrtimer (a profiler's)`."""
    meaning = _MEANINGS.get(function)
    return f"{function} ({meaning})" if meaning is not None else function


def chosen_function(functions: tuple[str, ...]) -> str | None:
    """Return the function that names a timer interrupt: the first one except the tick's, else the tick's, else None."""
    others = [function for function in functions if not is_tick_function(function)]
    return next(iter(others or functions), None)
