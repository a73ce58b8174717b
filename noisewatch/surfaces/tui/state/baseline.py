"""A baseline: a span of intervals with which later intervals are compared."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from msgspec import Struct

from noisewatch.kinds import Kind
from noisewatch.operations.frame.frame import CpuLine, CulpritLine
from noisewatch.surfaces.tui.state.folding import parts_of
from noisewatch.surfaces.tui.state.history import History

MOST_INTERVALS = 30  # a single interval is too short, and each one has to be decoded for its culprits

Identity = tuple[int, str, str, int | None]


class Baseline(Struct, frozen=True):
    """The mean noise (ns/s) of CPUs and culprits over a span; None if the noise of any interval is unknown."""

    taken_at_ns: int
    intervals: int
    noise_by_cpu: Mapping[int, float | None]
    noise_by_culprit: Mapping[Identity, float]
    whole_cpus: frozenset[int]  # CPUs with all culprits known

    def change_of_cpu(self, line: CpuLine) -> float | None:
        """Return the change of the CPU's noise since the baseline (ns/s), or None if unknown."""
        before = self.noise_by_cpu.get(line.cpu)
        return None if before is None or line.stolen_ns_per_s is None else line.stolen_ns_per_s - before

    def change_of_culprit(self, line: CulpritLine) -> float | None:
        """Return the change of the culprit's noise since the baseline (ns/s), or None if unknown."""
        absent_ns = 0.0 if line.cpu in self.whole_cpus else None
        before = [self.noise_by_culprit.get(identity_of(part), absent_ns) for part in parts_of(line)]
        measured_noise = [noise for noise in before if noise is not None]
        return line.stolen_ns_per_s - sum(measured_noise) if len(measured_noise) == len(before) else None


def identity_of(line: CulpritLine) -> Identity:
    """Return a key that identifies the culprit in all intervals, without a kernel thread's name, which may change."""
    is_numbered = line.kind == Kind.KERNEL_THREAD and line.tid is not None
    return line.cpu, line.kind, "" if is_numbered else line.name, line.tid


def baseline_of(history: History, last: int) -> Baseline:
    """Return the baseline of the intervals up to `last`, which must be a kept interval."""
    numbers = range(max(last + 1 - MOST_INTERVALS, history.first), last + 1)
    count = len(numbers)
    frames = [history.frame(number) for number in numbers]
    noise_by_identity: dict[Identity, list[float]] = defaultdict(list)
    for line in (line for frame in frames for line in frame.culprits):
        noise_by_identity[identity_of(line)].append(line.stolen_ns_per_s)
    cpus = [line.cpu for line in frames[-1].cpus]
    noise_by_cpu = {cpu: _mean(history.noise(cpu, numbers)) for cpu in cpus}
    whole = frozenset(cpu for cpu in cpus if all(frame.has_all_culprits_of(cpu) for frame in frames))
    noise_by_culprit = {
        culprit: sum(lost) / count
        for culprit, lost in noise_by_identity.items()
        if culprit[0] in whole or len(lost) == count
    }
    return Baseline(
        taken_at_ns=frames[-1].taken_at_ns,
        intervals=count,
        noise_by_cpu=noise_by_cpu,
        noise_by_culprit=noise_by_culprit,
        whole_cpus=whole,
    )


def _mean(losses: list[float | None]) -> float | None:
    measured_losses = [lost for lost in losses if lost is not None]
    return sum(measured_losses) / len(measured_losses) if len(measured_losses) == len(losses) else None
