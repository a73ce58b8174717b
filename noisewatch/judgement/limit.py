"""A number that judges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

FAILS = "fails"
LIMIT, MINIMUM, LOOKED_BACK, LOOKED_AHEAD = "limit", "minimum", "looked back", "looked ahead"  # what a number is


@dataclass(frozen=True, slots=True)
class Limit:
    """What it bounds, and why it is this number. `key` names it within its check: `--limit ID.key=…`."""

    key: str
    name: str
    value: float
    unit: str
    reason: str
    value_in: Mapping[str, float] = field(default_factory=dict, compare=False)  # by profile, where it is another
    set_by: str | None = None  # the option that sets it in place of --limit

    def under(self, profile: str) -> float:
        """The value that judges under the profile."""
        return self.value_in.get(profile, self.value)
