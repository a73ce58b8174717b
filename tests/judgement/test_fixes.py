"""Fixes carry this machine's CPU lists, and undo what they do with the values that were read."""

from __future__ import annotations

import subprocess

import pytest

from noisewatch.cpus import CpuSet
from noisewatch.judgement.catalogue import CATALOGUE
from noisewatch.judgement.fixes.fix import Fix
from tests.judgement.judging import finding, judged, judged_by_settings
from tests.written import WrittenMachine
from tests.written.quiet_machine import ANSWERS, CPUS, TARGET, process, quiet_files, stat_file

_SCHED_DEADLINE = 6


def _fix(check_id: str, changed: dict[str, str], cpus: CpuSet = TARGET, **options: object) -> Fix:
    machine = WrittenMachine(
        quiet_files() | changed,
        quiet_files(3.0) | changed,
        answers=ANSWERS,
        **options,  # type: ignore[arg-type]  # passed through
    )
    fix = finding(judged(machine, cpus), check_id).answer.fix
    assert fix is not None
    return fix


def test_the_governor_goes_back_to_what_each_cpu_had() -> None:
    fix = _fix(
        "governor-not-performance",
        {
            f"{CPUS}/cpu2/cpufreq/scaling_governor": "schedutil\n",
            f"{CPUS}/cpu3/cpufreq/scaling_governor": "ondemand\n",
        },
    )
    path = f"{CPUS}/cpu{{}}/cpufreq/scaling_governor"
    assert fix.now == f'for c in 2 3; do echo performance | sudo tee "{path.format("$c")}"; done'
    assert fix.undo == f"echo schedutil | sudo tee {path.format(2)}; echo ondemand | sudo tee {path.format(3)}"


def test_turbo_is_switched_by_the_knob_that_told_of_it() -> None:
    assert _fix("turbo-enabled", {f"{CPUS}/cpufreq/boost": "1\n"}).now == f"echo 0 | sudo tee {CPUS}/cpufreq/boost"
    no_turbo = f"{CPUS}/intel_pstate/no_turbo"
    fix = _fix("turbo-enabled", {no_turbo: "0\n"})
    assert (fix.now, fix.undo) == (f"echo 1 | sudo tee {no_turbo}", f"echo 0 | sudo tee {no_turbo}")


def test_an_irq_is_steered_to_the_housekeeping_cpus_and_back_to_its_own() -> None:
    folder = "/proc/irq/24"
    fix = _fix(
        "irq-routed-to-target", {f"{folder}/effective_affinity_list": "2\n", f"{folder}/smp_affinity_list": "2-3\n"}
    )
    assert fix.now == f"echo 0-1 | sudo tee {folder}/smp_affinity_list"
    assert fix.undo == f"echo 2-3 | sudo tee {folder}/smp_affinity_list"


@pytest.mark.parametrize(
    ("target", "others"),
    [
        pytest.param(frozenset({2}), "1,3", id="there are other cores"),
        pytest.param(frozenset({2, 3}), "0-1", id="every other CPU is a sibling"),
    ],
)
def test_work_moves_to_a_sibling_of_the_target_only_where_nothing_else_is_left(target: CpuSet, others: str) -> None:
    pairs = {f"{CPUS}/cpu{cpu}/topology/thread_siblings_list": f"{cpu % 2},{cpu % 2 + 2}\n" for cpu in range(4)}
    irq = "/proc/irq/24"
    affinity = {f"{irq}/effective_affinity_list": "2\n", f"{irq}/smp_affinity_list": "2\n"}
    fix = _fix("irq-routed-to-target", pairs | affinity, target)
    assert fix.now == f"echo {others} | sudo tee {irq}/smp_affinity_list"


def test_an_irq_that_the_kernel_manages_needs_a_boot_option() -> None:
    fix = _fix(
        "irq-routed-to-target",
        {"/proc/irq/24/effective_affinity_list": "2\n"},
        modes={"/proc/irq/24/smp_affinity": 0o444},
    )
    assert fix.now is None
    assert fix.needs_reboot
    assert "isolcpus=managed_irq,domain,2-3" in (fix.persist or "")


def test_all_irqs_are_steered_that_come_or_may_come() -> None:
    fix = _fix(
        "irq-routed-to-target",
        {
            "/proc/irq/24/effective_affinity_list": "2\n",
            "/proc/irq/24/smp_affinity_list": "2\n",
            "/proc/irq/25/smp_affinity_list": "0-3\n",
        },
    )
    assert fix.now == 'for n in 24 25; do echo 0-1 | sudo tee "/proc/irq/$n/smp_affinity_list"; done'
    assert fix.undo == (
        "echo 2 | sudo tee /proc/irq/24/smp_affinity_list; echo 0-3 | sudo tee /proc/irq/25/smp_affinity_list"
    )


def test_an_irq_that_only_the_kernel_could_bring_does_not_count() -> None:
    machine = WrittenMachine(
        quiet_files() | {"/proc/irq/25/smp_affinity_list": "0-3\n"},
        answers=ANSWERS,
        modes={"/proc/irq/25/smp_affinity": 0o444},
    )
    assert finding(judged_by_settings(machine), "irq-routed-to-target").status == "pass"


def test_one_that_is_nowhere_yet_may_come_though_only_the_kernel_moves_it() -> None:
    files = {"/proc/irq/25/smp_affinity_list": "0-3\n", "/proc/irq/25/effective_affinity_list": "\n"}
    machine = WrittenMachine(quiet_files() | files, answers=ANSWERS, modes={"/proc/irq/25/smp_affinity": 0o444})
    assert finding(judged_by_settings(machine), "irq-routed-to-target").status == "warn"


def test_the_default_mask_is_written_in_hexadecimal() -> None:
    fix = _fix("default-irq-affinity-includes-target", {"/proc/irq/default_smp_affinity": "f\n"})
    assert fix.now == "echo 3 | sudo tee /proc/irq/default_smp_affinity"
    assert fix.undo == "echo f | sudo tee /proc/irq/default_smp_affinity"


def test_a_partition_is_made_below_the_root_that_has_the_controller() -> None:
    fix = _fix("target-not-isolated", {f"{CPUS}/isolated": "\n"})
    assert "echo 2-3 | sudo tee /sys/fs/cgroup/benchmark/cpuset.cpus" in (fix.now or "")
    folder = "/sys/fs/cgroup/benchmark"
    assert fix.undo == (
        f"{{ [ ! -d {folder} ] || sudo rmdir {folder}; }} && "
        "echo -cpuset | sudo tee /sys/fs/cgroup/cgroup.subtree_control"
    )


def test_no_partition_is_proposed_where_cgroup_v2_has_no_cpuset_controller() -> None:
    fix = _fix("target-not-isolated", {f"{CPUS}/isolated": "\n", "/sys/fs/cgroup/cgroup.controllers": "cpu memory\n"})
    assert fix.now is None
    assert "isolcpus=domain,managed_irq,2-3" in (fix.persist or "")


def test_a_task_is_moved_away_and_back_to_where_it_might_run() -> None:
    before = quiet_files() | process(900, "hog", 2, 0, allowed="0-3")
    after = quiet_files(3.0) | process(900, "hog", 2, 2_000_000_000, allowed="0-3")
    fix = finding(judged(WrittenMachine(before, after, answers=ANSWERS)), "tasks-on-target").answer.fix
    assert fix is not None
    assert (fix.now, fix.undo) == ("sudo taskset -pc 0-1 900", "sudo taskset -pc 0-3 900")


def test_a_thread_that_the_kernel_refuses_to_pin_has_no_command_and_what_helps_is_said() -> None:
    others = process(901, "other", 3, 0, allowed="0-3")
    later = process(901, "other", 3, 2_000_000_000, allowed="0-3")
    for also_before, also_after, now in (({}, {}, None), (others, later, "sudo taskset -pc 0-1 901")):
        before = quiet_files() | process(900, "hog", 2, 0, allowed="0-3", policy=_SCHED_DEADLINE) | also_before
        after = process(900, "hog", 2, 2_000_000_000, allowed="0-3", policy=_SCHED_DEADLINE) | also_after
        machine = WrittenMachine(before, quiet_files(3.0) | after, answers=ANSWERS)
        fix = finding(judged(machine), "tasks-on-target").answer.fix
        assert fix is not None
        assert (fix.now, fix.persist_is_command) == (now, False)
        assert (fix.persist or "").endswith(
            "taskset cannot move SCHED_DEADLINE threads: stop them, or keep them away by an isolated cgroup partition "
            "(hog)"
        )


def test_a_command_for_a_lesser_culprit_says_so() -> None:
    before = quiet_files() | process(900, "hog", 2, 0, allowed="0-3")
    after = (
        quiet_files(3.0) | process(900, "hog", 2, 60_000_000, allowed="0-3") | {"/proc/stat": stat_file({2: 270}, 300)}
    )
    answer = finding(judged(WrittenMachine(before, after, answers=ANSWERS)), "tasks-on-target").answer
    assert answer.said.endswith("hog (pid 900): ~2.0% of CPU 2; only hog can be moved")
    assert answer.fix is not None


def test_a_bound_kernel_thread_is_named_without_a_command_that_cannot_work() -> None:
    flags = 0x0420_0000
    before = quiet_files() | process(40, "ksoftirqd/2", 2, 0, allowed="2", flags=flags)
    after = quiet_files(3.0) | process(40, "ksoftirqd/2", 2, 90_000_000, allowed="2", flags=flags)
    answer = finding(judged(WrittenMachine(before, after, answers=ANSWERS)), "tasks-on-target").answer
    assert answer.culprits[0].kind == "kernel-thread"
    assert answer.fix is None


_ALL_FAULTS = {
    f"{CPUS}/isolated": "\n",
    f"{CPUS}/cpufreq/boost": "1\n",
    f"{CPUS}/cpu2/cpufreq/scaling_governor": "powersave\n",
    f"{CPUS}/cpu2/cpufreq/scaling_max_freq": "3600000\n",
    f"{CPUS}/cpu2/topology/thread_siblings_list": "1-2\n",
    "/proc/irq/default_smp_affinity": "f\n",
    "/proc/irq/24/effective_affinity_list": "2\n",
    "/proc/irq/25/effective_affinity_list": "3\n",
    "/sys/devices/system/clocksource/clocksource0/current_clocksource": "hpet\n",
    "/sys/fs/cgroup/cpu.max": "50000 100000\n",
    "/sys/fs/cgroup/cpu.stat": "nr_throttled 0\n",
}


@pytest.mark.parametrize("name", ["now", "undo"])
def test_every_command_is_valid_shell(name: str) -> None:
    machine = WrittenMachine(quiet_files() | _ALL_FAULTS, quiet_files(3.0) | _ALL_FAULTS, answers=ANSWERS)
    fixes = [each.answer.fix for each in judged(machine, frozenset({2, 3})).findings if each.answer.fix is not None]
    commands = [command for fix in fixes if (command := getattr(fix, name)) is not None]
    refused = [command for command in commands if subprocess.run(["sh", "-n", "-c", command], check=False).returncode]
    assert len(commands) >= 7
    assert refused == []


def test_every_check_is_declared_in_full() -> None:
    incomplete = [
        each.id
        for each in CATALOGUE
        if not (each.question.endswith("?") and each.why and each.remedy and each.reads and each.sources)
    ]
    unreasoned = [limit.name for each in CATALOGUE for limit in each.limits if not limit.reason or not limit.unit]
    assert len({each.id for each in CATALOGUE}) == len(CATALOGUE)
    assert (incomplete, unreasoned) == ([], [])


def test_a_quota_is_lifted_and_brought_back_as_it_was() -> None:
    quota = {"/sys/fs/cgroup/cpu.max": "50000 100000\n", "/sys/fs/cgroup/cpu.stat": "nr_throttled 0\n"}
    fix = _fix("cpu-quota", quota)
    assert fix.now == "echo max | sudo tee /sys/fs/cgroup/cpu.max"
    assert fix.undo == "echo '50000 100000' | sudo tee /sys/fs/cgroup/cpu.max"


def test_a_partition_that_was_there_for_other_cpus_is_made_again_by_the_undo() -> None:
    folder = "/sys/fs/cgroup/benchmark"
    earlier = {
        f"{CPUS}/isolated": "\n",
        f"{folder}/cpuset.cpus.partition": "isolated\n",
        f"{folder}/cpuset.cpus": "1\n",
        f"{folder}/cpuset.cpus.effective": "1\n",
    }
    fix = _fix("target-not-isolated", earlier)
    assert "echo 2-3 | sudo tee /sys/fs/cgroup/benchmark/cpuset.cpus" in (fix.now or "")
    assert fix.undo == (
        f"echo 1 | sudo tee {folder}/cpuset.cpus && echo isolated | sudo tee {folder}/cpuset.cpus.partition"
    )


def test_what_lasts_is_a_file_of_ours_and_goes_again() -> None:
    governor = f"{CPUS}/cpu{{}}/cpufreq/scaling_governor"
    fix = _fix("governor-not-performance", {governor.format(cpu): "schedutil\n" for cpu in (2, 3)})
    path = "/etc/tmpfiles.d/noisewatch-cpu2-3.cpufreq.scaling_governor.conf"
    assert fix.persist == f"echo 'w {governor.format('[23]')} - - - - performance' | sudo tee {path}"
    assert fix.undo_persist == f"sudo rm -f {path}"
