"""A running calibration as lines of text, for the command line and for the monitor."""

from __future__ import annotations

from noisewatch.operations.calibrate import LiveCpu, LiveGaps
from noisewatch.surfaces.reports.parts.charts import gap_chart, strip
from noisewatch.units import describe_ns, describe_share

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
    shown = max(min(len(live.by_cpu), height // 3), 1)
    chart_height = min(height - shown - 3, 16)
    if chart_height >= _LEAST_CHART:
        together = live.together
        chart = gap_chart(together, min(width, 100), chart_height, in_unicode)
        lines += [f"{together.count} gaps by length, all CPUs"[:width], *chart]
        lines += [""] * (chart_height - len(chart))
    lines += [_cpu_line(each, width, in_unicode)[:width] for each in live.worst(shown)]
    if len(live.by_cpu) > shown:
        lines.append(f"and {len(live.by_cpu) - shown} more CPUs"[:width])
    return lines[: max(height, 1)]


def _cpu_line(each: LiveCpu, width: int, in_unicode: bool) -> str:
    text = (
        f"CPU {each.cpu:<4} {each.gap_count:>6} gaps  {describe_share(each.stolen_share):>7}  "
        f"longest {describe_ns(each.longest_ns):<8}"
    )
    room = min(width - _FIGURES_WIDTH, 48)
    if room < _LEAST_STRIP:
        return text
    return f"{text:<{_FIGURES_WIDTH}}" + strip(each.histogram, room, _RAMP if in_unicode else _ASCII_RAMP)
