"""CPU lists and masks, as users and the kernel write them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisewatch.cpus import (
    CpuSet,
    cpu_list_argument,
    fitting_cpu_list,
    format_cpu_list,
    format_cpu_mask,
    format_cpu_strides,
    format_taskset_list,
    name_cpu_sets,
    parse_cpu_list,
    parse_cpu_mask,
    parse_cpu_words,
)
from noisewatch.errors import Malformed

CPU_SETS = st.frozensets(st.integers(0, 2000), max_size=40)
ALMOST_LISTS = st.text(alphabet="0123456789,-:/N al\0(nul)\n", max_size=20)


@given(CPU_SETS)
def test_formatted_list_is_parsed_as_the_same_cpus(cpus: CpuSet) -> None:
    assert parse_cpu_list(format_cpu_list(cpus)) == cpus


_STRIDED = st.builds(
    lambda first, used, more, count: {first + at * (used + more) + cpu for at in range(count) for cpu in range(used)},
    *(st.integers(0, 40), st.integers(1, 4), st.integers(1, 4), st.integers(1, 30)),
)


@given(st.lists(st.one_of(CPU_SETS, _STRIDED), max_size=3))
def test_list_with_strides_is_parsed_as_the_same_cpus_and_is_no_longer(parts: list[CpuSet]) -> None:
    cpus = frozenset().union(*parts)
    for text in (format_cpu_strides(cpus), _as_kernel_list(format_taskset_list(cpus))):
        assert parse_cpu_list(text) == cpus
    assert len(format_taskset_list(cpus)) <= len(format_cpu_list(cpus))


def _as_kernel_list(text: str) -> str:
    """Return the list with taskset's `0-30:2` as the kernel's `0-30:1/2`."""
    return re.sub(r":(\d+)", r":1/\1", text)


@pytest.mark.parametrize(
    ("cpus", "kernel", "taskset"),
    [
        (range(0, 103, 2), "0-102:1/2", "0-102:2"),
        ((0, 1, 4, 5, 8, 9, 12, 13), "0-13:2/4", "0-1,4-5,8-9,12-13"),
        ((0, 2, 4), "0,2,4", "0,2,4"),
        ((*range(8), *range(9, 30, 3)), "0-7,9-27:1/3", "0-7,9-27:3"),
    ],
)
def test_interleaved_cpus_are_formatted_as_strides(cpus: Iterable[int], kernel: str, taskset: str) -> None:
    assert (format_cpu_strides(cpus), format_taskset_list(cpus)) == (kernel, taskset)


@given(st.frozensets(st.integers(0, 99), min_size=1))
def test_list_for_few_columns_has_the_cpus_or_their_ends_and_number(cpus: CpuSet) -> None:
    text = fitting_cpu_list(cpus, 12)
    assert len(text) <= 12
    assert text == f"{min(cpus)}…{max(cpus)} ({len(cpus)})" or parse_cpu_list(text) == cpus


def test_equal_lists_share_one_set() -> None:
    assert parse_cpu_list("0-8191\n") is parse_cpu_list("0-8191")
    assert parse_cpu_mask("ff,ffffffff\n") is parse_cpu_mask("ff,ffffffff")


@given(CPU_SETS)
def test_formatted_mask_is_parsed_as_the_same_cpus(cpus: CpuSet) -> None:
    assert parse_cpu_mask(format_cpu_mask(cpus)) == cpus


@given(st.integers(0, 300), st.integers(0, 60), st.integers(1, 9), st.integers(1, 9))
def test_grouped_range_contains_the_first_cpus_of_each_group(first: int, length: int, used: int, more: int) -> None:
    group = used + more
    expected = {first + at for at in range(length + 1) if at % group < used}
    assert parse_cpu_list(f"{first}-{first + length}:{used}/{group}") == expected


@given(CPU_SETS)
def test_shortest_list_has_no_adjacent_ranges(cpus: CpuSet) -> None:
    parts = [part for part in format_cpu_list(cpus).split(",") if part]
    starts = {int(part.split("-")[0]) for part in parts}
    assert starts == {cpu for cpu in cpus if cpu - 1 not in cpus}


@pytest.mark.parametrize(
    ("text", "cpus"),
    [
        ("0-3,8", {0, 1, 2, 3, 8}),
        ("0-3,8\n", {0, 1, 2, 3, 8}),
        ("5", {5}),
        ("3-3", {3}),
        ("8,0-1", {0, 1, 8}),
        ("0-2,1-3", {0, 1, 2, 3}),
        ("0-3, 8", {0, 1, 2, 3, 8}),
        ("1-7:2/4", {1, 2, 5, 6}),
        ("0-6:1/2,9", {0, 2, 4, 6, 9}),
        ("0-3:4/4", {0, 1, 2, 3}),
        ("8191", {8191}),
    ],
)
def test_list_is_parsed(text: str, cpus: set[int]) -> None:
    assert parse_cpu_list(text) == cpus


@pytest.mark.parametrize("text", ["", " ", "\n", "\0", "\n\0", "(null)", "  (null)\n", "\t\r\n"])
def test_blanks_nul_bytes_and_null_are_no_cpu(text: str) -> None:
    assert parse_cpu_list(text) == frozenset()


@pytest.mark.parametrize(
    ("text", "cpus"),
    [("all", {0, 1, 2, 3}), ("0-N", {0, 1, 2, 3}), ("N", {3}), ("2-N", {2, 3}), ("0-N:1/2", {0, 2}), ("0,N", {0, 3})],
)
def test_all_and_n_depend_on_the_last_cpu(text: str, cpus: set[int]) -> None:
    assert parse_cpu_list(text, last_cpu=3) == cpus


IMPOSSIBLE = [
    *(
        "5-2",
        "1-",
        "-1",
        "a",
        "0-99999999999",
        "8192",
        "0-65535",
        "1-7:4/2",
        "1-7:0/4",
        "1-7:1/0",
        "1-7:2",
        "1-7:/4",
        "0-3,",
    ),
    *("٣", "0-٣", "1-7:٢/4", "²", "0-2\u0661"),
    *(",", ",1", "1,,2", "0x3", "1.5", "1 2", "1-2-3", "+1", "null", "1;2", "0-3:2/4/6", "N-2", "1:1/2"),
]


@pytest.mark.parametrize("text", IMPOSSIBLE)
def test_impossible_list_is_malformed(text: str) -> None:
    with pytest.raises(Malformed):
        parse_cpu_list(text, last_cpu=8)


def test_malformed_list_is_quoted_completely() -> None:
    with pytest.raises(Malformed, match="expected a CPU list such as 0-3,8, found '0-3,x'"):
        parse_cpu_list("0-3,x\n")


@given(st.text() | ALMOST_LISTS, st.none() | st.integers(0, 100))
def test_any_text_is_a_list_or_malformed(text: str, last_cpu: int | None) -> None:
    try:
        cpus = parse_cpu_list(text, last_cpu)
    except Malformed:
        cpus = frozenset()
    assert all(0 <= cpu < 65536 for cpu in cpus)


@pytest.mark.parametrize("text", ["\0\0", "\0\0\0\n", "2\0\0\0", "f\0\0"])
@pytest.mark.parametrize("parse", [parse_cpu_list, parse_cpu_words, parse_cpu_mask])
def test_several_nul_bytes_are_malformed(parse: Callable[[str], object], text: str) -> None:
    with pytest.raises(Malformed):
        parse(text)


def test_no_cpus_are_formatted_as_an_empty_text() -> None:
    assert format_cpu_list([]) == ""


def test_list_is_formatted_in_order_and_without_repetition() -> None:
    assert format_cpu_list([8, 3, 1, 2, 0, 3]) == "0-3,8"


@pytest.mark.parametrize(
    ("text", "cpus"),
    [
        ("3\n", {0, 1}),
        ("0", set()),
        ("00000000,00000000", set()),
        ("ff,ffffffff", set(range(40))),
        ("1,00000000", {32}),
        ("80000000,00000000,00000001", {0, 95}),
        ("F", {0, 1, 2, 3}),
    ],
)
def test_mask_is_parsed_from_the_lowest_bit(text: str, cpus: set[int]) -> None:
    assert parse_cpu_mask(text) == cpus


@given(st.text() | st.text(alphabet="0123456789abcdefF,\n", max_size=30))
def test_any_text_is_a_mask_or_malformed(text: str) -> None:
    try:
        cpus = parse_cpu_mask(text)
    except Malformed:
        cpus = frozenset()
    assert all(0 <= cpu < 65536 for cpu in cpus)


@pytest.mark.parametrize(("cpus", "mask"), [([], "0"), ([0, 1], "3"), (range(40), "ff,ffffffff"), ([32], "1,00000000")])
def test_mask_is_formatted_as_the_kernel_accepts_it(cpus: list[int], mask: str) -> None:
    assert format_cpu_mask(cpus) == mask


def test_names_of_sets_are_separated() -> None:
    sets = [frozenset({0}), frozenset({1, 5}), frozenset({2, 3})]
    assert name_cpu_sets(sets) == "CPUs 0 | 1,5 | 2-3"


def test_command_without_a_cpu_is_refused() -> None:
    with pytest.raises(ValueError, match="needs a CPU"):
        cpu_list_argument(frozenset())
    assert cpu_list_argument({3, 1}, format_taskset_list) == "1,3"
