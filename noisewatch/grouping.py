"""What belongs together."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

Member = TypeVar("Member")


def grouped(members: Iterable[Member], key: Callable[[Member], Hashable]) -> list[list[Member]]:
    """The members that have the key in common, in the order of the first of each."""
    groups: dict[Hashable, list[Member]] = {}
    for member in members:
        groups.setdefault(key(member), []).append(member)
    return list(groups.values())
