"""A clock that follows its time server, by 12 parts in a million."""

from __future__ import annotations

from noisewatch.kernel.system.clock_rate import QUESTION
from noisewatch.machine import Json

ANSWERS: dict[str, Json] = {QUESTION: {"status": 0x2001, "tick": 10_000, "freq": 12 * 65_536}}


def files(seconds: float) -> dict[str, str]:
    """No file says it."""
    return {}
