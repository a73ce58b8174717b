"""Folds the lines of a culprit on several CPUs into one line, such as the timer tick of thirteen CPUs."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable

from msgspec.structs import replace

from noisewatch.cpus import CpuSet
from noisewatch.kinds import THREADS
from noisewatch.operations.frame.frame import CulpritLine


class FoldedLine(CulpritLine, frozen=True):
    """All lines of one culprit, with the figures of its worst CPU; `parts` are its lines on that CPU.

    With `is_least`, the frame may leave out some of the culprit's threads on that CPU.
    """

    cpus: tuple[int, ...] = ()
    parts: tuple[CulpritLine, ...] = ()
    is_least: bool = False

    @property
    def process_mark(self) -> str:
        """The process ID in brackets, without a thread ID, because a folded line has several threads."""
        return "" if self.pid is None else f" [{self.pid}]"


def noise_of(line: CulpritLine) -> float:
    """Return the culprit's noise in ns/s."""
    return line.stolen_ns_per_s


def fold_culprits(
    lines: Iterable[CulpritLine], weight: Callable[[CulpritLine], float] = noise_of, cut_cpus: CpuSet = frozenset()
) -> list[CulpritLine]:
    """Return one line for each culprit, with the sum of its threads on the CPU where its `weight` is highest.

    `cut_cpus` are CPUs whose lines may lack some threads.
    """
    groups: dict[Hashable, list[CulpritLine]] = {}
    for line in lines:
        groups.setdefault(culprit_identity(line), []).append(line)
    return [_fold_group(group, weight, cut_cpus) for group in groups.values()]


def culprit_identity(line: CulpritLine) -> Hashable:
    """Return a culprit's key, the same on all its CPUs; differently named threads of a process are several culprits."""
    return (line.kind, line.name, line.pid if line.kind in THREADS else line.irq)


def _fold_group(group: list[CulpritLine], weight: Callable[[CulpritLine], float], cut: CpuSet) -> CulpritLine:
    if len(group) == 1:
        return group[0]
    lines_of_cpus = by_cpu(group)
    worst = max(lines_of_cpus, key=lambda line: (weight(line), noise_of(line)))
    folded_line = _merge_lines(worst, parts_of(worst), tuple(line.cpu for line in lines_of_cpus))
    return replace(folded_line, is_least=worst.kind in THREADS and worst.cpu in cut)


def by_cpu(lines: Iterable[CulpritLine]) -> list[CulpritLine]:
    """Return one line for each CPU of a culprit, with the sum of the culprit's threads there."""
    lines_by_cpu: dict[int, list[CulpritLine]] = {}
    for line in lines:
        lines_by_cpu.setdefault(line.cpu, []).append(line)
    return [
        cpu_lines[0] if len(cpu_lines) == 1 else _merge_lines(max(cpu_lines, key=noise_of), tuple(cpu_lines), (cpu,))
        for cpu, cpu_lines in sorted(lines_by_cpu.items())
    ]


def _merge_lines(worst: CulpritLine, parts: tuple[CulpritLine, ...], cpus: tuple[int, ...]) -> FoldedLine:
    figures = {name: getattr(worst, name) for name in CulpritLine.__struct_fields__}
    rates = [line.rate_per_s for line in parts if line.rate_per_s is not None]
    figures["stolen_ns_per_s"] = sum(map(noise_of, parts))
    figures["rate_per_s"] = sum(rates) if rates else None
    figures["is_estimate"] = any(line.is_estimate for line in parts)
    return FoldedLine(**figures, cpus=cpus, parts=parts)


def parts_of(line: CulpritLine) -> tuple[CulpritLine, ...]:
    """Return the lines that make up a line's figures."""
    return line.parts if isinstance(line, FoldedLine) else (line,)


def cpus_of(line: CulpritLine) -> tuple[int, ...]:
    return line.cpus if isinstance(line, FoldedLine) else (line.cpu,)


def is_least(line: CulpritLine) -> bool:
    """Return whether the culprit may have made more noise than the line shows."""
    return isinstance(line, FoldedLine) and line.is_least
