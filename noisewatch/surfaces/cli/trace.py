"""`noisewatch trace`"""

from __future__ import annotations

import json
import signal
import sys
import time
from argparse import Namespace

from noisewatch.errors import CannotMeasure, UsageError
from noisewatch.machine import Machine
from noisewatch.machine.recording import Recording
from noisewatch.model.culprits import culprits_of
from noisewatch.model.interval import interval_between
from noisewatch.sources.snapshot import Snapshot, Wish, read_snapshot
from noisewatch.sources.tasks import TaskReader
from noisewatch.sources.trace import Trace, read_trace
from noisewatch.sources.trace_collector import TraceCollector
from noisewatch.surfaces.aside import move_aside
from noisewatch.surfaces.cli.calibration import recorded
from noisewatch.surfaces.cli.machines import open_machine, report_damage, wish_of
from noisewatch.surfaces.cli.terminal import Progress, width
from noisewatch.surfaces.following import Followed
from noisewatch.surfaces.output import opened_output
from noisewatch.surfaces.reports.trace_json import describe_followed
from noisewatch.surfaces.reports.trace_text import text_of_followed

_LOOK_S = 0.1


def run(arguments: Namespace) -> int:
    """Follows the target CPUs, and reports. Raises CannotMeasure where not even counters tell anything."""
    machine = open_machine(arguments)
    if not machine.is_live and not isinstance(machine, Recording):
        raise UsageError("a copied tree stands still: nothing can be followed in it")
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that the kernel's buffers go with us
    with opened_output(arguments.output) as output, recorded(machine, arguments.record) as source:
        followed = _follow(source, wish_of(arguments, source), arguments.duration)
        if arguments.format == "json":
            text = json.dumps(describe_followed(followed), indent=1) + "\n"
        else:
            text = text_of_followed(followed, width())
        output.write(text.encode("utf-8", "replace"))
    report_damage(machine)
    return 0


def _follow(machine: Machine, wish: Wish, seconds: float) -> Followed:
    """The counters at both ends, and the trace in between where there may be one."""
    task_reader = TaskReader()
    before = read_snapshot(machine, wish, task_reader)
    remark = move_aside(before)
    if remark is not None:
        print(f"noisewatch: {remark}", file=sys.stderr)
    if not before.target.cpus:
        raise CannotMeasure("there is no target CPU to follow")
    if isinstance(machine, Recording):
        return _replayed(machine, before, wish, task_reader)
    before = read_snapshot(machine, wish, task_reader, before)
    trace = _traced(machine, before, seconds)
    after = read_snapshot(machine, wish, task_reader, before)
    return _followed(after, before, trace)


def _replayed(recording: Recording, before: Snapshot, wish: Wish, task_reader: TaskReader) -> Followed:
    recording.go_to_end()
    after = read_snapshot(recording, wish, task_reader, before)
    return _followed(after, before, read_trace(recording, lambda: None))


def _followed(after: Snapshot, before: Snapshot, trace: Trace | str) -> Followed:
    if after.taken_at_ns <= before.taken_at_ns:
        raise CannotMeasure("the recording has one moment only: nothing can be followed in it")
    interval = interval_between(before, after)
    if isinstance(trace, str):
        return Followed(interval, None, (), trace)
    return Followed(interval, trace, culprits_of(trace, after.irqs), None)


def _traced(machine: Machine, before: Snapshot, seconds: float) -> Trace | str:
    """The trace, or why there is none; the time passes all the same."""
    progress = Progress("following")
    until = time.monotonic() + seconds
    online = before.online.online or before.target.cpus
    try:
        with TraceCollector(before.target.cpus & online, online) as collector:
            until = time.monotonic() + seconds  # to begin takes its time on a slow machine
            while (left := until - time.monotonic()) > 0:
                time.sleep(min(left, _LOOK_S))
                collector.drain()
                progress.show(seconds - max(until - time.monotonic(), 0), seconds)
            progress.clear()
            return read_trace(machine, collector.result)
    except CannotMeasure as error:
        time.sleep(max(until - time.monotonic(), 0))
        return str(error)
