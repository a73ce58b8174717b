"""How often `run` reports a neighbour that takes memory bandwidth.

`python -m tests.benchmark.run_bandwidth [SERIES [PERCENT]]`: half of the series run beside a neighbour on another CPU
that copies memory for PERCENT % of the time (default 30), from the first run on. The other half run alone; on a shared
host, other virtual machines may change the bandwidth in these too.
"""

from __future__ import annotations

import json
import mmap
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from noisewatch.machine.spinning.loops import load_core

_PERIOD_NS = 10_000_000
_NEIGHBOUR = "neighbour"


def copy_memory(cpu: int, share: float) -> None:
    """Copy memory on the CPU for a share of the time, until killed."""
    os.sched_setaffinity(0, {cpu})
    core, words = load_core(), memoryview(bytearray(8 * 2 * 1000)).cast("q")
    source, target, count = (memoryview(mmap.mmap(-1, size)) for size in (1 << 26, 1 << 20, mmap.PAGESIZE))
    source[:] = bytes([1]) * len(source)
    at, done = 0, count.cast("q")
    while True:
        begin_ns = time.monotonic_ns()
        done[0] = 0
        at = core.stream(words, done, begin_ns + round(share * _PERIOD_NS), source, target, 1 << 10, at)
        time.sleep(max(begin_ns + _PERIOD_NS - time.monotonic_ns(), 0) / 1e9)


def _change(cpu: int, other: int, percent: int | None) -> dict[str, Any] | None:
    """Run a series of two runs, and return the receipt's change of bandwidth."""
    has_neighbour = percent is not None
    neighbour = f"{sys.executable} -m {__spec__.name} {_NEIGHBOUR} {other} {percent} & echo $! > neighbour"
    script = f"[ -e neighbour ] || {{ {neighbour if has_neighbour else ': > neighbour'}; }}; sleep 0.3"
    with tempfile.TemporaryDirectory() as folder:
        options = ["--cpus", str(cpu), "--runs", "2", "--tracer", "none", "--output", "receipt.jsonl"]
        command = [sys.executable, "-m", "noisewatch", "run", *options, "--", "sh", "-c", f"exec >/dev/null; {script}"]
        path = os.pathsep.join([str(Path.cwd()), os.environ.get("PYTHONPATH", "")])
        try:
            subprocess.run(
                command, cwd=folder, env=os.environ | {"PYTHONPATH": path}, stdout=subprocess.DEVNULL, check=False
            )
            footer = json.loads(Path(folder, "receipt.jsonl").read_text().splitlines()[-1])
        finally:
            if has_neighbour:
                os.kill(int(Path(folder, _NEIGHBOUR).read_text()), signal.SIGKILL)
    return footer["bandwidth_change"]  # type: ignore[no-any-return]


def main(count: int, percent: int) -> None:
    """Print each series' change, and how many were reported."""
    other, cpu = sorted(os.sched_getaffinity(0))[:2]
    reported = {True: 0, False: 0}
    for number in range(count):
        has_neighbour = number % 2 == 0
        change = _change(cpu, other, percent if has_neighbour else None)
        if change is None:
            print("too little was measured", flush=True)
            continue
        reported[has_neighbour] += change["is_too_much"] and (change["share"] > 0 or not has_neighbour)
        low, high = change["interval"]
        print(
            f"{'beside' if has_neighbour else 'alone':>6} {change['share']:+.1%} ({low:+.1%} to {high:+.1%})",
            flush=True,
        )
    print(f"reported: {reported[True]} of {-(-count // 2)} beside a neighbour, {reported[False]} of {count // 2} alone")


if __name__ == "__main__":
    if sys.argv[1:2] == [_NEIGHBOUR]:
        copy_memory(int(sys.argv[2]), int(sys.argv[3]) / 100)
    main(*map(int, [*sys.argv[1:], *("40", "30")[len(sys.argv) - 1 :]]))
