"""Two calibrations as one picture: the gaps back to back, a table of ratios, and the conclusions."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence

from msgspec import Struct

from noisewatch.judgement.case import Calibrated
from noisewatch.judgement.noise.budget import NoiseFloor
from noisewatch.judgement.noise.comparison import Comparison, Difference, compare
from noisewatch.model.calibration.statistics import quantile
from noisewatch.surfaces.drawing.axis import labels_line, rows_for
from noisewatch.surfaces.drawing.glyphs import Glyphs
from noisewatch.surfaces.drawing.panel import inner_size, is_framed
from noisewatch.surfaces.drawing.tables import right_align
from noisewatch.surfaces.drawing.text_row import Row, Style, cut, first_that_fits, join_styles
from noisewatch.surfaces.drawing.wraps import wrap_all
from noisewatch.surfaces.reports.calibration.comparison import work_times
from noisewatch.surfaces.reports.calibration.gaps import (
    CAUSES,
    DECADES,
    FIRST_NS,
    GapClass,
    GapsShown,
    cause_at,
    gaps_of,
    glyph_of,
    power_above,
)
from noisewatch.surfaces.reports.calibration.picture import section
from noisewatch.units import describe_ns, format_in_one_unit, share_text

HEIGHT = 41  # rows of the picture in files, and in terminals, which can scroll
_TITLE = "how long each gap lasted"
_LEAST_BARS = 12  # columns
_DECADES = 3  # decades on the axis of the ratio bars: from 1 to 1000
_STEPS = ((1, 1.5, 2, 3, 5, 7), (1, 2, 5), (1, 3), (1,))  # labels in each decade, from the most to the least room
_AXIS_WIDTH = 12  # ` ┤ 100 µs ├ `
_COUNT_WIDTH = 8
LEAST_ROWS = DECADES + 3


class Side(Struct, frozen=True):
    """One of two compared calibrations: its name in sentences, its heading above a column, and its gaps."""

    name: str
    heading: str
    calibrated: Calibrated
    gaps: GapsShown

    @classmethod
    def of(cls, name: str, calibrated: Calibrated, heading: str | None = None) -> Side:
        """Return a side; its name is also its heading if no shorter one is given."""
        return cls(name, name if heading is None else heading, calibrated, gaps_of(calibrated))

    @property
    def work_ns(self) -> list[float]:
        """The sorted times (ns) of the pieces of interpreted work, or of the workload's runs."""
        return sorted(
            work_times(self.calibrated.calibration, frozenset(figures.cpu for figures in self.calibrated.complete))
        )


class Contrast(Struct, frozen=True):
    """The comparison of two sides, with a headline and conclusions."""

    first: Side
    second: Side
    comparison: Comparison
    headlines: tuple[str, ...]  # the same headline, from the longest to the shortest version
    sentences: tuple[str, ...]
    is_proof: bool

    @classmethod
    def of(
        cls,
        first: Side,
        second: Side,
        remarks_on: Callable[[Comparison], Sequence[str]] = lambda comparison: (),
        doubt: str = "",
    ) -> Contrast:
        """Compare two sides.

        `remarks_on` returns further sentences on the comparison; `doubt` is the reason why it proves nothing.
        """
        comparison = compare(first.calibrated, second.calibrated)
        sentences = [
            doubt and f"{doubt}.",
            _floors_sentence(first, second, comparison),
            *remarks_on(comparison),
            _main_cause_sentence(first),
        ]
        headlines = (doubt,) if doubt else _headlines(first, second, comparison)
        is_proof = not doubt and comparison.difference is not Difference.UNKNOWN
        return cls(first, second, comparison, headlines, tuple(filter(None, sentences)), is_proof)


def times_text(ratio: float) -> str:
    """Format a ratio: `62`, `4.1`."""
    return f"{ratio:,.0f}".replace(",", " ") if ratio >= 9.95 else f"{ratio:.2g}"


def _headlines(first: Side, second: Side, comparison: Comparison) -> tuple[str, ...]:
    if comparison.difference is Difference.UNKNOWN:
        return (f"{first.name} and {second.name} cannot be compared: not all of them were measured to the end",)
    first_gaps, second_gaps = first.gaps, second.gaps
    noise = f"{_share(first_gaps)} noise against {_share(second_gaps)}"
    longest = f"longest gap {describe_ns(first_gaps.longest_ns)} against {describe_ns(second_gaps.longest_ns)}"
    if comparison.difference is Difference.SAME:
        headline = f"{first.name} and {second.name} do not differ"
    elif not comparison.ratio:
        headline = f"{(first if comparison.ratio is None else second).name}: no gap at all"
    else:
        is_noisier = comparison.difference is Difference.NOISIER
        times = times_text(comparison.ratio if is_noisier else 1 / comparison.ratio)
        headline = f"{first.name}: {times} times {'quieter' if is_noisier else 'noisier'} than {second.name}"
    return f"{headline}; {noise}; {longest}", f"{headline}; {noise}", headline


def _share(gaps: GapsShown) -> str:
    return "unknown" if gaps.share is None else share_text(gaps.share)


def _floors_sentence(first: Side, second: Side, comparison: Comparison) -> str:
    """Return the smallest detectable change of each side, and whether the noise floors differ."""
    first_floor, second_floor = first.calibrated.floor, second.calibrated.floor
    if first_floor is None or second_floor is None:
        missing = " and ".join(side.name for side in (first, second) if side.calibrated.floor is None)
        return f"{missing}: too little was measured to detect a change; calibrate longer (--duration)."
    samples = f"{first_floor.samples} samples of {first.calibrated.floors_of} of {describe_ns(first_floor.sample_ns)}"
    changes = f"{_change(first_floor)} on {first.name}, {_change(second_floor)} on {second.name}"
    sentence = f"Smallest detectable change: {changes} ({samples})."
    if first_floor.extrapolated or second_floor.extrapolated:
        sentence += " Too little was measured for samples of this length: calibrate longer (--duration)."
    elif not comparison.are_floors_apart:
        sentence += " Their noise floors do not differ: the intervals overlap."
    return sentence


def _change(floor: NoiseFloor) -> str:
    return "unknown" if floor.detectable_share is None else share_text(floor.detectable_share)


def _main_cause_sentence(side: Side) -> str:
    """Return the main cause of a side's noise, its part, and how to remove it; empty if the cause is unknown."""
    if side.gaps.main_cause is None:
        return ""
    cause, part = side.gaps.main_cause
    inferred = "" if side.gaps.unknown_because is None else " (inferred, no trace)"
    return f"{part:.0%} of the noise of {side.name} is {cause.name}{inferred}{cause.cure}."


def contrast_rows(contrast: Contrast, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """Draw the contrast in at most `height` rows of at most `width` columns.

    Sentences get their rows first, then the bars, then the table.
    """
    framed = is_framed(width, height + 2)
    room, frame = (inner_size(width, 0)[0], 2) if framed else (width, 1)
    table = table_rows(contrast, room)
    conclusion_lines = wrap_all(contrast.sentences, room, "")
    conclusion_lines = (
        conclusion_lines[: max(height - frame - 1, 1)]
        if height < LEAST_ROWS + frame
        else conclusion_lines[: max(height // 5, 2)]
    )
    left = height - 1 - len(conclusion_lines) - frame
    if left < LEAST_ROWS + 1 + frame + len(table) + frame:
        table = table[: max(left - LEAST_ROWS - 1 - 2 * frame, 0)]
    table = table if len(table) > 1 else []
    if table:
        left -= len(table) + frame
    sides = (contrast.first, contrast.second)
    names, gaps = (sides[0].heading, sides[1].heading), (sides[0].gaps, sides[1].gaps)
    chart = mirrored_rows(names, gaps, room, left - frame - 1, glyphs)
    if chart:
        occurring = [
            cause for cause in CAUSES if any(cause == gap_cause for side in gaps for _, gap_cause in side.counts)
        ]
        chart.append(cut([(f"{glyph_of(cause, glyphs)} {cause.name}   ", cause.style) for cause in occurring], room))
    style: Style = "strong" if contrast.is_proof else "unknown"
    rows = rows_for([cut([(first_that_fits(contrast.headlines, width), style)], width)], glyphs.has_braille)
    if chart:
        rows += section(_TITLE, chart, width, glyphs, framed)
    if table:
        rows += section("side by side", table, width, glyphs, framed)
    plain: list[Row] = [[(line, "plain")] for line in conclusion_lines]
    return [*rows, *section("so", plain, width, glyphs, framed)][: max(height, 0)]


def table_rows(contrast: Contrast, width: int) -> list[Row]:
    """Return a heading and a row for each figure: both sides in one unit, their ratio, and a bar of it."""
    sides = (contrast.first, contrast.second)
    figures = _figures(sides)
    widest = max(len(figure.name) for figure in figures)
    head = (" " * widest, sides[0].heading, sides[1].heading, "times as much")
    texts = right_align(
        list(zip(head, *((f"{figure.name:<{widest}}", *figure.texts) for figure in figures), strict=True))
    )
    room = width - len(texts[0]) - 2
    rows: list[Row] = [[(texts[0], "faint"), ("  " + _scale(room) if room >= _LEAST_BARS else "", "faint")]]
    for text, figure in zip(texts[1:], figures, strict=True):
        bar = _ratio_bar(figure.ratio, room) if room >= _LEAST_BARS else ""
        rows.append([(text, "plain"), (f"  {bar}", "grave" if (figure.ratio or 0) > 1 else "calm")])
    return [cut(row, width) for row in rows]


class _Figure(Struct, frozen=True):
    """A figure of both sides: a share (fraction of 1), a rate per second, or ns. None means unknown."""

    name: str
    kind: str
    values: tuple[float | None, float | None]

    @property
    def ratio(self) -> float | None:
        first, second = self.values
        return second / first if first and second is not None else None

    @property
    def texts(self) -> list[str]:
        """The texts of both sides, and the ratio of the second to the first."""
        if self.kind == "ns":
            unit, figures = format_in_one_unit(self.values)
            value_texts = [figure if figure == "?" else f"{figure} {unit}" for figure in figures]
        else:
            texts = share_text if self.kind == "share" else "{:.0f}".format
            value_texts = ["?" if value is None else texts(value) for value in self.values]
        return [*value_texts, "?" if self.ratio is None else f"× {_ratio_text(self.ratio)}"]


def _figures(sides: tuple[Side, Side]) -> list[_Figure]:
    """Return the figures, the most important first: the last ones are cut off if there are few rows."""
    first, second = sides
    figures = [_Figure("noise", "share", (first.gaps.share, second.gaps.share))]
    floors = (first.calibrated.floor, second.calibrated.floor)
    measured = next((floor for floor in floors if floor is not None), None)
    if measured is not None:
        cvs = tuple(None if floor is None else floor.cv_expected for floor in floors)
        figures.append(
            _Figure(f"CV, {measured.samples} × {describe_ns(measured.sample_ns)}", "share", (cvs[0], cvs[1]))
        )
    figures.append(_Figure("gap longest", "ns", (first.gaps.longest_ns, second.gaps.longest_ns)))
    for name in ("p99", "p50"):
        figures.append(
            _Figure(f"gap {name}", "ns", (first.gaps.percentiles.get(name), second.gaps.percentiles.get(name)))
        )
    figures.append(_Figure("gaps/s", "rate", (_per_s(first.gaps), _per_s(second.gaps))))
    what = "workload" if first.calibrated.calibration.samples.command else "interpreted piece"
    works = (first.work_ns, second.work_ns)
    for name, share in (("longest", 1.0), ("p99", 0.99), ("p50", 0.5)):
        figures.append(_Figure(f"{what} {name}", "ns", (quantile(works[0], share), quantile(works[1], share))))
    return figures


def _per_s(gaps: GapsShown) -> float | None:
    return gaps.count / gaps.looked_s if gaps.looked_s else None


def _ratio_text(ratio: float) -> str:
    return f"{ratio:,.0f}".replace(",", " ") if ratio >= 99.5 else f"{ratio:.1f}" if ratio >= 9.95 else f"{ratio:.2f}"


def _scale(room: int) -> str:
    """Draw the scale of the ratio bars, `1   10   100`; both ends are placed first, as not all labels may fit."""
    powers = (0, _DECADES, *range(1, _DECADES))
    return labels_line(room, ((round(power / _DECADES * (room - 1)), str(10**power)) for power in powers))


def _ratio_bar(ratio: float | None, room: int) -> str:
    """Draw a bar from 1 to the ratio; for a ratio below 1, a bar to its inverse with another mark."""
    if not ratio:
        return ""
    columns = round(min(abs(math.log10(ratio)) / _DECADES, 1.0) * (room - 1))
    return ("◀" if ratio < 1 and columns else "●") + "━" * columns


def mirrored_rows(
    names: tuple[str, str], sides: tuple[GapsShown, GapsShown], width: int, height: int, glyphs: Glyphs
) -> list[Row]:
    """Draw both sides' names, a row for each range of lengths, and the bars' title, in at most `height` rows.

    The list is empty if they do not fit.
    """
    steps = next((choice for choice in _STEPS if DECADES * len(choice) + 3 <= height), None)
    room = (width - _AXIS_WIDTH) // 2
    if steps is None or room < _COUNT_WIDTH + 2:
        return []
    edges = [FIRST_NS * 10**power * step for power in range(DECADES) for step in steps] + [FIRST_NS * 10**DECADES]
    left, right = (_counts(gaps, edges) for gaps in sides)
    power = power_above(max((bar.total() for bar in (*left, *right)), default=0))
    rows: list[Row] = [_axis_texts_row(f"{names[0]} ", "gap of", f" {names[1]}", room, "strong")]
    for number in range(len(edges) - 1, -1, -1):
        is_power = edges[number] / FIRST_NS in [10**exponent for exponent in range(DECADES + 1)]
        figure, unit = describe_ns(edges[number]).split()
        label = f"{figure:>3} {unit}" if is_power else f"{figure:>3}   "
        left_bar, right_bar = (_bar(bars_by_step[number], room, power, glyphs) for bars_by_step in (left, right))
        pad = room - sum(len(text) for text, _ in left_bar)
        rows.append([(" " * pad, "plain"), *reversed(left_bar), (f" ┤ {label} ├ ", "faint"), *right_bar])
    axis_title = first_that_fits(["how many gaps, logarithmic", "how many gaps", "gaps"], room - 2)
    rows.append(_axis_texts_row(f"← {axis_title}", "", f"{axis_title} →", room, "faint"))
    return rows_for((cut(row, width) for row in rows), glyphs.has_braille)


def _axis_texts_row(left: str, middle: str, right: str, room: int, style: Style) -> Row:
    """Return a row with `middle` on the axis and the other texts next to it, cut to fit."""
    return [
        (f"{left[:room]:>{room}}", style),
        (f"{middle:^{_AXIS_WIDTH}}", "faint"),
        (right[:room], style),
    ]


def _counts(gaps: GapsShown, edges: Sequence[float]) -> list[Counter[GapClass]]:
    """Count the gaps of each range of lengths by cause; gaps shorter than the first edge count in the first range."""
    counts: list[Counter[GapClass]] = [Counter() for _ in edges]
    for (length_ns, cause), count in gaps.counts.items():
        number = max(sum(edge <= length_ns for edge in edges) - 1, 0)
        counts[number][cause] += count
    return counts


def _bar(counts: Counter[GapClass], room: int, power: int, glyphs: Glyphs) -> Row:
    """Draw a bar from the axis outwards, split by the shares of its causes, followed by the number of gaps."""
    total = counts.total()
    if not total:
        return []
    max_columns = room - _COUNT_WIDTH - 1
    columns = max(round(1 + (max_columns - 1) * math.log10(total) / power), 1)
    causes = [cause_at((column + 0.5) / columns, counts, total) for column in range(min(columns, max_columns))]
    cells = [(glyph_of(cause, glyphs), cause.style) for cause in causes]
    count_text = f"{total:,}".replace(",", " ")
    return [*join_styles(cells), (f" {count_text} ", "plain")]
