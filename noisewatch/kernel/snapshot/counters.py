"""All CPUs' counters at one moment, read in a fraction of a millisecond before and after each repetition."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from noisewatch.kernel.cpus.cpu_time import PATH as STAT
from noisewatch.kernel.cpus.cpu_time import SCHEDSTAT, CpuTime, RunTime, read_cpu_time, read_run_time
from noisewatch.kernel.interrupts.table import PATH as INTERRUPTS
from noisewatch.kernel.interrupts.table import SOFTIRQS, Interrupts, Softirqs, read_interrupts, read_softirqs
from noisewatch.kernel.reader import EarlierSnapshots, Reader
from noisewatch.kernel.snapshot.snapshot import Snapshot
from noisewatch.machine import Machine

_READ_ANEW = frozenset({STAT, SCHEDSTAT, INTERRUPTS, SOFTIRQS})


class Counters(Struct, frozen=True):
    """The per-CPU counters at one moment. None means unknown; `reason_by_path` has the reasons."""

    taken_at_ns: int
    cpu_time: Mapping[int, CpuTime] | None
    run_time: Mapping[int, RunTime] | None
    interrupts: Interrupts | None
    softirqs: Softirqs | None
    reason_by_path: Mapping[str, str]
    earlier: EarlierSnapshots

    def merge_into(self, snapshot: Snapshot) -> Snapshot:
        """Return a copy of the snapshot with these counters and their time, but without threads."""
        return replace(
            snapshot,
            taken_at_ns=self.taken_at_ns,
            cpu_time=self.cpu_time,
            run_time=self.run_time,
            interrupts=self.interrupts,
            softirqs=self.softirqs,
            tasks=None,
            tasks_lag_ns=0,
            reason_by_path={
                **{path: reason for path, reason in snapshot.reason_by_path.items() if path not in _READ_ANEW},
                **self.reason_by_path,
            },
        )


def read_counters(machine: Machine, previous: Counters | None = None) -> Counters:
    """Read the counters. Rows unchanged since `previous` are not parsed again."""
    return machine.within_deadline(lambda: _read(machine, previous))


def _read(machine: Machine, previous: Counters | None) -> Counters:
    machine.begin_snapshot()
    reader = Reader(machine, previous.earlier if previous is not None else None)
    reader.reread()
    taken_at_ns = machine.now_ns()
    counters = Counters(
        taken_at_ns=taken_at_ns,
        cpu_time=read_cpu_time(reader),
        run_time=read_run_time(reader),
        interrupts=read_interrupts(reader, previous.interrupts if previous is not None else None),
        softirqs=read_softirqs(reader),
        reason_by_path=reader.reason_by_path,
        earlier=reader.earlier,
    )
    reader.end()
    return counters
