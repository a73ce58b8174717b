"""Grouping by a common key."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

Member = TypeVar("Member")


def group_by_key(members: Iterable[Member], key: Callable[[Member], Hashable]) -> list[list[Member]]:
    """Return lists of members with equal keys, in the order of their first members."""
    groups: dict[Hashable, list[Member]] = {}
    for member in members:
        groups.setdefault(key(member), []).append(member)
    return list(groups.values())
