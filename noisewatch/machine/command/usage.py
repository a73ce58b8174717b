"""The resources that processes used, as the kernel counts them for getrusage(2)."""

from __future__ import annotations

import resource
from typing import Self

from noisewatch.records import dataclass


@dataclass(frozen=True, slots=True)
class ResourceUsage:
    """Resources used by processes and the descendants that they waited for. Times have a precision of 1 µs."""

    user_ns: int = 0
    system_ns: int = 0
    minor_faults: int = 0
    major_faults: int = 0
    blocks_in: int = 0  # of 512 bytes
    blocks_out: int = 0
    voluntary_switches: int = 0
    involuntary_switches: int = 0

    @classmethod
    def of(cls, used: resource.struct_rusage) -> Self:
        """Return the usage from wait4's struct_rusage."""
        return cls(
            round(used.ru_utime * 1e6) * 1000,
            round(used.ru_stime * 1e6) * 1000,
            used.ru_minflt,
            used.ru_majflt,
            used.ru_inblock,
            used.ru_oublock,
            used.ru_nvcsw,
            used.ru_nivcsw,
        )

    @property
    def cpu_ns(self) -> int:
        """User and system time."""
        return self.user_ns + self.system_ns

    def plus(self, other: ResourceUsage) -> ResourceUsage:
        """Return the sum of both usages."""
        return self._combined(other, 1)

    def less(self, other: ResourceUsage) -> ResourceUsage:
        """Return the usage less `other`, an earlier reading of the same processes."""
        return self._combined(other, -1)

    def _combined(self, other: ResourceUsage, sign: int) -> ResourceUsage:
        return ResourceUsage(*(getattr(self, name) + sign * getattr(other, name) for name in _FIELDS))


_FIELDS = tuple(ResourceUsage.__annotations__)
