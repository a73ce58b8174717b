"""Print how accurate the calibration is: `python -m tests.benchmark.calibration [--cpu N]`. Figures without limits.

For comparison also figures of oslat, if it is installed (Debian's rt-tests).
"""

from __future__ import annotations

import argparse
import mmap
import os
import re
import shutil
import statistics
import subprocess
import sys
import time
from bisect import bisect_left, bisect_right
from types import ModuleType

from noisewatch.judgement.case import calibrated_with
from noisewatch.judgement.noise.budget import Budget
from noisewatch.kernel.calibration import parse_calibration
from noisewatch.machine.spinning.calibration.buffer import READY, STATE, CalibrationBuffer, buffer_words, plan_slots
from noisewatch.machine.spinning.calibration.run import Calibrating, calibrate, plan_of, start_host
from noisewatch.machine.spinning.loops import NATIVE, load_core, python_loops
from noisewatch.machine.spinning.loops.python_loops import COUNT, GAP_WORDS, ITERATIONS, SPIN_WORDS, SPUN_NS

_CORES = [python_loops] if load_core(NATIVE) is python_loops else [load_core(NATIVE), python_loops]
_CALIBRATORS = 64
_EVERY_NS = 1_000_000
_NEAR_NS = 20_000  # tolerance around the time at which a delay is due
_TASK = """
import time
next_at = time.monotonic()
while True:
    next_at += 0.01
    time.sleep(max(next_at - time.monotonic(), 0))
    until = time.thread_time() + 0.001
    while time.thread_time() < until: pass
"""


def _spin(
    core: ModuleType, seconds: float, threshold_ns: int, **delays: int
) -> tuple[list[tuple[int, int]], list[int], int]:
    """Spin, and return the gaps (start after the beginning, and length), the totals, and the number of delays made."""
    gaps = memoryview(bytearray(8 * GAP_WORDS * 200_000)).cast("q")
    totals = memoryview(bytearray(8 * SPIN_WORDS)).cast("q")
    begin_ns = time.monotonic_ns()
    delay_count = core.spin(gaps, totals, begin_ns + round(seconds * 1e9), threshold_ns, **delays)
    starts, lengths = (gaps[column : totals[COUNT] * GAP_WORDS : GAP_WORDS].tolist() for column in (0, 1))
    offsets = [start - begin_ns for start in starts]
    return list(zip(offsets, lengths, strict=True)), totals.tolist(), delay_count


def _stolen_ns(gaps: list[tuple[int, int]]) -> int:
    return sum(length for _, length in gaps)


def granularity(core: ModuleType) -> None:
    """Print the time of one turn of the loop, and of reading the clock only, measured alternately."""
    turns, reads = [], []
    for _ in range(5):
        gaps, totals, _ = _spin(core, 0.4, python_loops.THRESHOLD_NS)
        turns.append((totals[SPUN_NS] - _stolen_ns(gaps)) / totals[ITERATIONS])
        reads.append(min(core.clock_readings_ns(100_000) for _ in range(20)) / 100_000)
    turn, read = statistics.median(turns), statistics.median(reads)
    print(f"{core.NAME:<7} one turn {turn:.1f} ns, a bare clock reading {read:.1f} ns: ×{turn / read:.2f}")


def oslat(cpu: int) -> None:
    """Print the time of one turn of oslat, whose buckets count them."""
    if shutil.which("oslat") is None:
        print("oslat   not installed (package rt-tests)")
        return
    result = subprocess.run(["oslat", "-c", str(cpu), "-D", "4"], capture_output=True, text=True, check=False)
    counts = [int(count) for count in re.findall(r"^\s*\d+\s*\(us\):\s*(\d+)", result.stdout, re.MULTILINE)]
    summary = "  ".join(line.strip() for line in result.stdout.splitlines() if re.match(r"\s*(Maximum|Average)", line))
    print(f"oslat   one turn {4e9 / max(sum(counts), 1):.1f} ns; {' '.join(summary.split())}")


def delays(core: ModuleType, delay_ns: int, seconds: float = 3.0) -> None:
    """Print how many artificial delays (one per ms) are detected, and how many gaps occur without delays."""
    base, _, _ = _spin(core, seconds, delay_ns)
    gaps, _, delay_count = _spin(core, seconds, delay_ns, delay_ns=delay_ns, delay_every_ns=_EVERY_NS)
    similar = sum(length < 2 * delay_ns for _, length in base)
    detected_share = _match_count(gaps, delay_ns, delay_count) / delay_count
    print(
        f"{core.NAME:<7} {delay_count} delays of {delay_ns} ns: {detected_share:.2%} found; without any "
        f"{similar / seconds:.0f}/s of up to twice that length, {len(base) / seconds:.0f}/s in all"
    )


def _match_count(gaps: list[tuple[int, int]], delay_ns: int, delay_count: int) -> int:
    """Return how many delays are among the gaps. Each is due a millisecond after the previous one, or after a gap."""
    starts = [start for start, _ in gaps]
    matched, due_ns = 0, _EVERY_NS
    for _ in range(delay_count):
        before = bisect_right(starts, due_ns - _NEAR_NS) - 1
        if before >= 0 and sum(gaps[before]) > due_ns:
            due_ns = sum(gaps[before])
        near = gaps[bisect_left(starts, due_ns - _NEAR_NS) : bisect_right(starts, due_ns + _NEAR_NS)]
        matched += bool(near)
        if not near:  # continue at the next gap of similar length
            later = (gap for gap in gaps[bisect_left(starts, due_ns) :] if delay_ns <= gap[1] < delay_ns * 1.3)
            near = [next(later, (due_ns, delay_ns))]
        due_ns = min(near, key=lambda gap: abs(gap[1] - delay_ns))[0] + _EVERY_NS
    return matched


def noise_read_back(core: ModuleType, cpu: int) -> None:
    """Print the noise measured for a task that runs for 1 ms in every 10 ms on the same CPU."""
    gaps, totals, _ = _spin(core, 2.0, python_loops.THRESHOLD_NS)
    base = _stolen_ns(gaps) / totals[SPUN_NS]
    pinned = f"import os\nos.sched_setaffinity(0, {{{cpu}}})\n"
    task = subprocess.Popen([sys.executable, "-c", pinned + _TASK])
    try:
        time.sleep(0.5)
        gaps, totals, _ = _spin(core, 4.0, python_loops.THRESHOLD_NS)
    finally:
        task.kill()
        task.wait()
    share = _stolen_ns(gaps) / totals[SPUN_NS]
    print(f"{core.NAME:<7} a task of 1 ms in 10 reads back as {share:.2%} noise, {share - base:.2%} above the rest")


def readiness(core: ModuleType, cpus: list[int]) -> None:
    """Print how long 64 calibrators, assigned to the available CPUs in turn, take to become ready."""
    slots = plan_slots([0], {}, {}, 5 * 10**9)[0]
    times = []
    for _ in range(5):
        options = Calibrating({0: slots}, core=core.NAME)
        plan = plan_of(options)
        plan["slots"] = [(cpus[number % len(cpus)], slots) for number in range(_CALIBRATORS)]
        words = buffer_words(plan["capacities"])
        descriptor = os.memfd_create("benchmark")
        os.ftruncate(descriptor, words * 8 * _CALIBRATORS)
        memory = memoryview(mmap.mmap(descriptor, 0)).cast("q")
        buffers = [
            CalibrationBuffer(memory[at * words : (at + 1) * words], plan["capacities"]) for at in range(_CALIBRATORS)
        ]
        start_s = time.monotonic()
        host = start_host(plan, descriptor)
        while any(buffer.header[STATE] != READY for buffer in buffers):
            time.sleep(0.001)
        times.append((time.monotonic() - start_s) * 1e3)
        host.communicate()
        os.close(descriptor)
    print(f"{core.NAME:<7} {_CALIBRATORS} calibrators ready after {statistics.median(times):.0f} ms (median of 5)")


def repeatability(core: ModuleType, cpu: int) -> None:
    """Print the noise floors of ten calibrations in a row, and their memory."""
    slots = plan_slots([cpu], {}, {}, 5 * 10**9)
    floor_texts, resident = [], []
    for _ in range(10):
        samples = parse_calibration(calibrate(Calibrating({**slots}, core=core.NAME), lambda progress: None))
        floors = calibrated_with(samples, Budget()).floors
        floor_texts.append(f"{floors[2].cv_expected:.1%} ({floors[2].cv_low:.1%} to {floors[2].cv_high:.1%})")
        resident.append(samples.cpus[0].resident_kb or 0)
    print(f"{core.NAME:<7} {max(resident) / 1024:.1f} MB resident; ten floors at 100 ms: {', '.join(floor_texts)}")


def main() -> None:
    """Print all figures."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmark.calibration", description=__doc__)
    parser.add_argument("--cpu", type=int, default=max(os.sched_getaffinity(0)))
    cpu = parser.parse_args().cpu
    cpus = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cpu})
    for core in _CORES:
        granularity(core)
    oslat(cpu)
    for core in _CORES:
        delays(core, 200 if core.NAME == NATIVE else 1_000)
        noise_read_back(core, cpu)
    os.sched_setaffinity(0, set(cpus) - {cpu} or {cpu})
    for core in _CORES:
        readiness(core, cpus)
        repeatability(core, cpu)


if __name__ == "__main__":
    main()
