"""The leading culprit, which headline, panel and fix are about until the user selects another row."""

from __future__ import annotations

from collections.abc import Sequence

from noisewatch.kinds import AFTER_AN_INTERRUPT, Kind, Role
from noisewatch.operations.frame.frame import CulpritLine, Frame
from noisewatch.surfaces.tui.state.folding import culprit_identity, fold_culprits, noise_of
from noisewatch.surfaces.tui.state.irq_history import IrqRow
from noisewatch.surfaces.tui.state.noise import GRAVE_NS, NOTABLE_NS

CLEARLY = 2.0  # factor by which another culprit must cost more to be selected instead
_ABOUT = 1.25  # factor up to which another CPU is about as noisy


def leading_culprit(frame: Frame, last: CulpritLine | None) -> CulpritLine | None:
    """Return the costliest culprit (all its threads) on the worst target CPU, or None without notable noise.

    The `last` leading culprit stays until another CPU is noisier, or another culprit on its CPU clearly costs more.
    """
    noise_by_cpu = {line.cpu: line.stolen_ns_per_s or 0 for line in frame.cpus if line.role == Role.TARGET}
    worst = max(noise_by_cpu, key=lambda cpu: noise_by_cpu[cpu], default=None)
    if worst is None or noise_by_cpu[worst] < NOTABLE_NS:
        return None
    if last is not None and _is_about_as_noisy(noise_by_cpu.get(last.cpu, 0), noise_by_cpu[worst]):
        culprits = _culprits_on(frame, last.cpu)
        same = next((line for line in culprits if culprit_identity(line) == culprit_identity(last)), None)
        if same is not None and CLEARLY * noise_of(same) > max(map(noise_of, culprits)):
            return same
    return max(_culprits_on(frame, worst), key=noise_of, default=None)


def _is_about_as_noisy(noise_ns: float, worst_ns: float) -> bool:
    """Return whether the noise is about as high as the worst, on the same side of the limit."""
    return _ABOUT * noise_ns > worst_ns and (noise_ns >= GRAVE_NS) == (worst_ns >= GRAVE_NS)


def _culprits_on(frame: Frame, cpu: int) -> list[CulpritLine]:
    return fold_culprits(line for line in frame.culprits if line.cpu == cpu)


def likely_irq(line: CulpritLine, culprits: Sequence[CulpritLine]) -> CulpritLine | None:
    """Return the IRQ that likely raises the softirq: the most frequent one on its CPU. Return None for other lines."""
    if line.kind != Kind.SOFTIRQ or line.name not in AFTER_AN_INTERRUPT:
        return None
    irqs = [culprit for culprit in culprits if culprit.cpu == line.cpu and culprit.kind == Kind.IRQ]
    return max(irqs, key=lambda culprit: culprit.rate_per_s or 0, default=None)


def row_of_culprit(lead: CulpritLine, lines: Sequence[CulpritLine]) -> int | None:
    """Return the index of the culprit's costliest line, on its own CPU if that CPU has one, or None."""
    same = [at for at, line in enumerate(lines) if culprit_identity(line) == culprit_identity(lead)]
    return max(same, key=lambda at: (lines[at].cpu == lead.cpu, noise_of(lines[at])), default=None)


def row_of_interrupt(lead: CulpritLine, rows: Sequence[IrqRow], culprits: Sequence[CulpritLine]) -> int | None:
    """Return the index of the row of the interrupt, or of the IRQ that likely raises the softirq; None for others."""
    cause = likely_irq(lead, culprits) or lead
    if cause.irq is not None:
        return next((at for at, row in enumerate(rows) if str(cause.irq) in row.labels), None)
    return next((at for at, row in enumerate(rows) if (row.kind, row.name) == (cause.kind, cause.name)), None)
