"""Reads the threads and interrupts in each snapshot of a recording: they may end before its last snapshot."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from noisewatch.kernel.interrupts.table import read_interrupts
from noisewatch.kernel.reader import Reader
from noisewatch.kernel.snapshot.snapshot import Snapshot
from noisewatch.kernel.tasks.task import Task, Tasks
from noisewatch.kernel.tasks.threads import TaskReader
from noisewatch.machine.recording.replay import Recording
from noisewatch.model.interval.interrupt_counts import loses_counts


def culprits_at_each_snapshot(recording: Recording, before: Snapshot, past_asides: bool = False) -> Iterator[Snapshot]:
    """Yield, for each snapshot after `before`, a copy of `before` with the threads that ran since the previous one.

    The copy has the previous snapshot's interrupts if a device left or restarted since then; otherwise it has none, as
    the last snapshot of the recording includes them. Advance the recording to its end or, without `past_asides`, at
    most to the next answer between two snapshots. The recorder's own threads are left out: it is unknown on which CPUs
    they ran, so their time is attributed to CPUs whose busy time no other thread explains.
    """
    reader = TaskReader()  # a separate reader: what it reads of a thread depends on its previous reading
    tickless, task_by_tid = before.isolation.nohz_full or frozenset(), dict[int, Task]()
    interrupts = before.interrupts
    while recording.advance(past_asides):
        files = Reader(recording)
        earlier, interrupts = interrupts, read_interrupts(files, interrupts) or interrupts
        has_lost = earlier is not None and interrupts is not None and loses_counts(earlier, interrupts)
        tasks = reader.read(files, before.target.cpus, tickless)
        latest = dict(tasks.by_tid) if tasks is not None else {}
        ran = {tid: task for tid, task in latest.items() if task_by_tid.get(tid) is not task}
        ran = {tid: task for tid, task in ran.items() if task.pid not in before.own_pids}
        task_by_tid, pids = latest, frozenset(task.pid for task in ran.values())
        identities = tasks.identities if tasks is not None else {}
        ran_tasks = Tasks(ran, pids, pids, identities)
        yield replace(before, tasks=ran_tasks, interrupts=earlier if has_lost else None)
