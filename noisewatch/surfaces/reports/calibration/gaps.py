"""The gaps of some CPUs, prepared for pictures: lengths, causes, totals and names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field

from noisewatch.cpus import CpuSet
from noisewatch.judgement.case import Calibrated
from noisewatch.kinds import INTERRUPT_KINDS, THREADS, Kind
from noisewatch.model.calibration.figures import CpuFigures
from noisewatch.model.calibration.statistics import lower_edge, quantile
from noisewatch.operations.calibrate import LiveGaps
from noisewatch.records import dataclass
from noisewatch.surfaces.tui.draw.text_row import Style
from noisewatch.text import printable

MARKED = (("p50", 0.5), ("p99", 0.99))
_MOST_NAMES = 8


@dataclass(frozen=True, slots=True)
class GapClass:
    """A cause of gaps as a picture shows it: a glyph, a letter where there is no Unicode, and a colour."""

    name: str
    glyph: str
    letter: str
    style: Style


TICK = GapClass("tick", "▓", "t", "tick")
INTERRUPTS = GapClass("irq+softirq", "▒", "i", "irq")
THREADS_OF_OTHERS = GapClass("threads", "█", "#", "thread")
QUOTA = GapClass("quota", "▚", "q", "outside")
OUTSIDE = GapClass("outside", "░", "o", "outside")
UNKNOWN = GapClass("unknown", "▪", "?", "unknown")
CAUSES = (TICK, INTERRUPTS, THREADS_OF_OTHERS, QUOTA, OUTSIDE, UNKNOWN)
_BY_KIND = {
    **dict.fromkeys(INTERRUPT_KINDS | {Kind.SOFTIRQ}, INTERRUPTS),
    **dict.fromkeys(THREADS, THREADS_OF_OTHERS),
    Kind.TICK: TICK,
    Kind.QUOTA: QUOTA,
    Kind.OUTSIDE: OUTSIDE,
}


def cause_of(kind: Kind) -> GapClass:
    """Return the cause as which a picture shows this kind of culprit; UNKNOWN for unattributed gaps."""
    return _BY_KIND.get(kind, UNKNOWN)


@dataclass(frozen=True, slots=True)
class CauseTotal:
    """All gaps of one cause: their number, and their share of the time in which gaps were looked for."""

    cause: GapClass
    count: int
    share: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class GapsShown:
    """Gaps to be drawn. Lengths are in ns; None is unknown. Without gaps there are no percentiles."""

    counts: Mapping[tuple[int, GapClass], int] = field(default_factory=dict)  # by length and cause
    looked_s: float  # the time for which gaps were looked for, summed over all CPUs
    totals: Sequence[CauseTotal] = ()
    unplaced: int = 0  # gaps that were only counted because the buffer was full
    share: float | None = None  # of the time that gaps were looked for
    percentiles: Mapping[str, float] = field(default_factory=dict)
    longest_ns: float | None = None
    unknown_because: str | None = None  # why there is no trace of the causes
    is_live: bool = False
    names: Sequence[tuple[str, float | None]] = ()  # of culprits or suspects, with their shares; the costliest first
    are_suspects: bool = False

    @property
    def count(self) -> int:
        return sum(self.counts.values()) + self.unplaced

    @property
    def marks(self) -> list[tuple[str, float]]:
        """The marks below the axis, as (name, ns)."""
        longest = [("longest", self.longest_ns)] if self.longest_ns else []
        return [*self.percentiles.items(), *longest]


def gaps_of(calibrated: Calibrated, cpus: CpuSet | None = None) -> GapsShown:
    """Return the gaps of these CPUs, or of all; CPUs whose calibration is incomplete are left out."""
    whole = [each for each in calibrated.complete if cpus is None or each.cpu in cpus]
    wanted = {each.cpu for each in whole}
    samples = [said for said in calibrated.calibration.samples.cpus if said.cpu in wanted]
    attribution = calibrated.attribution
    found = [
        (cause.length_ns, cause_of(cause.kind)) for cpu in wanted for cause in attribution.causes_by_cpu.get(cpu, ())
    ]
    lengths = sorted(length for length, _ in found)
    spun_ns = sum(said.spun_ns for said in samples)
    stolen_ns = sum(lengths) + sum(said.gaps.lost_ns for said in samples)
    names, are_suspects = _names(calibrated, wanted, spun_ns)
    return GapsShown(
        counts=_counted(found),
        looked_s=spun_ns / 1e9,
        totals=_totals(found, spun_ns),
        unplaced=sum(said.gaps.lost_count for said in samples),
        share=stolen_ns / spun_ns if spun_ns else None,
        percentiles={name: value for name, share in MARKED if (value := quantile(lengths, share)) is not None},
        longest_ns=_longest_ns(whole),
        unknown_because=attribution.reason,
        names=names,
        are_suspects=are_suspects,
    )


def _counted(found: Iterable[tuple[int, GapClass]]) -> dict[tuple[int, GapClass], int]:
    counts: dict[tuple[int, GapClass], int] = {}
    for each in found:
        counts[each] = counts.get(each, 0) + 1
    return counts


def _totals(found: Sequence[tuple[int, GapClass]], spun_ns: int) -> list[CauseTotal]:
    lengths = {cause: [length for length, each in found if each is cause] for cause in CAUSES}
    return [
        CauseTotal(cause, len(mine), sum(mine) / spun_ns if spun_ns else None)
        for cause, mine in lengths.items()
        if mine
    ]


def _longest_ns(whole: Sequence[CpuFigures]) -> float | None:
    return max((each.gap_max_ns for each in whole if each.gap_max_ns is not None), default=None)


def _names(calibrated: Calibrated, cpus: set[int], spun_ns: int) -> tuple[list[tuple[str, float | None]], bool]:
    """Return culprits, costliest first, with their shares of time, and whether they are only suspects.

    Culprits are from the trace. Without one, suspects are what ran on the CPUs meanwhile, without shares.
    """
    attribution = calibrated.attribution
    traced = [
        culprit.disturbance
        for cpu in cpus
        for culprit in attribution.culprits_by_cpu.get(cpu, ())
        if not culprit.disturbance.is_inferred and cause_of(culprit.disturbance.kind) not in (UNKNOWN, OUTSIDE, TICK)
    ]
    found = traced or [each for cpu in cpus for each in attribution.suspects_by_cpu.get(cpu, ())]
    ns_by_name: dict[str, int | None] = {}
    for each in found:
        name = printable(each.name)
        known = ns_by_name.get(name, 0)
        ns_by_name[name] = None if known is None or each.stolen_ns is None else known + each.stolen_ns
    ordered = sorted(ns_by_name.items(), key=lambda pair: -(pair[1] or 0))[:_MOST_NAMES]
    shares = [(name, ns / spun_ns if traced and ns is not None and spun_ns else None) for name, ns in ordered]
    return shares, bool(found) and not traced


def live_gaps_of(live: LiveGaps) -> GapsShown:
    """Return the gaps of a running calibration. Their causes are attributed when it ends."""
    together = live.together
    spun_ns = sum(each.spun_ns for each in live.by_cpu.values())
    stolen_ns = sum(each.stolen_ns for each in live.by_cpu.values())
    bounds = {name: together.quantile_bounds(share) for name, share in MARKED}
    longest_ns = max((each.longest_ns for each in live.by_cpu.values()), default=0)
    return GapsShown(
        counts={(_middle_ns(bucket), UNKNOWN): count for bucket, count in together.counts.items()},
        looked_s=spun_ns / 1e9,
        share=min(stolen_ns / spun_ns, 1.0) if spun_ns else None,
        percentiles={name: min(sum(found) / 2, longest_ns) for name, found in bounds.items() if found is not None},
        longest_ns=longest_ns or None,
        is_live=True,
    )


def _middle_ns(bucket: int) -> int:
    return (lower_edge(bucket) + lower_edge(bucket + 1)) // 2
