"""Where this process may run, before it has moved aside."""

from __future__ import annotations

import os

from noisewatch.cpus import CpuSet


def allowed_now() -> CpuSet:
    """The CPUs that this process may use."""
    return frozenset(os.sched_getaffinity(0))
