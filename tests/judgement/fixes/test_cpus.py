"""Fixes of the isolation and scheduler checks, and their undo."""

from __future__ import annotations

from tests.judgement.example import Example
from tests.judgement.fixes.proposed import fix_of
from tests.judgement.judging import finding, finding_on, judged
from tests.written import WrittenMachine
from tests.written.quiet.cpus import SYSTEM, USER
from tests.written.quiet_machine import ANSWERS, CPUS, process, quiet_files, stat_file

_SCHED_DEADLINE = 6
_OPEN = {"/proc/1/status": "Cpus_allowed_list:\t0-3\n"}


def test_a_partition_is_made_below_the_root_that_has_the_controller() -> None:
    fix = fix_of("target-not-isolated", {f"{CPUS}/isolated": "\n"})
    assert "echo 2-3 | sudo tee /sys/fs/cgroup/benchmark/cpuset.cpus" in (fix.now or "")
    folder = "/sys/fs/cgroup/benchmark"
    assert fix.undo == (
        f"{{ [ ! -d {folder} ] || sudo rmdir {folder}; }} && "
        "echo -cpuset | sudo tee /sys/fs/cgroup/cgroup.subtree_control"
    )


def test_no_partition_is_proposed_where_cgroup_v2_has_no_cpuset_controller() -> None:
    fix = fix_of("target-not-isolated", {f"{CPUS}/isolated": "\n", "/sys/fs/cgroup/cgroup.controllers": "cpu memory\n"})
    assert fix.now is None
    assert "isolcpus=domain,managed_irq,2-3" in (fix.persist or "")


def test_the_undo_restores_an_earlier_partition_of_other_cpus() -> None:
    folder = "/sys/fs/cgroup/benchmark"
    earlier = {
        f"{CPUS}/isolated": "\n",
        f"{folder}/cpuset.cpus.partition": "isolated\n",
        f"{folder}/cpuset.cpus": "1\n",
        f"{folder}/cpuset.cpus.effective": "1\n",
    }
    fix = fix_of("target-not-isolated", earlier)
    assert "echo 2-3 | sudo tee /sys/fs/cgroup/benchmark/cpuset.cpus" in (fix.now or "")
    assert fix.undo == (
        f"echo 1 | sudo tee {folder}/cpuset.cpus && echo isolated | sudo tee {folder}/cpuset.cpus.partition"
    )


def test_a_task_is_moved_away_and_its_affinity_restored() -> None:
    before = quiet_files() | process(900, "hog", 2, 0, allowed="0-3")
    after = quiet_files(3.0) | process(900, "hog", 2, 2_000_000_000, allowed="0-3")
    fix = finding_on(WrittenMachine(before, after, answers=ANSWERS), "tasks-on-target").answer.fix
    assert fix is not None
    assert (fix.now, fix.undo) == ("sudo taskset -pc 0-1 900", "sudo taskset -pc 0-3 900")


def test_a_deadline_thread_has_advice_instead_of_a_command() -> None:
    others = process(901, "other", 3, 0, allowed="0-3")
    later = process(901, "other", 3, 2_000_000_000, allowed="0-3")
    for also_before, also_after, now in (({}, {}, None), (others, later, "sudo taskset -pc 0-1 901")):
        before = quiet_files() | process(900, "hog", 2, 0, allowed="0-3", policy=_SCHED_DEADLINE) | also_before
        after = process(900, "hog", 2, 2_000_000_000, allowed="0-3", policy=_SCHED_DEADLINE) | also_after
        machine = WrittenMachine(before, quiet_files(3.0) | after, answers=ANSWERS)
        fix = finding_on(machine, "tasks-on-target").answer.fix
        assert fix is not None
        assert (fix.now, fix.persist_is_command) == (now, False)
        assert (fix.persist or "").endswith(
            "taskset cannot move SCHED_DEADLINE threads: stop them, or use an isolated cgroup partition (hog)"
        )


def test_a_command_for_a_lesser_culprit_names_it() -> None:
    before = quiet_files() | process(900, "hog", 2, 0, allowed="0-3")
    after = (
        quiet_files(3.0) | process(900, "hog", 2, 60_000_000, allowed="0-3") | {"/proc/stat": stat_file({2: 270}, 300)}
    )
    answer = finding_on(WrittenMachine(before, after, answers=ANSWERS), "tasks-on-target").answer
    assert answer.said.endswith("hog (pid 900): ~2.0% of CPU 2; only hog (pid 900) can be moved")
    assert answer.fix is not None


def test_a_bound_kernel_thread_is_a_culprit_without_a_command() -> None:
    flags = 0x0420_0000
    before = quiet_files() | process(40, "ksoftirqd/2", 2, 0, allowed="2", flags=flags)
    after = quiet_files(3.0) | process(40, "ksoftirqd/2", 2, 90_000_000, allowed="2", flags=flags)
    answer = finding_on(WrittenMachine(before, after, answers=ANSWERS), "tasks-on-target").answer
    assert answer.culprits[0].kind == "kernel-thread"
    assert answer.fix is None


def test_tickless_cpus_are_added_to_the_present_ones_and_never_the_boot_cpu() -> None:
    fix = fix_of("target-not-tickless", {f"{CPUS}/nohz_full": "1\n"})
    assert (fix.now, fix.persist) == (None, "add to the kernel command line and reboot: nohz_full=1-3")
    ticking = quiet_files() | {f"{CPUS}/nohz_full": "\n"}
    of_boot_cpu = judged(WrittenMachine(ticking, ticking, answers=ANSWERS), frozenset({0}))
    assert finding(of_boot_cpu, "target-not-tickless").answer.fix is None


def test_offloading_keeps_offloaded_cpus() -> None:
    fix = fix_of("rcu-callbacks-on-target", {"/proc/cmdline": "rcu_nocbs=1\n", f"{CPUS}/nohz_full": "\n"})
    assert fix.persist == "add to the kernel command line and reboot: rcu_nocbs=1-3"


def test_offloading_threads_move_away_and_back() -> None:
    changed = {"/proc/cmdline": "rcu_nocbs=2-3\n", f"{CPUS}/isolated": "\n"}
    fix = fix_of("rcu-callbacks-on-target", changed | process(50, "rcuop/2", 0, 0, allowed="0-3", flags=0x0020_0000))
    assert (fix.now, fix.undo) == ("sudo taskset -pc 0-1 50", "sudo taskset -pc 0-3 50")


def test_slices_are_confined_and_their_allowed_cpus_restored() -> None:
    limited = {f"{SYSTEM}/cpuset.cpus.effective": "1-3\n", f"{SYSTEM}/cpuset.cpus": "1-3\n"}
    fix = fix_of("services-on-target", _OPEN | limited)
    command = "sudo systemctl set-property {}-- {} AllowedCPUs={}"
    for line, how_long in ((fix.now, "--runtime "), (fix.persist, "")):
        loop_command = command.format(how_long, '"$n"', "0-1")
        assert line == f"for n in system.slice user.slice; do {loop_command}; done"
    assert fix.undo == "; ".join(
        [command.format("--runtime ", "system.slice", "1-3"), command.format("--runtime ", "user.slice", "")]
    )


def test_an_unread_limit_of_a_slice_has_no_undo() -> None:
    assert fix_of("services-on-target", _OPEN | {f"{USER}/cpuset.cpus.effective": "0-3\n"}).undo is None


def test_a_governor_that_waits_for_the_tick_goes_back_to_powersave() -> None:
    own = f"{CPUS}/cpu{{}}/cpufreq"
    files = {f"{own.format(cpu)}/scaling_driver": "intel_pstate\n" for cpu in (2, 3)}
    files |= {f"{own.format(3)}/scaling_governor": "powersave\n", f"{own.format(3)}/scaling_min_freq": "800000\n"}
    missing = tuple(f"{own.format(cpu)}/energy_performance_preference" for cpu in (2, 3))
    fix = Example("clock-waits-for-tick", "fail", files, gone=missing).found().answer.fix
    assert fix is not None
    assert fix.now == f"echo performance | sudo tee {own.format(3)}/scaling_governor"
    assert fix.undo == f"echo powersave | sudo tee {own.format(3)}/scaling_governor"
