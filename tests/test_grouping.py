"""Grouping of items by a key."""

from __future__ import annotations

from noisewatch.grouping import group_by_key


def test_groups_are_in_the_order_of_their_first_members() -> None:
    assert group_by_key([3, 1, 4, 1, 5], lambda number: number % 2) == [[3, 1, 1, 5], [4]]
    assert group_by_key([], lambda number: number) == []
