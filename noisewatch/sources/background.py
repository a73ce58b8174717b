"""What the machine does beside running tasks: counters that are read in every snapshot."""

from __future__ import annotations

from dataclasses import dataclass

from noisewatch.sources.cpulist import CpuSet
from noisewatch.sources.memory import Memory, read_memory
from noisewatch.sources.reader import Reader


@dataclass(frozen=True, slots=True)
class Background:
    """None is unknown, in all of them."""

    memory: Memory


def read_background(reader: Reader, target: CpuSet) -> Background:
    """The counters now; those of single CPUs for the target CPUs alone."""
    return Background(memory=read_memory(reader))
