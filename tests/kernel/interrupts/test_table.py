"""/proc/interrupts of many kinds of machines."""

from __future__ import annotations

from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisewatch.errors import Malformed
from noisewatch.kernel.interrupts.table import (
    PATH,
    ROWS_BY_FILE,
    InterruptRow,
    kind_of,
    parse_interrupts,
    parse_softirqs,
    read_interrupts,
    read_softirqs,
)
from noisewatch.kernel.system.release import RELEASE
from noisewatch.kinds import Kind
from tests.written import Files, reading


def _row(text: str, header: str = "CPU0 CPU1") -> InterruptRow:
    (row,) = parse_interrupts(f"{header}\n{text}\n".encode()).rows
    return row


def test_column_belongs_to_the_cpu_in_the_header_not_to_its_position() -> None:
    table = parse_interrupts(b"           CPU0       CPU2\n 36:          4      30557 PCI-MSI 1-edge virtio\n")
    assert table.cpus == (0, 2)
    assert table.total_by_cpu() == {0: 4, 2: 30557}


@pytest.mark.parametrize(
    ("text", "totals"),
    [
        ("CPU4 CPU5\nLOC: 1 2 Local timer interrupts\n", {4: 1, 5: 2}),  # the first CPUs are offline
        ("CPU0\nSTK: 6512 Kernel stack usage\nRES: 3 Rescheduling interrupts\n", {0: 3}),
        ("CPU0 CPU1\nEXT: 9 1\nI/O: 5 0\nCLK: 9 1 [EXT] Clock Comparator\nDAS: 4 0 [I/O] DASD\n", {0: 14, 1: 1}),
        ("CPU0\nLOC: 5 Local timer interrupts\nERR: 1000\nMIS: 1000\n", {0: 5}),  # totals of the machine
        ("CPU0\nLOC: 5 timer\nLOC: 5 timer\n", {0: 10}),
        *((f"CPU0\nLOC: 5 timer{end}", {0: 5}) for end in ("", "\n\n", "\n   \n", "\n\n\n")),
    ],
)
def test_each_interrupt_of_a_cpu_is_summed_once(text: str, totals: dict[int, int]) -> None:
    assert parse_interrupts(text.encode()).total_by_cpu() == totals


def test_count_may_touch_its_label() -> None:
    row = _row("IPI0:2768808080 2844211768       Rescheduling interrupts")
    assert (row.label, row.counts) == ("IPI0", (2768808080, 2844211768))
    assert row.description == "Rescheduling interrupts"


def test_count_may_exceed_32_bits() -> None:
    assert _row("LOC: 99999999999 18446744073709551615 Local timer").counts == (99999999999, 18446744073709551615)


@pytest.mark.parametrize("label", ["ERR", "MIS", "Err"])
@pytest.mark.parametrize("header", ["CPU0", "CPU0 CPU1"])
def test_total_of_the_machine_belongs_to_no_cpu(label: str, header: str) -> None:
    row = _row(f"{label}:          7", header)
    assert (row.counts, row.total) == (None, 7)


def test_errors_may_be_counted_by_cpu() -> None:
    row = _row("ERR:          7          0  PIC/APIC error interrupts")
    assert (row.counts, row.total, row.description) == ((7, 0), None, "PIC/APIC error interrupts")
    assert _row("ERR: 7  PIC/APIC error interrupts", "CPU0").counts == (7,)


def test_two_rows_of_one_label_stay_two_rows() -> None:
    table = parse_interrupts(b"CPU0\nLOC: 5 Local timer interrupts for timer event device\nLOC: 7 Local timer\n")
    assert [(row.label, row.counts) for row in table.rows] == [("LOC", (5,)), ("LOC", (7,))]
    assert table.total_by_cpu() == {0: 12}


def test_row_without_numbers_has_no_counts() -> None:
    assert _row("FIQ:              usb_fiq") == InterruptRow("FIQ", "usb_fiq", None)


def test_chip_may_have_a_colon_in_its_name() -> None:
    row = _row(" 24:  1  2 PCI-MSIX-0000:00:04.0   0-edge      eth0-rx-0")
    assert row.description == "PCI-MSIX-0000:00:04.0 0-edge eth0-rx-0"


def test_row_may_have_no_chip_and_no_device() -> None:
    row = _row("  5:          0          9")
    assert (row.irq, row.counts, row.description) == (5, (0, 9), "")


def test_description_may_begin_with_a_number() -> None:
    row = _row("  5: 1 2 65536 Edge nvme0q0")
    assert (row.counts, row.description) == ((1, 2), "65536 Edge nvme0q0")


def test_only_numbered_rows_are_irqs() -> None:
    table = parse_interrupts(b"CPU0\n 36: 1 chip\nLOC: 2 timer\nIPI0: 3 x\nERR: 0\n")
    assert [row.irq for row in table.rows] == [36, None, None, None]


def test_machine_may_have_more_than_a_thousand_cpus() -> None:
    header = " ".join(f"CPU{cpu}" for cpu in range(1152))
    counts = " ".join(map(str, range(1152)))
    table = parse_interrupts(f"{header}\nLOC: {counts} Local timer interrupts\nERR: 0\n".encode())
    assert table.total_by_cpu() == {cpu: cpu for cpu in range(1152)}


def test_error_of_a_malformed_row_names_file_line_and_text() -> None:
    header = " ".join(f"CPU{cpu}" for cpu in range(64))
    sound = "LOC: " + "1 " * 64 + "timer\n"
    with pytest.raises(Malformed) as caught:
        parse_interrupts(f"{header}\n{sound * 5}RES: {'1 ' * 10}rubbish\n".encode())
    assert str(caught.value.at(PATH)) == "/proc/interrupts:7: expected 64 counts, found 'rubbish'"


def test_table_truncated_between_two_counts_is_malformed() -> None:
    text = "CPU0 CPU1 CPU2\nLOC: 1 2 3 timer\nRES: 4 5 6 Rescheduling interrupts\n"
    refused = []
    for size in range(text.index("RES: 4") + len("RES: 4"), text.index(" 6 Resch") + 1):
        with pytest.raises(Malformed):
            parse_interrupts(text[:size].encode())
        refused.append(size)
    assert len(refused) == 3


@pytest.mark.parametrize(
    ("files", "reason"),
    [({PATH: "CPU0 CPU1\nLOC: 1 rubbish\n"}, "expected 2 counts, found 'rubbish'"), ({}, "no such file")],
)
def test_missing_or_damaged_table_is_unknown_with_its_reason(files: Files, reason: str) -> None:
    reader = reading(files)
    assert read_interrupts(reader) is None
    assert reader.reason_by_path[PATH].endswith(reason)


def test_row_without_its_counts_is_the_reason() -> None:
    reader = reading({PATH: "CPU0 CPU1\nLOC: 1 2 timer\nTHR: Threshold APIC interrupts\nFIQ: usb_fiq\n"})
    assert read_interrupts(reader) is not None
    assert reader.reason_by_path[PATH] == "no counts for THR"


def test_escape_codes_are_removed_from_descriptions() -> None:
    row = _row(" 24: 1 2 IO-APIC 9-edge \x1b[2J\x1b]0;owned\x07eth\u202e0")
    assert row.description == "IO-APIC 9-edge ·[2J·]0;owned·eth·0"


def test_escape_codes_are_removed_from_labels() -> None:
    assert _row("L\x1bC: 1 2 timer").label == "L·C"


@pytest.mark.parametrize("separator", ["\x1c", "\x1d", "\x1e", "\x85", "\u2028"])
def test_only_a_newline_ends_a_row(separator: str) -> None:
    row = _row(f" 24: 1 2 IO-APIC 9-edge eth{separator}0-rx")
    assert row.counts == (1, 2)
    assert row.description.isprintable()


@pytest.mark.parametrize(("release", "total"), [("6.1.0-18-amd64", 900), ("4.8.0", 900), ("4.4.0-210-generic", 1700)])
def test_release_decides_whether_calls_include_shootdowns(release: str, total: int) -> None:
    table = "CPU0\nCAL: 900 Function call interrupts\nTLB: 800 TLB shootdowns\n"
    interrupts = read_interrupts(reading({PATH: table, RELEASE: f"{release}\n"}))
    assert interrupts is not None
    assert interrupts.total_by_cpu() == {0: total}


def test_softirqs_may_have_more_columns_than_cpus_online() -> None:
    table = parse_softirqs("CPU0 CPU1 CPU2 CPU3\n HI: 1 2 0 0\n TIMER: 3 4 0 0\n")
    assert table.cpus == (0, 1, 2, 3)
    assert [(row.label, row.counts) for row in table.rows] == [("HI", (1, 2, 0, 0)), ("TIMER", (3, 4, 0, 0))]


def test_column_of_softirqs_belongs_to_the_cpu_in_the_header() -> None:
    assert parse_softirqs("CPU1 CPU5\n HI: 1 2\n").cpus == (1, 5)


def test_unreadable_softirqs_are_unknown_with_the_reason() -> None:
    reader = reading({})
    assert read_softirqs(reader) is None
    assert reader.reason_by_path == {"/proc/softirqs": "no such file"}


_LABELS = st.sampled_from(["LOC", "RES", "24", "25", "ERR", "FIQ"])


@st.composite
def tables(draw: st.DrawFn) -> str:
    """Draw a table of one to three CPUs, which may differ from one draw to the next."""
    cpus = sorted(draw(st.frozensets(st.integers(0, 3), min_size=1, max_size=3)))
    lines = [" ".join(f"CPU{cpu}" for cpu in cpus)]
    for label in draw(st.lists(_LABELS, min_size=1, max_size=6)):
        counts = draw(st.lists(st.integers(0, 2), min_size=len(cpus), max_size=len(cpus)))
        text = {"ERR": "1", "FIQ": "usb_fiq"}.get(label, " ".join(map(str, counts)) + " timer")
        lines.append(f"{label}: {text}")
    return "\n".join(lines) + "\n"


@given(tables(), tables())
def test_table_is_the_same_with_or_without_an_earlier_one(before: str, after: str) -> None:
    again = parse_interrupts(after.encode(), parse_interrupts(before.encode()))
    alone = parse_interrupts(after.encode())
    assert again == alone
    assert again.total_by_cpu() == alone.total_by_cpu()


def test_unchanged_row_is_reused() -> None:
    before = parse_interrupts(b"CPU0\nLOC: 1 timer\nRES: 1 x\n")
    after = parse_interrupts(b"CPU0\nLOC: 2 timer\nRES: 1 x\n", before)
    assert after.rows[1] is before.rows[1]
    assert after.rows[0] is not before.rows[0]


def test_no_row_is_reused_when_other_cpus_are_online() -> None:
    before = parse_interrupts(b"CPU0\n 24: 1 2 Edge timer\n")
    after = parse_interrupts(b"CPU0 CPU2\n 24: 1 2 Edge timer\n", before)
    assert after.total_by_cpu() == {0: 1, 2: 2}


def test_row_that_moves_to_another_line_is_one_row() -> None:
    before = parse_interrupts(b"CPU0\nLOC: 1 timer\n")
    after = parse_interrupts(b"CPU0\n 24: 0 new\nLOC: 1 timer\n", before)
    assert [row.label for row in after.rows] == ["24", "LOC"]


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
def test_row_of_an_architecture_is_recognized_by_its_label(rows: dict[str, str]) -> None:
    assert {
        kind: " ".join(label for label in labels.split() if kind_of(label, "") == kind) for kind, labels in rows.items()
    } == rows


def test_no_label_has_two_meanings_on_two_architectures() -> None:
    kinds = defaultdict(set)
    for rows in ROWS_BY_FILE.values():
        for label, kind in rows.items():
            kinds[label].add(kind)
    assert [label for label, meanings in kinds.items() if len(meanings) > 1] == []


def test_unknown_label_is_not_a_devices() -> None:
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
def test_numbered_timer_of_the_cpu_is_the_tick(description: str) -> None:
    assert kind_of("16", description) == Kind.TICK


def test_timer_broadcast_call_is_the_tick() -> None:
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
def test_numbered_call_is_not_a_devices(description: str) -> None:
    assert kind_of("17", description) == Kind.IPI


@pytest.mark.parametrize(
    "description",
    ["GICv3 23 Level arm-pmu", "RISC-V INTC 13 Edge riscv-pmu", "GICv3 25 Level vgic", "xen-percpu -virq debug0"],
)
def test_numbered_counter_is_the_cpus_own(description: str) -> None:
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
