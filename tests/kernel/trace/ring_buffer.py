"""Pages of the kernel's ring buffer, as it would write them, and the formats of some events."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping

from noisewatch.kernel.trace.events import TraceFormat, parse_trace_format

_COMMON = (
    ("unsigned short common_type", 0, 2),
    ("unsigned char common_flags", 2, 1),
    ("unsigned char common_preempt_count", 3, 1),
    ("int common_pid", 4, 4),
)
_FIELDS: Mapping[str, tuple[int, tuple[tuple[str, int, int], ...]]] = {
    "sched/sched_switch": (
        372,
        (
            ("char prev_comm[16]", 8, 16),
            ("pid_t prev_pid", 24, 4),
            ("int prev_prio", 28, 4),
            ("long prev_state", 32, 8),
            ("char next_comm[16]", 40, 16),
            ("pid_t next_pid", 56, 4),
            ("int next_prio", 60, 4),
        ),
    ),
    "sched/sched_wakeup": (
        371,
        (("char comm[16]", 8, 16), ("pid_t pid", 24, 4), ("int prio", 28, 4), ("int target_cpu", 32, 4)),
    ),
    "irq/irq_handler_entry": (225, (("int irq", 8, 4), ("__data_loc char[] name", 12, 4))),
    "irq/irq_handler_exit": (224, (("int irq", 8, 4), ("int ret", 12, 4))),
    "irq/softirq_entry": (223, (("unsigned int vec", 8, 4),)),
    "irq/softirq_exit": (222, (("unsigned int vec", 8, 4),)),
    "irq_vectors/local_timer_entry": (165, (("int vector", 8, 4),)),
    "irq_vectors/local_timer_exit": (164, (("int vector", 8, 4),)),
    "irq_vectors/call_function_single_entry": (157, (("int vector", 8, 4),)),
    "irq_vectors/call_function_single_exit": (156, (("int vector", 8, 4),)),
    "timer/hrtimer_expire_entry": (
        459,
        (("void * hrtimer", 8, 8), ("s64 now", 16, 8), ("void * function", 24, 8)),
    ),
    "nmi/nmi_handler": (170, (("void * handler", 8, 8), ("s64 delta_ns", 16, 8), ("int handled", 24, 4))),
    "osnoise/irq_noise": (
        480,
        (("u64 start", 8, 8), ("u64 duration", 16, 8), ("__data_loc char[] desc", 24, 4), ("int vector", 28, 4)),
    ),
    "osnoise/softirq_noise": (481, (("u64 start", 8, 8), ("u64 duration", 16, 8), ("int vector", 24, 4))),
    "osnoise/nmi_noise": (479, (("u64 start", 8, 8), ("u64 duration", 16, 8))),
    "task/task_newtask": (
        370,
        (("pid_t pid", 8, 4), ("char comm[16]", 12, 16), ("u64 clone_flags", 32, 8), ("short oom_score_adj", 40, 2)),
    ),
    "csd/csd_queue_cpu": (
        529,
        (("unsigned int cpu", 8, 4), ("void * callsite", 16, 8), ("void * func", 24, 8), ("void * csd", 32, 8)),
    ),
}


def format_text(name: str) -> str:
    """Return the text of an event's `format` file."""
    number, own = _FIELDS[name]
    fields = "".join(
        f"\tfield:{field};\toffset:{at};\tsize:{size};\tsigned:1;\n" for field, at, size in (*_COMMON, *own)
    )
    return f'name: {name.partition("/")[2]}\nID: {number}\nformat:\n{fields}\nprint fmt: "x"\n'


def event_format(name: str) -> TraceFormat | None:
    """Return the event's format, or None if this kernel does not have it."""
    return parse_trace_format(format_text(name)) if name in _FIELDS else None


def record(name: str, current: int = 0, flags: int = 0, **values: int | str) -> bytes:
    """Return a record of the event, written while thread `current` ran; `flags` show whether it was interrupted."""
    number, fields = _FIELDS[name]
    written = bytearray(max(offset + size for _, offset, size in fields))
    struct.pack_into("=HBBi", written, 0, number, flags, 0, current)
    for field, offset, size in fields:
        value = values.get(field.split()[-1].partition("[")[0], 0)
        if isinstance(value, str) and field.startswith("__data_loc"):
            struct.pack_into("=HH", written, offset, len(written), len(value) + 1)
            written += value.encode() + b"\0"
        elif isinstance(value, str):
            written[offset : offset + size] = value.encode()[: size - 1].ljust(size, b"\0")
        else:
            written[offset : offset + size] = value.to_bytes(size, "little")
    return bytes(written).ljust(-(-len(written) // 4) * 4, b"\0")


def switch(name: str, tid: int, current: int = 0, state: int = 0) -> bytes:
    """Return a switch to another thread; `state` is why the current one leaves the CPU."""
    return record("sched/sched_switch", current, prev_state=state, next_comm=name, next_pid=tid)


def page(events: Iterable[tuple[int, bytes]], *, is_after_loss: bool = False, begin_ns: int = 0) -> bytes:
    """Return a page with records at these times."""
    body, previous = bytearray(), begin_ns
    for at, written in events:
        delta = at - previous
        if delta >= 1 << 27:
            body += struct.pack("=II", 30 | (delta & (1 << 27) - 1) << 5, delta >> 27)
            delta = 0
        size = len(written) // 4
        if size <= 28:
            body += struct.pack("=I", size | delta << 5) + written
        else:
            body += struct.pack("=II", delta << 5, len(written) + 4) + written
        previous = at
    return struct.pack("=QQ", begin_ns, len(body) | (1 << 31 if is_after_loss else 0)) + bytes(body)
