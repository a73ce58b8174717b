"""Calibration results: each CPU's gaps and work samples, its speed before the calibration, and the load during it.

No file contains these results: a live machine is measured, a recording replays its measurements, and a copied tree has
none. On request, CPUs work before the calibration until their clocks are stable, or busy processes load the machine
during it.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct, field

from noisewatch.cpus import CpuSet
from noisewatch.errors import Malformed, Unreadable
from noisewatch.kernel.cpus.topology import CpuPlace
from noisewatch.kernel.numbers import count_of, field_of
from noisewatch.kinds import Tracer
from noisewatch.machine import Json, Machine
from noisewatch.machine.spinning.calibration.buffer import (
    BANDWIDTH,
    COMMAND,
    CYCLES,
    FETCH,
    GAPS,
    INTERPRETER,
    LATENCY,
    MEMORY,
    OF_WORK,
    SPINS,
    STATE_NAMES,
    WORKING,
    Slot,
    plan_slots,
)
from noisewatch.machine.spinning.loops import NATIVE
from noisewatch.text import clean

if TYPE_CHECKING:
    from noisewatch.machine.spinning.calibration.run import Progress, Watch


QUESTION = "calibration"
DONE = "done"
_LONGEST_NS = 10**15  # eleven days
_GAP_COLUMNS = 4
_SERIES = (*OF_WORK, COMMAND)
_NEWER = frozenset({LATENCY, MEMORY, BANDWIDTH})  # series that older recordings do not contain
_KINDS = WORKING | {GAPS, *FETCH, COMMAND}


class Gaps(Struct, frozen=True):
    """Times in which the spinning loop did not run, in chronological order, as columns of equal length.

    `switches` counts context switches in a gap: more than 0 means that another thread ran. `waited_ns` is how long the
    loop's thread was runnable but waited for the CPU; -1 if unknown. Gaps that overflow the buffer are only counted.
    """

    start_ns: tuple[int, ...] = ()
    length_ns: tuple[int, ...] = ()
    switches: tuple[int, ...] = ()
    waited_ns: tuple[int, ...] = ()
    lost_count: int = 0
    lost_ns: int = 0
    lost_max_ns: int = 0

    @property
    def lost_to_threads_ns(self) -> int:
        """An upper bound of the time that other threads took: all gaps with context switches or without a record."""
        return sum(ns for ns, count in zip(self.length_ns, self.switches, strict=True) if count) + self.lost_ns


class Samples(Struct, frozen=True):
    """The start and length (ns) of each repetition of one unit of work."""

    start_ns: tuple[int, ...] = ()
    length_ns: tuple[int, ...] = ()


_NO_SAMPLES = Samples()


class CpuSamples(Struct, frozen=True):
    """The measurements of one CPU's spinner. `trouble` is the reason why they are incomplete, or None."""

    cpu: int
    trouble: str | None
    slots: tuple[Slot, ...] = ()  # the measured series, with start and end
    spun_ns: int = 0  # time spent looking for gaps, including the gaps
    iterations: int = 0
    gaps: Gaps = field(default_factory=Gaps)
    spins: Samples = field(default_factory=Samples)  # when the spinner looked for gaps
    samples_by_series: Mapping[str, Samples] = {}
    cycles: Samples = field(default_factory=Samples)  # lengths of a chain of dependent multiplications
    chain_length: int = 0
    multiply_ns: int | None = None  # length of the quickest such chain
    add_ns: int | None = None  # length of the quickest chain of the same number of additions
    locked_kb: int | None = None
    resident_kb: int | None = None
    spinner_tid: int | None = None  # the loop's own thread; None in older recordings

    @property
    def interpreted(self) -> Samples:
        """The samples of interpreter work. Every calibration without a command has some."""
        return self.samples_of(INTERPRETER)

    @property
    def commands(self) -> Samples:
        """The runs of the user's command; empty without a command."""
        return self.samples_of(COMMAND)

    def samples_of(self, series: str) -> Samples:
        """Return the samples of a series; empty if the series was not measured."""
        return self.samples_by_series.get(series, _NO_SAMPLES)


class CalibrationSamples(Struct, frozen=True):
    """The samples of a calibration. `begin_ns` is its start on CLOCK_MONOTONIC; times in `cpus` are since then."""

    core: str
    begin_ns: int
    length_ns: int
    threshold_ns: int
    is_realtime: bool
    command: tuple[str, ...]
    cpus: tuple[CpuSamples, ...]

    @property
    def lost_share_by_cpu(self) -> Mapping[int, float]:
        """Other threads' share of the time spent looking for gaps, by CPU. CPUs that did not look are missing."""
        return {
            samples.cpu: samples.gaps.lost_to_threads_ns / samples.spun_ns for samples in self.cpus if samples.spun_ns
        }

    @property
    def looped_ns_by_cpu(self) -> Mapping[int, int]:
        """How long (ns) loops ran on each CPU, without the pauses for loops on other CPUs."""
        return {samples.cpu: sum(end_ns - begin_ns for _, begin_ns, end_ns in samples.slots) for samples in self.cpus}

    @property
    def is_native(self) -> bool:
        """Whether the compiled core measured, not the Python core."""
        return self.core == NATIVE


class CalibrationOptions(Struct, frozen=True):
    """The options of a calibration that lasts `seconds`, or less if `is_auto` and `is_enough` accepts the samples.

    Callers provide `is_enough`, because it depends on how they judge the samples.
    """

    seconds: float
    is_realtime: bool = False
    command: tuple[str, ...] = ()
    tracer: Tracer = Tracer.EVENTS  # the requested tracer, used if the kernel and our rights allow it
    is_auto: bool = False
    sleeps: bool = False  # do nothing until the end: no progress, no early end
    is_enough: Callable[[CalibrationSamples], bool] | None = None


def ignore_progress(progress: Progress) -> None:
    """Ignore the progress."""


def read_calibration(
    machine: Machine,
    cpus: CpuSet,
    topology: Mapping[int, CpuPlace],
    options: CalibrationOptions,
    watch: Watch = ignore_progress,
) -> CalibrationSamples | str:
    """Return the calibration of `cpus`, or the reason why there is none. Raise CannotMeasure if measuring fails."""

    def answer() -> Json:
        from noisewatch.machine.spinning.calibration.run import Calibrating, calibrate  # seldom needed

        slots = plan_slots(
            cpus,
            {cpu: topology[cpu].siblings or frozenset() for cpu in cpus if cpu in topology},
            {cpu: _cpus_sharing_cache(cpu, cpus, topology) for cpu in cpus},
            round(options.seconds * 1e9),
            bool(options.command),
        )
        enough = None if options.sleeps else options.is_enough
        is_enough = None if enough is None else lambda so_far: enough(parse_calibration(so_far))
        request = Calibrating(slots, options.is_realtime, options.command, is_enough=is_enough)
        return calibrate(request, watch, math.inf) if options.sleeps else calibrate(request, watch)

    try:
        return parse_calibration(machine.ask(QUESTION, answer))
    except (Unreadable, Malformed) as error:
        return error.reason


def _cpus_sharing_cache(cpu: int, cpus: CpuSet, topology: Mapping[int, CpuPlace]) -> CpuSet:
    """Return the CPUs that share the last-level cache of `cpu`; `cpus` if unknown."""
    place = topology.get(cpu)
    sharing = place.last_level_cache if place is not None else None
    return cpus if sharing is None else sharing


def parse_calibration(answer: Json) -> CalibrationSamples:
    """Parse the calibration that `run.py` wrote. Raise Malformed."""
    return CalibrationSamples(
        core=clean(field_of(answer, "core", str)),
        begin_ns=count_of(answer, "begin_ns"),
        length_ns=count_of(answer, "length_ns"),
        threshold_ns=count_of(answer, "threshold_ns"),
        is_realtime=field_of(answer, "is_realtime", bool),
        command=tuple(clean(str(word)) for word in field_of(answer, "command", list)),
        cpus=_require_distinct([_parse_cpu(cpu) for cpu in field_of(answer, "cpus", list)]),
    )


def _require_distinct(cpus: list[CpuSamples]) -> tuple[CpuSamples, ...]:
    if len({samples.cpu for samples in cpus}) < len(cpus):
        raise Malformed("each CPU once", str([samples.cpu for samples in cpus]))
    return tuple(cpus)


def _parse_cpu(fields: Json) -> CpuSamples:
    starts, lengths, switches, waits = _columns(fields, "gaps", _GAP_COLUMNS)
    has_chains = field_of(fields, "multiply_ns", int) > 0
    return CpuSamples(
        cpu=count_of(fields, "cpu"),
        trouble=_trouble(fields),
        slots=tuple(_parse_slot(slot) for slot in field_of(fields, "slots", list)),
        spun_ns=count_of(fields, "spun_ns"),
        iterations=count_of(fields, "iterations"),
        gaps=Gaps(
            start_ns=starts,
            length_ns=lengths,
            switches=switches,
            waited_ns=waits,
            lost_count=count_of(fields, "lost_gaps"),
            lost_ns=count_of(fields, "lost_gaps_ns"),
            lost_max_ns=count_of(fields, "lost_gaps_max_ns"),
        ),
        spins=Samples(*_columns(fields, SPINS, 2)),
        samples_by_series={
            name: Samples(*_columns(fields, name, 2)) for name in _SERIES if name in fields or name not in _NEWER
        },
        cycles=Samples(*_columns(fields, CYCLES, 2)),
        chain_length=count_of(fields, "chain_length"),
        multiply_ns=count_of(fields, "multiply_ns") if has_chains else None,
        add_ns=count_of(fields, "add_ns") if has_chains else None,
        locked_kb=_count_or_none(fields, "locked_kb"),
        resident_kb=_count_or_none(fields, "resident_kb"),
        spinner_tid=(_count_or_none(fields, "tid") or None) if "tid" in fields else None,
    )


def _parse_slot(slot: Json) -> Slot:
    is_slot = isinstance(slot, list | tuple) and len(slot) == len(("kind", "begin", "end"))
    if (
        not is_slot
        or not isinstance(slot[0], str)
        or slot[0] not in _KINDS
        or not all(type(ns) is int and 0 <= ns <= _LONGEST_NS for ns in slot[1:])
    ):
        raise Malformed("a slot of a calibration", str(slot))
    return slot[0], slot[1], slot[2]


def _trouble(fields: Json) -> str | None:
    """Return why a spinner's measurements are incomplete, or None."""
    state, error = field_of(fields, "state", str), field_of(fields, "error", int)
    if state not in STATE_NAMES or not 0 <= error <= 1 << 17:
        raise Malformed("the state of a spinner", state)
    return {
        DONE: None,
        "refused": f"the kernel refused to pin the loop to it ({_error_text(error)})",
        "no-priority": f"the kernel refused real-time priority ({_error_text(error)})",
        "moved": "it went offline, or its spinner's affinity was changed, during the calibration",
        "failed": f"the command {_command_trouble(error)}",
    }.get(state, "the calibration was stopped early")


def _command_trouble(error: int) -> str:
    if error >= 1 << 16:
        return "took too long"
    return f"cannot be run: {_error_text(error - 256)}" if error >= 256 else f"ended with status {error}"


def _error_text(number: int) -> str:
    return os.strerror(number).lower()


def _columns(fields: Json, name: str, width: int) -> tuple[tuple[int, ...], ...]:
    words = field_of(fields, name, list)
    if len(words) % width or not all(type(word) is int and -1 <= word <= _LONGEST_NS for word in words):
        raise Malformed(f"{width} columns of ns for {name}", str(words[:width]))
    starts, lengths = words[::width], words[1::width]
    if starts != sorted(starts) or not all(length > 0 for length in lengths):
        raise Malformed(f"{name} one after the other", str(words[:width]))
    return tuple(tuple(words[column::width]) for column in range(width))


def _count_or_none(fields: Json, name: str) -> int | None:
    value = field_of(fields, name, int)
    return value if value >= 0 else None


BUSY_LOAD_QUESTION = "busy-load"
_MOST_SHARE = 1_000_000


class BusyLoad(Struct, frozen=True):
    """A load of `processes` busy processes, pinned to `cpus` in turn. Each had `busy_share` of its CPU on average."""

    cpus: CpuSet
    processes: int
    busy_share: float


def read_busy_load(machine: Machine, answer: Callable[[], Json]) -> BusyLoad:
    """Return the load of the last calibration. Raise Unreadable or Malformed."""
    return parse_busy_load(machine.ask(BUSY_LOAD_QUESTION, answer))


def parse_busy_load(answer: Json) -> BusyLoad:
    """Parse the answer that `describe_load` wrote. Raise Malformed."""
    cpus = field_of(answer, "cpus", list)
    if not all(type(cpu) is int and cpu >= 0 for cpu in cpus):
        raise Malformed("the CPUs of a load", str(cpus))
    millionths = count_of(answer, "busy_millionths")
    return BusyLoad(frozenset(cpus), count_of(answer, "processes"), min(millionths, _MOST_SHARE) / _MOST_SHARE)


def describe_load(load: BusyLoad) -> Json:
    """Return the load in the format of recordings."""
    return {
        "cpus": sorted(load.cpus),
        "processes": load.processes,
        "busy_millionths": round(load.busy_share * _MOST_SHARE),
    }


SETTLING_QUESTION = "settling"


class CpuSpeeds(Struct, frozen=True):
    """The time (ns) of one unit of work in each second, and its CPU cycles; None if they could not be counted."""

    cpu: int
    times_ns: tuple[int, ...]
    cycles: int | None


def read_settling(machine: Machine, answer: Callable[[], Json]) -> tuple[CpuSpeeds, ...]:
    """Return the speed of each CPU. Raise Unreadable or Malformed."""
    return parse_settling(machine.ask(SETTLING_QUESTION, answer))


def parse_settling(answer: Json) -> tuple[CpuSpeeds, ...]:
    """Parse the speeds that `settle` wrote. Raise Malformed."""
    return tuple(_parse_speeds(fields) for fields in field_of(answer, "cpus", list))


def _parse_speeds(fields: Json) -> CpuSpeeds:
    times = field_of(fields, "times_ns", list)
    if not all(type(ns) is int and ns > 0 for ns in times):
        raise Malformed("times of a unit of work", str(times[:3]))
    multiply_ns, add_ns = field_of(fields, "multiply_ns", int), field_of(fields, "add_ns", int)
    has_chains = multiply_ns > 0 and add_ns > 0
    # an addition takes one cycle
    cycles = round(multiply_ns / add_ns) * count_of(fields, "chain_length") if has_chains else None
    return CpuSpeeds(count_of(fields, "cpu"), tuple(times), cycles or None)
