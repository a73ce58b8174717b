"""A table that is read again: what did not change is taken over, and the result is the same."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from noisewatch.kernel.interrupts.table import parse_interrupts

_LABELS = st.sampled_from(["LOC", "RES", "24", "25", "ERR", "FIQ"])


@st.composite
def tables(draw: st.DrawFn) -> str:
    """A table of one to three CPUs, which may differ from one draw to the next."""
    cpus = sorted(draw(st.frozensets(st.integers(0, 3), min_size=1, max_size=3)))
    lines = [" ".join(f"CPU{cpu}" for cpu in cpus)]
    for label in draw(st.lists(_LABELS, min_size=1, max_size=6)):
        counts = draw(st.lists(st.integers(0, 2), min_size=len(cpus), max_size=len(cpus)))
        text = {"ERR": "1", "FIQ": "usb_fiq"}.get(label, " ".join(map(str, counts)) + " timer")
        lines.append(f"{label}: {text}")
    return "\n".join(lines) + "\n"


@given(tables(), tables())
def test_a_table_is_the_same_whether_or_not_an_earlier_one_is_known(before: str, after: str) -> None:
    again = parse_interrupts(after.encode(), parse_interrupts(before.encode()))
    alone = parse_interrupts(after.encode())
    assert again == alone
    assert again.total_by_cpu() == alone.total_by_cpu()


def test_a_row_that_did_not_change_is_taken_over() -> None:
    before = parse_interrupts(b"CPU0\nLOC: 1 timer\nRES: 1 x\n")
    after = parse_interrupts(b"CPU0\nLOC: 2 timer\nRES: 1 x\n", before)
    assert after.rows[1] is before.rows[1]
    assert after.rows[0] is not before.rows[0]


def test_nothing_is_taken_over_when_other_cpus_are_online() -> None:
    before = parse_interrupts(b"CPU0\n 24: 1 2 Edge timer\n")
    after = parse_interrupts(b"CPU0 CPU2\n 24: 1 2 Edge timer\n", before)
    assert after.total_by_cpu() == {0: 1, 2: 2}


def test_a_row_that_moves_to_another_line_is_still_one_row() -> None:
    before = parse_interrupts(b"CPU0\nLOC: 1 timer\n")
    after = parse_interrupts(b"CPU0\n 24: 0 new\nLOC: 1 timer\n", before)
    assert [row.label for row in after.rows] == ["24", "LOC"]
