"""Fields of an answer to what no file says: JSON, perhaps of a damaged recording."""

from __future__ import annotations

from typing import Any, TypeVar

from noisewatch.errors import Malformed
from noisewatch.machine import Json

_LARGEST = 1 << 62

T = TypeVar("T")


def field_of(said: Json, name: str, kind: type[T]) -> T:
    """The field, which is of that very type. Raises Malformed."""
    value: Any = said.get(name) if isinstance(said, dict) else None
    if type(value) is not kind:
        raise Malformed(f"{name} in the answer", str(value))
    return value


def count_of(said: Json, name: str) -> int:
    """The field, a whole number from 0 on. Raises Malformed."""
    value = field_of(said, name, int)
    if not is_count_in(value):
        raise Malformed(f"{name} in the answer", str(value))
    return value


def is_count_in(value: Json) -> bool:
    """Whether it is a whole number from 0 on."""
    return type(value) is int and 0 <= value <= _LARGEST
