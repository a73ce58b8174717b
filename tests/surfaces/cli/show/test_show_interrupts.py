"""`show --format json` counts interrupts under the numbers that the header gives."""

from __future__ import annotations

from typing import Any

from tests.surfaces.running import Run
from tests.written.quiet_machine import CPUS

_TABLE = """\
           CPU0       CPU2       CPU3
  9:          1          2          3 IO-APIC 9-fasteoi acpi
 24:        500          0         40 PCI-MSIX-0000:00:04.0   0-edge      eth0
 24:          7          0          1 PCI-MSIX-0000:00:09.0   0-edge      eth1
IPI0:2768808080         11         13 Rescheduling interrupts
THR:                               Threshold APIC interrupts
ERR:         77
MIS:         88
"""


def _interrupts(run: Run, table: str = _TABLE) -> Any:
    offline = {f"{CPUS}/online": "0,2-3\n", f"{CPUS}/offline": "1\n", "/proc/interrupts": table}
    return run("show", "--format", "json", offline).json["interrupts"]


def test_a_column_belongs_to_the_cpu_in_the_header(run: Run) -> None:
    interrupts = _interrupts(run)
    assert interrupts["cpus"] == [0, 2, 3]
    assert interrupts["rows"][0]["count_by_cpu"] == {"0": 1, "2": 2, "3": 3}


def test_two_rows_with_one_label_stay_two_rows(run: Run) -> None:
    rows = [row for row in _interrupts(run)["rows"] if row["label"] == "24"]
    assert [row["count_by_cpu"]["0"] for row in rows] == [500, 7]
    assert [row["description"].split()[-1] for row in rows] == ["eth0", "eth1"]


def test_two_rows_of_one_text_stay_two_rows(run: Run) -> None:
    interrupts = _interrupts(run, "  CPU0 CPU2 CPU3\n 7: 1 2 3 chip\n 7: 1 2 3 chip\n")
    assert [row["label"] for row in interrupts["rows"]] == ["7", "7"]
    assert interrupts["total_by_cpu"] == {"0": 2, "2": 4, "3": 6}


def test_totals_leave_out_machine_wide_counts_and_rows_without_numbers(run: Run) -> None:
    interrupts = _interrupts(run)
    assert interrupts["total_by_cpu"] == {"0": 2768808588, "2": 13, "3": 57}


def test_a_machine_wide_count_is_a_total_without_cpus(run: Run) -> None:
    by_label = {row["label"]: row for row in _interrupts(run)["rows"]}
    assert by_label["ERR"] == {"label": "ERR", "total": 77}
    assert by_label["MIS"] == {"label": "MIS", "total": 88}


def test_a_row_without_numbers_has_a_description_and_no_counts(run: Run) -> None:
    by_label = {row["label"]: row for row in _interrupts(run)["rows"]}
    assert by_label["THR"] == {"label": "THR", "description": "Threshold APIC interrupts"}


def test_on_one_cpu_the_error_count_is_not_taken_for_that_cpus(run: Run) -> None:
    interrupts = _interrupts(run, "           CPU0\nLOC:          5   Local timer interrupts\nERR:         99\n")
    assert interrupts["total_by_cpu"] == {"0": 5}
    assert interrupts["rows"][1] == {"label": "ERR", "total": 99}


def test_softirqs_keep_the_columns_of_cpus_that_are_offline(run: Run) -> None:
    table = "          CPU0  CPU1  CPU2  CPU3\n TIMER:   10     20    30    40\n"
    machine = {f"{CPUS}/online": "0,2-3\n", "/proc/softirqs": table}
    softirqs = run("show", "--format", "json", machine).json["softirqs"]
    assert softirqs["cpus"] == [0, 1, 2, 3]
    assert softirqs["rows"] == [{"label": "TIMER", "count_by_cpu": {"0": 10, "1": 20, "2": 30, "3": 40}}]


def _irqs_of(run: Run, *rows: str) -> str:
    """Return `show irqs` of a machine with more IRQs than rows."""
    others = [f" {number}: 1 0 0 {chip}\n" for number, chip in enumerate(["acme"] * 25, start=40)]
    table = "".join(["  CPU0 CPU2 CPU3\n", *others, *rows, "LOC: 1 1 1 Local timer interrupts\n"])
    return run("show", "irqs", {"/proc/interrupts": table}).out


def test_a_device_of_xens_old_table_has_a_row_of_its_own(run: Run) -> None:
    rows = [line.split() for line in _irqs_of(run, "114: 749775929 0 0 xen-dyn-event eth0\n").splitlines()]
    assert next(row for row in rows if row[:1] == ["114"])[1:4] == ["749", "775", "929"]


def test_irqs_of_unknown_devices_share_no_row(run: Run) -> None:
    text = _irqs_of(run, "114: 749775929 0 0 acme\n")
    assert "749 775 929" in text
    assert "…" not in text.split("other IRQs")[0]
