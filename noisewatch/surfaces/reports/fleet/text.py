"""A fleet as text: the answer, two small charts, the hosts (worst first), and what changed."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Sequence

from noisewatch.judgement.fleet.standing import Fleet, FleetHost
from noisewatch.surfaces.reports.fleet.rows import (
    CHANCE,
    FLOOR,
    HEADING,
    MOST_ROWS,
    RULE,
    FleetRendering,
    answer_of,
    changes_told,
    left_out,
    nothing_out_of_line,
    outliers_told,
    remarks_on,
    row_of,
    shown_hosts,
)
from noisewatch.surfaces.reports.parts.colours import painted
from noisewatch.surfaces.reports.parts.tables import align, align_within
from noisewatch.units import describe_chance, share_text

_RAMPS = {True: " ▁▂▃▄▅▆▇█", False: " _.-=+*#@"}
_BARS = {True: "█", False: "#"}
_STYLES = {0: "good", 1: "bad", 3: "doubt"}
_LONGEST_BAR, _MOST_BINS = 40, 32
_WIDE = 110  # columns from which reasons fit beside the other cells
_LONGEST_NAME = 32
_LEAST_WIDTH = 20
_MOST_REASON_LINES = 2


def render(fleet: Fleet, rendering: FleetRendering) -> str:
    """Return the whole report."""
    width = max(rendering.width, _LEAST_WIDTH)
    return "\n".join(_lines(fleet, rendering, width)) + "\n"


def _lines(fleet: Fleet, rendering: FleetRendering, width: int) -> Iterator[str]:
    style = _STYLES[fleet.exit_status] if rendering.in_colour else "plain"
    yield from (painted(line, style) for line in _wrapped(answer_of(fleet), width))
    for remark in remarks_on(fleet):
        yield from _wrapped(remark, width)
    yield ""
    yield from (line[:width] for line in _charts(fleet, rendering.in_unicode, min(width // 4, _MOST_BINS)))
    yield ""
    hosts = shown_hosts(fleet, rendering)
    yield from _wide_table(hosts, width) if width >= _WIDE else _narrow_table(hosts, width)
    rest = left_out(fleet, rendering)
    if rest is not None:
        yield from _wrapped(rest, width)
    most = len(fleet.hosts) if rendering.is_verbose else MOST_ROWS
    yield from _section("changed:", changes_told(fleet), most, width)
    yield from _section(f"{RULE}:", outliers_told(fleet), most, width)
    nothing = nothing_out_of_line(fleet)
    if nothing is not None:
        yield from ("", *_wrapped(nothing, width))


def _charts(fleet: Fleet, in_unicode: bool, bins: int) -> Iterator[str]:
    """Yield a bar for each outcome, the distribution of noise floors, and the range of chances."""
    most = max(fleet.counts.values())
    rows = [
        (outcome, f"{count}", _BARS[in_unicode] * math.ceil(count / most * _LONGEST_BAR))
        for outcome, count in fleet.counts.items()
        if count
    ]
    yield from align(rows).splitlines()
    floors = [host.report.floor.expected for host in fleet.hosts if host.report and host.report.floor]
    if floors:
        ends = share_text(min(floors)), share_text(max(floors))
        told = f"{ends[0]} to {ends[1]}" if len(set(ends)) > 1 else ends[0]
        strip = _strip(floors, _RAMPS[in_unicode], bins) if len(set(ends)) > 1 else ""
        yield "  ".join(part for part in (FLOOR, strip, f"{told} ({len(floors)} of {len(fleet.hosts)} hosts)") if part)
    chances = [host.report.chance for host in fleet.hosts if host.report and host.report.chance is not None]
    if chances:
        least, most_likely = describe_chance(min(chances)), describe_chance(max(chances))
        span = least if least == most_likely else f"{least} to {most_likely}"
        yield f"{CHANCE}  {span} ({len(chances)} of {len(fleet.hosts)} hosts)"


def _strip(values: Sequence[float], ramp: str, bins: int) -> str:
    """Draw a histogram of the values on a logarithmic axis in `bins` characters; even a single value is visible."""
    logs = [math.log(max(value, 1e-6)) for value in values]
    low, span = min(logs), max(max(logs) - min(logs), 1e-9)
    counts = [0] * bins
    for log in logs:
        counts[min(int((log - low) / span * bins), bins - 1)] += 1
    most = max(counts)
    return "".join(ramp[math.ceil(count / most * (len(ramp) - 1))] for count in counts)


def _wide_table(hosts: Sequence[FleetHost], width: int) -> Iterator[str]:
    yield from align_within(width, [HEADING, *map(_row, hosts)], "worst reason", ["reported"])


def _narrow_table(hosts: Sequence[FleetHost], width: int) -> Iterator[str]:
    """Yield the table for a narrow terminal: each host's reason is below its row."""
    rows = [list(HEADING), *map(_row, hosts)]
    lines = [line[:width] for line in align(row[:-1] for row in rows).splitlines()]
    yield lines[0]
    for line, row in zip(lines[1:], rows[1:], strict=True):
        yield line
        yield from _cut(row[-1], width)


def _row(host: FleetHost) -> list[str]:
    name, *others = row_of(host)
    return [name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…", *others]


def _cut(text: str, width: int) -> list[str]:
    return textwrap.wrap(
        text,
        width,
        initial_indent="    ",
        subsequent_indent="    ",
        max_lines=_MOST_REASON_LINES,
        placeholder=" …",
        break_on_hyphens=False,
    )


def _section(heading: str, told: Sequence[str], most: int, width: int) -> Iterator[str]:
    if not told:
        return
    yield ""
    yield from _wrapped(heading, width)
    for line in told[:most]:
        yield from _cut(line, width)
    if len(told) > most:
        yield f"    and {len(told) - most} more"


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, subsequent_indent="  ", break_on_hyphens=False)
