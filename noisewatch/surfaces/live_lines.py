"""A running calibration as lines of text, for the command line and for the monitor."""

from __future__ import annotations

from noisewatch.model.figures import describe_ns, describe_share
from noisewatch.surfaces.charts import gap_chart, strip
from noisewatch.surfaces.live_gaps import LiveGaps

_RAMP, _ASCII_RAMP = " ▁▂▃▄▅▆▇█", " .:-=+*#@"
_FIGURES_WIDTH = 52
_LEAST_STRIP = 8
_LEAST_CHART = 7


def progress_line(live: LiveGaps, width: int) -> str:
    """How far it is."""
    done = min(live.done_s / live.total_s, 1.0) if live.total_s else 0.0
    text = f"calibrating {live.done_s:.1f} of {live.total_s:.1f} s"
    room = max(min(width - len(text) - 4, 40), 0)
    filled = round(done * room)
    return f"{text}  {'#' * filled}{'.' * (room - filled)}"[: max(width, 0)]


def live_lines(live: LiveGaps, width: int, height: int, in_unicode: bool) -> list[str]:
    """The progress, the gaps of all CPUs by length, and a row for each CPU, the worst first; cut to the size."""
    lines = [progress_line(live, width)]
    cpu_rows = [_cpu_line(live, number, width, in_unicode) for number in range(len(live.by_cpu))]
    shown = max(min(len(cpu_rows), height // 3), 1)
    chart_height = min(height - shown - 3, 16)
    if chart_height >= _LEAST_CHART:
        chart = gap_chart(live.together, min(width, 100), chart_height, in_unicode)
        lines += [f"{live.together.count} gaps by length, all CPUs"[:width], *chart]
        lines += [""] * (chart_height - len(chart))
    lines += [row[:width] for row in cpu_rows[:shown]]
    if len(cpu_rows) > shown:
        lines.append(f"and {len(cpu_rows) - shown} more CPUs"[:width])
    return lines[: max(height, 1)]


def _cpu_line(live: LiveGaps, number: int, width: int, in_unicode: bool) -> str:
    each = live.worst_first[number]
    text = (
        f"CPU {each.cpu:<4} {each.gap_count:>6} gaps  {describe_share(each.stolen_share):>7}  "
        f"longest {describe_ns(each.longest_ns):<8}"
    )
    room = min(width - _FIGURES_WIDTH, 48)
    if room < _LEAST_STRIP:
        return text
    return f"{text:<{_FIGURES_WIDTH}}" + strip(each.histogram, room, _RAMP if in_unicode else _ASCII_RAMP)
