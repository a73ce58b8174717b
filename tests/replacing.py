"""One `replace` for all records."""

from __future__ import annotations

import dataclasses
from typing import Any, TypeVar

import msgspec

Record = TypeVar("Record")


def replace(record: Record, /, **changes: Any) -> Record:
    """Return a copy of a dataclass's or Struct's instance with these fields changed."""
    by: Any = msgspec.structs.replace if isinstance(record, msgspec.Struct) else dataclasses.replace
    copy: Record = by(record, **changes)
    return copy
