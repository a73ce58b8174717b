"""Device interrupts: counted, distinguished from a CPU's own, and routed."""

from __future__ import annotations

import pytest

from tests.judgement.judging import answered
from tests.written.quiet_machine import quiet_files

_IRQ = "/proc/irq/24"


def test_a_hypervisors_callback_interrupts_count_as_device_interrupts() -> None:
    row = "HYP: 0 0 {} 0 Hypervisor callback interrupts\n"
    before = quiet_files()["/proc/interrupts"] + row.format(0)
    after = quiet_files(3.0)["/proc/interrupts"] + row.format(90_000)
    answer = answered("device-interrupts-on-target", {"/proc/interrupts": before}, {"/proc/interrupts": after})
    assert (answer.status, answer.culprits[0].name) == ("fail", "Hypervisor callback interrupts")


@pytest.mark.parametrize(
    "row",
    [
        " 26: 0 0 {} 0 xen-percpu -virq timer2\n",
        " 26: 0 0 {} 0 XICS 2 Edge IPI\n",
        " 26: 0 0 {} 0 GIC-0 29 Edge twd\n",
        " 26: 0 0 {} 0 MIPS 7 timer\n",
        " 26: 0 0 {} 0 GICv3 25 Level vgic\n",
    ],
)
def test_numbered_interrupts_of_a_cpu_itself_are_not_device_interrupts(row: str) -> None:
    before = quiet_files()["/proc/interrupts"] + row.format(10)
    after = quiet_files(3.0)["/proc/interrupts"] + row.format(900)
    for check_id in ("device-interrupts-on-target", "irq-routed-to-target"):
        files = {"/proc/irq/26/smp_affinity_list": "0-3\n", "/proc/interrupts": before}
        assert answered(check_id, files, {"/proc/interrupts": after}).status == "pass"


def test_a_count_that_wraps_at_32_bits_has_grown() -> None:
    row = " 26: {} 0 {} 0 IO-APIC 9-edge nic\n"
    before = quiet_files()["/proc/interrupts"] + row.format(2**32 - 10, 5_000_000)
    after = quiet_files(3.0)["/proc/interrupts"] + row.format(20, 5_000_003)
    files = {"/proc/irq/26/smp_affinity_list": "0-1\n", "/proc/interrupts": before}
    answer = answered("device-interrupts-on-target", files, {"/proc/interrupts": after})
    assert answer.evidence["rate_per_s_by_cpu"]["2"] == 1.0


def test_a_column_that_appeared_in_the_sample_is_unknown() -> None:
    lines = quiet_files()["/proc/interrupts"].splitlines()
    before = "CPU0 CPU1 CPU3\n" + "".join(
        " ".join(word for at, word in enumerate(line.split()) if at != 3) + "\n" for line in lines[1:]
    )
    after = quiet_files(3.0)
    answer = answered("device-interrupts-on-target", {"/proc/interrupts": before}, after)
    assert (answer.status, "CPU 2" in (answer.reason or "")) == ("unknown", True)


def test_the_routing_of_an_irq_without_a_folder_is_unknown() -> None:
    table = quiet_files()["/proc/interrupts"] + " 26: 5 0 0 0 IO-APIC 9-edge nic\n"
    assert answered("irq-routed-to-target", {"/proc/interrupts": table}).status == "unknown"


def _device_rows(seconds: float) -> str:
    rows = quiet_files(seconds)["/proc/interrupts"].splitlines(keepends=True)
    return "".join(row for row in rows if not row.split(":")[0].strip().isalpha())


@pytest.mark.parametrize("check_id", ["device-interrupts-on-target", "irq-routed-to-target", "profiler-runs"])
def test_a_table_that_ends_among_the_devices_may_lack_some(check_id: str) -> None:
    answer = answered(check_id, {"/proc/interrupts": _device_rows(0.0)}, {"/proc/interrupts": _device_rows(3.0)})
    assert (answer.status, "cut off" in str(answer.reason)) == ("unknown", True)


@pytest.mark.parametrize("text", ["rubbish\n", "\n", "-1\n"])
def test_the_routing_of_an_irq_with_a_damaged_affinity_is_unknown(text: str) -> None:
    assert answered("irq-routed-to-target", {f"{_IRQ}/smp_affinity_list": text}).status == "unknown"


def test_the_routing_of_an_irq_with_a_damaged_effective_affinity_is_unknown() -> None:
    answer = answered("irq-routed-to-target", {f"{_IRQ}/effective_affinity_list": "rubbish\n"})
    assert (answer.status, "effective_affinity_list" in str(answer.reason)) == ("unknown", True)
