"""A fleet as Markdown, for an issue or a page."""

from __future__ import annotations

from collections.abc import Iterator

from noisewatch.judgement.fleet import Fleet
from noisewatch.surfaces.reports.fleet.text import (
    HEADING,
    RULE,
    FleetRendering,
    answer_of,
    change_lines,
    left_out,
    nothing_out_of_line,
    outlier_lines,
    remarks_on,
    row_of,
    shown_hosts,
)
from noisewatch.surfaces.reports.parts.tables import MOST_BYTES, cell, fitting, prose, table


def render(fleet: Fleet, rendering: FleetRendering) -> str:
    """Return the report, cut to what fits in an issue unless `is_verbose`."""
    parts = list(_parts(fleet, rendering))
    return "\n".join(parts) if rendering.is_verbose else fitting(parts, MOST_BYTES)


def _parts(fleet: Fleet, rendering: FleetRendering) -> Iterator[str]:
    yield f"## noisewatch fleet\n\n{prose(answer_of(fleet))}\n"
    for remark in remarks_on(fleet):
        yield f"{prose(remark)}\n"
    rows = (list(map(cell, row_of(host))) for host in shown_hosts(fleet, rendering))
    yield table(HEADING, rows)
    rest, nothing = left_out(fleet, rendering), nothing_out_of_line(fleet)
    if rest is not None:
        yield f"{rest}\n"
    most = len(shown_hosts(fleet, rendering))
    for heading, lines in (("Changed", change_lines(fleet)), (RULE.capitalize(), outlier_lines(fleet))):
        if lines:
            items = "".join(f"- {prose(line)}\n" for line in lines[:most])
            yield f"{heading}:\n\n{items}" + (f"- and {len(lines) - most} more\n" if len(lines) > most else "")
    if nothing is not None:
        yield f"{nothing}\n"
