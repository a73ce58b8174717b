"""How busy the target CPUs are, what waits, and what the hypervisor steals."""

from __future__ import annotations

import pytest

from noisewatch.judgement.case import Case
from noisewatch.judgement.terms import Severity
from noisewatch.judgement.verdict import judge
from noisewatch.kernel.snapshot.snapshot import SnapshotOptions, read_snapshot
from tests.judgement.example import VIRTUAL
from tests.judgement.judging import answered, finding, judged, stat_without
from tests.written import WrittenMachine
from tests.written.quiet_machine import (
    ANSWERS,
    CPUS,
    cpu_row,
    quiet_files,
    stat_file,
)

_FULL = "some avg10=0.00 avg60=0.00 avg300=0.00 total={total}\nfull avg10=0.00 avg60=0.00 avg300=0.00 total={total}\n"


@pytest.mark.parametrize("check_id", ["target-cpu-busy", "tasks-on-target"])
def test_a_stat_that_lxcfs_serves_is_unknown(check_id: str) -> None:
    mounts = "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\nlxcfs /proc/stat fuse.lxcfs rw 0 0\n"
    assert answered(check_id, {"/proc/self/mounts": mounts}).status == "unknown"


def _schedstat(busy_cpu: int, ran_ns: int, slices: int) -> dict[str, str]:
    """Return a schedstat in which tasks ran on one CPU only."""
    rows = [
        f"cpu{cpu} 0 0 0 0 0 0 {ran_ns if cpu == busy_cpu else 7} 0 {slices if cpu == busy_cpu else 7}"
        for cpu in range(4)
    ]
    return {"/proc/schedstat": "\n".join(["version 15", *rows, ""])}


@pytest.mark.parametrize(
    ("check_id", "cpu", "files"),
    [
        ("target-cpu-busy", 2, {}),
        ("tasks-on-target", 2, {}),
        ("busy-sibling", 1, {f"{CPUS}/cpu2/topology/thread_siblings_list": "1-2\n"}),
        ("busy-cache-neighbour", 1, {}),
    ],
)
def test_work_between_two_ticks_counts_as_busy_time(check_id: str, cpu: int, files: dict[str, str]) -> None:
    answer = answered(check_id, files | _schedstat(cpu, 0, 0), _schedstat(cpu, 1_200_000_000, 800))
    assert answer.status in ("fail", "warn")
    assert answer.measured == pytest.approx(0.4, abs=0.03)  # and the little work of other neighbours


@pytest.mark.parametrize("missing_ticks", [24, 90])
@pytest.mark.parametrize("check_id", ["target-cpu-busy", "tasks-on-target"])
def test_time_that_is_missing_from_the_idle_time_counts_as_busy_time(check_id: str, missing_ticks: int) -> None:
    """Even without /proc/schedstat, the exact idle time shows work that ran between the ticks."""
    rows = stat_file({}, 300).splitlines(keepends=True)
    rows[3] = stat_file({}, 300 - missing_ticks).splitlines(keepends=True)[3]
    answer = answered(check_id, {}, {"/proc/stat": "".join(rows)})
    assert answer.status == "fail"
    assert answer.measured == pytest.approx(missing_ticks / 300, abs=0.01)


def test_a_cpu_that_was_away_for_half_of_the_sample_is_unknown() -> None:
    rows = stat_file({}, 300).splitlines(keepends=True)
    rows[3] = stat_file({}, 160).splitlines(keepends=True)[3]
    assert answered("target-cpu-busy", {}, {"/proc/stat": "".join(rows)}).status == "unknown"


def test_processor_flags_that_were_cut_off_do_not_prove_bare_metal() -> None:
    answer = answered("hypervisor-steal", {"/proc/cpuinfo": "processor\t: 0\nflags\t\t: fpu vme de"})
    assert answer.status == "unknown"


def test_memory_pressure_without_its_blocking_half_is_unknown() -> None:
    some = "some avg10=0.00 avg60=0.00 avg300=0.00 total=1\n"
    assert answered("pressure-stall", {"/proc/pressure/memory": some}).status == "unknown"


def test_a_time_that_runs_backwards_is_unknown_although_the_sum_is_right() -> None:
    rows = stat_file({}, 300).splitlines(keepends=True)
    rows[3] = cpu_row("cpu2", user=500, idle=100_800)
    assert answered("target-cpu-busy", {}, {"/proc/stat": "".join(rows)}).status == "unknown"


def test_all_tasks_waiting_for_io_fail_before_some_do() -> None:
    rows = "".join(f"{name} avg10=0.00 avg60=0.00 avg300=0.00 total=61000\n" for name in ("some", "full"))
    answer = answered("pressure-stall", {}, {"/proc/pressure/io": rows})
    assert (answer.status, answer.limit) == ("fail", 0.01)


def test_steal_of_one_target_cpu_does_not_answer_for_another() -> None:
    before = {"/proc/stat": stat_without(3, stat_file({}, 0, {2: 5}))}
    after = {"/proc/stat": stat_without(3, stat_file({}, 310, {2: 5}))}
    assert answered("hypervisor-steal", VIRTUAL | before, after).status == "unknown"


@pytest.mark.parametrize("check_id", ["target-cpu-busy", "tasks-on-target", "busy-cache-neighbour"])
@pytest.mark.parametrize("text", ["\n", "rubbish\n", "version 15\ncpu0 0 0 0 0 0 0 5 0 5\n"])
def test_work_between_two_ticks_is_unknown_where_schedstat_is_damaged(check_id: str, text: str) -> None:
    assert answered(check_id, {"/proc/schedstat": text}).status == "unknown"


@pytest.mark.parametrize(("resource", "waiting"), [("cpu", "tasks"), ("memory", "all tasks"), ("io", "all tasks")])
def test_waits_are_reported_as_at_most_all_of_the_time(resource: str, waiting: str) -> None:
    answer = answered("pressure-stall", {}, {f"/proc/pressure/{resource}": _FULL.format(total=3_016_000)})
    assert answer.said == f"{waiting} waited for {resource} 100.0% of the time"
    assert answer.measured > 1
    assert answer.measured in answer.evidence[resource].values()


def test_all_tasks_waiting_for_memory_block_although_pressure_usually_warns() -> None:
    after = quiet_files(3.0) | {"/proc/pressure/memory": _FULL.format(total=100_000)}
    verdict = judged(WrittenMachine(quiet_files(), after, answers=ANSWERS))
    assert finding(verdict, "pressure-stall").severity == Severity.BLOCKING
    assert verdict.verdict == "unstable"


def test_steal_that_was_never_reported_is_unknown_in_a_virtual_machine() -> None:
    machine = WrittenMachine(quiet_files() | VIRTUAL, quiet_files(3.0) | VIRTUAL, answers=ANSWERS)
    verdict = judged(machine, is_calibrated=False)
    assert finding(verdict, "hypervisor-steal").status == "unknown"
    assert verdict.exit_status == 3


def test_steal_does_not_apply_to_bare_metal_even_without_a_sample() -> None:
    case = Case(
        read_snapshot(WrittenMachine(quiet_files(), answers=ANSWERS), SnapshotOptions()),
        no_sample_reason="single snapshot",
    )
    statuses = {result.check.id: result.status for result in judge(case).findings}
    assert (statuses["hypervisor-steal"], statuses["target-cpu-busy"]) == ("not-applicable", "unknown")
