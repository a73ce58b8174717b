"""What is known of one CPU, one file or one moment says nothing of the others."""

from __future__ import annotations

from dataclasses import replace

import pytest

from noisewatch.judgement.case import Case
from noisewatch.judgement.verdict import judge
from noisewatch.kernel.snapshot.snapshot import Snapshot, SnapshotOptions, read_snapshot
from noisewatch.kernel.tasks.threads import TaskReader, Tasks
from noisewatch.model.interval.interval import interval_between
from noisewatch.model.interval.task_runs import run_tasks
from tests.judgement.example import VIRTUAL
from tests.judgement.judging import answered, finding, judged, judged_by_settings
from tests.written import WrittenMachine, reading
from tests.written.quiet_machine import ANSWERS, CPUS, TARGET, cpu_row, process, quiet_files, stat_file


def _stat_without(cpu: int, text: str) -> str:
    return "".join(line for line in text.splitlines(keepends=True) if not line.startswith(f"cpu{cpu} "))


def test_a_time_that_runs_backwards_is_unknown_though_all_adds_up() -> None:
    rows = stat_file({}, 300).splitlines(keepends=True)
    rows[3] = cpu_row("cpu2", user=500, idle=100_800)
    assert answered("target-cpu-busy", {}, {"/proc/stat": "".join(rows)}).status == "unknown"


def test_a_thread_that_was_not_read_before_is_not_taken_for_newborn() -> None:
    tasks = TaskReader().read(reading(process(900, "old", 2, 9_000_000_000)), frozenset({2}))
    assert tasks is not None
    assert run_tasks([Tasks({}, frozenset({900}), frozenset()), tasks], frozenset(), {}) == []


def test_an_irq_that_has_a_row_and_no_folder_is_routed_nobody_knows_where() -> None:
    table = quiet_files()["/proc/interrupts"] + " 26: 5 0 0 0 IO-APIC 9-edge nic\n"
    assert answered("irq-routed-to-target", {"/proc/interrupts": table}).status == "unknown"


def test_irqbalance_may_be_the_process_that_could_not_be_read() -> None:
    files = {"/proc/950/stat": "garbage"}
    machine = WrittenMachine(quiet_files() | files, quiet_files(3.0) | files, answers=ANSWERS)
    assert finding(judged(machine, frozenset({1})), "irqbalance-may-move-irqs").status == "unknown"


def test_irqbalance_spares_cpus_without_a_tick() -> None:
    files = {f"{CPUS}/isolated": "\n"} | process(800, "irqbalance", 0, 5)
    assert answered("irqbalance-may-move-irqs", files).status == "pass"


def test_tasks_that_were_not_seen_before_the_sample_are_unknown() -> None:
    before = {
        path: text for path, text in quiet_files().items() if not path.startswith("/proc/") or not path[6].isdigit()
    }
    machine = WrittenMachine(before, quiet_files(3.0), answers=ANSWERS)
    assert finding(judged(machine, frozenset({2, 3})), "tasks-on-target").status == "unknown"


def test_a_task_whose_affinity_cannot_be_read_may_run_anywhere() -> None:
    files = {path: text for path, text in process(900, "shy", 0, 5).items() if not path.endswith("status")}
    assert answered("tasks-on-target", files).status == "warn"


def test_no_quota_is_no_answer_where_throttling_cannot_be_read() -> None:
    files = {"/proc/self/cgroup": "0::/a\n", "/sys/fs/cgroup/a/cpu.max": "max 100000\n"}
    assert answered("cpu-quota", files).status == "unknown"
    settings = judged_by_settings(WrittenMachine(quiet_files() | files, answers=ANSWERS))
    assert finding(settings, "cpu-quota").status == "unknown"


def test_of_several_hierarchies_the_one_with_the_cpu_controller_counts() -> None:
    mounts = "".join(f"cgroup /sys/fs/cgroup/{name} cgroup rw,{name} 0 0\n" for name in ("memory", "cpu"))
    quota = {"cpu.cfs_quota_us": "50000\n", "cpu.cfs_period_us": "100000\n", "cpu.stat": "nr_throttled 0\n"}
    files = {"/proc/self/mounts": mounts, "/proc/self/cgroup": "2:memory:/\n1:cpu:/\n"}
    files |= {f"/sys/fs/cgroup/cpu/{name}": text for name, text in quota.items()}
    answer = answered("cpu-quota", files | {"/sys/fs/cgroup/memory/cgroup.procs": "1\n"})
    assert (answer.status, answer.measured) == ("fail", 0.5)


def test_all_tasks_waiting_for_io_fail_before_some_do() -> None:
    rows = "".join(f"{name} avg10=0.00 avg60=0.00 avg300=0.00 total=61000\n" for name in ("some", "full"))
    answer = answered("pressure-stall", {}, {"/proc/pressure/io": rows})
    assert (answer.status, answer.limit) == ("fail", 0.01)


def test_steal_of_one_target_cpu_says_nothing_of_another() -> None:
    before = {"/proc/stat": _stat_without(3, stat_file({}, 0, {2: 5}))}
    after = {"/proc/stat": _stat_without(3, stat_file({}, 310, {2: 5}))}
    assert answered("hypervisor-steal", VIRTUAL | before, after).status == "unknown"


def test_a_quiet_sibling_says_nothing_of_another() -> None:
    siblings = {
        f"{CPUS}/cpu2/topology/thread_siblings_list": "1-2\n",
        f"{CPUS}/cpu3/topology/thread_siblings_list": "0,3\n",
    }
    before = {"/proc/stat": _stat_without(1, stat_file({}, 0))}
    assert (
        answered("busy-sibling", siblings | before, {"/proc/stat": _stat_without(1, stat_file({}, 300))}).status
        == "unknown"
    )


def test_a_sibling_that_is_offline_disturbs_nobody() -> None:
    siblings = {f"{CPUS}/cpu2/topology/thread_siblings_list": "2,7\n"}
    assert answered("busy-sibling", siblings | {f"{CPUS}/offline": "7\n"}).status == "pass"


def test_a_sibling_of_which_nobody_says_whether_it_is_online_is_unknown() -> None:
    answer = answered("busy-sibling", {f"{CPUS}/cpu2/topology/thread_siblings_list": "2,7\n"})
    assert (answer.status, "CPU 7" in str(answer.reason)) == ("unknown", True)


def test_a_sibling_whose_time_is_counted_runs_whatever_the_list_of_online_cpus_says() -> None:
    files = {f"{CPUS}/online": "0,2-3\n", f"{CPUS}/cpu2/topology/thread_siblings_list": "1-2\n"}
    before = files | {"/proc/stat": stat_file({}, 0)}
    busy = answered("busy-sibling", before, {"/proc/stat": stat_file({1: 150}, 300)})
    assert (busy.status, set(busy.cpus)) == ("fail", {1})
    assert answered("busy-sibling", before, {"/proc/stat": stat_file({}, 300)}).status == "warn"


def test_a_userspace_governor_fails_unless_it_has_nothing_to_choose() -> None:
    governor = {f"{CPUS}/cpu2/cpufreq/scaling_governor": "userspace\n"}
    assert answered("governor-not-performance", governor).status == "pass"
    wide = {f"{CPUS}/cpu2/cpufreq/scaling_min_freq": "1200000\n"}
    assert answered("governor-not-performance", governor | wide).status == "fail"


def test_a_window_of_which_one_end_is_unknown_is_unknown() -> None:
    assert answered("frequency-window-open", {f"{CPUS}/cpu2/cpufreq/scaling_max_freq": "rubbish\n"}).status == "unknown"


def test_a_window_pinned_above_the_base_frequency_is_at_the_mercy_of_heat() -> None:
    base = {f"{CPUS}/cpu{cpu}/cpufreq/base_frequency": "2000000\n" for cpu in range(4)}
    assert answered("frequency-window-open", base).status == "warn"


def _granted(granted: list[int], previous: Snapshot | None = None, seconds: float = 0.0) -> Snapshot:
    machine = WrittenMachine(quiet_files(seconds), answers=ANSWERS | {"pin to CPUs": {"granted": granted}})
    snapshot = read_snapshot(machine, SnapshotOptions(TARGET), previous=previous)
    return replace(snapshot, taken_at_ns=snapshot.taken_at_ns + round(seconds * 1e9))


@pytest.mark.parametrize("granted", [([2, 3], [2], [2, 3]), ([2, 3], [2, 3], [2]), ([2], [2, 3], [2, 3])], ids=str)
def test_a_cpu_that_a_cpuset_took_away_while_we_looked_fails(granted: tuple[list[int], ...]) -> None:
    before = _granted(granted[0])
    after = _granted(granted[1], before, 3.0)
    last = _granted(granted[2], after, 6.0)
    case = Case(after, interval_between(before, after), under_load=interval_between(after, last))
    found = finding(judge(case), "target-cpu-unusable")
    assert (found.status, set(found.answer.cpus)) == ("fail", {3})


def test_another_target_is_tried_anew() -> None:
    answers = ANSWERS | {"pin to CPUs": {"granted": [2]}}
    before = read_snapshot(WrittenMachine(quiet_files(), answers=answers), SnapshotOptions(frozenset({2})))
    other = WrittenMachine(quiet_files(), answers={"pin to CPUs 3": {"reason": "invalid argument"}})
    after = read_snapshot(other, SnapshotOptions(frozenset({3})), previous=before)
    assert before.pin_trial.granted == frozenset({2})
    assert after.pin_trial.reason == "invalid argument"
