"""The kernel's active traces, of functions or events, in its ring buffers.

    /sys/kernel/tracing/current_tracer              nop              (or function, osnoise, …)
    /sys/kernel/tracing/set_event                   sched:sched_switch
    /sys/kernel/tracing/function_profile_enabled    0                (with CONFIG_FUNCTION_PROFILER)
    /sys/kernel/tracing/instances/NAME/…            the same files for a separate buffer

https://docs.kernel.org/trace/ftrace.html, https://docs.kernel.org/trace/events.html; only root has access. The older
path, /sys/kernel/debug/tracing, shows the same. noisewatch's own instances are recognized by their names, which contain
the process that created them; their `tracing_cpumask` contains the traced CPUs.

Event sources for counting and tracing are the names below /sys/bus/event_source/devices.

    breakpoint  cpu  msr  software  tracepoint        (`cpu_core` and `cpu_atom` on hybrids, `armv8_pmuv3_0` on ARM)

https://docs.kernel.org/admin-guide/perf-security.html; a virtual machine without virtual counters has no `cpu`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from noisewatch.cpus import CpuSet, parse_cpu_mask
from noisewatch.errors import Absent, Malformed, Unreadable
from noisewatch.kernel.numbers import lines_of, parse_flag, parse_identifier
from noisewatch.kernel.reader import Reader
from noisewatch.kernel.system.release import read_release, release_number
from noisewatch.kernel.tasks.machine_lock import Owner, is_alive
from noisewatch.machine.tracefs.watcher import maker_of
from noisewatch.patterns import regex

FOLDER = "/sys/kernel/tracing"
_FOLDER_SINCE = (4, 1)  # Linux release; newer kernels that can trace have the folder even if tracefs is not mounted
_OLD_FOLDER = "/sys/kernel/debug/tracing"
NO_TRACER = "nop"
PROFILE = "function_profile_enabled"
_EVENT = regex(r"[\w.*-]{0,128}:[\w.*:-]{1,128}", re.ASCII)


class Maker(Struct, frozen=True):
    """The noisewatch process that created an instance, whether it still runs, and the traced CPUs. None: unknown."""

    owner: Owner
    is_alive: bool | None
    cpus: CpuSet | None


class TraceInstance(Struct, frozen=True):
    """One ring buffer with its active tracer and events; None means unknown."""

    folder: str
    tracer: str | None
    events: tuple[str, ...] | None
    is_profiling: bool | None = False  # whether all functions are profiled; only the first buffer can do that
    maker: Maker | None = None  # None if another program created the instance


class Tracing(Struct, frozen=True):
    """All ring buffers. None means unknown; an empty tuple, that the kernel cannot trace."""

    instances: tuple[TraceInstance, ...] | None


def parse_events(text: str) -> tuple[str, ...]:
    """Return the traced events. Raise Malformed."""
    events = tuple(line.strip() for line in lines_of(text) if line.strip())
    if text and not events:
        raise Malformed("an event such as sched:sched_switch", text)
    for number, event in enumerate(events, start=1):
        if _EVENT.fullmatch(event) is None:
            raise Malformed("an event such as sched:sched_switch", event, number)
    return events


def read_tracing(reader: Reader) -> Tracing:
    """Return all ring buffers with their active traces."""
    try:
        names = reader.names(FOLDER, expected=False)
    except Absent:
        names = None
    except Unreadable as error:
        reader.note(FOLDER, error.reason)
        names = []
    for folder, listed in ((FOLDER, names or []), (_OLD_FOLDER, None)):
        files = listed if listed is not None else reader.names_or_none(folder, expected=False) or []
        if "current_tracer" in files:
            return Tracing(tuple(_read_all(reader, folder, files)))
    if names is None and (release_number(read_release(reader)) or (0, 0)) >= _FOLDER_SINCE:
        return Tracing(())
    reader.note(FOLDER, "tracefs is not mounted")
    return Tracing(None)


def _read_all(reader: Reader, folder: str, names_in_it: list[str]) -> Iterator[TraceInstance]:
    first = _read_instance(reader, folder)
    if PROFILE in names_in_it:
        first = replace(first, is_profiling=reader.parse(f"{folder}/{PROFILE}", parse_flag))
    yield first
    if "instances" in names_in_it:
        own = f"{folder}/instances"
        names = reader.names_or_none(own)
        if names is None:
            yield TraceInstance(own, None, None)
        for name in names or ():
            folder = f"{own}/{name}"
            yield replace(_read_instance(reader, folder), maker=_read_maker(reader, folder, name))


def _read_instance(reader: Reader, folder: str) -> TraceInstance:
    return TraceInstance(
        folder,
        reader.parse(f"{folder}/current_tracer", parse_identifier),
        reader.parse(f"{folder}/set_event", parse_events),
    )


def _read_maker(reader: Reader, folder: str, name: str) -> Maker | None:
    made = maker_of(name)
    if made is None:
        return None
    owner = Owner(*made, "noisewatch")
    return Maker(owner, is_alive(reader, owner), reader.parse(f"{folder}/tracing_cpumask", parse_cpu_mask, False))


EVENT_SOURCES = "/sys/bus/event_source/devices"
_OF_PROCESSORS = ("cpu", "armv", "apple_")


def read_event_sources(reader: Reader) -> frozenset[str] | None:
    """Return the event sources' names, or None if unknown."""
    names = reader.names_or_none(EVENT_SOURCES)
    if names == []:
        reader.note(EVENT_SOURCES, "empty: not even the kernel's own counters")
    return frozenset(names) if names else None


def counters_among(names: frozenset[str]) -> list[str]:
    """Return the event sources that are processor counters."""
    return sorted(name for name in names if name.startswith(_OF_PROCESSORS))
