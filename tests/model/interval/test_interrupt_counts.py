"""Counting between two tables of /proc/interrupts."""

from __future__ import annotations

import pytest

from noisewatch.kernel.interrupts.table import parse_interrupts, parse_softirqs
from noisewatch.model.interval.interrupt_counts import InterruptCounts, count_interrupts, count_softirqs


def _counts(before: str, after: str, release: tuple[int, int] | None = (6, 1)) -> InterruptCounts:
    first = parse_interrupts(before.encode(), release=release)
    return count_interrupts(first, parse_interrupts(after.encode(), first))


def _by_label(counts: InterruptCounts) -> dict[str, dict[int, int]]:
    assert counts.rows is not None, counts.reason
    return {row.label: dict(row.count_by_cpu) for row in counts.rows}


def test_counts_are_the_growth_on_each_cpu() -> None:
    before = " CPU0 CPU2\n24: 5 7 chip 0-edge eth0\nLOC: 10 10 Local timer interrupts\n"
    after = " CPU0 CPU2\n24: 5 9 chip 0-edge eth0\nLOC: 30 10 Local timer interrupts\n"
    counts = _counts(before, after)
    assert _by_label(counts) == {"24": {2: 2}, "LOC": {0: 20}}
    assert (counts.by_cpu().get(0), counts.by_cpu().get(2)) == (20, 2)


def test_a_cpu_that_left_in_between_takes_its_column_with_it() -> None:
    counts = _counts(" CPU0 CPU1 CPU2\nLOC: 1 2 3\n", " CPU0 CPU2\nLOC: 5 8\n")
    assert _by_label(counts) == {"LOC": {0: 4, 2: 5}}


def test_two_rows_of_one_label_are_counted_apart() -> None:
    counts = _counts("CPU0\nLOC: 1 for timer\nLOC: 5 for others\n", "CPU0\nLOC: 2 for timer\nLOC: 9 for others\n")
    assert counts.rows is not None
    assert [(row.description, dict(row.count_by_cpu)) for row in counts.rows] == [
        ("for timer", {0: 1}),
        ("for others", {0: 4}),
    ]


def test_a_device_that_appeared_has_all_its_counts_from_the_interval() -> None:
    assert _by_label(_counts("CPU0\nLOC: 1\n", "CPU0\n30: 4 chip 0-edge nvme0\nLOC: 1\n")) == {"30": {0: 4}}


def test_a_device_that_started_anew_counts_from_there() -> None:
    before, after = "CPU0\n30: 900 chip 0-edge nvme0\nLOC: 1\n", "CPU0\n30: 4 chip 0-edge nvme0\nLOC: 1\n"
    assert _by_label(_counts(before, after)) == {"30": {0: 4}}


def test_a_table_that_lost_a_row_of_the_architecture_is_not_believed() -> None:
    whole, cut = "CPU0\n24: 1 chip 0-edge eth0\nLOC: 1\nRES: 1\n", "CPU0\n24: 1 chip 0-edge eth0\nLOC: 1\n"
    for counts in (_counts(whole, cut), _counts(cut, whole)):
        assert counts.rows is None
        assert "RES" in (counts.reason or "")
        assert counts.by_cpu().get(0) is None


def test_a_row_of_the_architecture_that_runs_backwards_is_not_believed() -> None:
    assert _counts("CPU0\nLOC: 100\n", "CPU0\nLOC: 10\n").rows is None


def _s390(io: int, aio: int, *parts: str) -> str:
    rows = [" EXT: 100", f" I/O: {io}", f" AIO: {aio}", *parts, " NMI: 0  [NMI] Machine Check"]
    return "CPU0\n" + "\n".join(rows) + "\n"


def test_adapter_interrupts_are_counted_beside_those_of_channels() -> None:
    assert _by_label(_counts(_s390(5, 7), _s390(6, 27))) == {"I/O": {0: 1}, "AIO": {0: 20}}


def test_the_parts_of_a_sum_stand_for_it_and_what_they_leave_is_its_own() -> None:
    before = _s390(5, 7, " CIO: 5 [I/O] Common I/O Layer Interrupt", " QAI: 7 [AIO] QDIO Adapter Interrupt")
    after = _s390(8, 27, " CIO: 8 [I/O] Common I/O Layer Interrupt", " QAI: 24 [AIO] QDIO Adapter Interrupt")
    counts = _counts(before, after)
    assert _by_label(counts) == {"CIO": {0: 3}, "AIO": {0: 3}, "QAI": {0: 17}}
    assert counts.by_cpu().get(0) == 3 + 20


def test_an_msi_of_s390_is_counted_with_its_device_alone() -> None:
    rows = "  3: {0} PCI-MSI mlx5_async\n PCF: {0} [AIO] PCI Floating Interrupt\n MSI: {0} [AIO] MSI Interrupt"
    counts = _counts(_s390(0, 5, rows.format(5)), _s390(0, 9, rows.format(9)))
    assert _by_label(counts) == {"3": {0: 4}}


def test_external_interrupts_are_told_apart() -> None:
    rows = " CLK: {0} [EXT] Clock Comparator\n EMS: {1} [EXT] Emergency Signal"
    before, after = (
        _s390(0, 0, rows.format(*counts)).replace("EXT: 100", f"EXT: {sum(counts)}") for counts in ((60, 40), (90, 45))
    )
    assert _by_label(_counts(before, after)) == {"CLK": {0: 30}, "EMS": {0: 5}}


def test_an_nmi_of_a_counter_is_counted_once_on_x86_and_apart_on_power() -> None:
    x86 = "CPU0\nNMI: {0} Non-maskable interrupts\nPMI: {1} Performance monitoring interrupts\n"
    assert _by_label(_counts(x86.format(1, 1), x86.format(8, 6))) == {"NMI": {0: 2}, "PMI": {0: 5}}
    power = "CPU0\nPMI: {1} Performance monitoring interrupts\nNMI: {0} System Reset interrupts\n"
    assert _by_label(_counts(power.format(1, 1), power.format(8, 6))) == {"NMI": {0: 7}, "PMI": {0: 5}}


def test_the_vector_by_which_xen_delivers_all_is_no_interrupt_more() -> None:
    rows = "CPU0\n 48: {0} xen-percpu -virq timer0\n 60: {1} xen-dyn -event eth0\nHYP: {2} Hypervisor callback\n"
    assert _by_label(_counts(rows.format(0, 0, 0), rows.format(9, 4, 13))) == {"48": {0: 9}, "60": {0: 4}}
    alone = "CPU0\nHYP: {} Hypervisor callback interrupts\n"
    assert _by_label(_counts(alone.format(0), alone.format(13))) == {"HYP": {0: 13}}


def test_a_row_that_the_kernel_shows_once_it_has_counted_may_come() -> None:
    before, after = "CPU0\nLOC: 1\n", "CPU0\nLOC: 1\nSPU: 2 Spurious interrupts\n"
    assert _by_label(_counts(before, after)) == {"SPU": {0: 2}}
    assert _counts(after, before).rows is None


def test_an_unreadable_table_counts_nothing() -> None:
    table = parse_interrupts(b"CPU0\nLOC: 1\n")
    assert count_interrupts(None, table).rows is None
    assert count_interrupts(table, None).rows is None


def test_softirqs_are_counted_by_the_header_too() -> None:
    before = parse_softirqs("  CPU0 CPU3\nTIMER: 5 6\nNET_RX: 1 1\n")
    after = parse_softirqs("  CPU0 CPU3\nTIMER: 5 16\nNET_RX: 1 1\n")
    assert _by_label(count_softirqs(before, after)) == {"TIMER": {3: 10}}


def test_softirqs_that_run_backwards_or_miss_a_row_are_not_believed() -> None:
    table = parse_softirqs("CPU0\nTIMER: 5\nNET_RX: 1\n")
    assert count_softirqs(table, parse_softirqs("CPU0\nTIMER: 5\n")).rows is None
    assert count_softirqs(table, parse_softirqs("CPU0\nTIMER: 4\nNET_RX: 1\n")).rows is None


def test_a_shootdown_is_counted_once_and_not_as_the_call_that_it_is_too() -> None:
    table = "CPU0\nCAL: {0} Function call interrupts\nTLB: {1} TLB shootdowns\n"
    counts = _counts(table.format(10, 5), table.format(110, 95))
    assert _by_label(counts) == {"CAL": {0: 10}, "TLB": {0: 90}}
    assert counts.by_cpu().get(0) == 100


@pytest.mark.parametrize("release", [(4, 7), (4, 4), (3, 10), None])
def test_where_calls_may_not_contain_shootdowns_none_is_lost(release: tuple[int, int] | None) -> None:
    table = "CPU0\nCAL: {0} Function call interrupts\nTLB: {1} TLB shootdowns\n"
    counts = _counts(table.format(10, 5), table.format(110, 95), release)
    assert _by_label(counts) == {"CAL": {0: 100}, "TLB": {0: 90}}


def test_calls_that_xens_events_count_are_counted_once() -> None:
    table = (
        "CPU0\n 49: {0} xen-percpu -ipi resched0\n 50: {1} xen-percpu -ipi callfunc0\n"
        " 51: {2} xen-percpu-ipi callfuncsingle0\n 52: {3} xen-percpu -ipi irqwork0\nRES: {0} Rescheduling interrupts\n"
        "CAL: {4} Function call interrupts\nTLB: {1} TLB shootdowns\nIWI: {3} IRQ work interrupts\n"
    )
    counts = _counts(table.format(0, 0, 0, 0, 0), table.format(900, 70, 30, 5, 102))
    assert _by_label(counts) == {"49": {0: 900}, "50": {0: 70}, "51": {0: 30}, "52": {0: 5}, "CAL": {0: 2}}


def test_the_line_by_which_loongarch_delivers_all_calls_is_no_interrupt_more() -> None:
    table = (
        "CPU0\n 70: {0} CPUINTC 12 IPI\n 71: {3} CPUINTC 11 timer\nIPI0: {1} Rescheduling interrupts\n"
        "IPI1: {2} Function call interrupts\n"
    )
    counts = _counts(table.format(0, 0, 0, 0), table.format(49_000, 48_000, 900, 7))
    assert _by_label(counts) == {"70": {0: 100}, "71": {0: 7}, "IPI0": {0: 48_000}, "IPI1": {0: 900}}
