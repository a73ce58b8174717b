"""Texts for moved IRQs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from noisewatch.cpus import CpuSet, name_cpus, parse_cpu_list
from noisewatch.errors import Malformed

if TYPE_CHECKING:
    from noisewatch.surfaces.tui.state.irq_history import IrqMove

_MOST_TOLD = 8  # texts in one interval, so that a balancer that moves a hundred IRQs does not fill the log


def told(moves: Sequence[IrqMove], target: CpuSet) -> Iterator[str]:
    """Yield a sentence for each of the first moves, those from or to target CPUs first, and one for the rest."""
    ordered = sorted(moves, key=lambda move: not (_cpus(move.before) | _cpus(move.after)) & target)
    yield from map(_sentence, ordered[:_MOST_TOLD])
    rest = ordered[_MOST_TOLD:]
    if rest:
        yield f"{len(rest)} more IRQ{'s' if len(rest) > 1 else ''} moved: {', '.join(move.label for move in rest)}"


def _sentence(move: IrqMove) -> str:
    irq = f"IRQ {move.label}{f' ({move.name})' if move.name else ''}"
    before, after = name_cpus(_cpus(move.before)), name_cpus(_cpus(move.after))
    by = f", by {move.balancer}?" if move.balancer is not None else ""
    if move.is_effective:
        return f"{irq} came to {after}, was on {before}{by}"
    return f"{irq} may now go to {after}, was allowed on {before}{by}"


def _cpus(text: str) -> CpuSet:
    try:
        return parse_cpu_list(text)
    except Malformed:
        return frozenset()
