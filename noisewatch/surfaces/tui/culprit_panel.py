"""The sources of noise, a row each."""

from __future__ import annotations

from noisewatch.sources.cpulist import format_cpu_list
from noisewatch.surfaces.frame import HOUSEKEEPING, CulpritLine, Frame
from noisewatch.surfaces.tui.baseline import Baseline
from noisewatch.surfaces.tui.glyphs import Glyphs, change, duration, rate, share, style_of
from noisewatch.surfaces.tui.screen_model import ScreenModel
from noisewatch.surfaces.tui.selection import Listing
from noisewatch.surfaces.tui.text_row import Row, first_that_fits, fitted, length

_NARROW = 60
_WIDEST_NAME = 64  # so that on a wide screen the figures stay near the name


def culprit_rows(model: ScreenModel, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """Who disturbs the target CPUs, or all if that is asked for."""
    listing = model.listing()
    who = f"who disturbs {'all' if model.shows_all_cpus else 'target'} CPUs, by {model.sort}"
    rows = culprit_table(listing, who, width, height, glyphs, model.baseline)
    if not listing.lines and model.frame is not None:
        rows.append(_why_none(model.frame))
    return rows[: max(height, 0)]


def _why_none(frame: Frame) -> Row:
    """Nothing was seen of CPUs of which all is known; else it may be that nothing could be."""
    if frame.seconds <= 0:
        return [("     no rates: `noisewatch show` tells what is known", "faint")]
    unread = [cpu for cpu in frame.target if not frame.tells_all_of(cpu)]
    if not frame.target:
        return [("     there is no target CPU", "doubt")]
    if unread:
        return [(f"     not known of CPU {format_cpu_list(unread)}", "doubt")]
    return [("     nothing seen", "calm")]


def culprit_table(
    listing: Listing[CulpritLine],
    who: str,
    width: int,
    height: int,
    glyphs: Glyphs,
    baseline: Baseline | None = None,
) -> list[Row]:
    """A heading, and as many rows as find room, the selected one among them. A narrow screen leaves out kind, rate and
    share; a baseline takes the share's place.

    Of a heading that finds no room, what stands behind the commas goes first.
    """
    if height < 1:
        return []
    is_narrow = width < _NARROW
    last = "  change" if baseline is not None else "" if is_narrow else "  share"
    name_width = min(max(width - (14 if is_narrow else 37) - len(last), 8), _WIDEST_NAME)
    room = height - 1
    first = listing.first_in(room)
    shown = listing.lines[first : first + room]
    who += (
        f", rows {first + 1} to {first + len(shown)} of {len(listing.lines)}" if len(shown) < len(listing.lines) else ""
    )
    parts = who.split(", ")
    said = first_that_fits([", ".join(parts[:count]) for count in range(len(parts), 0, -1)], name_width)
    heading = f" CPU {'' if is_narrow else 'kind          '}{fitted(said, name_width)}"
    heading += f"{'' if is_narrow else '      /s'}   lost/s{last}"
    rows = [_culprit_row(line, name_width, is_narrow, glyphs, baseline) for line in shown]
    at = listing.at - first
    if at < len(rows):
        row = _gone_row(shown[at], name_width, is_narrow) if listing.is_gone else rows[at]
        rows[at] = [("".join(text for text, _ in row), "selected")]
    return [[(heading, "heading")], *rows]


def _gone_row(line: CulpritLine, name_width: int, is_narrow: bool) -> Row:
    """The selected source, of which nothing was seen in this interval, or which the filter leaves out."""
    kind, rate_of = ("", "") if is_narrow else (f"{line.kind:<13} ", " " * 8)
    return [(f"{line.cpu:>4} {kind}{_named(line, name_width)}{rate_of} not seen", "selected")]


def _culprit_row(line: CulpritLine, name_width: int, is_narrow: bool, glyphs: Glyphs, baseline: Baseline | None) -> Row:
    lost = (glyphs.estimate if line.is_estimate else "") + duration(line.stolen_ns_per_s)
    how_often = rate(line.rate_per_s) if line.rate_per_s is not None else glyphs.dash
    role_style = "faint" if line.role == HOUSEKEEPING else "plain"
    last = "" if is_narrow else f" {share(line.stolen_ns_per_s / 1e9):>6}"
    if baseline is not None:
        last = f" {change(baseline.change_of_source(line)):>7}"
    return [
        (f"{line.cpu:>4} " + ("" if is_narrow else f"{line.kind:<13} "), role_style),
        (_named(line, name_width), "strong" if line.role != HOUSEKEEPING else "plain"),
        ("" if is_narrow else f" {how_often:>7}", role_style),
        (f" {lost:>8}{last}", style_of(line.stolen_ns_per_s)),
    ]


def _named(line: CulpritLine, width: int) -> str:
    """The name, cut where it must be, and the whole of the numbers: half of one would be another's."""
    room = max(width - len(line.process_mark), 0)
    name = line.name if length([(line.name, "")]) <= room else fitted(line.name, max(room - 1, 0)) + "…"
    return fitted(name + line.process_mark, width)
