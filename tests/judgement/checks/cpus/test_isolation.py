"""Tasks on the target CPUs, visible or not, and the isolation of these CPUs."""

from __future__ import annotations

import pytest

from noisewatch.kernel.tasks.task import Tasks
from noisewatch.kernel.tasks.threads import TaskReader
from noisewatch.model.interval.task_runs import run_tasks
from tests.judgement.judging import answered, finding_on
from tests.written import WrittenMachine, reading
from tests.written.quiet_machine import ANSWERS, process, quiet_files, stat_file


def test_tasks_may_run_on_the_target_where_only_a_container_is_visible() -> None:
    moments = [
        {path: text for path, text in quiet_files(seconds).items() if not path.startswith(("/proc/2/", "/proc/30/"))}
        for seconds in (0.0, 3.0)
    ]
    finding = finding_on(WrittenMachine(*moments, answers=ANSWERS), "tasks-on-target")
    assert (finding.status, "no kernel thread is visible" in finding.answer.said) == ("warn", True)
    in_container = [{**moment, "/.dockerenv": ""} for moment in moments]
    finding = finding_on(WrittenMachine(*in_container, answers=ANSWERS), "tasks-on-target")
    assert (finding.status, "only this container's processes" in finding.answer.said) == ("warn", True)


def test_tasks_may_run_on_the_target_where_a_process_cannot_be_read() -> None:
    assert answered("tasks-on-target", {"/proc/950/stat": "garbage"}).status == "warn"


def test_a_schedstat_that_does_not_advance_leaves_busy_time_unexplained() -> None:
    still = "version 17\n" + "".join(f"cpu{cpu} 0 0 0 0 0 0 5 0 0\n" for cpu in range(4))
    answer = answered("tasks-on-target", {"/proc/schedstat": still}, {"/proc/stat": stat_file({2: 14}, 300)})
    assert [culprit.kind for culprit in answer.culprits] == ["unexplained"]


def test_a_task_that_ran_elsewhere_is_not_counted_on_its_last_cpu() -> None:
    after = process(900, "wanderer", 2, 1_000_000_000, allowed="0-3") | {"/proc/stat": stat_file({0: 100}, 300)}
    before = process(900, "wanderer", 2, 0, allowed="0-3")
    for check_id in ("tasks-on-target", "target-cpu-busy"):
        machine = WrittenMachine(quiet_files() | before, quiet_files(3.0) | after, answers=ANSWERS)
        finding = finding_on(machine, check_id, frozenset({2, 3}))
        assert (finding.answer.measured or 0) < 0.02


def test_init_is_never_moved() -> None:
    after = process(1, "systemd", 2, 1_500_000_000, allowed="0-3") | {"/proc/stat": stat_file({2: 150}, 300)}
    answer = answered("tasks-on-target", {}, after)
    assert (answer.status, answer.fix) == ("fail", None)


def test_no_fix_isolates_every_cpu() -> None:
    machine = WrittenMachine(
        quiet_files(), quiet_files(3.0), answers=ANSWERS | {"pin to CPUs": {"granted": [0, 1, 2, 3]}}
    )
    fix = finding_on(machine, "target-not-isolated", frozenset({0, 1, 2, 3})).answer.fix
    assert fix is not None
    assert "isolcpus" not in (fix.persist or "")
    assert fix.now is None


def test_a_thread_that_was_not_read_before_does_not_count_as_new() -> None:
    tasks = TaskReader().read(reading(process(900, "old", 2, 9_000_000_000)), frozenset({2}))
    assert tasks is not None
    assert run_tasks([Tasks({}, frozenset({900}), frozenset()), tasks], frozenset(), {}) == []


def test_tasks_that_were_not_read_before_the_sample_are_unknown() -> None:
    before = {
        path: text for path, text in quiet_files().items() if not path.startswith("/proc/") or not path[6].isdigit()
    }
    machine = WrittenMachine(before, quiet_files(3.0), answers=ANSWERS)
    assert finding_on(machine, "tasks-on-target", frozenset({2, 3})).status == "unknown"


def test_a_task_whose_affinity_cannot_be_read_may_run_anywhere() -> None:
    files = {path: text for path, text in process(900, "shy", 0, 5).items() if not path.endswith("status")}
    assert answered("tasks-on-target", files).status == "warn"


def test_a_task_with_an_empty_affinity_may_run_anywhere() -> None:
    status = {"/proc/900/status": "Name:\thog\nCpus_allowed:\t\nCpus_allowed_list:\t\n"}
    assert answered("tasks-on-target", process(900, "hog", 0, 5) | status).status == "warn"


@pytest.mark.parametrize(
    ("release", "controllers", "resets"),
    [
        ("6.1.0", "cpu", True),
        ("6.1.99-generic", "cpu", True),
        ("6.2.0", "cpu", False),
        ("6.1.0", "cpuset cpu", True),
    ],
)
def test_the_fix_notes_where_a_partition_resets_affinities(release: str, controllers: str, resets: bool) -> None:
    files = {
        "/sys/devices/system/cpu/isolated": "\n",
        "/proc/sys/kernel/osrelease": f"{release}\n",
        "/sys/fs/cgroup/cgroup.subtree_control": f"{controllers}\n",
    }
    fix = answered("target-not-isolated", files).fix
    assert fix is not None
    assert ("resets affinities set by taskset" in (fix.persist or "")) is resets


def test_linux_before_6_1_has_no_isolated_partitions_to_propose() -> None:
    files = {"/sys/devices/system/cpu/isolated": "\n", "/proc/sys/kernel/osrelease": "6.0.19\n"}
    fix = answered("target-not-isolated", files).fix
    assert fix is not None
    assert (fix.now, fix.needs_reboot) == (None, True)
