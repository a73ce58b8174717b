"""A repetition of a command on the written quiet machine: its counters, and the threads observed meanwhile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from noisewatch.cpus import CpuSet
from noisewatch.judgement.run.allowance import Allowance
from noisewatch.judgement.run.reasons import RepetitionVerdict
from noisewatch.judgement.run.repetition_verdict import judge_repetition
from noisewatch.kernel.snapshot.counters import read_counters
from noisewatch.kernel.snapshot.snapshot import Snapshot, SnapshotOptions, read_snapshot
from noisewatch.kernel.tasks.threads import TaskReader
from noisewatch.model.interval.clock_shift import ClockShift
from noisewatch.model.interval.interval import Interval, interval_between
from noisewatch.model.run.books import balance
from noisewatch.model.run.repetition import CommandUse, Repetition
from tests.written import Files, WrittenMachine, mounted
from tests.written.quiet_machine import ANSWERS, quiet_files, stat_file

MS = 1_000_000
CPUACCT = "/sys/fs/cgroup/cpuacct/cpuacct.usage_percpu"
SCHEDSTAT = "/proc/schedstat"
ALLOWED = Allowance(0.005, False)
ALONE = CommandUse(
    user_ns=0,
    system_ns=0,
    waited_ns=0,
    ran_alone=True,
    stopped_ns=0,
    minor_faults=0,
    major_faults=0,
    blocks_in=0,
    blocks_out=0,
    switches=0,
    preemptions=0,
    **{name: 1000 for name in CommandUse.__annotations__ if name.startswith("most_resident")},
)
THREADED = replace(ALONE, ran_alone=False)
_MOUNTS = "cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0\ncgroup /sys/fs/cgroup/cpuacct cgroup rw,cpuacct 0 0\n"


def ran(ms_by_cpu: Mapping[int, float] | None = None, seconds: float = 0.0) -> dict[str, str]:
    """Return the files with the time that tasks have run on the CPUs since the start, exactly and in ticks."""
    ms = ms_by_cpu or {}
    usage = [round((ms.get(cpu, 0) + 1) * MS) + round(seconds * 20 * MS if cpu == 0 else 0) for cpu in range(4)]
    ticks = round(seconds * 100)
    return {
        **mounted(_MOUNTS),
        "/sys/fs/cgroup/cpuacct/release_agent": "\n",
        CPUACCT: " ".join(map(str, usage)) + "\n",
        "/proc/stat": stat_file({0: ticks // 50} | {cpu: int(ran_ms // 10) for cpu, ran_ms in ms.items()}, ticks),
    }


def late(files: Files, stays: Sequence[int] = (5, 5, 5, 5)) -> dict[str, str]:
    """Return `files` for a kernel that counts run time when a task leaves the CPU.

    `stays` is how often tasks were put on each CPU.
    """
    rows = [f"cpu{cpu} 0 0 0 0 0 0 {ns} 0 {stays[cpu]}\n" for cpu, ns in enumerate(files[CPUACCT].split())]
    return {path: text for path, text in files.items() if path != CPUACCT} | {SCHEDSTAT: "".join(rows)}


def repeat(
    *moments: Files,
    seconds: float = 1.0,
    looks: Sequence[int] = (0, -1),
    marks: tuple[int, int] = (0, -1),
    use: CommandUse = ALONE,
    own_pids: Sequence[int] = (),
    own_ms: float = 0.0,
    allowed: CpuSet | None = None,
    gone: Sequence[str] = (),
    answers: Mapping[str, object] | None = None,
) -> Repetition:
    """Return the repetition between two of the moments, `marks`, on the quiet machine with the files of each moment.

    The moments are `seconds` apart. All threads are read at the moments `looks`. Without `allowed` the command stayed
    on the target CPUs. `answers` are further answers of the machine.
    """
    files_by_moment = [
        {path: text for path, text in (quiet_files(seconds * at) | dict(files)).items() if path not in gone}
        for at, files in enumerate(moments)
    ]
    machine = WrittenMachine(
        *files_by_moment, answers={**ANSWERS, **(answers or {})}, own_pids=own_pids, seconds_between=seconds
    )
    task_reader = TaskReader()
    last: Snapshot | None = None
    windows: list[Interval] = []
    snapshot_by_moment: dict[int, Snapshot] = {}
    counters = None
    for at in range(len(moments)):
        if at in (look % len(moments) for look in looks):
            before, last = last, read_snapshot(machine, SnapshotOptions(), task_reader, last)
            if before is not None:
                windows.append(interval_between(before, last))
        if at in (mark % len(moments) for mark in marks):
            assert last is not None
            counters = read_counters(machine, counters)
            snapshot_by_moment[at] = counters.merge_into(last)
        if machine.has_next:
            machine.advance()
    begin_at, end_at = sorted(snapshot_by_moment)
    before, after = snapshot_by_moment[begin_at], snapshot_by_moment[end_at]
    use = replace(use, user_ns=round(own_ms * MS) - use.system_ns)
    return Repetition(
        number=1,
        command=0,
        began_ns=before.taken_at_ns,
        ended_ns=after.taken_at_ns,
        began_wall_ns=0,
        status=0,
        use=use,
        allowed=before.target.cpus if allowed is None else allowed,
        shift=ClockShift(0, 0),
        span=interval_between(before, after),
        books=balance(before, after, before.target.cpus, use.cpu_ns),
        own_cpu_ns=MS,
        windows=tuple(
            window
            for window in windows
            if window.after.taken_at_ns > before.taken_at_ns and window.before.taken_at_ns < after.taken_at_ns
        ),
    )


def judge(repetition: Repetition, siblings: CpuSet = frozenset(), allowance: Allowance = ALLOWED) -> RepetitionVerdict:
    """Return the verdict, by default with the allowance of most machines."""
    return judge_repetition(repetition, siblings, allowance)
