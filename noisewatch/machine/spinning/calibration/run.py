"""Starts the calibration's processes, reports progress, and collects the measurements."""

from __future__ import annotations

import json
import mmap
import os
import subprocess
import time
from collections.abc import Callable
from typing import Any

from msgspec import Struct, field

from noisewatch.errors import CannotMeasure, system_reason
from noisewatch.machine.bare_interpreter import bare_interpreter, end_host
from noisewatch.machine.spinning.calibration.buffer import (
    ADD_NS,
    CHAIN_LENGTH,
    DONE,
    ERROR,
    LOCKED_KB,
    MULTIPLY_NS,
    RESIDENT_KB,
    RUNNING,
    SERIES,
    START_NS,
    STARTING,
    STATE,
    STATE_NAMES,
    STOP_NS,
    TID,
    CalibrationBuffer,
    Slots,
    buffer_words,
    capacities_for,
    grain_for,
    round_ends_of,
)
from noisewatch.machine.spinning.loops import load_core

THRESHOLD_NS = 1_000  # longer than an iteration of either core's loop, shorter than an interrupt
_READY_DEADLINE_S = 10.0
_POLL_S = 0.1
_LEAD_NS = 5_000_000
# When `is_enough` is first called, and the factor from the time of each call to the next.
_FIRST_CHECK_NS, _CHECK_FACTOR = 3_000_000_000, 1.5
_STOPPING_NS = 50_000_000  # time within which all spinners notice that they have to stop
_OVERTIME_S = 10.0  # time allowed after the last slot: for a command's grace period, and for a very busy machine
_END_DEADLINE_S = 2.0


class Calibrating(Struct, frozen=True):
    """The request for a calibration: the slots by CPU, and options.

    `is_enough` is called from time to time with the results so far, as JSON; if it returns True, the calibration ends
    before the last slots.
    """

    slots: Slots
    is_realtime: bool = False
    command: tuple[str, ...] = ()
    core: str = field(default_factory=lambda: str(load_core().NAME))
    threshold_ns: int = THRESHOLD_NS
    is_enough: Callable[[dict[str, Any]], bool] | None = None

    @property
    def length_ns(self) -> int:
        return max((end for slots in self.slots.values() for _, _, end in slots), default=0)


class Progress(Struct, frozen=True):
    """The progress of a calibration. The spinners are still writing to the `buffers`."""

    done_s: float
    total_s: float
    buffers: dict[int, CalibrationBuffer]


Watch = Callable[[Progress], None]


def calibrate(request: Calibrating, watch: Watch, look_s: float = _POLL_S) -> dict[str, Any]:
    """Run the calibration and return its results as JSON, times in ns.

    Call `watch` about every `look_s` seconds. Raise CannotMeasure if the calibration does not start, or fails.
    """
    plan = plan_of(request)
    capacities = plan["capacities"]
    size = buffer_words(capacities)
    descriptor = os.memfd_create("noisewatch")
    try:
        os.ftruncate(descriptor, size * 8 * len(request.slots))
        memory = mmap.mmap(descriptor, 0)
        words = memoryview(memory).cast("q")
        buffers = {
            cpu: CalibrationBuffer(words[number * size : (number + 1) * size], capacities)
            for number, cpu in enumerate(request.slots)
        }
        with start_host(plan, descriptor) as host:
            try:
                begin_ns = _begin(host, buffers)
                length_ns = _watch(host, request, buffers, begin_ns, watch, look_s)
            finally:
                end_host(host, _END_DEADLINE_S)
        return _collect(request, buffers, begin_ns, length_ns)
    finally:
        os.close(descriptor)


def _longest_times(request: Calibrating) -> dict[str, int]:
    """Return how long (ns) each kind is measured, on the CPU that measures it longest."""
    most: dict[str, int] = {}
    for slots in request.slots.values():
        mine: dict[str, int] = {}
        for kind, begin, end in slots:
            mine[kind] = mine.get(kind, 0) + end - begin
        most = {kind: max(mine.get(kind, 0), most.get(kind, 0)) for kind in {*mine, *most}}
    return most


def plan_of(request: Calibrating) -> dict[str, Any]:
    """Return the host's plan as JSON."""
    most = _longest_times(request)
    return {
        "slots": list(request.slots.items()),
        "capacities": capacities_for(most),
        "grain": grain_for(most),
        "core": request.core,
        "threshold_ns": request.threshold_ns,
        "is_realtime": request.is_realtime,
        "command": list(request.command),
    }


def start_host(plan: dict[str, Any], descriptor: int) -> subprocess.Popen[bytes]:
    """Start the process that forks the spinners; they write to the memory behind `descriptor`.

    Raise CannotMeasure if it cannot be started.
    """
    try:
        host = subprocess.Popen(
            bare_interpreter("noisewatch.machine.spinning.calibration.host", str(descriptor)),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            pass_fds=[descriptor],
            # Ctrl-C is for noisewatch; a separate session would get another share of the CPU (autogroups).
            process_group=0,
        )
        if host.stdin is not None:
            host.stdin.write(json.dumps(plan).encode() + b"\n")
            host.stdin.flush()
        return host
    except OSError as error:
        raise CannotMeasure(f"cannot start the calibration: {system_reason(error)}") from error


def _begin(host: subprocess.Popen[bytes], buffers: dict[int, CalibrationBuffer]) -> int:
    """Wait until each spinner is ready or has failed; set and return their common start.

    Raise CannotMeasure if the host ends, or the spinners are not ready in time.
    """
    given_up = time.monotonic() + _READY_DEADLINE_S
    while any(buffer.header[STATE] == STARTING for buffer in buffers.values()):
        if host.poll() is not None:
            raise CannotMeasure(f"the calibration ended before it began{_last_error(host)}")
        if time.monotonic() > given_up:
            raise CannotMeasure(f"the calibration was not ready within {_READY_DEADLINE_S:g} s")
        time.sleep(0.002)
    begin_ns = time.monotonic_ns() + _LEAD_NS
    for buffer in buffers.values():
        buffer.header[START_NS] = begin_ns
    return begin_ns


def _watch(
    host: subprocess.Popen[bytes],
    request: Calibrating,
    buffers: dict[int, CalibrationBuffer],
    begin_ns: int,
    watch: Watch,
    look_s: float,
) -> int:
    """Wait for the calibration's end; return its length (ns): as planned, or shorter if the results were enough."""
    length_ns, ends = request.length_ns, _check_times(request)
    while host.poll() is None:
        total_s = length_ns / 1e9
        done_s = (time.monotonic_ns() - begin_ns) / 1e9
        if done_s > total_s + _OVERTIME_S:
            break
        watch(Progress(min(max(done_s, 0.0), total_s), total_s, buffers))
        if ends and done_s * 1e9 >= ends[0]:
            if request.is_enough is not None and request.is_enough(
                _as_if_finished(_collect(request, buffers, begin_ns, ends[0]))
            ):
                length_ns, ends = _stop(request, buffers, begin_ns), []
            ends = ends[1:]
        time.sleep(max(min(look_s, total_s - done_s + 0.01), 0.01))
    if host.returncode:
        raise CannotMeasure(f"the calibration ended with status {host.returncode}{_last_error(host)}")
    return length_ns


def _check_times(request: Calibrating) -> list[int]:
    """Return the ends of rounds at which to call `is_enough`: few, because a call takes CPU time."""
    chosen: list[int] = []
    for end_ns in round_ends_of(request.slots) if request.is_enough is not None else []:
        if end_ns >= (chosen[-1] * _CHECK_FACTOR if chosen else _FIRST_CHECK_NS):
            chosen.append(end_ns)
    return chosen


def _as_if_finished(collected: dict[str, Any]) -> dict[str, Any]:
    """Return the results as if running spinners had finished."""
    running, done = STATE_NAMES[RUNNING], STATE_NAMES[DONE]
    cpus = [{**cpu, "state": done if cpu["state"] == running else cpu["state"]} for cpu in collected["cpus"]]
    return {**collected, "cpus": cpus}


def _stop(request: Calibrating, buffers: dict[int, CalibrationBuffer], begin_ns: int) -> int:
    """Stop the calibration after the current round, and return its length."""
    soon_ns = time.monotonic_ns() - begin_ns + _STOPPING_NS
    length_ns = next((end_ns for end_ns in round_ends_of(request.slots) if end_ns > soon_ns), request.length_ns)
    for buffer in buffers.values():
        buffer.header[STOP_NS] = length_ns
    return length_ns


def _last_error(host: subprocess.Popen[bytes]) -> str:
    errors = host.stderr.read().decode("utf-8", "replace").strip().splitlines() if host.stderr is not None else []
    return f": {errors[-1]}" if errors else ""


def _collect(
    request: Calibrating, buffers: dict[int, CalibrationBuffer], begin_ns: int, length_ns: int
) -> dict[str, Any]:
    """Return the results of slots that begin before `length_ns`."""
    slots = {cpu: [slot for slot in cpu_slots if slot[1] < length_ns] for cpu, cpu_slots in request.slots.items()}
    return {
        "core": request.core,
        "begin_ns": begin_ns,
        "length_ns": length_ns,
        "threshold_ns": request.threshold_ns,
        "is_realtime": request.is_realtime,
        "command": list(request.command),
        "cpus": [{**_cpu(cpu, buffer, begin_ns), "slots": slots[cpu]} for cpu, buffer in buffers.items()],
    }


def _cpu(cpu: int, buffer: CalibrationBuffer, begin_ns: int) -> dict[str, Any]:
    header, totals = buffer.header, buffer.totals
    gaps = buffer.gap_words()
    samples = {kind: buffer.sample_words(kind) for kind in SERIES}
    for words, width in ((gaps, 4), *((sample_words, 2) for sample_words in samples.values())):
        words[::width] = [start - begin_ns for start in words[::width]]
    return {
        "cpu": cpu,
        "state": STATE_NAMES[header[STATE]],
        "error": header[ERROR],
        "tid": header[TID],
        "locked_kb": header[LOCKED_KB],
        "resident_kb": header[RESIDENT_KB],
        "multiply_ns": header[MULTIPLY_NS],
        "add_ns": header[ADD_NS],
        "chain_length": CHAIN_LENGTH,
        "iterations": totals[4],
        "spun_ns": totals[5],
        "lost_gaps": totals[1],
        "lost_gaps_ns": totals[2],
        "lost_gaps_max_ns": totals[3],
        "gaps": gaps,
        **samples,
    }
