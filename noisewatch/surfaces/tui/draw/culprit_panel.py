"""The table of culprits, one row each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from noisewatch.cpus import fitting_cpu_list, name_cpus
from noisewatch.kinds import THREADS, Role
from noisewatch.operations.frame.frame import MOST_CULPRITS, CulpritLine, Frame
from noisewatch.surfaces.drawing.glyphs import Glyphs
from noisewatch.surfaces.drawing.table import Column, Table
from noisewatch.surfaces.drawing.text_row import Piece, Row, Style, first_that_fits, fit_text, text_width
from noisewatch.surfaces.tui.draw.levels import level_pieces, style_of
from noisewatch.surfaces.tui.draw.waiting import no_rates_reason
from noisewatch.surfaces.tui.state.baseline import Baseline
from noisewatch.surfaces.tui.state.filters import is_covered, listed_cpus, listed_filter, unreadable_cpus
from noisewatch.surfaces.tui.state.folding import cpus_of, is_least
from noisewatch.surfaces.tui.state.noise import NOT_FOLLOWED_NS
from noisewatch.surfaces.tui.state.screen_model import Screen, ScreenModel
from noisewatch.surfaces.tui.state.selection import Listing
from noisewatch.units import short_change, short_duration, short_rate, short_share

_WIDEST_NAME = 64  # columns; limited so that on a wide screen the figures stay near the name
_CPU, _CPUS = 4, 12  # characters of a CPU, and of a list of them
_LEAST_WITH_LISTS = 60  # columns
_USUAL_NAMED = 34
_LEAST_NAMED = 20  # columns of a name next to a history
_LEAST_NAME = 15  # columns of a long name next to its numbers: the kernel's longest thread name
_LEAST_DETAILS, _BETWEEN = 20, " · "  # columns of a process's details after its name
_LEAST_HISTORY, _WIDEST_HISTORY, _GAP = 12, 120, 2  # intervals; columns before the history


def culprit_rows(
    model: ScreenModel, listing: Listing[CulpritLine], who: str, width: int, height: int, glyphs: Glyphs
) -> list[Row]:
    """Return the table of the listed culprits, scrolled to the selected row, or why there are none."""
    rows = culprit_table(listing, who, width, height, glyphs, model.baseline, history_of(model), model.frame)
    if not listing.count and model.frame is not None:
        text, style = _empty_reason(model, model.frame)
        rows.append([(f"     {text}", style)])
    return rows[: max(height, 0)]


def _empty_reason(model: ScreenModel, frame: Frame) -> tuple[str, Style]:
    """Return why no culprit is listed, with a style: none was observed, or CPUs could not be read."""
    if frame.seconds <= 0:
        return no_rates_reason(model), "faint"
    covered = [line for line in frame.cpus if is_covered(model, line)]
    if model.screen == Screen.OVERVIEW and not covered:
        return ("no target CPU is online" if frame.target else "there is no target CPU"), "doubt"
    if unknown_cpus := unreadable_cpus(model):
        return f"unknown on {name_cpus(unknown_cpus)}", "doubt"
    if not all(frame.has_all_culprits_of(line.cpu) for line in covered):
        return f"none among the {MOST_CULPRITS} costliest culprits; there may be others", "doubt"
    if listed_filter(model) or not covered:
        return "none", "faint"
    return "no culprit seen", "calm"


# A function of a culprit and a count: the noise (ns/s) in the last `count` intervals; None means unknown.
History = Callable[[CulpritLine, int], Sequence[float | None]]


def history_of(model: ScreenModel) -> History:
    """Return a function that returns a culprit's noise up to the shown interval, on the CPUs of the screen."""
    last = model.number + 1
    return lambda line, count: noise_in(model, line, range(max(last - count, model.history.first), last))


def noise_in(model: ScreenModel, line: CulpritLine, numbers: range) -> list[float | None]:
    """Return the culprit's noise (ns/s) by interval, on the CPUs of the screen."""
    on = listed_cpus(model) if model.folds or line.tid is not None else frozenset({line.cpu})
    return model.culprit_noise.noise(line, numbers, on)


def culprit_table(
    listing: Listing[CulpritLine],
    who: str,
    width: int,
    height: int,
    glyphs: Glyphs,
    baseline: Baseline | None = None,
    history: History | None = None,
    frame: Frame | None = None,
) -> list[Row]:
    """Return a heading and the rows that fit, the selected row among them.

    With `frame`, a process's name is followed by its details if there is room.
    Narrow screens drop columns before they shorten names. A heading that does not fit is first cut at its commas.
    """
    if height < 1:
        return []
    room = height - 1
    first = listing.first_in(room)
    shown = listing.lines[first : first + room]
    if len(shown) < len(listing.lines):
        who += f", rows {first + 1} to {first + len(shown)} of {len(listing.lines)}"
    table = _table(listing, shown, who, width, glyphs, baseline, history, frame)
    selected = listing.selected if listing.at - first < len(shown) else None
    rows = [table.row(line, "selected" if line is selected else None) for line in shown]
    return [[(table.heading, "heading")], *rows]


def _table(
    listing: Listing[CulpritLine],
    shown: Sequence[CulpritLine],
    who: str,
    width: int,
    glyphs: Glyphs,
    baseline: Baseline | None,
    history: History | None,
    frame: Frame | None,
) -> Table[CulpritLine]:
    """Return the columns that fit. With a baseline, the change replaces the share.

    A selected culprit that is gone, or filtered out, has no figures.
    """
    longest = max((len(_cpus(line)) for line in listing.lines), default=0)
    cpu_width = max(longest, _CPU) if width >= _LEAST_WITH_LISTS else _CPU
    missing = listing.selected if listing.is_gone else None

    def cpus(line: CulpritLine) -> Piece:
        listed = _cpus(line)  # the list is cut if it does not fit
        return f"{listed if len(listed) <= cpu_width else f'{line.cpu}…'} ", _role_style(line)

    def rate(line: CulpritLine) -> Piece:
        often = short_rate(line.rate_per_s) if line.rate_per_s is not None else glyphs.dash
        return "" if line is missing else often, _role_style(line)

    def noise(line: CulpritLine) -> Piece:
        if line is missing:
            last = history(line, 1) if history is not None else ()
            return "unknown" if None in last or NOT_FOLLOWED_NS in last else "not seen", "plain"
        marks = (glyphs.at_least if is_least(line) else "") + (glyphs.estimate if line.is_estimate else "")
        return marks + short_duration(line.stolen_ns_per_s), style_of(line.stolen_ns_per_s, glyphs, line.role)

    def share(line: CulpritLine) -> Piece:
        return "" if line is missing else short_share(line.stolen_ns_per_s / 1e9), style_of(
            line.stolen_ns_per_s, glyphs, line.role
        )

    def change(line: CulpritLine) -> Piece:
        text = short_change(baseline.change_of_culprit(line)) if baseline is not None and line is not missing else ""
        return text, style_of(line.stolen_ns_per_s, glyphs, line.role)

    names = Column[CulpritLine](who, 0, lambda line: [])
    lately = Column[CulpritLine]("", _GAP + _LEAST_HISTORY, names.cell, 6, 20)
    last = Column("share", 7, share, 7, 25) if baseline is None else Column("change", 8, change, 3, 14)
    table = Table.fitting(
        [
            Column("CPU ", cpu_width + 1, cpus, 2, 14),
            Column("kind", 14, lambda line: (line.kind, _role_style(line)), 5, 20, is_left=True),
            names,
            Column("/s", 8, rate, 4, 24),
            Column("noise/s", 9, noise, 1, 8),
            last,
            *([lately] if history is not None else []),
        ],
        width - (baseline is not None),
    )
    left = max(width - table.width - (last in table.columns), 1)
    name_width = min(left, _WIDEST_NAME)
    if history is not None and lately in table.columns:
        name_width = max(left - _WIDEST_HISTORY + _LEAST_HISTORY, (left + _LEAST_NAMED) // 2, min(left, _USUAL_NAMED))
        name_width = min(name_width, _WIDEST_NAME)
        lane_width = min(_LEAST_HISTORY + left - name_width, _WIDEST_HISTORY)
        lanes = {id(line): history(line, lane_width) for line in shown}
        table = table.replacing(lately, _lane_column(lanes, lane_width, glyphs))
    parts = who.split(", ")
    title = first_that_fits([", ".join(parts[:count]) for count in range(len(parts), 0, -1)], name_width)
    details = {process.pid: process.details for process in frame.processes} if frame is not None else {}
    return table.replacing(
        names,
        Column(
            fit_text(title, name_width),
            name_width,
            lambda line: _name(line, name_width, details.get(line.pid or 0, "") if line.kind in THREADS else ""),
        ),
    )


def _lane_column(lanes: Mapping[int, Sequence[float | None]], width: int, glyphs: Glyphs) -> Column[CulpritLine]:
    """Return the column of noise over time; `lanes` has each line's noise by `id(line)`."""
    heading = ""
    if any(lanes.values()):
        last = f"last {max(map(len, lanes.values()))}"
        mark = (
            f"  {glyphs.not_followed} not followed" if any(NOT_FOLLOWED_NS in lane for lane in lanes.values()) else ""
        )
        heading = " " * _GAP + first_that_fits([last + mark, last], width)
    gap: Piece = (" " * _GAP, "plain")
    return Column(heading, 0, lambda line: [gap, *level_pieces(lanes[id(line)], glyphs, line.role)], keeps_style=True)


def _role_style(line: CulpritLine) -> Style:
    return "faint" if line.role == Role.HOUSEKEEPING else "plain"


def _cpus(line: CulpritLine) -> str:
    """Return the culprit's CPUs as `5` or `2-14`; a long list is cut."""
    cpus = cpus_of(line)
    return str(cpus[0]) if len(cpus) == 1 else fitting_cpu_list(cpus, _CPUS)


def _name(line: CulpritLine, width: int, details: str) -> Row:
    style: Style = "plain" if line.role == Role.HOUSEKEEPING else "strong"
    label = line.label if text_width(line.label) <= width else _name_in(line.name, line.process_mark, line.pid, width)
    room = width - text_width(label) - len(_BETWEEN)
    if not details or room < _LEAST_DETAILS:
        return [(fit_text(label, width), style)]
    shown = details if text_width(details) <= room else fit_text(details, room - 1) + "…"
    return [(label, style), (fit_text(_BETWEEN + shown, width - text_width(label)), "faint")]


@lru_cache(maxsize=256)
def _name_in(name: str, numbers: str, pid: int | None, width: int) -> str:
    """Return the name, cut if needed, and the process numbers if they fit; numbers are never cut."""
    wide = text_width(name)
    marks = [numbers, f" [{pid}]" if pid is not None else "", ""]
    mark = next((candidate for candidate in marks if width - len(candidate) >= min(wide, _LEAST_NAME)), "")
    room = width - len(mark)
    shown = name if wide <= room else fit_text(name, max(room - 1, 0)) + "…"
    return fit_text(shown + mark, width)
