"""The machine as it boots: isolated CPUs, and nothing else done for a benchmark."""

from __future__ import annotations

import pytest

from tests.lab.expected import ISOLATED_CPUS, QUIET, UNTUNED, assert_statuses, blamed_cpus, finding
from tests.lab.lab import Lab
from tests.lab.tuning import settings, tuned


@pytest.mark.lab_core
def test_an_untuned_machine_and_what_its_fixes_and_undos_do(isolated: Lab) -> None:
    before = settings(isolated)
    report = isolated.preflight()
    assert_statuses(report, UNTUNED)
    assert (report["target"], report["verdict"], report["exit_status"]) == (ISOLATED_CPUS, "unstable", 1)
    assert finding(report, "governor-not-performance")["cpus"] == ISOLATED_CPUS
    assert "schedutil" in finding(report, "governor-not-performance")["said"]
    assert "i8042" in finding(report, "irq-routed-to-target")["said"]
    assert blamed_cpus(report) == set()
    with tuned(isolated, report):
        assert settings(isolated) != before
        after = isolated.preflight()
        assert_statuses(after, QUIET)
        assert (after["verdict"], after["exit_status"]) == ("unknown", 3)  # no steal time is ever reported here
    assert settings(isolated) == before


@pytest.mark.lab_core
def test_show_tells_what_the_kernel_was_booted_with(isolated: Lab) -> None:
    shown = isolated.show()
    assert shown["cpus"] == {
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
    places = {each["cpu"]: (each["package"], each["node"], each["siblings"]) for each in shown["topology"]}
    assert places == {cpu: (cpu // 4, cpu // 4, [cpu // 2 * 2, cpu // 2 * 2 + 1]) for cpu in range(8)}
    assert [each["last_level_cache"] for each in shown["topology"]] == [[0, 1, 2, 3]] * 4 + [[4, 5, 6, 7]] * 4
    assert shown["frequency"]["driver"] == "acpi-cpufreq"
    assert {each["governor"] for each in shown["frequency"]["cpus"]} == {"schedutil"}
    assert {(each["min_khz"], each["max_khz"]) for each in shown["frequency"]["cpus"]} == {(1_600_000, 3_400_000)}


def test_a_sibling_is_taken_offline_as_printed_and_brought_back(isolated: Lab) -> None:
    options = "--cpus 2 --sample 0 --no-calibration"
    found = finding(isolated.preflight(options), "busy-sibling")
    assert (found["status"], found["cpus"]) == ("warn", [3])
    isolated.do(found["fix"]["now"])
    assert isolated.read("/sys/devices/system/cpu/online") == "0-2,4-7"
    gone = finding(isolated.preflight(options), "busy-sibling")
    assert (gone["status"], gone["cpus"]) == ("warn", [])  # a virtual machine may hide others
    isolated.do(found["fix"]["undo"])
    assert isolated.read("/sys/devices/system/cpu/online") == "0-7"


def test_an_offline_target_cpu_is_brought_online_as_printed(isolated: Lab) -> None:
    options = "--cpus 6-7 --sample 0 --no-calibration"
    isolated.write("/sys/devices/system/cpu/cpu7/online", 0)
    found = finding(isolated.preflight(options), "target-cpu-unusable")
    assert (found["status"], found["cpus"]) == ("fail", [7])
    isolated.do(found["fix"]["now"])
    assert finding(isolated.preflight(options), "target-cpu-unusable")["status"] == "pass"
    isolated.do(found["fix"]["undo"])
    assert isolated.read("/sys/devices/system/cpu/online") == "0-6"
    isolated.write("/sys/devices/system/cpu/cpu7/online", 1)
