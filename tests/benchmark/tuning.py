"""Print what tuning a large machine takes: `python -m tests.benchmark.tuning [CPUS]`, by default 512 CPUs.

The machine is written into a temporary folder, and untuned: no CPU has the governor performance, all interrupts may go
to all CPUs. Reading its settings, judging and planning are timed, then the changes and their restoration with the
journal on this disk. Figures, no limits.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from noisewatch.machine.copied import CopiedTree
from noisewatch.machine.tuning import Settings
from noisewatch.operations.preflight import PreflightOptions
from noisewatch.operations.tuning.plan import read_plan
from noisewatch.operations.tuning.tune import new_session, restore_host, tune_host
from noisewatch.surfaces.cli.live import SilentListener
from tests.written import write_tree
from tests.written.many_cpus import ManyCpus

_ROUNDS = 5
_UNTUNED = {"/cpufreq/scaling_governor": "powersave\n", "/smp_affinity_list": "0-{last}\n"}


def _write_machine(root: Path, count: int) -> None:
    files = ManyCpus(count).files()
    for path in files:
        for suffix, text in _UNTUNED.items():
            if path.endswith(suffix):
                files[path] = text.replace("{last}", str(count - 1))
    write_tree(root, files)


@contextmanager
def _timed(times_s: list[float]) -> Iterator[None]:
    began_s = time.monotonic()
    yield
    times_s.append(time.monotonic() - began_s)


def main(count: int) -> None:
    """Print a line for each part: the median of several rounds, and the range."""
    planning_s: list[float] = []
    tuning_s: list[float] = []
    restoring_s: list[float] = []
    with tempfile.TemporaryDirectory() as temporary:
        root, journal = Path(temporary) / "root", Path(temporary) / "tune.jsonl"
        _write_machine(root, count)
        settings = Settings(str(root))
        for _ in range(_ROUNDS):
            with _timed(planning_s):
                plan = read_plan(CopiedTree(str(root)), PreflightOptions(), SilentListener())
            with _timed(tuning_s):
                done = tune_host(plan, new_session(plan.verdict.case.target), settings, journal)
            with _timed(restoring_s):
                restore_host(settings=settings, path=journal)
    print(f"{count} CPUs, {len(done)} changes")
    for name, times_s in (("read, judge and plan", planning_s), ("tune", tuning_s), ("restore", restoring_s)):
        middle = statistics.median(times_s)
        print(f"{name:<22} {middle:6.2f} s  ({min(times_s):.2f} to {max(times_s):.2f} s)")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 512)
