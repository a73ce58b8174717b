"""The cost of each monitor: CPU time of all its processes, bytes to the terminal, wake-ups, memory."""

from __future__ import annotations

import statistics
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from tests.benchmark.monitor.frames import sampler_ms
from tests.benchmark.monitor.monitors import Monitor, noisewatch_here, others, replaying
from tests.benchmark.monitor.terminal import in_a_terminal
from tests.benchmark.monitor.used import Used, used_by
from tests.written.many_cpus import record_many_cpus

_SETTLING_S = 4.0
_CPU_COUNTS = (64, 512)


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of one monitor; `share` is its CPU time in shares of one CPU, `shares` that of each running process."""

    share: float
    shares: tuple[float, ...]
    bytes_per_s: float
    wake_ups_per_s: float
    resident_bytes: int


def print_costs(rounds: int, watched_s: float) -> None:
    """Print a row for each monitor: the median of the rounds, in each of which all monitors run in turn."""
    frames: list[str] = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        monitors, missing = others(folder)
        monitors = noisewatch_here() + monitors
        for count in _CPU_COUNTS:
            path = record_many_cpus(count, folder / f"{count}.nw", round(_SETTLING_S + watched_s) + 5, asks_clock=False)
            monitors.append(replaying(f"noisewatch, {count} CPUs", path))
            frames.append(f"a frame of {count} CPUs takes the sampler {sampler_ms(path):.1f} ms")
        costs: dict[str, list[Cost]] = {monitor.name: [] for monitor in monitors}
        for _ in range(rounds):
            for monitor in monitors:
                costs[monitor.name].append(_cost(monitor, watched_s))
    print(f"{'at 1 Hz':<22} {'CPU':>7} {'(from':>7} {'to)':>7} {'kB/s':>7} {'wakes/s':>8} {'MB':>5}  by process")
    for name, costs_of_monitor in costs.items():
        print(_row(name, costs_of_monitor))
    for name in missing:
        print(f"{name:<22} is not installed")
    print("\nA recording is read ahead, so that only the screen is in its rows (10 ms a second are 1 %):")
    print("\n".join(frames))


def _cost(monitor: Monitor, watched_s: float) -> Cost:
    with in_a_terminal(monitor.command, *monitor.size, monitor.environment) as terminal:
        time.sleep(_SETTLING_S)
        before, bytes_before, started_s = used_by(terminal.process.pid), terminal.byte_count, time.monotonic()
        time.sleep(watched_s)
        after, bytes_after, seconds = used_by(terminal.process.pid), terminal.byte_count, time.monotonic() - started_s
    return Cost(
        share=(after.cpu_s - before.cpu_s) / seconds,
        shares=tuple(used_s / seconds for used_s in _cpu_s_by_process(before, after)),
        bytes_per_s=(bytes_after - bytes_before) / seconds,
        wake_ups_per_s=(after.wake_ups - before.wake_ups) / seconds,
        resident_bytes=after.resident_bytes,
    )


def _cpu_s_by_process(before: Used, after: Used) -> list[float]:
    return [used_s - before.cpu_s_by_pid.get(pid, 0.0) for pid, used_s in after.cpu_s_by_pid.items()]


def _row(name: str, costs: list[Cost]) -> str:
    shares = [cost.share for cost in costs]
    middle = sorted(costs, key=lambda cost: cost.share)[len(costs) // 2]
    kilobytes, wake_ups, megabytes = (
        statistics.median(figures)
        for figures in (
            [cost.bytes_per_s / 1e3 for cost in costs],
            [cost.wake_ups_per_s for cost in costs],
            [cost.resident_bytes / 2**20 for cost in costs],
        )
    )
    process_shares = ", ".join(f"{share:.2%}" for share in middle.shares)
    return (
        f"{name:<22} {statistics.median(shares):>7.2%} {min(shares):>7.2%} {max(shares):>7.2%} "
        f"{kilobytes:>7.1f} {wake_ups:>8.1f} {megabytes:>5.0f}  {process_shares if megabytes else 'it ended'}"
    )
