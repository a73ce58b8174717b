"""`run --reserve` makes only those changes that keep other work off the target CPUs."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from msgspec.structs import replace

from noisewatch.cpus import format_cpu_list
from noisewatch.judgement.catalogue import CATALOGUE
from noisewatch.judgement.checks.cpus.isolation import target_not_isolated
from noisewatch.judgement.rules import Rules
from noisewatch.kernel.system.tuning import FileChange, GroupChange
from noisewatch.machine import Machine
from noisewatch.operations.machines import MachineOptions
from noisewatch.operations.preflight import PreflightOptions
from noisewatch.operations.tuning.plan import TuningPlan, read_plan
from noisewatch.operations.tuning.reserve import RESERVING, reserving_options, unreserved_reasons
from tests.judgement.example import all_examples
from tests.operations.listening import SilentListener
from tests.surfaces.running import changed
from tests.written.quiet_machine import CPUS, quiet_files
from tests.written.topologies import machine_of

_WORK = "/sys/devices/virtual/workqueue/cpumask"
_SHARED: dict[str, str | None] = {
    "/proc/cmdline": "root=UUID=1234\n",
    f"{CPUS}/isolated": "\n",
    f"{CPUS}/nohz_full": "\n",
    "/proc/irq/default_smp_affinity": "f\n",
    _WORK: "f\n",
    f"{CPUS}/cpu2/cpufreq/scaling_governor": "powersave\n",
}
_WITHOUT_CPUSETS: dict[str, str | None] = {"/sys/fs/cgroup/cgroup.controllers": "cpu memory\n"}
_OLD: dict[str, str | None] = {**_WITHOUT_CPUSETS, "/proc/sys/kernel/osrelease": "5.15.0\n"}
_OTHERS = "other processes may still use the target CPUs: "
_GROUP = "/sys/fs/cgroup/benchmark"


def _plan(changes: Mapping[str, str | None] = _SHARED, rules: Rules | None = None, cpus: str = "2-3") -> TuningPlan:
    return _plan_on(machine_of(changed(quiet_files(), changes)), rules, cpus)


def _plan_on(machine: Machine, rules: Rules | None, cpus: str = "2-3") -> TuningPlan:
    options = PreflightOptions(machine=MachineOptions(cpus=cpus))
    options = options if rules is None else replace(options, rules=rules)
    return read_plan(machine, reserving_options(options), SilentListener())


def test_only_other_work_is_kept_off_the_target_cpus() -> None:
    changes = [change for action in _plan().actions for change in action]
    files = {change.path: change.value for change in changes if isinstance(change, FileChange)}
    assert files["/proc/irq/default_smp_affinity"] == files[_WORK] == "3"
    assert files[f"{_GROUP}/cpuset.cpus.partition"] == "isolated"
    assert GroupChange(_GROUP) in changes
    assert not any("cpufreq" in path for path in files)


@pytest.mark.parametrize(
    "check_id",
    [
        "services-on-target",
        "irq-routed-to-target",
        "irqbalance-may-move-irqs",
        "packets-steered-to-target",
        "rcu-callbacks-on-target",
    ],
)
def test_each_kind_of_other_work_is_kept_off(check_id: str) -> None:
    examples = [one for one in all_examples() if one.id == check_id and one.status in ("fail", "warn")]
    plans = [_plan_on(one.machine(), one.rules, format_cpu_list(one.target)) for one in examples]
    assert check_id in [step.finding.check.id for plan in plans for step in plan.steps]


def test_isolated_cpus_need_no_partition() -> None:
    plan = _plan({})
    assert target_not_isolated.id not in [step.finding.check.id for step in plan.steps]
    assert not list(unreserved_reasons(plan))


def test_the_checks_exist() -> None:
    assert {check.id for check in CATALOGUE} >= RESERVING


@pytest.mark.parametrize(
    ("changes", "rules", "reason"),
    [
        ({}, None, None),
        (_WITHOUT_CPUSETS, None, "needs cgroup v2 with the cpuset controller"),
        (_OLD, None, ": an isolated partition needs cgroup v2 with the cpuset controller and Linux 6.1 or newer"),
        ({}, Rules(profile="parallel"), "load balancing"),
        ({}, Rules(ignored=frozenset({"target-not-isolated"})), "ignored, as requested"),
    ],
)
def test_processes_that_may_still_use_the_target_cpus_are_reported(
    changes: Mapping[str, str | None], rules: Rules | None, reason: str | None
) -> None:
    reasons = list(unreserved_reasons(_plan({**_SHARED, **changes}, rules)))
    if reason is None:
        assert reasons == []
    else:
        assert [text.startswith(_OTHERS) for text in reasons] == [True]
        assert reason in reasons[0]


def test_doubtful_isolation_needs_a_partition_too() -> None:
    (example,) = (one for one in all_examples() if (one.id, one.status) == (target_not_isolated.id, "warn"))
    changes = {**_SHARED, **example.changed, **dict.fromkeys(example.gone), **_WITHOUT_CPUSETS}
    (reason,) = unreserved_reasons(_plan(changes))
    assert reason == f"{_OTHERS}an isolated partition needs cgroup v2 with the cpuset controller"


def test_a_machine_without_other_cpus_needs_fewer_target_cpus() -> None:
    (reason,) = unreserved_reasons(_plan(cpus="0-3"))
    assert reason.startswith(f"{_OTHERS}choose fewer target CPUs")


def test_an_unreadable_setting_is_reported() -> None:
    (text,) = unreserved_reasons(_plan({**_SHARED, "/proc/irq/default_smp_affinity": None}))
    assert text.startswith("default-irq-affinity-includes-target is unknown: /proc/irq/default_smp_affinity")
