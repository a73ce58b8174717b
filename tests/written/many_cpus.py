"""A recording of a made-up machine of any number of CPUs, for pictures, benchmarks and the soak.

    python -m tests.written.many_cpus 64 example-64.nw

It lasts two minutes, in intervals of a second, and has two threads per core and two memory nodes. CPUs 0 and 1 do
the housekeeping, all others are isolated and get deliberate noise (of only two CPUs, each is a core, and one is
isolated):

    second 20-31    the network card interrupts one of them 40,000 times a second
    second 100-105  package 0 reaches its power limit
    every tenth     prometheus has 60 ms of another one
    second 45, 105  a kernel thread has 8 ms of a third
    second 60-74    a fourth is offline
    second 80-94    the governor of the last eight online CPUs, or of the last one of four, is powersave

The last CPU of eight or more is offline all the time. The same count of CPUs always gives the same bytes.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from noisewatch.cpus import format_cpu_list, parse_cpu_list
from noisewatch.kernel.snapshot.snapshot import Snapshot, SnapshotOptions, read_snapshot
from noisewatch.kernel.tasks.threads import TaskReader
from noisewatch.machine import Json, T, not_at_hand
from noisewatch.machine.recording.recorder import Recorder
from tests.written import SECOND_NS, WrittenMachine, quiet
from tests.written.many_cpus_clock import clock_files
from tests.written.many_cpus_counters import Counters, Story
from tests.written.many_cpus_files import (
    PERFORMANCE,
    POWERSAVE,
    devices,
    files_of_cpu,
    housekeeping,
    packages_of,
    still_files,
)
from tests.written.quiet_machine import ANSWERS, CPUS

INTERVALS = 120
_VMSTAT = "/proc/vmstat"  # on a running machine, some of its counters always grow
_BOOTED_NS = 34_521 * SECOND_NS


class ManyCpus:
    """The machine, second by second. Recordings contain only what a snapshot asks for."""

    is_live = False
    name = "a made-up machine"
    own_pids: frozenset[int] = frozenset()

    def __init__(self, count: int) -> None:
        self.second = 0
        self._count = count
        self._story = Story.of(count)
        self._counters = Counters(count, self._story, random.Random(count))
        self._still = still_files(count)
        self._answers = {
            **ANSWERS,
            "devices by irq": devices(count),
            "CPUs this process may use": [*range(len(housekeeping(count)), count)],
        }
        self._moment = self._written_machine()

    def advance(self) -> None:
        """Advance by a second."""
        self.second += 1
        self._counters.advance(self.second)
        self._moment = self._written_machine()

    def _written_machine(self) -> WrittenMachine:
        return WrittenMachine(self.files(), answers=self._answers)

    def files(self) -> dict[str, str]:
        """Return all files of this snapshot."""
        all_cpus = frozenset(range(self._count))
        offline = self._story.offline_at(self.second)
        online = all_cpus - offline
        slow = self._story.slow_at(self.second)
        files = self._still | self._counters.files(sorted(online))
        for cpu in online:
            files |= files_of_cpu(cpu, self._count, POWERSAVE if cpu in slow else PERFORMANCE)
        packages = [[cpu for cpu in cpus if cpu in online] for cpus in packages_of(self._count)]
        files |= clock_files(self.second, housekeeping(self._count), packages)
        files[f"{CPUS}/online"] = f"{format_cpu_list(online)}\n"
        files[_VMSTAT] = quiet.files(self.second)[_VMSTAT]
        files[f"{CPUS}/offline"] = f"{format_cpu_list(offline)}\n"
        return files

    def now_ns(self) -> int:
        return _BOOTED_NS + self.second * SECOND_NS

    def read_bytes(self, path: str) -> bytes:
        return self._moment.read_bytes(path)

    def reread(self, files: Sequence[tuple[str, bytes | None]]) -> list[tuple[int, bytes | None]]:
        return not_at_hand(files)

    def list_names(self, path: str) -> list[str]:
        return self._moment.list_names(path)

    def mode(self, path: str) -> int:
        return self._moment.mode(path)

    def ask(self, question: str, answer: Callable[[], Json]) -> Json:
        """Answer the question; any pin is granted."""
        if question.startswith("pin to CPUs "):
            return {"granted": sorted(parse_cpu_list(question.rpartition(" ")[2]))}
        return self._moment.ask(question, answer)

    def begin_snapshot(self) -> None:
        """Do nothing: a made-up machine has no snapshots to mark."""

    def within_deadline(self, work: Callable[[], T]) -> T:
        return work()


def record_many_cpus(count: int, path: Path, intervals: int = INTERVALS, *, asks_clock: bool = True) -> Path:
    """Write the recording, as `noisewatch record` does, including the made-up host's name.

    Without `asks_clock` it has only what the monitor asks for while the clock screen is closed.
    """
    machine, task_reader = ManyCpus(count), TaskReader(asks_all_affinities=True)
    with path.open("wb") as sink:
        recorder = Recorder(machine, sink, interval_s=1.0, identify=True)
        snapshot: Snapshot | None = None
        for second in range(intervals + 1):
            if second:
                machine.advance()
            snapshot = read_snapshot(
                recorder, SnapshotOptions(asks_clock=asks_clock, most_idle_states=6), task_reader, snapshot
            )
        recorder.close()
    return path


if __name__ == "__main__":
    record_many_cpus(int(sys.argv[1]), Path(sys.argv[2]))
