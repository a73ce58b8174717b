"""A running calibration as rows of text, for the command line and for the monitor."""

from __future__ import annotations

from noisewatch.operations.calibrate import LiveCpu, LiveGaps
from noisewatch.surfaces.reports.calibration.histogram import LEAST_ROWS
from noisewatch.surfaces.reports.calibration.picture import live_picture_rows
from noisewatch.surfaces.reports.parts.charts import strip
from noisewatch.surfaces.tui.draw.glyphs import Glyphs
from noisewatch.surfaces.tui.draw.text_row import Row, cut, in_ascii
from noisewatch.units import describe_ns, describe_share

_LEAST_STRIP, _MOST_STRIP = 8, 66
_MOST_BAR = 40


def progress_line(live: LiveGaps, width: int) -> str:
    """Return the calibration's progress, with a bar, in at most `width` columns."""
    done = min(live.done_s / live.total_s, 1.0) if live.total_s else 0.0
    text = f"calibrating {live.done_s:.1f} of {live.total_s:.1f} s"
    room = max(min(width - len(text) - 4, _MOST_BAR), 0)
    filled = round(done * room)
    return f"{text}  {'#' * filled}{'.' * (room - filled)}"[: max(width, 0)]


def live_rows(live: LiveGaps, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """Draw the progress, the gaps of all CPUs by length, and a row for each CPU, the worst first, cut to the size."""
    shown = max(min(len(live.by_cpu), height // 4), 1)
    hidden = len(live.by_cpu) - shown
    room = height - 1 - shown - (hidden > 0)
    rows: list[Row] = [[(progress_line(live, width), "strong")]]
    if room > LEAST_ROWS:
        rows += live_picture_rows(live, width, room, glyphs)
    rows += [_cpu_row(each, width, glyphs) for each in live.worst(shown)]
    if hidden > 0:
        rows.append(cut([(f"and {hidden} more CPUs", "faint")], width))
    return rows[: max(height, 1)]


def _cpu_row(each: LiveCpu, width: int, glyphs: Glyphs) -> Row:
    text = (
        f"CPU {each.cpu:<4} {each.gap_count:>6} gaps  {describe_share(each.stolen_share):>7} noise  "
        f"longest {describe_ns(each.longest_ns):>8}"
    )
    text = text if glyphs.has_braille else in_ascii(text)
    room = min(width - len(text) - 2, _MOST_STRIP)
    if room < _LEAST_STRIP:
        return [(text[: max(width, 0)], "plain")]
    return [(f"{text}  ", "plain"), (strip(each.histogram, room, glyphs.ramp), "notable")]
