"""Findings become changes; what tune leaves to people is listed."""

from __future__ import annotations

from collections.abc import Mapping

from noisewatch.judgement.fixes.changes import changes_of
from noisewatch.kernel.system.tuning import FileChange
from noisewatch.operations.tuning.plan import TuningPlan, plan_tuning
from tests.judgement.example import all_examples
from tests.judgement.judging import judged_by_settings
from tests.surfaces.running import changed
from tests.written.quiet_machine import CPUS, quiet_files
from tests.written.topologies import machine_of

_LEFT_TO_PEOPLE = {  # limits of other groups, other processes, CPUs, swap, security, devices
    "background-job-runs",
    "busy-sibling",
    "cpu-quota",
    "custom-scheduler-loaded",
    "dirty-pages-pending",
    "disk-array-rebuilds",
    "hardware-counters-unusable",
    "job-scheduled",
    "layout-not-random",
    "memory-short",
    "priority-lowered",
    "swapping",
    "tuning-left-behind",
    "target-cpu-unusable",
}


def _actions_by_check() -> dict[str, list[object]]:
    actions: dict[str, list[object]] = {}
    for example in all_examples():
        fix = example.found().answer.fix
        for action in () if fix is None else fix.actions:
            actions.setdefault(example.id, []).append(changes_of(action))
    return actions


def test_each_action_is_made_by_tune_or_left_to_people_on_purpose() -> None:
    actions = _actions_by_check()
    left = {check for check, changes in actions.items() if None in changes}
    assert left == _LEFT_TO_PEOPLE
    assert len(actions) > len(left) + 35


_GOVERNOR = {f"{CPUS}/cpu{cpu}/cpufreq/scaling_governor": "powersave\n" for cpu in range(4)}
_PREFERENCE = {f"{CPUS}/cpu{cpu}/cpufreq/energy_performance_preference": "balance_power\n" for cpu in range(4)}


def _plan(files: Mapping[str, str | None], makes_partition: bool = False) -> TuningPlan:
    files_or_none = changed(quiet_files(), files)
    return plan_tuning(judged_by_settings(machine_of(files_or_none)), makes_partition)


def test_only_settings_that_differ_are_changed() -> None:
    first = f"{CPUS}/cpu2/cpufreq/scaling_governor"
    (step,) = _plan({first: "powersave\n"}).steps
    assert step.finding.check.id == "governor-not-performance"
    assert [(planned.change, planned.before) for planned in step.changes] == [
        (FileChange(first, "performance"), "powersave")
    ]


def test_a_quiet_machine_is_left_as_it_is() -> None:
    plan = _plan({})
    assert (plan.steps, plan.left) == ((), ())


def test_the_energy_preference_is_written_before_the_governor_that_locks_it() -> None:
    plan = _plan(_GOVERNOR | _PREFERENCE)
    paths = [planned.change.path for step in plan.steps for planned in step.changes]  # type: ignore[union-attr]
    names = [path.rsplit("/", 1)[1] for path in paths]
    assert {"energy_performance_preference", "scaling_governor"} <= set(names)
    assert names == sorted(names)
    assert len(paths) == len(set(paths))


def test_a_partition_is_made_on_request_only() -> None:
    no_isolation = {f"{CPUS}/isolated": "\n"}
    plan = _plan(no_isolation)
    assert "target-not-isolated" in [finding.check.id for finding in plan.left]
    assert all(step.finding.check.id != "target-not-isolated" for step in plan.steps)
    (step,) = [
        step
        for step in _plan(no_isolation, makes_partition=True).steps
        if step.finding.check.id == "target-not-isolated"
    ]
    assert [type(planned.change).__name__ for planned in step.changes][-2:] == ["FileChange", "FileChange"]
