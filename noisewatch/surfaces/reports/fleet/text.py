"""A fleet in words and as text: the answer, two small charts, the hosts (worst first), and what changed.

Markdown has the same words and rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from noisewatch.judgement.fleet import FLOOR_NS, Fleet, FleetHost, Report, named_reasons
from noisewatch.judgement.history.development import value_words
from noisewatch.judgement.terms import Outcome
from noisewatch.model.fleet.outliers import LEAST_MACHINES, MOST_DEVIATIONS, OutOfLine
from noisewatch.records import dataclass
from noisewatch.surfaces.reports.parts.colours import painted
from noisewatch.surfaces.reports.parts.tables import align, align_within
from noisewatch.surfaces.reports.parts.wraps import hanging, wrap
from noisewatch.text import clean
from noisewatch.units import describe_chance, describe_count, describe_minute, describe_names, describe_ns, share_text

MOST_ROWS = 40
HEADING = ("host", "verdict", "noise floor", "chance", "changed", "reported", "worst reason")
CHANCE = "chance to stay within the budget"
FLOOR = f"noise floor at {describe_ns(FLOOR_NS)}"
RULE = (
    f"out of line with machines of the same CPU model, kernel and hypervisor (more than {MOST_DEVIATIONS} standard "
    f"deviations, by MAD, from the median of at least {LEAST_MACHINES})"
)
_MOST_NAMED = 4
_MOST_REASONS = 3


@dataclass(frozen=True, slots=True)
class FleetRendering:
    """The limits that the report has to fit."""

    width: int = 100
    in_colour: bool = False
    in_unicode: bool = True
    is_verbose: bool = False


def answer_of(fleet: Fleet) -> str:
    """Return `3 of 40 hosts not stable: 2 unstable (db3, web7), 1 unknown (web9)`."""
    count, stable = len(fleet.hosts), fleet.counts[Outcome.STABLE]
    if stable == count:
        return f"all {count} hosts stable" if count > 1 else "the only host is stable"
    parts = [
        f"{number} {outcome} ({listed_names([host.name for host in fleet.hosts if host.outcome is outcome])})"
        for outcome, number in fleet.counts.items()
        if number and outcome is not Outcome.STABLE
    ]
    return f"{count - stable} of {describe_count(count, 'host')} not stable: {', '.join(parts)}"


def listed_names(names: Sequence[str]) -> str:
    """Return the first names, and how many more there are."""
    return describe_names([clean(name) for name in names], _MOST_NAMED)


def remarks_on(fleet: Fleet) -> Iterator[str]:
    """Yield remarks that precede the rows."""
    reasons = [(reason, count) for reason, count in named_reasons(fleet) if count > 1][:_MOST_REASONS]
    if reasons:
        yield "most often: " + ", ".join(f"{reason} ({count} hosts)" for reason, count in reasons)
    if fleet.unexpected:
        verb = "was" if len(fleet.unexpected) == 1 else "were"
        yield f"reported, but {verb} not expected: {listed_names(fleet.unexpected)}"
    if fleet.perhaps_two:
        names = listed_names(fleet.perhaps_two)
        yield f"not stable by an older report in another folder: {names}; if that is another machine, rename its file"
    if fleet.passed_over:
        yield f"{describe_count(fleet.passed_over, 'older report')} of these hosts passed over"


def shown_hosts(fleet: Fleet, rendering: FleetRendering) -> Sequence[FleetHost]:
    """Return the worst hosts, or all hosts if `is_verbose`."""
    return fleet.hosts if rendering.is_verbose else fleet.hosts[:MOST_ROWS]


def left_out(fleet: Fleet, rendering: FleetRendering) -> str | None:
    """Return a line on the hosts that are left out, or None if all are shown."""
    rest = fleet.hosts[len(shown_hosts(fleet, rendering)) :]
    if not rest:
        return None
    open_ones = sum(host.outcome is not Outcome.STABLE for host in rest)
    remark = f"{open_ones} of them not stable" if open_ones else "all stable"
    return f"and {len(rest)} more, {remark} (--verbose shows all)"


def row_of(host: FleetHost) -> list[str]:
    """Return the cells of the host's row, in the columns of HEADING."""
    report = host.report
    floor = report.floor if report is not None else None
    return [
        clean(host.name),
        host.outcome.upper() if host.outcome is not Outcome.STABLE else host.outcome,
        "?" if floor is None else share_text(floor.expected),
        describe_chance(report.chance if report is not None else None),
        changed_in_a_word(host),
        _reported(report or host.earlier),
        why(host),
    ]


def _reported(latest: Report | None) -> str:
    if latest is None:
        return "never"
    return "?" if latest.at_s is None else describe_minute(latest.at_s)


def why(host: FleetHost) -> str:
    """Return the worst reason; for a stable host its outliers, or else its gravest warning."""
    if host.outcome is not Outcome.STABLE:
        return host.why or ""
    if host.outliers:
        return f"out of line: {', '.join(map(_outlier, host.outliers))}"
    return "" if host.why is None else f"warning: {host.why}"


def changed_in_a_word(host: FleetHost) -> str:
    """Return `was stable`, `yes` or `no`; `-` if there is nothing to compare with."""
    if host.changes is None or host.earlier is None:
        return "-"
    if not host.changes:
        return "no"
    return f"was {host.earlier.outcome}" if host.report and host.earlier.outcome != host.report.outcome else "yes"


def change_lines(fleet: Fleet) -> list[str]:
    """Return `web7 since 2026-11-24 10:00: was stable; new: tasks-on-target` for each host that changed."""
    return [
        f"{clean(host.name)} since {describe_minute(host.earlier.latest_s)}: {'; '.join(host.changes)}"
        for host in fleet.hosts
        if host.changes and host.earlier is not None
    ]


def outlier_lines(fleet: Fleet) -> list[str]:
    """Return `web7: clock 2.1 GHz, median 3.4 GHz of 40` for each host that has outliers."""
    return [f"{clean(host.name)}: {', '.join(map(_outlier, host.outliers))}" for host in fleet.hosts if host.outliers]


def _outlier(outlier: OutOfLine) -> str:
    value, median = (value_words(outlier.figure, figure_value) for figure_value in (outlier.value, outlier.median))
    if outlier.cpu is None:
        return f"{outlier.figure} {value} (median of {outlier.machines}: {median})"
    whose = f"{outlier.figure} of CPU {outlier.cpu}, its slowest,"
    return f"{whose} {value} (median of the slowest of {outlier.machines}: {median})"


def nothing_out_of_line(fleet: Fleet) -> str | None:
    """Return how many hosts were compared if no host is an outlier, otherwise None.

    Without outliers, a reader could take hosts that were not compared for inconspicuous ones.
    """
    if any(host.outliers for host in fleet.hosts):
        return None
    if not fleet.compared:
        return f"figures not compared: fewer than {LEAST_MACHINES} machines of one kind (CPU model, kernel, hypervisor)"
    return f"no figure is {RULE}; {fleet.compared} of {len(fleet.hosts)} hosts compared"


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
    yield from (painted(line, style) for line in hanging(answer_of(fleet), width))
    for remark in remarks_on(fleet):
        yield from hanging(remark, width)
    yield ""
    yield from (line[:width] for line in _charts(fleet, rendering.in_unicode, min(width // 4, _MOST_BINS)))
    yield ""
    hosts = shown_hosts(fleet, rendering)
    if width >= _WIDE:
        yield from align_within(width, [HEADING, *map(_row, hosts)], "worst reason", ["reported"])
    else:
        yield from _narrow_table(hosts, width)
    rest = left_out(fleet, rendering)
    if rest is not None:
        yield from hanging(rest, width)
    most = len(fleet.hosts) if rendering.is_verbose else MOST_ROWS
    yield from _section("changed:", change_lines(fleet), most, width)
    yield from _section(f"{RULE}:", outlier_lines(fleet), most, width)
    nothing = nothing_out_of_line(fleet)
    if nothing is not None:
        yield from ("", *hanging(nothing, width))


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
        spread = f"{ends[0]} to {ends[1]}" if len(set(ends)) > 1 else ends[0]
        strip = _strip(floors, _RAMPS[in_unicode], bins) if len(set(ends)) > 1 else ""
        yield "  ".join(
            part for part in (FLOOR, strip, f"{spread} ({len(floors)} of {len(fleet.hosts)} hosts)") if part
        )
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
    return wrap(text, width, "    ", keep="hyphens", most=_MOST_REASON_LINES)


def _section(heading: str, lines: Sequence[str], most: int, width: int) -> Iterator[str]:
    if not lines:
        return
    yield ""
    yield from hanging(heading, width)
    for line in lines[:most]:
        yield from _cut(line, width)
    if len(lines) > most:
        yield f"    and {len(lines) - most} more"
