"""Print what noisewatch costs: `python -m tests.benchmark`. Figures without limits: nothing here can fail.

Medians of several runs; a busy machine shows in the spread. The cost of the monitor is printed by
tests.benchmark.monitor.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from noisewatch.kernel.interrupts.table import parse_interrupts
from noisewatch.kernel.reader import Reader
from noisewatch.kernel.tasks.files import read_stat
from noisewatch.kernel.tasks.identity import ProcessIdentity, read_identities
from noisewatch.kernel.tasks.task import Task, Tasks
from noisewatch.machine.live import LiveMachine
from noisewatch.machine.reading import load_reading
from noisewatch.machine.spinning.calibration.buffer import GAPS, CalibrationBuffer, buffer_words, capacities_for
from noisewatch.machine.spinning.calibration.run import Progress
from noisewatch.machine.spinning.loops.python_loops import COUNT, GAP_WORDS
from noisewatch.model.interval.interrupt_counts import count_interrupts
from noisewatch.operations.calibrate import LiveGaps
from noisewatch.surfaces.drawing.glyphs import UNICODE
from noisewatch.surfaces.reports.calibration.picture import live_rows
from tests.written import write_tree
from tests.written.many_cpus import ManyCpus

_RUNS = 9
_COMMAND = [sys.executable, "-m", "noisewatch"]


def _time_ms(work: Callable[[], object]) -> float:
    start_s = time.perf_counter()
    work()
    return (time.perf_counter() - start_s) * 1e3


def _median_ms(work: Callable[[], object], runs: int = _RUNS) -> str:
    return _describe_ms([_time_ms(work) for _ in range(runs)])


def _describe_ms(times: list[float]) -> str:
    return f"median {statistics.median(times):7.1f} ms, from {min(times):.1f} to {max(times):.1f}"


def start_up() -> None:
    commands = (["--version"], ["show"], ["preflight", "--sample", "0", "--no-calibration"])
    for command in (["-c", "pass"], *(["-m", "noisewatch", *arguments] for arguments in commands)):
        run = partial(subprocess.run, [sys.executable, *command], capture_output=True, check=False)
        figure = _median_ms(run)
        print(f"start-up  python {' '.join(command):<50} {figure}")


def preflight() -> None:
    """Print the time of a whole preflight with its defaults."""
    run = partial(subprocess.run, [*_COMMAND, "preflight"], capture_output=True, check=False)
    print(f"preflight, three seconds of sample and of calibration: {_median_ms(run, 3)}")


def copied_tree(cpu_count: int = 1024) -> None:
    """Print the CPU time for a copied tree of many CPUs."""
    with tempfile.TemporaryDirectory() as folder:
        files = ManyCpus(cpu_count).files()
        write_tree(Path(folder), files)
        for command in (["show"], ["preflight", "--sample", "0", "--no-calibration"]):
            run = partial(subprocess.run, [*_COMMAND, *command, "--sysroot", folder], capture_output=True, check=False)
            figure = _describe_ms([_cpu_ms_of_children(run) for _ in range(_RUNS)])
            print(f"copied tree of {cpu_count} CPUs, {len(files)} files: {command[0]} {figure}")


def _cpu_ms_of_children(work: Callable[[], object]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    work()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1e3


def interrupts(cpu_count: int, row_count: int, local_rows: int = 12, moving_rows: int = 60) -> None:
    """Print the cost of a large /proc/interrupts, of which most rows do not change.

    The rows of the architecture change on all CPUs, and `moving_rows` rows of devices on one CPU each.
    """

    def row(number: int, step: int) -> str:
        is_local = number >= row_count - local_rows
        counts = [step if is_local or (number < moving_rows and cpu == number) else 0 for cpu in range(cpu_count)]
        label, device = (
            (f"L{number}", "Local interrupts") if is_local else (number, f"IR-PCI-MSI {number}-edge dev{number}")
        )
        return f"{label:>5}: " + " ".join(f"{count:>10}" for count in counts) + f" {device}"

    def table(step: int) -> str:
        header = " " * 12 + "".join(f"CPU{cpu:<8}" for cpu in range(cpu_count))
        return "\n".join([header, *(row(number, step) for number in range(row_count))]) + "\n"

    first, second = table(1000), table(2000)
    before = parse_interrupts(first.encode())
    content = second.encode()
    after = parse_interrupts(content, before)
    size = len(second) / 1e6
    moving = f"{local_rows} rows move on all CPUs, {moving_rows} on one"
    name = f"interrupts {cpu_count} CPUs x {row_count} rows ({size:.0f} MB, {moving})"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "interrupts"
        path.write_text(second)
        reread = load_reading().reread
        with path.open("rb") as file:
            files = [(file.fileno(), first.encode())]
            print(
                f"{name}: read again {_median_ms(lambda: reread(files, memoryview(bytearray(24)).cast('q'), 1 << 28))}"
            )
    print(f"{name}: parse the first time {_median_ms(lambda: parse_interrupts(first.encode()), 3)}")
    print(f"{name}: parse with the previous at hand {_median_ms(lambda: parse_interrupts(content, before))}")
    print(f"{name}: difference {_median_ms(lambda: count_interrupts(before, after))}")


def recording(seconds: int = 60) -> None:
    """Print the size of a recording with one frame a second; the first frame is the largest."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "machine.nw"
        sizes = []
        process = subprocess.Popen([*_COMMAND, "record", str(path), "--duration", str(seconds)])
        while process.poll() is None:
            time.sleep(1)
            sizes.append(path.stat().st_size if path.exists() else 0)
        first = next((size for size in sizes if size), 0)
        total = path.stat().st_size
        print(
            f"recording a minute: {total / 1e3:.0f} kB, the first frames {first / 1e3:.1f} kB, "
            f"then {(total - first) / max(seconds - 1, 1):.0f} bytes a frame"
        )


def identities(thread_count: int = 5000) -> None:
    """Print the cost of naming processes: of reading one, and of a look at many that are known or did not run."""
    reader, shell = Reader(LiveMachine([])), read_stat(LiveMachine().read_bytes, f"/proc/{os.getppid()}")
    empty = Tasks({}, frozenset(), frozenset())

    def tasks(pids: Iterable[int], ran_ns: int) -> Tasks:
        task = Task(0, 0, shell.name, False, False, 0, ran_ns, 0, 1, 0, shell.started_ticks)
        by_tid = {pid: replace(task, tid=pid, pid=pid) for pid in pids}
        return Tasks(by_tid, frozenset(by_tid), frozenset(by_tid))

    one = tasks([shell.pid], 10**9)
    times_ms = [_time_ms(lambda: read_identities(reader, one, empty, frozenset())) for _ in range(999)]
    print(f"identity of one process: median {statistics.median(times_ms) * 1e3:.0f} µs")
    many = range(10**7, 10**7 + thread_count)
    known = ProcessIdentity(shell.started_ticks, shell.name, "")
    before, after = replace(tasks(many, 0), identities=dict.fromkeys(many, known)), tasks(many, 10**9)
    figure = _median_ms(lambda: read_identities(reader, after, before, frozenset()))
    print(f"identities of {thread_count} processes that ran, all known: {figure}")
    idle = replace(before, identities={})
    figure = _median_ms(lambda: read_identities(reader, idle, idle, frozenset()))
    print(f"identities of {thread_count} processes that did not run: {figure}")


def live_picture(cpu_count: int = 512, gaps_per_cpu: int = 25) -> None:
    """Print the cost of the live view of a calibration of many CPUs, which is updated four times a second."""
    capacities = capacities_for({GAPS: 10**9})
    words = buffer_words(capacities)
    buffers = {
        cpu: CalibrationBuffer(memoryview(bytearray(8 * words)).cast("q"), capacities) for cpu in range(cpu_count)
    }
    live, take_ms, draw_ms = LiveGaps(), [], []
    for _ in range(_RUNS):
        for cpu, buffer in buffers.items():
            for number in range(buffer.totals[COUNT], buffer.totals[COUNT] + gaps_per_cpu):
                buffer.gaps[number * GAP_WORDS + 1] = 2_000 + (cpu * 7_919 + number * 104_729) % 200_000
            buffer.totals[COUNT] += gaps_per_cpu
        take_ms.append(_time_ms(partial(live.take, Progress(1.0, 5.0, buffers))))
        draw_ms.append(_time_ms(partial(live_rows, live, 120, 40, UNICODE)))
    print(f"live calibration of {cpu_count} CPUs: {cpu_count * gaps_per_cpu} gaps taken in, {_describe_ms(take_ms)}")
    print(f"live calibration of {cpu_count} CPUs: drawn, {_describe_ms(draw_ms)}")


def main() -> None:
    """Print all figures."""
    start_up()
    live_picture()
    preflight()
    copied_tree()
    interrupts(512, 1500)
    interrupts(1152, 1056)
    recording()
    identities()


if __name__ == "__main__":
    main()
