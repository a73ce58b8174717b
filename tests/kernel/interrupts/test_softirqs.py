"""The softirqs of each CPU: /proc/softirqs."""

from __future__ import annotations

from noisewatch.kernel.interrupts.table import parse_softirqs, read_softirqs
from tests.written import reading


def test_softirqs_may_have_more_columns_than_there_are_cpus_online() -> None:
    table = parse_softirqs("CPU0 CPU1 CPU2 CPU3\n HI: 1 2 0 0\n TIMER: 3 4 0 0\n")
    assert table.cpus == (0, 1, 2, 3)
    assert [(row.label, row.counts) for row in table.rows] == [("HI", (1, 2, 0, 0)), ("TIMER", (3, 4, 0, 0))]


def test_a_column_of_softirqs_belongs_to_the_cpu_in_the_header() -> None:
    assert parse_softirqs("CPU1 CPU5\n HI: 1 2\n").cpus == (1, 5)


def test_softirqs_that_cannot_be_read_are_unknown_with_the_reason() -> None:
    reader = reading({})
    assert read_softirqs(reader) is None
    assert reader.reason_by_path == {"/proc/softirqs": "no such file"}
