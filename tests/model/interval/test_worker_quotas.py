"""Processes on a target CPU that are stopped by the quota of a cgroup that noisewatch is not in."""

from __future__ import annotations

from collections.abc import Sequence

from noisewatch.judgement.case import Case
from noisewatch.judgement.remedies import remedy_of
from noisewatch.kernel.snapshot.snapshot import SnapshotOptions, read_snapshot
from noisewatch.kernel.tasks.threads import TaskReader
from noisewatch.model.interval.disturbance import Disturbance, disturbances_of
from noisewatch.model.interval.interval import Interval, interval_between
from noisewatch.operations.frame.making import frame_of
from tests.written import Files, WrittenMachine, without
from tests.written.quiet_machine import ANSWERS, process, quiet_files, stat_file

_GROUP = "/sys/fs/cgroup/docker/4f"
_MS = 1_000_000


def _moment(number: int, stopped_ms: int, ran_ms: int = 1500) -> Files:
    """Return the files of a moment; in each 3 s before it, bench ran for `ran_ms` and was stopped for `stopped_ms`."""
    stat = stat_file({2: number * ran_ms // 10}, number * 300)
    stopped_us = number * stopped_ms * 1000
    return (
        quiet_files(3.0 * number)
        | process(900, "bench", 2, number * ran_ms * _MS, allowed="2")
        | {
            "/proc/stat": stat,
            "/proc/900/cgroup": "0::/docker/4f\n",
            f"{_GROUP}/cgroup.controllers": "cpu\n",
            f"{_GROUP}/cgroup.events": "populated 1\n",
            f"{_GROUP}/cpu.max": "50000 100000\n",
            f"{_GROUP}/cpu.stat": f"nr_throttled {stopped_us and 15 * number}\nthrottled_usec {stopped_us}\n",
            "/sys/fs/cgroup/docker/cgroup.controllers": "memory\n",
        }
    )


def _interval(*lost: str, stopped_ms: int = 1400, ran_ms: int = 1500, more: Sequence[Files] = ({}, {}, {})) -> Interval:
    """Return the interval from the second moment to the third; the first two show which processes work."""
    machine = WrittenMachine(
        *(without(_moment(number, stopped_ms, ran_ms), *lost) | dict(more[number]) for number in range(3)),
        answers=ANSWERS,
    )
    task_reader = TaskReader()
    snapshots = [read_snapshot(machine, SnapshotOptions(), task_reader)]
    while machine.has_next:
        machine.advance()
        snapshots.append(read_snapshot(machine, SnapshotOptions(), task_reader, snapshots[-1]))
    _, before, after = snapshots
    return interval_between(before, after)


def _quotas(interval: Interval, cpu: int = 2) -> list[Disturbance]:
    return [disturbance for disturbance in disturbances_of(interval, cpu) if disturbance.kind == "quota"]


def test_quota_of_a_working_process_is_named_with_its_stopped_time() -> None:
    interval = _interval()
    (quota,) = _quotas(interval)
    assert quota.name == f"CPU quota of {_GROUP}: 50 ms in each 100 ms"
    assert (quota.stolen_ns, quota.is_inferred, quota.pid) == (1400 * _MS, True, None)
    assert _quotas(interval, 3) == []
    fix = remedy_of(quota, Case(interval.after, interval)).fix
    assert fix is not None
    assert (fix.now, fix.undo) == (
        f"echo max | sudo tee {_GROUP}/cpu.max",
        f"echo '50000 100000' | sudo tee {_GROUP}/cpu.max",
    )


def test_stopped_time_is_at_most_the_time_that_the_process_did_not_run() -> None:
    (quota,) = _quotas(_interval(stopped_ms=9000))
    assert quota.stolen_ns == 1500 * _MS


def test_quota_is_charged_while_others_use_the_cpu_and_stolen_time_is_at_most_all_of_it() -> None:
    others = [process(950, "hog", 2, number * 1450 * _MS, allowed="2") for number in range(3)]
    interval = _interval(more=others)
    (quota,) = _quotas(interval)
    assert quota.stolen_ns == 1400 * _MS
    (line,) = [line for line in frame_of(interval.after, interval, None, sampler_cpu_s=None).cpus if line.cpu == 2]
    assert line.stolen_ns_per_s == 1_000 * _MS


def test_process_that_is_not_stopped_or_idle_or_of_unknown_group_has_no_quota_to_name() -> None:
    assert _quotas(_interval(stopped_ms=0)) == []
    assert _quotas(_interval(ran_ms=0)) == []
    assert _quotas(_interval("/proc/900/cgroup")) == []
    assert _quotas(_interval(f"{_GROUP}/cpu.stat")) == []


def test_groups_of_processes_are_not_read_where_no_process_works() -> None:
    machine = WrittenMachine(quiet_files(), quiet_files(3.0), answers=ANSWERS)
    task_reader = TaskReader()
    first = read_snapshot(machine, SnapshotOptions(), task_reader)
    machine.advance()
    machine.reads.clear()
    read_snapshot(machine, SnapshotOptions(), task_reader, first)
    assert [path for path in machine.reads if path.endswith("/cgroup") and path != "/proc/self/cgroup"] == []
