"""Culprits that are the same on several CPUs as one line: the tick of thirteen CPUs is one thing to know."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, fields

from noisewatch.kinds import THREADS
from noisewatch.operations.frame.frame import CulpritLine


@dataclass(frozen=True, slots=True)
class FoldedLine(CulpritLine):
    """The line of the CPU that comes first in the order, for all of them."""

    cpus: tuple[int, ...] = ()

    @property
    def process_mark(self) -> str:
        """The process alone: its threads differ."""
        return "" if self.pid is None else f" [{self.pid}]"


_FIELDS = tuple(field.name for field in fields(CulpritLine))


def folded(lines: Iterable[CulpritLine]) -> list[CulpritLine]:
    """The lines in their order; those of one culprit on several CPUs are one, at the place of the first."""
    groups: dict[Hashable, list[CulpritLine]] = {}
    for line in lines:
        groups.setdefault(what_is_same(line), []).append(line)
    return [_one(group) for group in groups.values()]


def what_is_same(line: CulpritLine) -> Hashable:
    """What is the same of a culprit on each CPU; a thread that has a name of its own stays alone."""
    return (line.kind, line.name, line.pid if line.kind in THREADS else line.irq)


def _one(group: list[CulpritLine]) -> CulpritLine:
    cpus = tuple(sorted({line.cpu for line in group}))
    if len(cpus) == 1 and len(group) == 1:
        return group[0]
    return FoldedLine(**{name: getattr(group[0], name) for name in _FIELDS}, cpus=cpus)


def cpus_of(line: CulpritLine) -> tuple[int, ...]:
    """All CPUs that the line is about."""
    return line.cpus if isinstance(line, FoldedLine) else (line.cpu,)
