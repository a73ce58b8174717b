"""One `replace` for all records."""

from __future__ import annotations

import dataclasses
from typing import Any

import msgspec


def replace(record: Any, /, **changes: Any) -> Any:
    """Return a copy of a dataclass's or Struct's instance with these fields changed."""
    by = msgspec.structs.replace if isinstance(record, msgspec.Struct) else dataclasses.replace
    return by(record, **changes)
