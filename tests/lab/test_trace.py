"""The kernel's trace on a machine with isolated, tickless CPUs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.lab.expected import ISOLATED_CPUS
from tests.lab.lab import Lab
from tests.lab.test_disturbances import background_shell

_LOOP = "while :; do :; done"
_DISK = "while :; do dd if=/dev/sda of=/dev/null bs=4k count=500 iflag=direct 2>/dev/null; done"


def _trace(lab: Lab, seconds: int) -> dict[int, dict[str, Any]]:
    answer = json.loads(lab.do(f"noisewatch trace --duration {seconds} --format json"))
    assert (answer["by"], answer["reason"]) == ("trace", None)
    assert answer["untold"] == ["the senders of IPIs (since Linux 6.4)"]
    return {cpu["cpu"]: cpu for cpu in answer["cpus"]}


def test_a_tickless_loop_has_its_whole_cpu_and_quiet_cpus_have_no_noise(isolated: Lab) -> None:
    with background_shell(isolated, _LOOP, 6) as pid:
        cpus = _trace(isolated, 3)
    assert sorted(cpus) == ISOLATED_CPUS
    assert (cpus[6]["works"]["name"], cpus[6]["works"]["pid"]) == ("sh", pid)
    assert cpus[6]["works"]["share"] > 0.9
    assert all(cpus[cpu]["works"] is None and cpus[cpu]["stolen_ns"] < 300_000_000 for cpu in (2, 3, 7))
    assert isolated.do("ls /sys/kernel/tracing/instances") == ""


@pytest.mark.lab_core
def test_a_devices_interrupts_are_named_and_the_printed_fix_moves_them(isolated: Lab) -> None:
    rows = isolated.do("grep ahci /proc/interrupts").split()
    irq = int(rows[0].rstrip(":"))
    before = isolated.read(f"/proc/irq/{irq}/smp_affinity_list")
    isolated.write(f"/proc/irq/{irq}/smp_affinity_list", 6)
    try:
        with background_shell(isolated, _DISK, 0):
            cpus = _trace(isolated, 3)
        culprits = [culprit for culprit in cpus[6]["culprits"] if culprit["kind"] == "irq"]
        assert [culprit["irq"] for culprit in culprits] == [irq]
        assert culprits[0]["count"] > 10
        isolated.do(culprits[0]["fix"]["now"])
        assert isolated.read(f"/proc/irq/{irq}/smp_affinity_list") == "0-1,4-5"
    finally:
        isolated.write(f"/proc/irq/{irq}/smp_affinity_list", before)
