"""Columns of a text report line up."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from noisewatch.surfaces.drawing.tables import align
from noisewatch.surfaces.reports.parts.sections import Section, Table, markdown_of_section, text_of_section

_CELLS = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=12)


def test_words_are_aligned_left_and_numbers_right() -> None:
    assert align([("NAME", "COUNT"), ("a", "7"), ("bcdef", "1234567")]) == (
        "NAME     COUNT\na            7\nbcdef  1234567"
    )


@pytest.mark.parametrize(
    "figures",
    [
        ("3.2 ms", "12 µs", "1 s"),
        ("0.71%", "~12.5%", "<0.1%"),
        ("83%", ">99%", "<1%"),
        ("0.4/s", "41 200/s", "?"),
        ("1", "", "10.2"),
    ],
)
def test_figures_with_units_are_aligned_right(figures: tuple[str, ...]) -> None:
    lines = align([("A HEADING", "x"), *((figure, "x") for figure in figures)]).split("\n")
    assert {line.index("x") for line in lines} == {11}
    assert [line[:9] for line in lines] == ["A HEADING", *(figure.rjust(9) for figure in figures)]


def test_a_column_of_lists_and_numbers_is_aligned_left() -> None:
    assert align([("CPUS",), ("0-3",), ("7",)]) == "CPUS\n0-3\n7"


def test_no_rows_give_an_empty_text() -> None:
    assert align([]) == ""


def test_lines_do_not_end_in_blanks() -> None:
    assert align([("a", "long"), ("b", "")]) == "a  long\nb"


@given(st.lists(st.tuples(_CELLS, _CELLS, _CELLS), min_size=1, max_size=8))
def test_each_row_is_one_line_with_its_cells_in_order(rows: list[tuple[str, str, str]]) -> None:
    lines = align(rows).split("\n")
    assert [tuple(line.split()) for line in lines] == rows


@given(st.lists(st.tuples(_CELLS, _CELLS), min_size=1, max_size=8))
def test_the_second_column_begins_or_ends_in_one_place(rows: list[tuple[str, str]]) -> None:
    width = max(len(first) for first, _ in rows)
    lines = align(rows).split("\n")
    assert {line[width : width + 2] for line in lines} == {"  "}


def test_wide_characters_keep_the_columns_in_line() -> None:
    lines = align([("ACTIONS", "DEVICE"), ("网络接口", "x"), ("eth0", "y")]).split("\n")
    starts = {cell_len(line[: line.index(last)]) for line, last in zip(lines, ("DEVICE", "x", "y"), strict=True)}
    assert starts == {10}


def test_the_last_column_is_wrapped_behind_the_others_or_below_them() -> None:
    table = Table(("run", "why"), [("7", "a reason of several words, and another one")], rest=3)
    assert table.lines(40) == ["run  why", "  7  a reason of several words, and", "     another one", "and 3 more"]
    assert table.lines(30) == ["run", "  7", "    a reason of several words,", "    and another one", "and 3 more"]
    assert "| 7 | a reason of several words, and another one |" in table.markdown()


def test_a_section_has_the_same_parts_in_each_markup() -> None:
    section = Section(
        title="A: ",
        command="sort",
        facts=[("mean", "1 s"), ("all runs", "2 s")],
        sentences=["it is short"],
        table=Table(("who", "time"), [("a|b", "1 s")], shortened="who"),
    )
    lines = ["A: sort", "  mean      1 s", "  all runs  2 s", "  it is short", "who  time", "a|b   1 s"]
    assert text_of_section(section, 80) == lines
    markdown = "\n".join(markdown_of_section(section))
    for part in ("### A: `sort`", "| all runs | 2 s |", "- it is short", "| `a\\|b` | 1 s |"):
        assert part in markdown
