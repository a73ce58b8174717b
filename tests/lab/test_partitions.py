"""Cgroup partitions created on a machine without isolated CPUs."""

from __future__ import annotations

import json

from tests.lab.expected import finding
from tests.lab.lab import Lab
from tests.lab.tuning import settings

_SETTINGS = "--sample 0 --no-calibration"
_GROUPS = "/sys/fs/cgroup"


def test_the_printed_fix_creates_a_target_partition_and_its_undo_removes_it(plain: Lab) -> None:
    before = plain.show()
    assert before["cpus"]["target"] == [2, 3, 4, 5, 6, 7]
    assert before["cpus"]["isolated"] == []
    fix = finding(plain.preflight(f"--cpus 2-3 {_SETTINGS}"), "target-not-isolated")["fix"]
    plain.do(fix["now"])
    during = plain.show()
    assert during["cpus"]["isolated_by"] == {"boot": [], "partition": [2, 3], "cgroup_v1": []}
    assert (during["cpus"]["target"], during["cpus"]["target_chosen_by"]) == ([2, 3], "isolated")
    report = plain.preflight(_SETTINGS)
    assert report["target"] == [2, 3]
    assert finding(report, "target-not-isolated")["status"] == "pass"
    assert finding(report, "partition-invalid")["status"] == "pass"
    plain.do(fix["undo"])
    assert plain.show()["cpus"] == before["cpus"]


def test_a_partition_that_overlaps_another_group_is_reported_with_the_kernels_reason(plain: Lab) -> None:
    plain.do(f"echo +cpuset > {_GROUPS}/cgroup.subtree_control; mkdir {_GROUPS}/bench {_GROUPS}/other")
    try:
        plain.write(f"{_GROUPS}/bench/cpuset.cpus", "4-5")
        plain.write(f"{_GROUPS}/bench/cpuset.cpus.partition", "isolated")
        assert finding(plain.preflight(_SETTINGS), "partition-invalid")["status"] == "pass"
        plain.write(f"{_GROUPS}/other/cpuset.cpus", "5-6")
        report = plain.preflight(_SETTINGS)
        invalid = finding(report, "partition-invalid")
        assert (invalid["status"], invalid["severity"], invalid["cpus"]) == ("fail", "blocking", [4, 5])
        assert "Cpu list in cpuset.cpus not exclusive" in invalid["said"]
        assert (report["verdict"], report["exit_status"]) == ("unstable", 1)
        plain.do(invalid["fix"]["now"])
        assert finding(plain.preflight(_SETTINGS), "partition-invalid")["status"] == "not-applicable"
        plain.write(f"{_GROUPS}/other/cpuset.cpus", "6")
        plain.do(invalid["fix"]["undo"])
        assert plain.read(f"{_GROUPS}/bench/cpuset.cpus.partition") == "isolated"
    finally:
        plain.do(f"rmdir {_GROUPS}/bench {_GROUPS}/other; echo -cpuset > {_GROUPS}/cgroup.subtree_control")


def test_a_plans_script_isolates_its_cpus_and_the_undo_restores_them_also_when_run_twice(plain: Lab) -> None:
    plan_command = "noisewatch plan --cpus 2-3"
    before = (settings(plain), plain.show()["cpus"])
    plan = json.loads(plain.do(f"{plan_command} --format json"))
    plain.do(f"{plan_command} --format script >take.sh; {plan_command} --format script --undo >back.sh")
    try:
        for _ in range(2):
            plain.do("sh take.sh")
        assert plain.show()["cpus"]["isolated_by"] == {"boot": [], "partition": plan["taken"], "cgroup_v1": []}
        assert settings(plain) != before[0]
        findings = {row["id"]: row for row in plain.preflight(_SETTINGS)["findings"]}
        assert findings["target-not-isolated"]["status"] == "pass"
        assert findings["irq-routed-to-target"]["status"] in ("pass", "warn")  # some leave with their next interrupt
        allowed = plain.do("noisewatch run --calibration 0 -- grep Cpus_allowed_list /proc/self/status")
        assert allowed.split()[1] in ("2-3", "2-3,6-7")
    finally:
        for _ in range(2):
            plain.do("sh back.sh")
    assert (settings(plain), plain.show()["cpus"]) == before
