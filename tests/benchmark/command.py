"""Prints what starting a command costs, against the library's own ways: `python -m tests.benchmark.command [RUNS]`.

Of /bin/true, in turn, from a process as large as noisewatch is when it has judged a machine. Wall time is that of
starting it and waiting for its end; CPU time is ours, with the child's before it became the command where that is
known. Figures, no limits. Beside the wrappers stands how long they say that the command took.
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


def _spawned() -> None:
    os.waitpid(os.posix_spawn(_COMMAND, [_COMMAND], os.environ), 0)


def _opened() -> None:
    subprocess.run([_COMMAND], check=True)


def _wrapped(commands: Commands, plan: CommandPlan) -> float:
    command = commands.start(plan)
    ended = command.wait()
    assert ended is not None
    return (ended.ended_ns - command.began_ns) / 1e6


def _own_cpu_ms() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return (used.ru_utime + used.ru_stime) * 1e3


def _measured(start: _Start) -> tuple[float, float, float | None]:
    cpu_ms, began_ms = _own_cpu_ms(), time.perf_counter() * 1e3
    took_ms = start()
    return time.perf_counter() * 1e3 - began_ms, _own_cpu_ms() - cpu_ms, took_ms


def _line(name: str, measured: list[tuple[float, float, float | None]]) -> str:
    walls, cpus, took = zip(*measured, strict=True)
    line = f"{name:<28} wall {_described(walls)}, our CPU time {_described(cpus)}"
    return line if None in took else f"{line}; the command {_described(took)}"


def _described(times_ms: tuple[float, ...]) -> str:
    low, _, high = statistics.quantiles(times_ms, n=4)
    return f"{statistics.median(times_ms):.3f} ms ({low:.3f} to {high:.3f})"


def main() -> None:
    """All ways in turn, each round the other way round than the one before."""
    runs = int(sys.argv[1]) if sys.argv[1:] else _RUNS
    cpus = os.sched_getaffinity(0)
    snapshot = read_snapshot(LiveMachine(), SnapshotOptions(allowed_at_start=frozenset(cpus)))
    plan = CommandPlan(argv=(_COMMAND,), cpus=frozenset({max(cpus)}))
    with Commands(core=load_launching(NATIVE)) as native, Commands(core=load_launching(PYTHON)) as python:
        os.sched_setaffinity(0, {min(cpus)})
        ways: dict[str, _Start] = {
            "posix_spawn": _spawned,
            "subprocess.run": _opened,
            "noisewatch": lambda: _wrapped(native, plan),
            "noisewatch, without a compiler": lambda: _wrapped(python, plan),
        }
        measured: dict[str, list[tuple[float, float, float | None]]] = {name: [] for name in ways}
        for number in range(runs):
            for name in list(ways)[:: 1 if number % 2 else -1]:
                measured[name].append(_measured(ways[name]))
    size_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{runs} rounds from {size_mb:.0f} MB ({len(CATALOGUE)} checks, {len(snapshot.target.cpus)} target CPUs)")
    for name, found in measured.items():
        print(_line(name, found))


if __name__ == "__main__":
    main()
