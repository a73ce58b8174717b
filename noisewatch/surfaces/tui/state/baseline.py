"""A stretch of time that all others are compared with."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from noisewatch.kinds import Kind
from noisewatch.operations.frame.frame import CpuLine, CulpritLine
from noisewatch.surfaces.tui.state.history import History

MOST_INTERVALS = 30  # one interval alone says little, and each is unpacked for its sources

Source = tuple[int, str, str, int | None]


@dataclass(frozen=True, slots=True)
class Baseline:
    """What was lost on average, in ns a second; None where that is not known of some of the intervals."""

    taken_at_ns: int
    intervals: int
    lost_by_cpu: Mapping[int, float | None]
    lost_by_source: Mapping[Source, float]
    whole_cpus: frozenset[int]  # all of whose sources are known

    def change_of_cpu(self, line: CpuLine) -> float | None:
        """How much more it loses than then."""
        before = self.lost_by_cpu.get(line.cpu)
        return None if before is None or line.stolen_ns_per_s is None else line.stolen_ns_per_s - before

    def change_of_source(self, line: CulpritLine) -> float | None:
        """How much more it takes than then; None where it may have been among those that were not told."""
        before = self.lost_by_source.get(source_of(line), 0.0 if line.cpu in self.whole_cpus else None)
        return None if before is None else line.stolen_ns_per_s - before


def source_of(line: CulpritLine) -> Source:
    """What makes it the same source in another interval; a kernel worker is called after what it does just now."""
    is_numbered = line.kind == Kind.KERNEL_THREAD and line.tid is not None
    return line.cpu, line.kind, "" if is_numbered else line.name, line.tid


def baseline_of(history: History, last: int) -> Baseline:
    """Of the intervals up to `last`, which is kept."""
    numbers = range(max(last + 1 - MOST_INTERVALS, history.first), last + 1)
    count = len(numbers)
    frames = [history.frame(number) for number in numbers]
    found: dict[Source, list[float]] = defaultdict(list)
    for line in (line for frame in frames for line in frame.culprits):
        found[source_of(line)].append(line.stolen_ns_per_s)
    cpus = [line.cpu for line in frames[-1].cpus]
    lost_by_cpu = {cpu: _mean(history.losses(cpu, numbers)) for cpu in cpus}
    whole = frozenset(cpu for cpu in cpus if all(frame.tells_all_of(cpu) for frame in frames))
    lost_by_source = {
        source: sum(lost) / count for source, lost in found.items() if source[0] in whole or len(lost) == count
    }
    return Baseline(
        taken_at_ns=frames[-1].taken_at_ns,
        intervals=count,
        lost_by_cpu=lost_by_cpu,
        lost_by_source=lost_by_source,
        whole_cpus=whole,
    )


def _mean(losses: list[float | None]) -> float | None:
    known = [lost for lost in losses if lost is not None]
    return sum(known) / len(known) if len(known) == len(losses) else None
