"""Nobody has locked it, and all its processes have their numbers in one namespace."""

from __future__ import annotations

from typing import Any

from noisewatch.kernel.tasks.machine_lock import NAMESPACE

ANSWERS: dict[str, Any] = {NAMESPACE: 4026531836}


def files(seconds: float) -> dict[str, str]:
    """There is no lock."""
    return {}
