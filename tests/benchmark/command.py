"""Print what starting a command costs, next to Python's own ways: `python -m tests.benchmark.command [RUNS]`.

The command is /bin/true, started in turn from a process as large as noisewatch after judging a machine. Wall time is
from the start to the end of the wait for the command; CPU time is that of this process, and may include the child's
until exec. For wrappers, the time that they report for the command follows. Figures, no limits.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

from noisewatch.judgement.catalogue import CATALOGUE
from noisewatch.kernel.snapshot.snapshot import SnapshotOptions, read_snapshot
from noisewatch.machine.command import load_launching
from noisewatch.machine.command.running import Commands
from noisewatch.machine.command.start import CommandPlan
from noisewatch.machine.live import LiveMachine
from noisewatch.machine.spinning.loops import NATIVE, PYTHON

_RUNS = 100
_COMMAND = "/bin/true"
_Start = Callable[[], float | None]  # how long the command took, in ms


def _spawn() -> None:
    os.waitpid(os.posix_spawn(_COMMAND, [_COMMAND], os.environ), 0)


def _run() -> None:
    subprocess.run([_COMMAND], check=True)


def _wrap(commands: Commands, plan: CommandPlan) -> float:
    command = commands.start(plan)
    exit_record = command.wait()
    assert exit_record is not None
    return (exit_record.ended_ns - command.began_ns) / 1e6


def _own_cpu_ms() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return (usage.ru_utime + usage.ru_stime) * 1e3


def _measure(start: _Start) -> tuple[float, float, float | None]:
    cpu_ms, start_ms = _own_cpu_ms(), time.perf_counter() * 1e3
    command_ms = start()
    return time.perf_counter() * 1e3 - start_ms, _own_cpu_ms() - cpu_ms, command_ms


def _line(name: str, samples: list[tuple[float, float, float | None]]) -> str:
    wall_ms, cpu_ms, command_ms = zip(*samples, strict=True)
    line = f"{name:<28} wall {_describe(wall_ms)}, our CPU time {_describe(cpu_ms)}"
    return line if None in command_ms else f"{line}; the command {_describe(command_ms)}"


def _describe(times_ms: tuple[float, ...]) -> str:
    low, _, high = statistics.quantiles(times_ms, n=4)
    return f"{statistics.median(times_ms):.3f} ms ({low:.3f} to {high:.3f})"


def main() -> None:
    """Print the cost of all ways, measured in turn, in alternating order."""
    runs = int(sys.argv[1]) if sys.argv[1:] else _RUNS
    cpus = os.sched_getaffinity(0)
    snapshot = read_snapshot(LiveMachine(), SnapshotOptions(allowed_at_start=frozenset(cpus)))
    plan = CommandPlan(argv=(_COMMAND,), cpus=frozenset({max(cpus)}))
    with Commands(core=load_launching(NATIVE)) as native, Commands(core=load_launching(PYTHON)) as python:
        os.sched_setaffinity(0, {min(cpus)})
        ways: dict[str, _Start] = {
            "posix_spawn": _spawn,
            "subprocess.run": _run,
            "noisewatch": lambda: _wrap(native, plan),
            "noisewatch, without a compiler": lambda: _wrap(python, plan),
        }
        samples_by_name: dict[str, list[tuple[float, float, float | None]]] = {name: [] for name in ways}
        for number in range(runs):
            for name in list(ways)[:: 1 if number % 2 else -1]:
                samples_by_name[name].append(_measure(ways[name]))
    size_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{runs} rounds from {size_mb:.0f} MB ({len(CATALOGUE)} checks, {len(snapshot.target.cpus)} target CPUs)")
    for name, samples in samples_by_name.items():
        print(_line(name, samples))


if __name__ == "__main__":
    main()
