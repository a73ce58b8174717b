"""Print how well disturbances are named, and what tracing costs: `python -m tests.benchmark.attribution` (root).

The last CPU spins during noise of a known kind. Causes by gaps are compared with the kernel's trace, and the trace
with the deltas of /proc/interrupts.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager

from noisewatch.errors import CannotMeasure
from noisewatch.kernel.calibration import CalibrationSamples
from noisewatch.kernel.interrupts.irqs import Irqs
from noisewatch.kernel.interrupts.table import parse_interrupts
from noisewatch.kernel.snapshot.snapshot import SnapshotOptions, read_snapshot
from noisewatch.kernel.trace.collector import TraceCollector
from noisewatch.kernel.trace.events import events_on_target
from noisewatch.kernel.trace.runs import CpuPieces, Trace, parse_trace
from noisewatch.kernel.trace.sends import Sends
from noisewatch.kernel.trace.timeline import CpuTrace
from noisewatch.machine.live import LiveMachine
from noisewatch.machine.spinning.calibration.run import Progress
from noisewatch.model.calibration.gap_causes import GapCause, causes_by_gaps, causes_by_trace
from tests.benchmark.paired import paired_ratio, spin
from tests.kernel.trace.ring_buffer import event_format, page, record, switch
from tests.live.noise import CPU
from tests.truth.conditions import disk, hog_here, idle, network, timer

_OTHER = 0
_SECONDS = 5.0
_ROUNDS, _ROUND_S = 40, 2.0
_MIN_NS = 2_000
_ROWS = {  # rows of /proc/interrupts, and the traced interrupts that they count
    "LOC": ("local_timer",),
    "RES": ("reschedule",),
    "CAL": ("call_function", "call_function_single"),
    "IWI": ("irq_work",),
}
_SHOOTDOWNS = """
import mmap, os, threading, time
def idle_here():
    os.sched_setaffinity(0, {%(cpu)d})
    while True: time.sleep(0.0005); sum(range(3000))
threading.Thread(target=idle_here, daemon=True).start()
os.sched_setaffinity(0, {%(other)d})
while True:
    area = mmap.mmap(-1, 1 << 20)
    area[::4096] = bytes(256)
    area.close()
"""


@contextmanager
def _shootdowns(cpu: int, other: int) -> Iterator[None]:
    """Run a process that maps and unmaps memory on another CPU, and has a thread on this one."""
    process = subprocess.Popen([sys.executable, "-c", _SHOOTDOWNS % {"cpu": cpu, "other": other}])
    try:
        time.sleep(0.5)
        yield
    finally:
        process.kill()
        process.wait()


def _wakeups(cpu: int, other: int) -> AbstractContextManager[None]:
    return timer(cpu, other, 0.01, 0.0005)


_CONDITIONS: dict[str, Callable[[int, int], AbstractContextManager[None]]] = {
    "quiet": idle,
    "pinned loop": hog_here,
    "disk load": disk,
    "TLB shootdowns": _shootdowns,
    "timer task": _wakeups,
    "loopback": network,
}


def _spin(collector: TraceCollector | None, seconds: float) -> CalibrationSamples:
    def watch(progress: Progress) -> None:
        if collector is not None:
            collector.drain()

    return spin(CPU, seconds, watch)


Deltas = dict[str, tuple[int, int]]  # by row: counts within the trace, and counts from before to after it


def _counts() -> dict[str, int]:
    with open("/proc/interrupts", "rb") as file:
        table = parse_interrupts(file.read())
    at = table.cpus.index(CPU)
    return {row.label: row.counts[at] for row in table.rows if row.counts is not None}


def _trace(online: frozenset[int], seconds: float = _SECONDS) -> tuple[CalibrationSamples, Trace, Deltas]:
    counts = [_counts()]
    with TraceCollector(frozenset({CPU}), online) as collector:
        counts.append(_counts())
        samples = _spin(collector, seconds)
        counts.append(_counts())
        collector.stop()
        counts.append(_counts())
        first, second, third, last = counts
        deltas = {
            label: (third[label] - second.get(label, 0), last[label] - first.get(label, 0))
            for label in third.keys() & last.keys()
        }
        return samples, parse_trace(collector.result()), deltas


def _row(name: str, samples: CalibrationSamples, trace: Trace, deltas: Deltas, irqs: Irqs | None) -> list[str]:
    pieces = trace.cpus[0]
    (samples_of_cpu,) = samples.cpus
    causes = causes_by_trace(samples_of_cpu, pieces, samples.begin_ns - trace.begin_ns, irqs)
    guesses = causes_by_gaps(samples_of_cpu, None)
    own = [cause for cause in causes if (cause.kernel_ns or 0) > _MIN_NS]
    identified = [cause for cause in own if cause.name not in ("", "?")]
    threads = [any("thread" in part.source.kind for part in cause.parts) for cause in causes]
    ticks = [any(part.source.kind == "tick" for part in cause.parts) for cause in causes]
    has_switched = [guess.kind == "thread" for guess in guesses]
    quiet = [not thread for thread in threads]
    outside = [cause for cause in causes if cause.kind == "outside"]
    return [
        name,
        str(len(causes)),
        str(len(own)),
        _share(len(identified), len(own)),
        _share(len(outside), len(causes)),
        *_quality(has_switched, threads),
        *_quality(
            [guess.kind == "tick" and is_quiet for guess, is_quiet in zip(guesses, quiet, strict=True)],
            [tick and is_quiet for tick, is_quiet in zip(ticks, quiet, strict=True)],
        ),
        _compare(pieces, deltas),
        str(pieces.lost_events),
    ]


def _quality(guesses: Sequence[bool], truths: Sequence[bool]) -> tuple[str, str]:
    """Return precision and recall."""
    hits = sum(guess and truth for guess, truth in zip(guesses, truths, strict=True))
    return _share(hits, sum(guesses)), _share(hits, sum(truths))


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else "-"


def _compare(pieces: CpuPieces, deltas: Deltas) -> str:
    """Describe the rows of /proc/interrupts whose traced count is outside the counts within and around the trace."""
    by_name: dict[str, int] = {}
    for source, stats in zip(pieces.sources, pieces.stats, strict=True):
        label = str(source.irq) if source.kind == "irq" else source.name
        if source.kind == "ipi":
            label = source.vector
        elif source.kind == "tick":
            label = "local_timer"
        by_name[label] = by_name.get(label, 0) + stats.count
    delta_by_label = {label: delta for label, delta in deltas.items() if label.isdecimal() or label in _ROWS}
    differing = []
    for label, (inside, around) in delta_by_label.items():
        traced = sum(by_name.get(name, 0) for name in _ROWS.get(label, (label,)))
        if not inside - 1 <= traced <= around + 1:
            differing.append(f"{label} {traced} of {inside} to {around}")
    total = sum(inside for inside, _ in delta_by_label.values())
    return f"{total} counted, " + (", ".join(differing) if differing else "all rows within 1")


def _overhead(online: frozenset[int]) -> None:
    """Print the stolen share and tick lengths with and without tracing, measured alternately."""
    ticks_by_mode: dict[bool, list[int]] = {False: [], True: []}

    def stolen_share(is_traced: bool) -> float:
        (samples,) = (_trace(online, _ROUND_S)[0] if is_traced else _spin(None, _ROUND_S)).cpus
        ticks_by_mode[is_traced] += _ticks(causes_by_gaps(samples, None))
        return sum(samples.gaps.length_ns) / samples.spun_ns

    print(f"\nstolen share traced / not traced: {paired_ratio(stolen_share, _ROUNDS)}")
    for is_traced, ticks_ns in ticks_by_mode.items():
        quarter = statistics.quantiles(ticks_ns, n=4)
        print(f"a tick {'traced' if is_traced else 'not traced'}: p25 {quarter[0]:.0f} ns, median {quarter[1]:.0f} ns")


def _decoding() -> None:
    """Print how many events one CPU can decode per second."""
    events = events_on_target(event_format)
    entry, leave = (record(f"irq_vectors/local_timer_{name}", 7) for name in ("entry", "exit"))
    records = (entry, leave, switch("bench", 8, 7), switch("x", 7, 8))
    pages = [
        page([((number * 100 + at) * 500, records[at % len(records)]) for at in range(100)], begin_ns=number * 50_000)
        for number in range(3_000)
    ]
    trace = CpuTrace(CPU, events, Sends({}), 0)
    start_s = time.process_time()
    for content in pages:
        trace.feed(content)
    used_s = time.process_time() - start_s
    print(f"decoding: {100 * len(pages) / used_s:,.0f} events a second")


def _ticks(causes: Sequence[GapCause]) -> list[int]:
    return [cause.length_ns for cause in causes if cause.kind == "tick"]


def main() -> None:
    """Print all figures. Raise CannotMeasure if nothing can be traced."""
    snapshot = read_snapshot(LiveMachine(), SnapshotOptions(frozenset({CPU})))
    online = snapshot.online.online or frozenset({CPU})
    heads = ["", "gaps", "kernel's > 2 µs", "named", "outside", "thread prec.", "recall", "tick prec.", "recall"]
    print(" | ".join([*heads, "traced / counted", "lost"]))
    for name, condition in _CONDITIONS.items():
        with condition(CPU, _OTHER):
            print(" | ".join(_row(name, *_trace(online), snapshot.irqs)), flush=True)
    _overhead(online)
    _decoding()


if __name__ == "__main__":
    try:
        main()
    except CannotMeasure as error:
        sys.exit(str(error))
