"""Trace instances of noisewatch."""

from __future__ import annotations

import os
from pathlib import Path


def instances_of(tracefs: Path, pid: int) -> list[str]:
    """Return the trace instances of the noisewatch process `pid`, and of no other one."""
    return [name for name in os.listdir(tracefs / "instances") if name.startswith("noisewatch-") and f"-{pid}-" in name]
