"""Counting between two tables of /proc/interrupts."""

from __future__ import annotations

from noisewatch.model.interrupt_counts import Counts, count_interrupts, count_softirqs
from noisewatch.sources.interrupts import parse_interrupts
from noisewatch.sources.softirqs import parse_softirqs


def _counts(before: str, after: str) -> Counts:
    first = parse_interrupts(before)
    return count_interrupts(first, parse_interrupts(after, first))


def _by_label(counts: Counts) -> dict[str, dict[int, int]]:
    assert counts.rows is not None, counts.reason
    return {row.label: dict(row.count_by_cpu) for row in counts.rows}


def test_counts_are_the_growth_on_each_cpu() -> None:
    before = " CPU0 CPU2\n24: 5 7 chip 0-edge eth0\nLOC: 10 10 Local timer interrupts\n"
    after = " CPU0 CPU2\n24: 5 9 chip 0-edge eth0\nLOC: 30 10 Local timer interrupts\n"
    counts = _counts(before, after)
    assert _by_label(counts) == {"24": {2: 2}, "LOC": {0: 20}}
    assert (counts.of_cpu(0), counts.of_cpu(2)) == (20, 2)


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
        assert counts.of_cpu(0) is None


def test_a_row_of_the_architecture_that_runs_backwards_is_not_believed() -> None:
    assert _counts("CPU0\nLOC: 100\n", "CPU0\nLOC: 10\n").rows is None


def test_an_unreadable_table_counts_nothing() -> None:
    table = parse_interrupts("CPU0\nLOC: 1\n")
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
