"""Deliberate noise on a tuned machine: the right CPU and culprit are named, and quiet CPUs are not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.lab.expected import ON_ONE_NODE, QUIET, assert_statuses, blamed_cpus, finding
from tests.lab.lab import Lab
from tests.lab.tuning import apply_fixes

_LOOP = "while :; do :; done"
_DISK = "while :; do dd if=/dev/sda of=/dev/null bs=4k count=500 iflag=direct 2>/dev/null; done"


@pytest.fixture(scope="module")
def quiet(isolated: Lab) -> Iterator[Lab]:
    with apply_fixes(isolated, isolated.preflight("--sample 0 --no-calibration")):
        yield isolated


@contextmanager
def background_shell(lab: Lab, script: str, cpu: int) -> Iterator[int]:
    """Run a script on one CPU, and yield the PID of its shell."""
    pid = lab.start(f'taskset -c {cpu} sh -c "{script}"')
    try:
        yield pid
    finally:
        lab.stop(pid)


def _culprits(report: dict[str, Any], check_id: str) -> list[tuple[str, int, int]]:
    return [(culprit["name"], culprit["pid"], culprit["cpu"]) for culprit in finding(report, check_id)["culprits"]]


@pytest.mark.lab_core
def test_a_busy_loop_on_an_isolated_cpu_is_named_with_its_share(quiet: Lab) -> None:
    with background_shell(quiet, _LOOP, 2) as pid:
        report = quiet.preflight()
    assert_statuses(report, QUIET | {"tasks-on-target": "fail", "target-cpu-busy": "fail"})
    assert report["exit_status"] == 1
    assert _culprits(report, "tasks-on-target")[0] == ("sh", pid, 2)
    assert finding(report, "tasks-on-target")["measured"] > 0.8  # emulation needs the rest to read the counters
    assert blamed_cpus(report) == {2}
    assert finding(report, "target-cpu-busy")["cpus"] == [2]


@pytest.mark.lab_core
def test_the_printed_fix_moves_a_busy_loop_away(quiet: Lab) -> None:
    with background_shell(quiet, _LOOP, 2) as pid:
        fix = finding(quiet.preflight(), "tasks-on-target")["fix"]
        quiet.do(fix["now"])
        after = quiet.preflight("--cpus 2-3 --sample 2 --no-calibration")
        neighbour = finding(after, "busy-cache-neighbour")["status"]  # depends on where the loop runs now
        assert_statuses(after, ON_ONE_NODE | {"busy-cache-neighbour": neighbour})
        quiet.do(fix["undo"])
        assert quiet.do(f"taskset -pc {pid}").endswith(": 2\n")


def test_a_preflight_with_calibration_names_a_starving_real_time_loop(quiet: Lab) -> None:
    """Waiting for a kernel thread of that CPU, as when resizing a trace buffer, would never end."""
    with background_shell(quiet, f"chrt -f -p 1 \\$\\$; {_LOOP}", 2) as pid:
        report = quiet.preflight("--cpus 2")
    assert report["exit_status"] == 1
    assert _culprits(report, "tasks-on-target")[0] == ("sh", pid, 2)


def test_the_busy_sibling_of_a_target_cpu_is_named(quiet: Lab) -> None:
    with background_shell(quiet, _LOOP, 3) as pid:
        report = quiet.preflight("--cpus 2 --sample 2 --no-calibration")
    assert_statuses(report, ON_ONE_NODE | {"busy-sibling": "fail"})
    (culprit,) = finding(report, "busy-sibling")["culprits"]
    assert (culprit["kind"], culprit["name"], culprit["pid"], culprit["cpu"]) == ("sibling", "sh", pid, 3)
    assert blamed_cpus(report) == {3}


def test_a_busy_neighbour_in_the_last_level_cache_is_named_and_one_in_another_is_not(quiet: Lab) -> None:
    with background_shell(quiet, _LOOP, 1) as pid:
        near = quiet.preflight("--cpus 2-3 --sample 2 --no-calibration")
        far = quiet.preflight("--cpus 6-7 --sample 2 --no-calibration")
    assert_statuses(near, ON_ONE_NODE | {"busy-cache-neighbour": "fail"})
    assert _culprits(near, "busy-cache-neighbour")[0] == ("sh", pid, 1)
    assert 1 in finding(near, "busy-cache-neighbour")["cpus"]
    assert_statuses(far, ON_ONE_NODE)


@pytest.mark.lab_core
def test_a_device_that_interrupts_an_isolated_cpu_is_named_and_the_printed_fix_moves_it(quiet: Lab) -> None:
    rows = quiet.do("grep ahci /proc/interrupts").split()
    irq = int(rows[0].rstrip(":"))
    quiet.write(f"/proc/irq/{irq}/smp_affinity_list", 6)
    with background_shell(quiet, _DISK, 4):
        report = quiet.preflight()
        failed = {"device-interrupts-on-target": "fail", "irq-routed-to-target": "warn"}
        assert_statuses({**report, "findings": [row for row in report["findings"] if row["id"] in failed]}, failed)
        (culprit,) = finding(report, "device-interrupts-on-target")["culprits"]
        assert (culprit["kind"], culprit["irq"], culprit["cpu"]) == ("irq", irq, 6)
        assert "ahci" in culprit["name"]
        assert "SATA" in culprit["name"]
        assert "(sda)" in culprit["name"]
        assert culprit["rate_per_s"] > 100
        side_effects = ("target-cpu-busy", "busy-cache-neighbour")  # dd runs on CPU 4, which shares a cache with CPU 6
        assert blamed_cpus(report, but=side_effects) == {6}
        assert {neighbour["cpu"] for neighbour in finding(report, "busy-cache-neighbour")["culprits"][:1]} <= {4}
        quiet.do(finding(report, "device-interrupts-on-target")["fix"]["now"])
        after = quiet.preflight()
    assert finding(after, "device-interrupts-on-target")["status"] == "pass"
    assert finding(after, "irq-routed-to-target")["status"] == "pass"


def test_threads_confined_to_isolated_cpus_are_named_and_the_printed_fix_spreads_them(quiet: Lab) -> None:
    benchmark = quiet.scratch / "threads.py"
    benchmark.write_text(
        "import threading, time\n"
        "for _ in range(2): threading.Thread(target=time.sleep, args=(600,), daemon=True).start()\n"
        "time.sleep(600)\n"
    )
    pid = quiet.start(f"taskset -c 2-3 python3 {benchmark}")
    try:
        quiet.do(f"until [ $(ls /proc/{pid}/task | wc -l) = 3 ]; do sleep 0.5; done")
        report = quiet.preflight()
        confined = finding(report, "threads-confined-to-isolated-cpus")
        assert (confined["status"], confined["cpus"]) == ("warn", [2, 3])
        assert f"3 threads of python3 (pid {pid})" in confined["said"]
        quiet.do(confined["fix"]["now"])
        assert_statuses(quiet.preflight(), QUIET)
        quiet.do(confined["fix"]["undo"])
        assert quiet.do(f"taskset -apc {pid}").count(": 2,3\n") == 3
    finally:
        quiet.stop(pid)


def test_memory_pressure_blocks(quiet: Lab) -> None:
    """A group with less memory than it needs, and no swap, only waits."""
    group = "/sys/fs/cgroup/tight"
    quiet.do(f"echo +memory > /sys/fs/cgroup/cgroup.subtree_control; mkdir {group}; echo 20M > {group}/memory.high")
    (quiet.scratch / "greedy.py").write_text("kept = b'x' * (100 << 20)\n")
    pid = quiet.start(f'sh -c "echo 0 > {group}/cgroup.procs; exec python3 greedy.py"')
    try:
        quiet.do(f"until grep -q 'high [1-9]' {group}/memory.events; do sleep 0.2; done")
        report = quiet.preflight()
    finally:
        quiet.stop(pid)
        quiet.do(f"rmdir {group}; echo -memory > /sys/fs/cgroup/cgroup.subtree_control")
    stall = finding(report, "pressure-stall")
    assert (stall["status"], stall["severity"], report["exit_status"]) == ("fail", "blocking", 1)
    assert "all tasks waited for memory" in stall["said"]
    assert blamed_cpus(report) == set()
