"""Fixes of the interrupt and packet checks, and their undo."""

from __future__ import annotations

import subprocess

import pytest

from noisewatch.cpus import CpuSet
from noisewatch.judgement.causes import causes_of
from tests.judgement.fixes.proposed import example_named, fix_of
from tests.judgement.judging import finding, judged_by_settings
from tests.written import WrittenMachine
from tests.written.quiet_machine import ANSWERS, CPUS, quiet_files

_NET = "/sys/class/net"


def test_an_irq_is_steered_to_the_housekeeping_cpus_and_back() -> None:
    folder = "/proc/irq/24"
    fix = fix_of(
        "irq-routed-to-target", {f"{folder}/effective_affinity_list": "2\n", f"{folder}/smp_affinity_list": "2-3\n"}
    )
    assert fix.now == f"echo 0-1 | sudo tee {folder}/smp_affinity_list"
    assert fix.undo == f"echo 2-3 | sudo tee {folder}/smp_affinity_list"


def test_a_fix_of_the_deadline_server_does_not_settle_a_running_tick() -> None:
    named = "250 timer interrupts per busy second; the deadline server, which has 50 ms of CPU 2 in each period"
    example = example_named("tick-not-stopped", "fail", named)
    (cause,) = [cause for cause in causes_of(example.judged()) if cause.findings[0].check.id == "tick-not-stopped"]
    assert cause.settles == ()


@pytest.mark.parametrize(
    ("target", "others"),
    [
        pytest.param(frozenset({2}), "1,3", id="there are other cores"),
        pytest.param(frozenset({2, 3}), "0-1", id="every other CPU is a sibling"),
    ],
)
def test_an_irq_moves_to_a_sibling_of_the_target_only_without_other_cores(target: CpuSet, others: str) -> None:
    pairs = {f"{CPUS}/cpu{cpu}/topology/thread_siblings_list": f"{cpu % 2},{cpu % 2 + 2}\n" for cpu in range(4)}
    irq = "/proc/irq/24"
    affinity = {f"{irq}/effective_affinity_list": "2\n", f"{irq}/smp_affinity_list": "2\n"}
    fix = fix_of("irq-routed-to-target", pairs | affinity, target)
    assert fix.now == f"echo {others} | sudo tee {irq}/smp_affinity_list"


def test_a_managed_irq_needs_a_boot_option() -> None:
    fix = fix_of(
        "irq-routed-to-target",
        {"/proc/irq/24/effective_affinity_list": "2\n"},
        modes={"/proc/irq/24/smp_affinity": 0o444},
    )
    assert fix.now is None
    assert fix.needs_reboot
    assert "isolcpus=managed_irq,domain,2-3" in (fix.persist or "")


def test_irqs_on_and_possibly_on_the_target_are_steered() -> None:
    fix = fix_of(
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


def test_a_managed_irq_elsewhere_does_not_count() -> None:
    machine = WrittenMachine(
        quiet_files() | {"/proc/irq/25/smp_affinity_list": "0-3\n"},
        answers=ANSWERS,
        modes={"/proc/irq/25/smp_affinity": 0o444},
    )
    assert finding(judged_by_settings(machine), "irq-routed-to-target").status == "pass"


def test_a_managed_irq_without_a_cpu_yet_is_a_warning() -> None:
    files = {"/proc/irq/25/smp_affinity_list": "0-3\n", "/proc/irq/25/effective_affinity_list": "\n"}
    machine = WrittenMachine(quiet_files() | files, answers=ANSWERS, modes={"/proc/irq/25/smp_affinity": 0o444})
    assert finding(judged_by_settings(machine), "irq-routed-to-target").status == "warn"


def test_queues_with_one_mask_share_a_command() -> None:
    masks = {"rx-0": "c", "rx-1": "c", "rx-2": "6", "rx-3": "3"}
    fix = fix_of(
        "packets-steered-to-target", {f"{_NET}/eth0/queues/{name}/rps_cpus": f"{m}\n" for name, m in masks.items()}
    )
    both, third = f"{_NET}/eth0/queues/rx-$r/rps_cpus", f"{_NET}/eth0/queues/rx-2/rps_cpus"
    assert fix.now == f'for r in 0 1; do echo 0 | sudo tee "{both}"; done; echo 2 | sudo tee {third}'
    assert fix.undo == f'for r in 0 1; do echo c | sudo tee "{both}"; done; echo 6 | sudo tee {third}'


def test_an_interface_may_have_any_name() -> None:
    names = ["a b", "$(reboot)", "it's", "eth0;reboot"]
    fix = fix_of("packets-steered-to-target", {f"{_NET}/{name}/queues/rx-0/rps_cpus": "c\n" for name in names})
    for command in (fix.now, fix.undo):
        assert command is not None
        assert subprocess.run(["sh", "-n", "-c", command], check=False).returncode == 0
    assert "for n in '$(reboot)' 'a b' 'eth0;reboot'" in (fix.now or "")
    assert f'sudo tee "{_NET}/$n/queues/rx-0/rps_cpus"' in (fix.now or "")
