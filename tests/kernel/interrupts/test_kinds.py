"""What the rows of /proc/interrupts count, on every architecture."""

from __future__ import annotations

from collections import defaultdict

import pytest

from noisewatch.kernel.interrupts.table import ROWS_BY_FILE, kind_of
from noisewatch.kinds import Kind

_X86 = {
    Kind.TICK: "LOC HVS",
    Kind.IPI: "RES CAL TLB IWI",
    Kind.NMI: "NMI",
    Kind.LOCAL: "PMI SPU RTR PLT TRM THR DFR MCE MCP HRE PIN NPI PIW VPMI ERR MIS",
    Kind.IRQ: "HYP PMN",
}
_POWER = {Kind.TICK: "LOC BCT", Kind.IPI: "DBL", Kind.NMI: "NMI WDG", Kind.LOCAL: "SPU PMI MCE HMI TAU"}
_S390 = {
    Kind.TICK: "CLK TMR",
    Kind.IPI: "EXC EMS",
    Kind.NMI: "NMI",
    Kind.LOCAL: "EXT TAL PFL CMS CMC WTI RST",
    Kind.IRQ: "I/O AIO CIO DAS C15 C70 TAP VMR LCS CTC ADM CSC VIR QAI APB PCF PCD MSI VAI GAL DSD VRT SCP IUC FTP",
}
_OTHERS = {Kind.IPI: "IPI IPI0 IPI7", Kind.LOCAL: "UAH FPA Err", Kind.NO_INTERRUPT: "STK IST"}


@pytest.mark.parametrize("rows", [_X86, _POWER, _S390, _OTHERS], ids=["x86", "POWER", "s390", "others"])
def test_an_architectures_own_row_is_told_by_its_label(rows: dict[str, str]) -> None:
    assert {
        kind: " ".join(label for label in labels.split() if kind_of(label, "") == kind) for kind, labels in rows.items()
    } == rows


def test_no_label_means_two_things_on_two_architectures() -> None:
    kinds = defaultdict(set)
    for rows in ROWS_BY_FILE.values():
        for label, kind in rows.items():
            kinds[label].add(kind)
    assert [label for label, found in kinds.items() if len(found) > 1] == []


def test_a_row_that_no_architecture_is_known_to_have_is_no_devices() -> None:
    assert kind_of("XYZ", "Something new") == Kind.LOCAL


@pytest.mark.parametrize(
    "description",
    [
        "GIC 27 Edge gt",
        "GIC-0 29 Edge twd",
        "GICv3 27 Level arch_timer",
        "GICv2 26 Level arch_timer",
        "GICv3 28 Level kvm guest vtimer",
        "IO-APIC 2-edge timer",
        "IO-APIC-edge timer",
        "IR-IO-APIC 2-edge timer",
        "XT-PIC timer",
        "HPET-MSI 3-edge hpet3",
        "IR-HPET_MSI-edge hpet2",
        "RISC-V INTC 5 Edge riscv-timer",
        "MIPS 7 timer",
        "MIPS GIC Local 1 timer",
        "LOONGARCH 11 timer",
        "CPU timer",
        "xen-percpu -virq timer0",
        "ARC In-core Intc 16 Timer0 (per-cpu-tick)",
        "Combiner 12 mct_tick0",
    ],
)
def test_a_numbered_timer_of_the_cpu_is_the_tick(description: str) -> None:
    assert kind_of("16", description) == Kind.TICK


def test_a_call_that_passes_the_timer_on_is_the_tick() -> None:
    assert [kind_of(label, "Timer broadcast interrupts") for label in ("IPI4", "IPI3")] == [Kind.TICK, Kind.TICK]


@pytest.mark.parametrize(
    "description",
    [
        *("XICS 2 Edge IPI", "XIVE-IPI 0 Edge IPI-0", "CPU IPI", "MIPS GIC 40 IPI resched", "MIPS GIC 41 IPI call"),
        *(
            "LSAPIC resched",
            "xen-percpu -ipi resched0",
            "xen-percpu-ipi callfunc0",
            "Dynamic-irq resched0",
            "ARC In-core Intc 19 IPI Interrupt",
        ),
    ],
)
def test_a_numbered_call_is_no_devices(description: str) -> None:
    assert kind_of("17", description) == Kind.IPI


@pytest.mark.parametrize(
    "description",
    ["GICv3 23 Level arm-pmu", "RISC-V INTC 13 Edge riscv-pmu", "GICv3 25 Level vgic", "xen-percpu -virq debug0"],
)
def test_a_numbered_counter_is_the_cpus_own(description: str) -> None:
    assert kind_of("18", description) == Kind.LOCAL


@pytest.mark.parametrize(
    "description",
    [
        *("PCI-MSIX-0000:00:02.0 1-edge virtio1-req.0", "IO-APIC 8-edge rtc0", "IO-APIC 9-fasteoi acpi", ""),
        *(
            "GICv3 37 Level ttyAMA0",
            "IO-APIC 20-edge hpet0",
            "GIC 45 Level gtx",
            "xen-dyn -event eth0",
            "xen-dyn-event eth0",
            "Dynamic-irq blkif",
            "PCI-MSI 1 eth0",
        ),
    ],
)
def test_any_other_number_is_a_devices(description: str) -> None:
    assert kind_of("19", description) == Kind.IRQ
