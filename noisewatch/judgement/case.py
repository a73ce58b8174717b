"""What is judged: a snapshot, the interval that led to it if one was sampled, and the CPUs in question."""

from __future__ import annotations

from dataclasses import dataclass

from noisewatch.model.interval import Interval
from noisewatch.sources.cpulist import CpuSet
from noisewatch.sources.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Case:
    """`interval` is None without a sample; `no_sample_reason` then says why, None meaning that nobody asked."""

    snapshot: Snapshot
    interval: Interval | None = None
    no_sample_reason: str | None = None

    @property
    def target(self) -> CpuSet:
        return self.snapshot.target.cpus

    @property
    def online(self) -> CpuSet:
        return self.snapshot.online.online or frozenset()

    @property
    def siblings(self) -> CpuSet:
        """The online CPUs that share a core with a target CPU, and are none themselves."""
        found: set[int] = set()
        for cpu, place in self.snapshot.topology.items():
            shared = place.siblings or frozenset()
            if cpu in self.target:
                found |= shared
            elif shared & self.target:
                found.add(cpu)
        return frozenset(found) & self.online - self.target

    @property
    def housekeeping(self) -> CpuSet:
        """The CPUs that other work may be moved to: all others, the siblings left out where that leaves any."""
        others = self.online - self.target
        return others - self.siblings or others

    def why_unknown(self, *paths: str) -> str:
        """The reason that the first of the paths, or anything below it, gave no answer."""
        reasons = self.snapshot.reason_by_path
        below = (known for path in paths for known in sorted(reasons) if known.startswith(path + "/"))
        above = (known for path in paths for known in sorted(reasons) if path.startswith(known + "/"))
        for known in (*paths, *below, *above):
            if known in reasons:
                return f"{known}: {reasons[known]}"
        return f"{paths[0]}: not told by this machine"
