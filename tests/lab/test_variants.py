"""Machines with one CPU, or with tickless CPUs that are not isolated."""

from __future__ import annotations

from tests.lab.expected import finding
from tests.lab.lab import Lab


def test_a_machine_with_one_cpu_is_unstable(one_cpu: Lab) -> None:
    machine = one_cpu.show()
    assert (machine["cpus"]["online"], machine["cpus"]["target"]) == ([0], [0])
    report = one_cpu.preflight()
    assert report["exit_status"] == 1
    assert {check_id: finding(report, check_id)["status"] for check_id in _OF_ONE_CPU} == _OF_ONE_CPU
    assert finding(report, "target-not-isolated")["fix"]["now"] is None
    assert "all other work needs a CPU" in finding(report, "target-not-isolated")["fix"]["persist"]
    result = one_cpu.run("noisewatch preflight --sample 0 --no-calibration")
    assert "all CPUs are target CPUs: noisewatch itself runs on CPU 0" in result.err


_OF_ONE_CPU = {
    "target-cpu-unusable": "pass",
    "busy-sibling": "warn",  # whether the host has one cannot be seen
    "target-not-isolated": "fail",
    "irq-routed-to-target": "warn",
    "default-irq-affinity-includes-target": "fail",
    "governor-not-performance": "fail",
}


def test_the_tick_may_be_stopped_on_cpus_that_are_not_isolated(nohz_full: Lab) -> None:
    cpus = nohz_full.show()["cpus"]
    assert (cpus["nohz_full"], cpus["rcu_nocbs"], cpus["isolated"]) == ([2, 3, 6, 7], [2, 3, 6, 7], [])
    assert (cpus["target"], cpus["isolcpus"]) == ([2, 3, 4, 5, 6, 7], [])
    report = nohz_full.preflight("--cpus 2-3 --sample 0 --no-calibration")
    isolation = finding(report, "target-not-isolated")
    assert (isolation["status"], isolation["cpus"]) == ("fail", [2, 3])
    assert finding(report, "threads-confined-to-isolated-cpus")["status"] == "not-applicable"
