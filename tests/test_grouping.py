"""Grouping of items by a key."""

from __future__ import annotations

from noisewatch.grouping import grouped


def test_groups_are_in_the_order_of_their_first_members() -> None:
    assert grouped([3, 1, 4, 1, 5], lambda number: number % 2) == [[3, 1, 1, 5], [4]]
    assert grouped([], lambda number: number) == []
