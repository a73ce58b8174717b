"""Steps of a plan: the fixes of preflight's checks, after which these checks pass."""

from __future__ import annotations

from pathlib import Path

import pytest

from noisewatch.judgement.checks.cpus.isolation import target_not_isolated
from noisewatch.judgement.plan.plan import Plan
from tests.judgement.fixes.fake_root import sh
from tests.judgement.judging import finding, judged_by_settings
from tests.judgement.plan.planned import planned
from tests.written import Files
from tests.written.quiet.system import CONFIG, CONFIG_TEXT
from tests.written.quiet_machine import CPUS, process
from tests.written.topologies import cores, files_of, machine_of

_FILES = files_of(cores(8, 2)) | {
    "/proc/irq/24/smp_affinity_list": "0-15\n",
    "/proc/irq/24/effective_affinity_list": "1\n",
    "/proc/irq/default_smp_affinity": "ffff\n",
    "/sys/devices/virtual/workqueue/cpumask": "ffff\n",
    "/sys/devices/virtual/workqueue/cpumask_requested": "ffff\n",
}
_PARTITION = "/sys/fs/cgroup/benchmark"


def _commands(plan: Plan) -> list[str | None]:
    return [step.fix.now for step in plan.steps.now]


def test_steps_are_the_fixes_of_preflight_for_the_same_cpus() -> None:
    plan = planned(_FILES, 2)
    verdict = judged_by_settings(machine_of(_FILES), plan.proposal.reserved)
    assert len(plan.steps.all) > 5
    for step in plan.steps.all:
        assert step.fix == finding(verdict, step.check.id).answer.fix


def test_steps_are_idempotent_and_their_undo_is_complete(tmp_path: Path) -> None:
    plan, root = planned(_FILES, 2), tmp_path / "root"
    written = {path: _FILES[path] for path in _FILES if "/irq/" in path or "workqueue/cpumask" in path}
    for path, text in written.items():
        (root / path.lstrip("/")).parent.mkdir(parents=True, exist_ok=True)
        (root / path.lstrip("/")).write_text(text)
    before = sh(root)
    once = sh(root, *_commands(plan))
    assert sh(root, *_commands(plan)) == once
    assert once["proc/irq/24/smp_affinity_list"] == "0,3-8,11-15\n"
    assert once[f"{_PARTITION[1:]}/cpuset.cpus"] == "1-2,9-10\n"
    assert once[f"{_PARTITION[1:]}/cpuset.cpus.partition"] == "isolated\n"
    assert sh(root, *(step.fix.undo for step in reversed(plan.steps.now))) == before


def test_preflight_passes_isolation_after_the_steps() -> None:
    plan = planned(_FILES, 2)
    after = _FILES | {
        f"{_PARTITION}/cpuset.cpus": "1-2,9-10\n",
        f"{_PARTITION}/cpuset.cpus.effective": "1-2,9-10\n",
        f"{_PARTITION}/cpuset.cpus.partition": "isolated\n",
        "/sys/fs/cgroup/cpuset.cpus.isolated": "1-2,9-10\n",
    }
    assert finding(judged_by_settings(machine_of(after), plan.proposal.run), "target-not-isolated").status == "pass"
    again = planned(after, 2)
    assert again.proposal.run == plan.proposal.run
    assert target_not_isolated not in [step.check for step in again.steps.all]
    assert again.partition == _PARTITION


def test_kernel_options_are_one_line_with_the_replaced_options_listed() -> None:
    plan = planned(_FILES | {"/proc/cmdline": "root=UUID=1 isolcpus=7\n"}, 2)
    assert plan.steps.kernel_arguments == (
        "irqaffinity=0,3-8,11-15 workqueue.unbound_cpus=0,3-8,11-15 isolcpus=domain,managed_irq,1-2,9-10 "
        "nohz_full=1-2,9-10 rcu_nocbs=1-2,9-10"
    )
    assert plan.given_options == {"isolcpus": "7"}


def test_irqbalance_is_stopped_before_interrupts_are_moved() -> None:
    plan = planned(_FILES | process(812, "irqbalance", 0, 1_000_000), 1)
    assert [step.check.id for step in plan.steps.now][:2] == ["irqbalance-may-move-irqs", "irq-routed-to-target"]


def test_no_partition_is_made_before_linux_6_1() -> None:
    plan = planned(_FILES | _OLD, 1)
    assert plan.steps.partition is None
    assert "isolcpus=domain,managed_irq,1,9" in plan.steps.kernel_arguments


_VERSION_1 = {
    "/proc/self/cgroup": "4:cpuset:/\n0::/\n",
    "/proc/self/mounts": "cgroup /sys/fs/cgroup/cpuset cgroup rw,cpuset 0 0\n",
}
_OLD = {"/proc/sys/kernel/osrelease": "5.15.0\n", "/proc/version": "Linux version 5.15.0 (a@b) #1 SMP\n"}


@pytest.mark.parametrize(
    ("files", "missing"),
    [
        (_OLD, "Linux 6.1 or newer (it has cgroup v2 with the cpuset controller)."),
        (_VERSION_1, "cgroup v2 with the cpuset controller (it has Linux 6.14)."),
        (_VERSION_1 | _OLD, "cgroup v2 with the cpuset controller and Linux 6.1 or newer."),
    ],
)
def test_only_missing_requirements_of_a_partition_are_listed(files: Files, missing: str) -> None:
    plan = planned({**_FILES, **files}, 1)
    assert plan.steps.partition is None
    assert plan.no_partition_reason == (
        f"The CPUs cannot be isolated without a reboot, because this machine lacks {missing}"
    )


def test_options_that_the_kernel_lacks_are_left_out_with_the_reason() -> None:
    config = CONFIG_TEXT.replace("CONFIG_NO_HZ_FULL=y", "# CONFIG_NO_HZ_FULL is not set")
    plan = planned(_FILES | {CONFIG: config}, 1)
    assert "nohz_full" not in plan.steps.kernel_arguments
    assert plan.steps.left_out == {
        "target-not-tickless": "this kernel cannot stop the tick (built without CONFIG_NO_HZ_FULL)"
    }


def test_isolation_is_advised_if_it_is_unknown() -> None:
    files = {path: text for path, text in _FILES.items() if path != f"{CPUS}/isolated"}
    plan = planned(machine_of(files, is_copy=True), 1)
    assert "target-not-isolated" in plan.steps.unknown
    assert "isolcpus=domain,managed_irq,1,9" in plan.steps.kernel_arguments


def test_the_benchmark_is_started_within_the_partition_and_bound_to_its_node() -> None:
    plan = planned(files_of(cores(8, sockets=2)), 2)
    commands = {line.about: line.command for line in plan.start_lines}
    assert commands["enter"] == f"echo $$ | sudo tee {_PARTITION}/cgroup.procs"
    assert commands["run"] == "taskset -c 4-5 numactl --membind=1 ./benchmark"
    assert commands["watched"] == "noisewatch run --cpus 4-5 --membind 1 --spread -- ./benchmark"
    assert commands["real-time"].startswith("sudo chrt --fifo 1 taskset -c 4-5 ")
