"""The gaps of some CPUs for pictures: lengths, causes, totals, names, and a histogram by length.

The histogram has bars on a fixed logarithmic axis, split by cause. A bar's height is the logarithm of its number of
gaps; its parts are the causes' shares of them. Even a single gap fills a cell, so its cause is visible without colour.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec import Struct

from noisewatch.cpus import CpuSet
from noisewatch.judgement.case import Calibrated
from noisewatch.kinds import INTERRUPT_KINDS, THREADS, Kind
from noisewatch.model.calibration.statistics import lower_edge, quantile
from noisewatch.operations.calibrate import LiveGaps
from noisewatch.surfaces.drawing.axis import labels_line, put, rows_for
from noisewatch.surfaces.drawing.glyphs import Glyphs
from noisewatch.surfaces.drawing.text_row import Piece, Row, Style, first_that_fits, join_styles
from noisewatch.text import printable
from noisewatch.units import describe_ns

MARKED = (("p50", 0.5), ("p99", 0.99))
_MOST_NAMES = 8


class GapClass(Struct, frozen=True):
    """A cause of gaps in a picture: a glyph, a letter for ASCII, and a colour."""

    name: str
    glyph: str
    letter: str
    style: Style
    cure: str = ""  # end of a sentence about the cause, which says how to remove its gaps


TICK = GapClass("tick", "▓", "t", "tick", cure=": nohz_full= removes it")
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
    """Return the cause under which pictures show this kind of culprit; UNKNOWN for unattributed gaps."""
    return _BY_KIND.get(kind, UNKNOWN)


class CauseTotal(Struct, frozen=True):
    """All gaps of one cause: their number, and their share of the measured time."""

    cause: GapClass
    count: int
    share: float | None


class GapsShown(Struct, frozen=True, kw_only=True):
    """Gaps to be drawn. Lengths are in ns; None means unknown. Without gaps there are no percentiles."""

    counts: Mapping[tuple[int, GapClass], int] = {}  # by length and cause
    looked_s: float  # measured time, summed over all CPUs
    totals: Sequence[CauseTotal] = ()
    unplaced: int = 0  # gaps that were counted but not kept, because the buffer was full
    share: float | None = None  # share of the measured time that was lost to gaps
    percentiles: Mapping[str, float] = {}
    longest_ns: float | None = None
    unknown_because: str | None = None  # why causes were not traced
    is_live: bool = False
    names: Sequence[tuple[str, float | None]] = ()  # culprits or suspects and their shares, the costliest first
    are_suspects: bool = False

    @property
    def count(self) -> int:
        return sum(self.counts.values()) + self.unplaced

    @property
    def main_cause(self) -> tuple[GapClass, float] | None:
        """The cause with the most time in gaps, and its part of the time in all gaps; None if that cause is unknown."""
        total = max(self.totals, key=lambda total: total.share or 0.0, default=None)
        if total is None or not total.share or total.cause is UNKNOWN or not self.share:
            return None
        return total.cause, total.share / self.share

    @property
    def marks(self) -> list[tuple[str, float]]:
        """The marks below the axis, as (name, ns)."""
        longest = [("longest", self.longest_ns)] if self.longest_ns else []
        return [*self.percentiles.items(), *longest]


def gaps_of(calibrated: Calibrated, cpus: CpuSet | None = None) -> GapsShown:
    """Return the gaps of these CPUs, or of all; CPUs whose calibration is incomplete are left out."""
    whole = [figures for figures in calibrated.complete if cpus is None or figures.cpu in cpus]
    measured_cpus = {figures.cpu for figures in whole}
    samples = [cpu_samples for cpu_samples in calibrated.calibration.samples.cpus if cpu_samples.cpu in measured_cpus]
    attribution = calibrated.attribution
    gaps = [
        (cause.length_ns, cause_of(cause.kind))
        for cpu in measured_cpus
        for cause in attribution.causes_by_cpu.get(cpu, ())
    ]
    lengths = sorted(length for length, _ in gaps)
    spun_ns = sum(cpu_samples.spun_ns for cpu_samples in samples)
    stolen_ns = sum(lengths) + sum(cpu_samples.gaps.lost_ns for cpu_samples in samples)
    names, are_suspects = _names(calibrated, measured_cpus, spun_ns)
    return GapsShown(
        counts=Counter(gaps),
        looked_s=spun_ns / 1e9,
        totals=_totals(gaps, spun_ns),
        unplaced=sum(cpu_samples.gaps.lost_count for cpu_samples in samples),
        share=stolen_ns / spun_ns if spun_ns else None,
        percentiles={name: value for name, share in MARKED if (value := quantile(lengths, share)) is not None},
        longest_ns=max((figures.gap_max_ns for figures in whole if figures.gap_max_ns is not None), default=None),
        unknown_because=attribution.reason,
        names=names,
        are_suspects=are_suspects,
    )


def _totals(gaps: Sequence[tuple[int, GapClass]], spun_ns: int) -> list[CauseTotal]:
    lengths = {cause: [length for length, gap_cause in gaps if gap_cause is cause] for cause in CAUSES}
    return [
        CauseTotal(cause, len(mine), sum(mine) / spun_ns if spun_ns else None)
        for cause, mine in lengths.items()
        if mine
    ]


def _names(calibrated: Calibrated, cpus: set[int], spun_ns: int) -> tuple[list[tuple[str, float | None]], bool]:
    """Return culprits, costliest first, with their shares of time, and whether they are only suspects.

    Culprits are from the trace. Without a trace they are suspects: everything that ran on the CPUs during the
    calibration, without shares.
    """
    attribution = calibrated.attribution
    traced = [
        culprit.disturbance
        for cpu in cpus
        for culprit in attribution.culprits_by_cpu.get(cpu, ())
        if not culprit.disturbance.is_inferred and cause_of(culprit.disturbance.kind) not in (UNKNOWN, OUTSIDE, TICK)
    ]
    culprits = traced or [disturbance for cpu in cpus for disturbance in attribution.suspects_by_cpu.get(cpu, ())]
    ns_by_name: dict[str, int | None] = {}
    for disturbance in culprits:
        name = printable(disturbance.name)
        sum_ns = ns_by_name.get(name, 0)
        ns_by_name[name] = None if sum_ns is None or disturbance.stolen_ns is None else sum_ns + disturbance.stolen_ns
    ordered = sorted(ns_by_name.items(), key=lambda pair: -(pair[1] or 0))[:_MOST_NAMES]
    shares = [(name, ns / spun_ns if traced and ns is not None and spun_ns else None) for name, ns in ordered]
    return shares, bool(culprits) and not traced


def live_gaps_of(live: LiveGaps) -> GapsShown:
    """Return the gaps of a running calibration. Their causes are attributed when it ends."""
    together = live.together
    spun_ns = sum(cpu_gaps.spun_ns for cpu_gaps in live.by_cpu.values())
    stolen_ns = sum(cpu_gaps.stolen_ns for cpu_gaps in live.by_cpu.values())
    bounds = {name: together.quantile_bounds(share) for name, share in MARKED}
    longest_ns = max((cpu_gaps.longest_ns for cpu_gaps in live.by_cpu.values()), default=0)
    return GapsShown(
        counts={
            ((lower_edge(bucket) + lower_edge(bucket + 1)) // 2, UNKNOWN): count
            for bucket, count in together.counts.items()
        },
        looked_s=spun_ns / 1e9,
        share=min(stolen_ns / spun_ns, 1.0) if spun_ns else None,
        percentiles={
            name: min(sum(bounds_ns) / 2, longest_ns) for name, bounds_ns in bounds.items() if bounds_ns is not None
        },
        longest_ns=longest_ns or None,
        is_live=True,
    )


FIRST_NS, DECADES = 1_000, 5  # the axis: from 1 µs to 100 ms
_MOST_BARS = 160  # narrower bars would divide the buckets of a running calibration
_LEAST_POWER = 2  # lowest power of ten at the top of the axis of counts
_LEAST_BARS, _MARK_ROWS = 2, 2
LEAST_ROWS = 4 + _LEAST_BARS
_COUNT_WIDTH = 4  # columns of the numbers next to the axis, such as `100k`


def share_of_axis(ns: float) -> float:
    """Return the place of a length on the axis, from 0 to 1; lengths beyond an end are placed at that end."""
    return min(max(math.log10(max(ns, 1) / FIRST_NS) / DECADES, 0.0), 1.0)


def histogram_rows(gaps: GapsShown, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """Draw the histogram with the titles of its axes and its percentiles in `height` rows of at most `width` columns.

    The list is empty if it does not fit.
    """
    left = _COUNT_WIDTH + 2
    columns = width - left
    if height < LEAST_ROWS or columns < 2 * DECADES:
        return []
    marks = _mark_rows(gaps, columns, glyphs)[: max(height - LEAST_ROWS + 1, 1)]
    bars = height - 3 - len(marks)
    drawn = _bar_rows(gaps, columns, bars, glyphs)
    if not gaps.counts:
        note = "none so far" if gaps.is_live else "none was kept" if gaps.unplaced else "not a single gap"
        drawn[bars // 2] = [drawn[bars // 2][0], (f"{note:^{columns}}"[:columns], "strong")]
    rows = [_titles(width), *drawn, _axis(columns, left), _lengths(columns, left, width)]
    return rows_for([*rows, *([(" " * left, "plain"), *row] for row in marks)], glyphs.has_braille)


def _titles(width: int) -> Row:
    """Return the titles of both axes: counts at the left, lengths at the right."""
    right = first_that_fits(["length of a gap, logarithmic →", "length →", "→"], max(width // 2, 1))
    left = first_that_fits(["↑ number of gaps, logarithmic", "↑ gaps", "↑"], width - len(right) - 1)
    return [(left, "faint"), (" " * (width - len(left) - len(right)), "plain"), (right, "faint")]


def _bar_rows(gaps: GapsShown, columns: int, height: int, glyphs: Glyphs) -> list[Row]:
    """Draw the bars from the top down, with the axis of counts at the left."""
    wide = -(-columns // _MOST_BARS)
    bars: list[Counter[GapClass]] = [Counter() for _ in range(columns // wide)]
    for (length_ns, cause), count in gaps.counts.items():
        bars[min(int(share_of_axis(length_ns) * len(bars)), len(bars) - 1)][cause] += count
    power = power_above(max((bar.total() for bar in bars), default=0))
    filled = [_cells(bar, height, power, glyphs) for bar in bars]
    ticks = {max(round(1 + (height - 1) * exponent / power) - 1, 0): exponent for exponent in range(power, -1, -1)}
    rows: list[Row] = []
    for level in range(height - 1, -1, -1):
        label = short_count(10 ** ticks[level]) if level in ticks else ""
        axis = f"{label:>{_COUNT_WIDTH}} {'┤' if level in ticks else '│'}"
        row = join_styles([cells[level] for cells in filled for _ in range(wide)])
        rows.append([(axis, "faint"), *row])
    return rows


def power_above(count: int) -> int:
    """Return the power of ten at the top of an axis up to `count`; small numbers share one power."""
    return max(math.ceil(math.log10(max(count, 1))), _LEAST_POWER)


def short_count(count: int) -> str:
    """Format a power of ten in four columns: `100`, `1k`, `10M`."""
    for size, unit in ((10**9, "G"), (10**6, "M"), (1000, "k")):
        if count >= size:
            return f"{count // size}{unit}"
    return str(count)


def _cells(bar: Counter[GapClass], height: int, power: int, glyphs: Glyphs) -> list[Piece]:
    """Draw one bar from the bottom up; its last cell may be partly filled."""
    total = bar.total()
    if not total:
        return [(" ", "plain")] * height
    high = min(1 + (height - 1) * math.log10(total) / power, height)
    causes = [cause_at((level + 0.5) / high, bar, total) for level in range(int(high))]
    cells: list[Piece] = [(glyph_of(cause, glyphs), cause.style) for cause in causes]
    part = int((high - int(high)) * (len(glyphs.ramp) - 1))
    last = cause_at(1.0, bar, total)
    if len(cells) < height and part and glyphs.has_braille and last is not UNKNOWN:  # its glyph has no partial form
        cells.append((glyphs.ramp[part], last.style))
    return cells + [(" ", "plain")] * (height - len(cells))


def glyph_of(cause: GapClass, glyphs: Glyphs) -> str:
    """Return the sign of a full cell of this cause."""
    return cause.glyph if glyphs.has_braille else cause.letter


def cause_at(share: float, bar: Counter[GapClass], total: int) -> GapClass:
    """Return the cause that the bar shows at a share of its height: 0 is the foot, 1 the top."""
    running_total, last_cause = 0, CAUSES[-1]
    for cause in CAUSES:
        if bar[cause]:
            running_total, last_cause = running_total + bar[cause], cause
            if running_total >= share * total:
                return cause
    return last_cause


def _places(columns: int) -> list[int]:
    """Return the column of each power of ten on the axis of lengths."""
    return [min(round(columns * power / DECADES), columns - 1) for power in range(DECADES + 1)]


def _axis(columns: int, left: int) -> Row:
    places = set(_places(columns))
    line = "".join("┴" if column in places else "─" for column in range(columns))
    return [(f"{' ' * (left - 1)}└{line}", "faint")]


def _lengths(columns: int, left: int, width: int) -> Row:
    """Return the length labels under the ticks of the decades; both ends are placed first, as not all may fit."""
    labels = [describe_ns(FIRST_NS * 10**power) for power in range(DECADES + 1)]
    if columns < DECADES * 8:
        labels = [label.replace(" ", "") for label in labels]
    places = _places(columns)
    powers = (0, DECADES, *range(1, DECADES))
    return [(labels_line(width, ((left + places[power], labels[power]) for power in powers)), "faint")]


def _mark_rows(gaps: GapsShown, columns: int, glyphs: Glyphs) -> list[Row]:
    """Return rows of percentiles below their places, the longest placed first; overlapping ones go to a second row."""
    lines = [[" "] * columns for _ in range(_MARK_ROWS)]
    for name, ns in reversed(gaps.marks):
        at = min(int(share_of_axis(ns) * columns), columns - 1)
        mark = f"{name} {describe_ns(ns)}"
        left_end = at - len(mark) - 1
        texts = ((at, f"{glyphs.cursor} {mark}"), (left_end, f"{mark} {glyphs.cursor}"))
        any(put(line, begin, text) for line in lines for begin, text in texts)
    used = [line for line in lines if set(line) != {" "}]
    return [[("".join(line), "strong")] for line in used]
