"""/proc/interrupts, as it looks on machines that are not ours."""

from __future__ import annotations

import pytest

from noisewatch.errors import Malformed
from noisewatch.kernel.interrupts.table import PATH, InterruptRow, parse_interrupts, read_interrupts
from noisewatch.kernel.system.release import RELEASE
from tests.written import reading


def _row(text: str, header: str = "CPU0 CPU1") -> InterruptRow:
    (row,) = parse_interrupts(f"{header}\n{text}\n".encode()).rows
    return row


def test_a_column_belongs_to_the_cpu_in_the_header_not_to_its_position() -> None:
    table = parse_interrupts(b"           CPU0       CPU2\n 36:          4      30557 PCI-MSI 1-edge virtio\n")
    assert table.cpus == (0, 2)
    assert table.total_by_cpu() == {0: 4, 2: 30557}


def test_a_machine_whose_first_cpu_is_offline_has_no_column_for_it() -> None:
    assert parse_interrupts(b"CPU4 CPU5\nLOC: 1 2 Local timer interrupts\n").total_by_cpu() == {4: 1, 5: 2}


def test_a_count_may_touch_its_label() -> None:
    row = _row("IPI0:2768808080 2844211768       Rescheduling interrupts")
    assert (row.label, row.counts) == ("IPI0", (2768808080, 2844211768))
    assert row.description == "Rescheduling interrupts"


def test_counts_do_not_end_at_thirty_two_bits() -> None:
    assert _row("LOC: 99999999999 18446744073709551615 Local timer").counts == (99999999999, 18446744073709551615)


@pytest.mark.parametrize("label", ["ERR", "MIS", "Err"])
@pytest.mark.parametrize("header", ["CPU0", "CPU0 CPU1"])
def test_a_total_of_the_machine_belongs_to_no_cpu_even_where_there_is_only_one(label: str, header: str) -> None:
    row = _row(f"{label}:          7", header)
    assert (row.counts, row.total) == (None, 7)


def test_errors_may_be_counted_by_cpu() -> None:
    row = _row("ERR:          7          0  PIC/APIC error interrupts")
    assert (row.counts, row.total, row.description) == ((7, 0), None, "PIC/APIC error interrupts")
    assert _row("ERR: 7  PIC/APIC error interrupts", "CPU0").counts == (7,)


def test_bytes_of_a_stack_are_no_interrupts() -> None:
    text = "CPU0\nSTK: 6512 Kernel stack usage\nRES: 3 Rescheduling interrupts\n"
    assert parse_interrupts(text.encode()).total_by_cpu() == {0: 3}


def test_a_sum_and_its_parts_are_added_up_once() -> None:
    text = "CPU0 CPU1\nEXT: 9 1\nI/O: 5 0\nCLK: 9 1 [EXT] Clock Comparator\nDAS: 4 0 [I/O] DASD\n"
    assert parse_interrupts(text.encode()).total_by_cpu() == {0: 14, 1: 1}


def test_totals_of_the_machine_do_not_count_for_any_cpu() -> None:
    table = parse_interrupts(b"CPU0\nLOC: 5 Local timer interrupts\nERR: 1000\nMIS: 1000\n")
    assert table.total_by_cpu() == {0: 5}


def test_two_rows_with_one_label_stay_two_rows() -> None:
    table = parse_interrupts(b"CPU0\nLOC: 5 Local timer interrupts for timer event device\nLOC: 7 Local timer\n")
    assert [(row.label, row.counts) for row in table.rows] == [("LOC", (5,)), ("LOC", (7,))]
    assert table.total_by_cpu() == {0: 12}


def test_two_equal_rows_stay_two_rows() -> None:
    assert parse_interrupts(b"CPU0\nLOC: 5 timer\nLOC: 5 timer\n").total_by_cpu() == {0: 10}


def test_a_row_without_numbers_counts_nothing() -> None:
    assert _row("FIQ:              usb_fiq") == InterruptRow("FIQ", "usb_fiq", None)


def test_a_chip_may_have_a_colon_in_its_name() -> None:
    row = _row(" 24:  1  2 PCI-MSIX-0000:00:04.0   0-edge      eth0-rx-0")
    assert row.description == "PCI-MSIX-0000:00:04.0 0-edge eth0-rx-0"


def test_a_row_may_have_no_chip_and_no_device() -> None:
    row = _row("  5:          0          9")
    assert (row.irq, row.counts, row.description) == (5, (0, 9), "")


def test_a_description_may_begin_with_a_number() -> None:
    row = _row("  5: 1 2 65536 Edge nvme0q0")
    assert (row.counts, row.description) == ((1, 2), "65536 Edge nvme0q0")


def test_only_numbered_rows_belong_to_devices() -> None:
    table = parse_interrupts(b"CPU0\n 36: 1 chip\nLOC: 2 timer\nIPI0: 3 x\nERR: 0\n")
    assert [row.irq for row in table.rows] == [36, None, None, None]


def test_the_last_newline_may_be_missing() -> None:
    assert parse_interrupts(b"CPU0\nLOC: 5 timer").total_by_cpu() == {0: 5}


@pytest.mark.parametrize("end", ["\n\n", "\n   \n", "\n\n\n"])
def test_blank_last_lines_are_nothing(end: str) -> None:
    assert parse_interrupts(f"CPU0\nLOC: 5 timer{end}".encode()).total_by_cpu() == {0: 5}


def test_a_machine_may_have_more_than_a_thousand_cpus() -> None:
    header = " ".join(f"CPU{cpu}" for cpu in range(1152))
    counts = " ".join(map(str, range(1152)))
    table = parse_interrupts(f"{header}\nLOC: {counts} Local timer interrupts\nERR: 0\n".encode())
    assert table.total_by_cpu() == {cpu: cpu for cpu in range(1152)}


def test_a_malformed_row_is_named_by_file_and_line_with_what_was_found() -> None:
    header = " ".join(f"CPU{cpu}" for cpu in range(64))
    sound = "LOC: " + "1 " * 64 + "timer\n"
    with pytest.raises(Malformed) as caught:
        parse_interrupts(f"{header}\n{sound * 5}RES: {'1 ' * 10}rubbish\n".encode())
    assert str(caught.value.at(PATH)) == "/proc/interrupts:7: wanted 64 counts, found 'rubbish'"


def test_a_table_cut_between_two_counts_is_malformed() -> None:
    text = "CPU0 CPU1 CPU2\nLOC: 1 2 3 timer\nRES: 4 5 6 Rescheduling interrupts\n"
    refused = []
    for size in range(text.index("RES: 4") + len("RES: 4"), text.index(" 6 Resch") + 1):
        with pytest.raises(Malformed):
            parse_interrupts(text[:size].encode())
        refused.append(size)
    assert len(refused) == 3


def test_a_table_that_cannot_be_read_is_unknown_with_its_reason() -> None:
    reader = reading({PATH: "CPU0 CPU1\nLOC: 1 rubbish\n"})
    assert read_interrupts(reader) is None
    assert "wanted 2 counts, found 'rubbish'" in reader.reason_by_path[PATH]


def test_a_row_that_lost_its_counts_is_said() -> None:
    reader = reading({PATH: "CPU0 CPU1\nLOC: 1 2 timer\nTHR: Threshold APIC interrupts\nFIQ: usb_fiq\n"})
    assert read_interrupts(reader) is not None
    assert reader.reason_by_path[PATH] == "no counts in row THR"


def test_a_machine_without_the_table_is_unknown_with_its_reason() -> None:
    reader = reading({})
    assert read_interrupts(reader) is None
    assert reader.reason_by_path == {PATH: "no such file"}


def test_escape_codes_in_the_name_of_a_device_never_reach_a_terminal() -> None:
    row = _row(" 24: 1 2 IO-APIC 9-edge \x1b[2J\x1b]0;owned\x07eth\u202e0")
    assert row.description == "IO-APIC 9-edge ·[2J·]0;owned·eth·0"


def test_escape_codes_in_a_label_never_reach_a_terminal() -> None:
    assert _row("L\x1bC: 1 2 timer").label == "L·C"


@pytest.mark.parametrize("separator", ["\x1c", "\x1d", "\x1e", "\x85", "\u2028"])
def test_only_a_newline_ends_a_row_whatever_a_device_is_called(separator: str) -> None:
    row = _row(f" 24: 1 2 IO-APIC 9-edge eth{separator}0-rx")
    assert row.counts == (1, 2)
    assert row.description.isprintable()


@pytest.mark.parametrize(("release", "total"), [("6.1.0-18-amd64", 900), ("4.8.0", 900), ("4.4.0-210-generic", 1700)])
def test_the_release_decides_whether_calls_contain_shootdowns(release: str, total: int) -> None:
    table = "CPU0\nCAL: 900 Function call interrupts\nTLB: 800 TLB shootdowns\n"
    interrupts = read_interrupts(reading({PATH: table, RELEASE: f"{release}\n"}))
    assert interrupts is not None
    assert interrupts.total_by_cpu() == {0: total}
