"""A machine with isolated CPUs that is not tuned otherwise."""

from __future__ import annotations

import pytest

from tests.lab.expected import ISOLATED_CPUS, QUIET, UNTUNED, assert_statuses, blamed_cpus, finding
from tests.lab.lab import Lab
from tests.lab.tuning import apply_fixes, settings


@pytest.mark.lab_core
def test_an_untuned_machine_is_unstable_and_its_fixes_can_be_undone(isolated: Lab) -> None:
    before = settings(isolated)
    report = isolated.preflight()
    assert_statuses(report, UNTUNED)
    assert (report["target"], report["verdict"], report["exit_status"]) == (ISOLATED_CPUS, "unstable", 1)
    assert finding(report, "governor-not-performance")["cpus"] == ISOLATED_CPUS
    assert "schedutil" in finding(report, "governor-not-performance")["said"]
    assert "i8042" in finding(report, "irq-routed-to-target")["said"]
    assert blamed_cpus(report) == set()
    with apply_fixes(isolated, report):
        assert settings(isolated) != before
        after = isolated.preflight()
        assert_statuses(after, QUIET)
        assert (after["verdict"], after["exit_status"]) == ("unknown", 3)  # no steal time is ever reported here
    assert settings(isolated) == before


@pytest.mark.lab_core
def test_show_has_the_boot_settings_and_the_topology(isolated: Lab) -> None:
    machine = isolated.show()
    assert machine["cpus"] == {
        "online": list(range(8)),
        "offline": [],
        "online_said_by": "/sys/devices/system/cpu/online",
        "isolated": ISOLATED_CPUS,
        "isolated_by": {"boot": ISOLATED_CPUS, "partition": [], "cgroup_v1": []},
        "nohz_full": ISOLATED_CPUS,
        "rcu_nocbs": ISOLATED_CPUS,
        "isolcpus": [{"flags": ["domain", "managed_irq"], "cpus": ISOLATED_CPUS}],
        "target": ISOLATED_CPUS,
        "target_chosen_by": "isolated",
    }
    places = {row["cpu"]: (row["package"], row["node"], row["siblings"]) for row in machine["topology"]}
    assert places == {cpu: (cpu // 4, cpu // 4, [cpu // 2 * 2, cpu // 2 * 2 + 1]) for cpu in range(8)}
    assert [row["last_level_cache"] for row in machine["topology"]] == [[0, 1, 2, 3]] * 4 + [[4, 5, 6, 7]] * 4
    assert machine["frequency"]["driver"] == "acpi-cpufreq"
    assert {row["governor"] for row in machine["frequency"]["cpus"]} == {"schedutil"}
    assert {(row["min_khz"], row["max_khz"]) for row in machine["frequency"]["cpus"]} == {(1_600_000, 3_400_000)}


def test_the_printed_fix_takes_a_sibling_offline_and_its_undo_brings_it_back(isolated: Lab) -> None:
    options = "--cpus 2 --sample 0 --no-calibration"
    sibling = finding(isolated.preflight(options), "busy-sibling")
    assert (sibling["status"], sibling["cpus"]) == ("warn", [3])
    isolated.do(sibling["fix"]["now"])
    assert isolated.read("/sys/devices/system/cpu/online") == "0-2,4-7"
    after = finding(isolated.preflight(options), "busy-sibling")
    assert (after["status"], after["cpus"]) == ("warn", [])  # a virtual machine may hide others
    isolated.do(sibling["fix"]["undo"])
    assert isolated.read("/sys/devices/system/cpu/online") == "0-7"


def test_the_printed_fix_brings_an_offline_target_cpu_online(isolated: Lab) -> None:
    options = "--cpus 6-7 --sample 0 --no-calibration"
    isolated.write("/sys/devices/system/cpu/cpu7/online", 0)
    unusable = finding(isolated.preflight(options), "target-cpu-unusable")
    assert (unusable["status"], unusable["cpus"]) == ("fail", [7])
    isolated.do(unusable["fix"]["now"])
    assert finding(isolated.preflight(options), "target-cpu-unusable")["status"] == "pass"
    isolated.do(unusable["fix"]["undo"])
    assert isolated.read("/sys/devices/system/cpu/online") == "0-6"
    isolated.write("/sys/devices/system/cpu/cpu7/online", 1)
