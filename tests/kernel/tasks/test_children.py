"""Children of threads, and descendants of processes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisewatch.kernel.tasks.task import descendants_in, parse_children


@pytest.mark.parametrize(("text", "children"), [("", ()), ("12 ", (12,)), ("12 13 ", (12, 13))])
def test_children_are_parsed_as_numbers(text: str, children: tuple[int, ...]) -> None:
    assert parse_children(text) == children


def test_descendants_include_those_of_descendants() -> None:
    assert descendants_in({2: 1, 3: 2, 4: 3, 5: 1}, [2]) == {2, 3, 4}


@given(st.dictionaries(st.integers(1, 20), st.integers(1, 20)), st.sets(st.integers(1, 20)))
def test_circle_of_parents_terminates(parents: dict[int, int], roots: set[int]) -> None:
    descendants = descendants_in(parents, roots)
    assert descendants >= roots
    assert all(parents[pid] in descendants for pid in descendants - roots)
