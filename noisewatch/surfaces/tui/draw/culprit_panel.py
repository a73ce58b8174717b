"""The table of culprits, one row each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

from msgspec import Struct

from noisewatch.cpus import fitting_cpu_list, name_cpus
from noisewatch.kinds import Role
from noisewatch.operations.frame.frame import MOST_CULPRITS, CulpritLine, Frame
from noisewatch.surfaces.tui.draw.glyphs import Glyphs, level_pieces, style_of
from noisewatch.surfaces.tui.draw.text_row import Row, Style, first_that_fits, fitted, text_width
from noisewatch.surfaces.tui.state.baseline import Baseline
from noisewatch.surfaces.tui.state.filters import asked_cpus
from noisewatch.surfaces.tui.state.folding import cpus_of, is_least
from noisewatch.surfaces.tui.state.listed_culprits import listed_cpus, unreadable_cpus
from noisewatch.surfaces.tui.state.noise import NOT_FOLLOWED_NS
from noisewatch.surfaces.tui.state.screen_model import Screen, ScreenModel
from noisewatch.surfaces.tui.state.selection import Listing
from noisewatch.units import short_change, short_duration, short_rate, short_share

_WIDEST_NAME = 64  # so that on a wide screen the figures stay near the name
_CPU, _CPUS = 4, 12  # characters of a CPU, and of a list of them
_LEAST_WITH_LISTS = 60  # columns
_USUAL_NAMED = 34
_LEAST_NAMED = 20  # columns of a name next to a history
_LEAST_NAME = 15  # columns of a long name next to its numbers: the kernel's longest thread name
_LEAST_HISTORY, _WIDEST_HISTORY, _GAP = 12, 120, 2  # intervals; columns before them
_WIDTHS = {
    "cpu": 5,
    "kind": 14,
    "rate": 8,
    "noise": 9,
    "share": 7,
    "change": 8,
    "history": _LEAST_HISTORY + _GAP,
}
# The columns that give way to the name, in this order, if it would have fewer columns than the number.
_GIVE_WAY = (("share", 24), ("history", 20), ("kind", 20), ("rate", 24), ("change", 14), ("cpu", 14), ("noise", 8))


def culprit_rows(
    model: ScreenModel, listing: Listing[CulpritLine], who: str, width: int, height: int, glyphs: Glyphs
) -> list[Row]:
    """Return the table of listed culprits, scrolled so that the selected row is visible; or why there is none."""
    rows = culprit_table(listing, who, width, height, glyphs, model.baseline, history_of(model))
    if not listing.count and model.frame is not None:
        text, style = _why_none(model, model.frame)
        rows.append([(f"     {text}", style)])
    return rows[: max(height, 0)]


def _why_none(model: ScreenModel, frame: Frame) -> tuple[str, Style]:
    """Return why no culprit is listed: none was observed, or the CPUs could not be read."""
    if frame.seconds <= 0:
        return "no rates: `noisewatch show` prints what is known", "faint"
    listed, text = listed_cpus(model), model.filter if model.screen == Screen.CULPRITS else ""
    asked = asked_cpus(text)
    there = [line for line in frame.cpus if line.role != Role.OFFLINE and (listed is None or line.cpu in listed)]
    there = [line for line in there if asked is None or line.cpu in asked]
    if model.screen == Screen.OVERVIEW and not there:
        return ("no target CPU is online" if frame.target else "there is no target CPU"), "doubt"
    if unknown_cpus := unreadable_cpus(model):
        return f"unknown on {name_cpus(unknown_cpus)}", "doubt"
    if not all(frame.tells_all_of(line.cpu) for line in there):
        return f"none among the {MOST_CULPRITS} costliest culprits: there may be others", "doubt"
    if text or not there:
        return "none", "faint"
    return "no culprit seen", "calm"


# Return a culprit's noise (ns/s) in the last intervals, as many as given; None is unknown.
History = Callable[[CulpritLine, int], Sequence[float | None]]


def history_of(model: ScreenModel) -> History:
    """Return a function for a culprit's noise up to the shown interval, on the CPUs of the screen."""
    cpus, last = listed_cpus(model), model.number + 1

    def noise(line: CulpritLine, count: int) -> Sequence[float | None]:
        on = cpus if model.folds or line.tid is not None else frozenset({line.cpu})
        return model.culprit_noise.noise(line, range(max(last - count, model.history.first), last), on)

    return noise


class _Columns(Struct, frozen=True):
    """The columns shown next to the name, and the widths of name, CPU and history."""

    shown: frozenset[str]
    name_width: int
    cpu_width: int
    history_width: int

    def of(self, column: str, text: str) -> str:
        return text if column in self.shown else ""


def _columns(width: int, listing: Listing[CulpritLine], has_baseline: bool, has_history: bool) -> _Columns:
    """Return the columns that fit; a baseline's change replaces the share, and lists of CPUs take more room."""
    longest = max((len(_cpus(line)) for line in listing.lines), default=0)
    cpu_width = max(longest, _CPU) if width >= _LEAST_WITH_LISTS else _CPU
    width -= cpu_width - _CPU
    left_out = ("share" if has_baseline else "change", "" if has_history else "history")
    shown = [name for name in _WIDTHS if name not in left_out]
    for name, least in _GIVE_WAY:
        if name in shown and _left(width, shown) < least:
            shown.remove(name)
    left = max(_left(width, shown), 1)
    if "history" not in shown:
        return _Columns(frozenset(shown), min(left, _WIDEST_NAME), cpu_width, 0)
    name_width = max(left - _WIDEST_HISTORY + _LEAST_HISTORY, (left + _LEAST_NAMED) // 2, min(left, _USUAL_NAMED))
    named = min(name_width, _WIDEST_NAME)
    return _Columns(frozenset(shown), named, cpu_width, min(_LEAST_HISTORY + left - named, _WIDEST_HISTORY))


def _left(width: int, shown: Sequence[str]) -> int:
    """Return the columns left for the name, less a margin if the screen is wide enough for all columns."""
    return width - sum(_WIDTHS[name] for name in shown) - ("share" in shown or "change" in shown)


def culprit_table(
    listing: Listing[CulpritLine],
    who: str,
    width: int,
    height: int,
    glyphs: Glyphs,
    baseline: Baseline | None = None,
    history: History | None = None,
) -> list[Row]:
    """Return a heading and the rows that fit, the selected one among them; on narrow screens columns give way to names.

    A heading that does not fit loses its parts behind commas first.
    """
    if height < 1:
        return []
    columns = _columns(width, listing, baseline is not None, history is not None)
    room = height - 1
    first = listing.first_in(room)
    shown = listing.lines[first : first + room]
    who += (
        f", rows {first + 1} to {first + len(shown)} of {len(listing.lines)}" if len(shown) < len(listing.lines) else ""
    )
    rows = [_culprit_row(line, columns, glyphs, baseline) for line in shown]
    at = listing.at - first
    if at < len(rows):
        row = _absent_row(shown[at], columns, history) if listing.is_gone else rows[at]
        rows[at] = [("".join(text for text, _ in row), "selected")]
    lanes = (
        [history(line, columns.history_width) for line in shown]
        if history is not None and "history" in columns.shown
        else []
    )
    with_lanes = [
        [*row, (" " * _GAP, "plain"), *level_pieces(lane, glyphs)] for row, lane in zip(rows, lanes, strict=False)
    ]
    return [[(_heading(who, columns, lanes, glyphs), "heading")], *(with_lanes or rows)]


def _heading(who: str, columns: _Columns, lanes: Sequence[Sequence[float | None]], glyphs: Glyphs) -> str:
    parts = who.split(", ")
    title = first_that_fits([", ".join(parts[:count]) for count in range(len(parts), 0, -1)], columns.name_width)
    last = f"last {max(map(len, lanes), default=0)}" if any(lanes) else ""
    mark = f"  {glyphs.not_followed} not followed" if any(NOT_FOLLOWED_NS in lane for lane in lanes) else ""
    lately = f"{'':{_GAP}}{first_that_fits([last + mark, last], columns.history_width)}" if last else ""
    figures = (
        *(("rate", "      /s"), ("noise", "  noise/s"), ("share", "  share"), ("change", "  change")),
        ("history", lately),
    )
    left = columns.of("cpu", f"{'CPU':>{columns.cpu_width}} ") + columns.of("kind", f"{'kind':<14}")
    return left + fitted(title, columns.name_width) + "".join(columns.of(name, text) for name, text in figures)


def _absent_row(line: CulpritLine, columns: _Columns, history: History | None) -> Row:
    """Return the row of the selected culprit if it was not observed in this interval, or is filtered out."""
    noise = history(line, 1) if history is not None else ()
    noise_text = "  unknown" if None in noise or NOT_FOLLOWED_NS in noise else " not seen"
    blank = {name: columns.of(name, " " * _WIDTHS[name]) for name in ("rate", "share", "change")}
    cells = blank["rate"] + columns.of("noise", noise_text) + blank["share"] + blank["change"]
    identity = _cpu_and_kind_cells(line, columns) + _fitted_name(line, columns.name_width)
    return [(identity + cells, "selected")]


def _cpus(line: CulpritLine) -> str:
    """Return the culprit's CPUs: `5`, `2-14`; of many that are not a range, only the first ones."""
    cpus = cpus_of(line)
    return str(cpus[0]) if len(cpus) == 1 else fitting_cpu_list(cpus, _CPUS)


def _cpu_and_kind_cells(line: CulpritLine, columns: _Columns) -> str:
    """Return the cells of the culprit's CPUs and kind; of many CPUs only the first fits."""
    listed = _cpus(line)
    cpus = listed if len(listed) <= columns.cpu_width else f"{line.cpu}…"
    return columns.of("cpu", f"{cpus:>{columns.cpu_width}} ") + columns.of("kind", f"{line.kind:<13} ")


def _culprit_row(line: CulpritLine, columns: _Columns, glyphs: Glyphs, baseline: Baseline | None) -> Row:
    least = glyphs.at_least if is_least(line) else ""
    noise = least + (glyphs.estimate if line.is_estimate else "") + short_duration(line.stolen_ns_per_s)
    how_often = short_rate(line.rate_per_s) if line.rate_per_s is not None else glyphs.dash
    role_style: Style = "faint" if line.role == Role.HOUSEKEEPING else "plain"
    last = columns.of("share", f" {short_share(line.stolen_ns_per_s / 1e9):>6}")
    if baseline is not None:
        last = columns.of("change", f" {short_change(baseline.change_of_culprit(line)):>7}")
    return [
        (_cpu_and_kind_cells(line, columns), role_style),
        (_fitted_name(line, columns.name_width), "strong" if line.role != Role.HOUSEKEEPING else "plain"),
        (columns.of("rate", f" {how_often:>7}"), role_style),
        (columns.of("noise", f" {noise:>8}") + last, style_of(line.stolen_ns_per_s)),
    ]


def _fitted_name(line: CulpritLine, width: int) -> str:
    return _name_in(line.name, line.process_mark, line.pid, width)


@lru_cache(maxsize=256)
def _name_in(name: str, numbers: str, pid: int | None, width: int) -> str:
    """Return the name, cut if needed, with the complete process numbers or none: a cut number would be another's."""
    wide = text_width(name)
    marks = [numbers, f" [{pid}]" if pid is not None else "", ""]
    mark = next((candidate for candidate in marks if width - len(candidate) >= min(wide, _LEAST_NAME)), "")
    room = width - len(mark)
    shown = name if wide <= room else fitted(name, max(room - 1, 0)) + "…"
    return fitted(shown + mark, width)
