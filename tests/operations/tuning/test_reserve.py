"""`run --reserve` makes only those changes that keep other work off the target CPUs."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from msgspec.structs import replace

from noisewatch.judgement.catalogue import CATALOGUE
from noisewatch.judgement.rules import Rules
from noisewatch.kernel.system.tuning import FileChange, GroupChange
from noisewatch.operations.machines import MachineOptions
from noisewatch.operations.preflight import PreflightOptions
from noisewatch.operations.tuning.plan import TuningPlan, read_plan
from noisewatch.operations.tuning.reserve import RESERVING, reserving_options, unreserved_reasons
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
_GROUP = "/sys/fs/cgroup/benchmark"


def _plan(changes: Mapping[str, str | None] = _SHARED, rules: Rules | None = None) -> TuningPlan:
    options = PreflightOptions(machine=MachineOptions(cpus="2-3"))
    options = options if rules is None else replace(options, rules=rules)
    return read_plan(machine_of(changed(quiet_files(), changes)), reserving_options(options), SilentListener())


def test_only_other_work_is_kept_off_the_target_cpus() -> None:
    changes = [change for action in _plan().actions for change in action]
    files = {change.path: change.value for change in changes if isinstance(change, FileChange)}
    assert files["/proc/irq/default_smp_affinity"] == files[_WORK] == "3"
    assert files[f"{_GROUP}/cpuset.cpus.partition"] == "isolated"
    assert GroupChange(_GROUP) in changes
    assert not any("cpufreq" in path for path in files)


def test_the_checks_exist() -> None:
    assert {check.id for check in CATALOGUE} >= RESERVING


@pytest.mark.parametrize(
    ("changes", "rules", "reason"),
    [
        ({}, None, None),
        ({"/sys/fs/cgroup/cgroup.controllers": "cpu memory\n"}, None, "needs cgroup v2 with the cpuset controller"),
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
        assert [text.startswith("other processes may still use the target CPUs: ") for text in reasons] == [True]
        assert reason in reasons[0]


def test_an_unreadable_setting_is_reported() -> None:
    (text,) = unreserved_reasons(_plan({**_SHARED, "/proc/irq/default_smp_affinity": None}))
    assert text.startswith("default-irq-affinity-includes-target is unknown: /proc/irq/default_smp_affinity")
