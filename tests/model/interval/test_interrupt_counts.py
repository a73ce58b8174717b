"""Counts between two tables of /proc/interrupts."""

from __future__ import annotations

from itertools import pairwise

import pytest

from noisewatch.kernel.interrupts.table import parse_interrupts, parse_softirqs
from noisewatch.model.interval.interrupt_counts import (
    InterruptCounts,
    count_interrupts,
    count_softirqs,
    count_through,
    loses_counts,
)


def _counts(before: str, after: str, release: tuple[int, int] | None = (6, 1)) -> InterruptCounts:
    first = parse_interrupts(before.encode(), release=release)
    return count_interrupts(first, parse_interrupts(after.encode(), first))


def _by_label(counts: InterruptCounts) -> dict[str, dict[int, int]]:
    assert counts.rows is not None, counts.reason
    return {row.label: dict(row.count_by_cpu) for row in counts.rows}


def test_count_is_the_growth_on_each_cpu() -> None:
    before = " CPU0 CPU2\n24: 5 7 chip 0-edge eth0\nLOC: 10 10 Local timer interrupts\n"
    after = " CPU0 CPU2\n24: 5 9 chip 0-edge eth0\nLOC: 30 10 Local timer interrupts\n"
    counts = _counts(before, after)
    assert _by_label(counts) == {"24": {2: 2}, "LOC": {0: 20}}
    assert (counts.by_cpu().get(0), counts.by_cpu().get(2)) == (20, 2)


def test_column_of_a_cpu_that_went_offline_is_not_counted() -> None:
    counts = _counts(" CPU0 CPU1 CPU2\nLOC: 1 2 3\n", " CPU0 CPU2\nLOC: 5 8\n")
    assert _by_label(counts) == {"LOC": {0: 4, 2: 5}}


def test_two_rows_of_one_label_are_counted_separately() -> None:
    counts = _counts("CPU0\nLOC: 1 for timer\nLOC: 5 for others\n", "CPU0\nLOC: 2 for timer\nLOC: 9 for others\n")
    assert counts.rows is not None
    assert [(row.description, dict(row.count_by_cpu)) for row in counts.rows] == [
        ("for timer", {0: 1}),
        ("for others", {0: 4}),
    ]


def test_all_counts_of_a_new_device_are_of_the_interval() -> None:
    assert _by_label(_counts("CPU0\nLOC: 1\n", "CPU0\n30: 4 chip 0-edge nvme0\nLOC: 1\n")) == {"30": {0: 4}}


def test_device_that_restarted_counts_from_zero() -> None:
    before, after = "CPU0\n30: 900 chip 0-edge nvme0\nLOC: 1\n", "CPU0\n30: 4 chip 0-edge nvme0\nLOC: 1\n"
    assert _by_label(_counts(before, after)) == {"30": {0: 4}}


def _nic(count: int | None, ticks: int, *, is_online: bool = True) -> str:
    """Return a table of two CPUs with a network card's `count` on CPU 1, which may be offline; None: no card."""
    counts = "0 {}" if is_online else "0"
    row = "" if count is None else f" 24: {counts.format(count)} PCI-MSI 0-edge eth0\n"
    return f"  CPU0{' CPU1' * is_online}\n{row}LOC:{f' {ticks}' * (1 + is_online)}\n"


@pytest.mark.parametrize(
    ("texts", "count", "has_losses"),
    [
        ((_nic(None, 0), _nic(0, 1), _nic(900, 2), _nic(None, 3)), 900, True),  # it came and left
        ((_nic(50, 0), _nic(950, 1), _nic(0, 2), _nic(100, 3)), 1000, True),  # it restarted
        ((_nic(50, 0), _nic(90, 1), _nic(0, 2, is_online=False), _nic(950, 3)), 900, False),
        ((_nic(50, 0), _nic(90, 1), None, _nic(950, 3)), 900, False),
    ],
)
def test_counts_of_a_device_that_left_or_restarted_between_two_tables(
    texts: tuple[str | None, ...], count: int, has_losses: bool
) -> None:
    tables = [None if text is None else parse_interrupts(text.encode(), release=(6, 1)) for text in texts]
    counts = count_through(tables[0], tables[1:-1], tables[-1])
    assert _by_label(counts) == {"24": {1: count}, "LOC": {0: 3, 1: 3}}
    assert counts.cpus == {0, 1}
    read = [table for table in tables if table is not None]
    assert any(loses_counts(*pair) for pair in pairwise(read)) == has_losses


def test_table_without_a_row_of_the_architecture_is_rejected() -> None:
    whole, cut = "CPU0\n24: 1 chip 0-edge eth0\nLOC: 1\nRES: 1\n", "CPU0\n24: 1 chip 0-edge eth0\nLOC: 1\n"
    for counts in (_counts(whole, cut), _counts(cut, whole)):
        assert counts.rows is None
        assert "RES" in (counts.reason or "")
        assert counts.by_cpu().get(0) is None


def test_row_of_the_architecture_that_runs_backwards_is_rejected() -> None:
    assert _counts("CPU0\nLOC: 100\n", "CPU0\nLOC: 10\n").rows is None


def _s390(io: int, aio: int, *parts: str) -> str:
    rows = [" EXT: 100", f" I/O: {io}", f" AIO: {aio}", *parts, " NMI: 0  [NMI] Machine Check"]
    return "CPU0\n" + "\n".join(rows) + "\n"


def test_adapter_interrupts_are_counted_in_addition_to_channel_interrupts() -> None:
    assert _by_label(_counts(_s390(5, 7), _s390(6, 27))) == {"I/O": {0: 1}, "AIO": {0: 20}}


def test_parts_of_a_sum_are_counted_and_the_sum_has_only_the_rest() -> None:
    before = _s390(5, 7, " CIO: 5 [I/O] Common I/O Layer Interrupt", " QAI: 7 [AIO] QDIO Adapter Interrupt")
    after = _s390(8, 27, " CIO: 8 [I/O] Common I/O Layer Interrupt", " QAI: 24 [AIO] QDIO Adapter Interrupt")
    counts = _counts(before, after)
    assert _by_label(counts) == {"CIO": {0: 3}, "AIO": {0: 3}, "QAI": {0: 17}}
    assert counts.by_cpu().get(0) == 3 + 20


def test_msi_of_s390_is_counted_only_with_its_device() -> None:
    rows = "  3: {0} PCI-MSI mlx5_async\n PCF: {0} [AIO] PCI Floating Interrupt\n MSI: {0} [AIO] MSI Interrupt"
    counts = _counts(_s390(0, 5, rows.format(5)), _s390(0, 9, rows.format(9)))
    assert _by_label(counts) == {"3": {0: 4}}


def test_external_interrupts_are_counted_by_source() -> None:
    rows = " CLK: {0} [EXT] Clock Comparator\n EMS: {1} [EXT] Emergency Signal"
    before, after = (
        _s390(0, 0, rows.format(*counts)).replace("EXT: 100", f"EXT: {sum(counts)}") for counts in ((60, 40), (90, 45))
    )
    assert _by_label(_counts(before, after)) == {"CLK": {0: 30}, "EMS": {0: 5}}


def test_counter_nmi_is_counted_once_on_x86_and_separately_on_power() -> None:
    x86 = "CPU0\nNMI: {0} Non-maskable interrupts\nPMI: {1} Performance monitoring interrupts\n"
    assert _by_label(_counts(x86.format(1, 1), x86.format(8, 6))) == {"NMI": {0: 2}, "PMI": {0: 5}}
    power = "CPU0\nPMI: {1} Performance monitoring interrupts\nNMI: {0} System Reset interrupts\n"
    assert _by_label(_counts(power.format(1, 1), power.format(8, 6))) == {"NMI": {0: 7}, "PMI": {0: 5}}


def test_callback_vector_of_xen_is_not_counted_again() -> None:
    rows = "CPU0\n 48: {0} xen-percpu -virq timer0\n 60: {1} xen-dyn -event eth0\nHYP: {2} Hypervisor callback\n"
    assert _by_label(_counts(rows.format(0, 0, 0), rows.format(9, 4, 13))) == {"48": {0: 9}, "60": {0: 4}}
    alone = "CPU0\nHYP: {} Hypervisor callback interrupts\n"
    assert _by_label(_counts(alone.format(0), alone.format(13))) == {"HYP": {0: 13}}


def test_row_that_appears_with_its_first_count_is_accepted() -> None:
    before, after = "CPU0\nLOC: 1\n", "CPU0\nLOC: 1\nSPU: 2 Spurious interrupts\n"
    assert _by_label(_counts(before, after)) == {"SPU": {0: 2}}
    assert _counts(after, before).rows is None


def test_unreadable_table_has_no_counts() -> None:
    table = parse_interrupts(b"CPU0\nLOC: 1\n")
    assert count_interrupts(None, table).rows is None
    assert count_interrupts(table, None).rows is None


def test_softirqs_are_counted_by_the_cpus_of_the_header() -> None:
    before = parse_softirqs("  CPU0 CPU3\nTIMER: 5 6\nNET_RX: 1 1\n")
    after = parse_softirqs("  CPU0 CPU3\nTIMER: 5 16\nNET_RX: 1 1\n")
    assert _by_label(count_softirqs(before, after)) == {"TIMER": {3: 10}}


def test_softirqs_that_run_backwards_or_lack_a_row_are_rejected() -> None:
    table = parse_softirqs("CPU0\nTIMER: 5\nNET_RX: 1\n")
    assert count_softirqs(table, parse_softirqs("CPU0\nTIMER: 5\n")).rows is None
    assert count_softirqs(table, parse_softirqs("CPU0\nTIMER: 4\nNET_RX: 1\n")).rows is None


def test_shootdown_is_not_counted_as_a_call_again() -> None:
    table = "CPU0\nCAL: {0} Function call interrupts\nTLB: {1} TLB shootdowns\n"
    counts = _counts(table.format(10, 5), table.format(110, 95))
    assert _by_label(counts) == {"CAL": {0: 10}, "TLB": {0: 90}}
    assert counts.by_cpu().get(0) == 100


@pytest.mark.parametrize("release", [(4, 7), (4, 4), (3, 10), None])
def test_calls_and_shootdowns_are_both_counted_where_they_may_be_separate(release: tuple[int, int] | None) -> None:
    table = "CPU0\nCAL: {0} Function call interrupts\nTLB: {1} TLB shootdowns\n"
    counts = _counts(table.format(10, 5), table.format(110, 95), release)
    assert _by_label(counts) == {"CAL": {0: 100}, "TLB": {0: 90}}


def test_calls_that_xen_events_count_are_counted_once() -> None:
    table = (
        "CPU0\n 49: {0} xen-percpu -ipi resched0\n 50: {1} xen-percpu -ipi callfunc0\n"
        " 51: {2} xen-percpu-ipi callfuncsingle0\n 52: {3} xen-percpu -ipi irqwork0\nRES: {0} Rescheduling interrupts\n"
        "CAL: {4} Function call interrupts\nTLB: {1} TLB shootdowns\nIWI: {3} IRQ work interrupts\n"
    )
    counts = _counts(table.format(0, 0, 0, 0, 0), table.format(900, 70, 30, 5, 102))
    assert _by_label(counts) == {"49": {0: 900}, "50": {0: 70}, "51": {0: 30}, "52": {0: 5}, "CAL": {0: 2}}


def test_ipi_line_of_loongarch_is_not_counted_again() -> None:
    table = (
        "CPU0\n 70: {0} CPUINTC 12 IPI\n 71: {3} CPUINTC 11 timer\nIPI0: {1} Rescheduling interrupts\n"
        "IPI1: {2} Function call interrupts\n"
    )
    counts = _counts(table.format(0, 0, 0, 0), table.format(49_000, 48_000, 900, 7))
    assert _by_label(counts) == {"70": {0: 100}, "71": {0: 7}, "IPI0": {0: 48_000}, "IPI1": {0: 900}}
