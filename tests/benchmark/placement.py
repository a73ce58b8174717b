"""Print what it costs to watch where a command's threads run: `python -m tests.benchmark.placement`.

CPU time of the observer, with ten samples a second as in a run.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from noisewatch.kernel.cpus.topology import read_topology
from noisewatch.kernel.reader import Reader
from noisewatch.machine.live import LiveMachine
from noisewatch.operations.run.placement_watch import LOOK_EVERY_NS, PlacementWatch

_SAMPLES = 50
_WARM_UP = 10
_COMMANDS = {  # threads that sleep, and threads that wake thirty times a second
    "asleep": "threading.Event().wait(60)",
    "awake": "[time.sleep(0.03) for _ in range(2000)]",
}


@contextmanager
def _command(work: str, threads: int) -> Iterator[int]:
    """Start a Python process with `threads` threads, and yield its PID."""
    program = f"import threading, time\ndef work(): {work}\n"
    program += f"for _ in range({threads - 1}): threading.Thread(target=work, daemon=True).start()\nwork()"
    process = subprocess.Popen([sys.executable, "-c", program])
    try:
        time.sleep(1.0)
        yield process.pid
    finally:
        process.kill()
        process.wait()


def _cost(pid: int) -> str:
    machine = LiveMachine()
    topology = read_topology(Reader(machine), None)
    watch = PlacementWatch(machine, frozenset(topology), topology)
    start_ns = time.thread_time_ns()
    watch.begin(pid)
    begin_ms, used_ms, skipped = (time.thread_time_ns() - start_ns) / 1e6, [], []
    for _ in range(_SAMPLES):
        start_ns = time.thread_time_ns()
        sample = watch.sample()
        used_ms.append((time.thread_time_ns() - start_ns) / 1e6)
        skipped.append(len(sample.without_turn) if sample is not None else 0)
        time.sleep(LOOK_EVERY_NS / 1e9)
    start_ns = time.thread_time_ns()
    watch.end()
    end_ms, rest_ms = (time.thread_time_ns() - start_ns) / 1e6, used_ms[_WARM_UP:]
    return (
        f"begin {begin_ms:.2f}, first look {used_ms[0]:.2f}, then {statistics.median(rest_ms):.2f} "
        f"(from {min(rest_ms):.2f} to {max(rest_ms):.2f}), end {end_ms:.2f} ms; "
        f"without a turn {statistics.median(skipped[_WARM_UP:]):.0f}"
    )


def main() -> None:
    for name, work in _COMMANDS.items():
        for threads in (1, 8, 64, 1000):
            with _command(work, threads) as pid:
                print(f"{threads:4} threads, {name}: {_cost(pid)}", flush=True)


if __name__ == "__main__":
    main()
