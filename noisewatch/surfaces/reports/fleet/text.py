"""A fleet as text or Markdown: the answer, charts (only as text), the hosts with the worst first, and their changes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from noisewatch.judgement.fleet import FLOOR_NS, Fleet, FleetHost, Report, named_reasons
from noisewatch.judgement.history.development import value_words
from noisewatch.judgement.terms import Outcome
from noisewatch.model.outliers import LEAST_MACHINES, MOST_DEVIATIONS, OutOfLine
from noisewatch.surfaces.drawing.accents import Accents
from noisewatch.surfaces.drawing.colours import Meaning, paint
from noisewatch.surfaces.drawing.tables import MOST_BYTES, align
from noisewatch.surfaces.drawing.text_row import Row, cut
from noisewatch.surfaces.drawing.wraps import wrap_hanging
from noisewatch.surfaces.reports.parts.sections import (
    Section,
    Table,
    markdown_of_sections,
    text_of_sections,
)
from noisewatch.text import clean
from noisewatch.units import describe_chance, describe_count, describe_minute, describe_names, describe_ns, share_text

_MOST_ROWS = 40
_HEADING = ("host", "verdict", "noise floor", "chance", "changed", "reported", "worst reason")
_CHANCE = "chance of staying within the budget"
_FLOOR = f"noise floor at {describe_ns(FLOOR_NS)}"
_SAME = "the same CPU model, kernel, hypervisor and measuring loops"
_RULE = (
    f"out of line with machines that have {_SAME} (more than {MOST_DEVIATIONS} standard deviations, estimated by MAD, "
    f"from the median of at least {LEAST_MACHINES})"
)
_MOST_NAMED = 4
_MOST_REASONS = 3


class FleetRendering(Struct, frozen=True):
    """The options of a fleet's report."""

    width: int = 100
    in_colour: bool = False
    in_unicode: bool = True
    is_verbose: bool = False


def _answer(fleet: Fleet) -> str:
    """Return `3 of 40 hosts not stable: 2 unstable (db3, web7), 1 unknown (web9)`."""
    count, stable = len(fleet.hosts), fleet.counts[Outcome.STABLE]
    if stable == count:
        return f"all {count} hosts stable" if count > 1 else "the only host is stable"
    parts = [
        f"{number} {outcome} ({_listed_names([host.name for host in fleet.hosts if host.outcome is outcome])})"
        for outcome, number in fleet.counts.items()
        if number and outcome is not Outcome.STABLE
    ]
    return f"{count - stable} of {describe_count(count, 'host')} not stable: {', '.join(parts)}"


def _listed_names(names: Sequence[str]) -> str:
    """Return the first names, and how many more there are."""
    return describe_names([clean(name) for name in names], _MOST_NAMED)


def _remarks(fleet: Fleet) -> Iterator[str]:
    """Yield the remarks above the rows."""
    reasons = [(reason, count) for reason, count in named_reasons(fleet) if count > 1][:_MOST_REASONS]
    if reasons:
        yield "most often: " + ", ".join(f"{reason} ({count} hosts)" for reason, count in reasons)
    if fleet.unexpected:
        verb = "was" if len(fleet.unexpected) == 1 else "were"
        yield f"reported, but {verb} not expected: {_listed_names(fleet.unexpected)}"
    if fleet.perhaps_two:
        names = _listed_names(fleet.perhaps_two)
        yield (
            f"not stable in an older report in another folder: {names}; if the report is another machine's, rename "
            "its file"
        )
    if len(fleet.hosts_by_cpu_model.keys() - {None}) > 1:
        yield f"several CPU models, whose times are not comparable: {'; '.join(_models(fleet))}"
    if fleet.ignored:
        yield f"ignored JSON without a verdict: {_listed_names(fleet.ignored)}"
    if fleet.passed_over:
        yield f"{describe_count(fleet.passed_over, 'older report')} of these hosts ignored"


def _models(fleet: Fleet) -> Iterator[str]:
    """Yield `AMD EPYC 7451 (38 hosts)` for each CPU model; the hosts of all models but the most frequent are named."""
    for number, (model, hosts) in enumerate(fleet.hosts_by_cpu_model.items()):
        names = f": {_listed_names(hosts)}" if number else ""
        yield f"{'unknown' if model is None else clean(model)} ({describe_count(len(hosts), 'host')}{names})"


def _row(host: FleetHost, longest_name: int | None) -> list[str]:
    """Return the cells of the host's row, in the columns of _HEADING."""
    name, report = clean(host.name), host.report
    floor = report.floor if report is not None else None
    return [
        name if longest_name is None or len(name) <= longest_name else f"{name[: longest_name - 1]}…",
        host.outcome.upper() if host.outcome is not Outcome.STABLE else host.outcome,
        "?" if floor is None else share_text(floor.expected),
        describe_chance(report.chance if report is not None else None),
        _changed_cell(host),
        _reported_cell(report or host.earlier),
        _reason_cell(host),
    ]


def _reported_cell(latest: Report | None) -> str:
    if latest is None:
        return "never"
    return "?" if latest.at_s is None else describe_minute(latest.at_s)


def _reason_cell(host: FleetHost) -> str:
    """Return the worst reason; for a stable host its outliers, or else its gravest warning."""
    if host.outcome is not Outcome.STABLE:
        return host.why or ""
    if host.outliers:
        return f"out of line: {', '.join(map(_outlier, host.outliers))}"
    return "" if host.why is None else f"warning: {host.why}"


def _changed_cell(host: FleetHost) -> str:
    """Return `was stable`, `yes` or `no`; `-` if there is nothing to compare with."""
    if host.changes is None or host.earlier is None:
        return "-"
    if not host.changes:
        return "no"
    return f"was {host.earlier.outcome}" if host.report and host.earlier.outcome != host.report.outcome else "yes"


def _change_lines(fleet: Fleet) -> list[str]:
    """Return `web7 since 2026-11-24 10:00: was stable; new: tasks-on-target` for each host that changed."""
    return [
        f"{clean(host.name)} since {describe_minute(host.earlier.latest_s)}: {'; '.join(host.changes)}"
        for host in fleet.hosts
        if host.changes and host.earlier is not None
    ]


def _outlier_lines(fleet: Fleet) -> list[str]:
    """Return `web7: clock 2.1 GHz (median of 40: 3.4 GHz)` for each host that has outliers."""
    return [f"{clean(host.name)}: {', '.join(map(_outlier, host.outliers))}" for host in fleet.hosts if host.outliers]


def _outlier(outlier: OutOfLine) -> str:
    value, median = (value_words(outlier.figure, figure_value) for figure_value in (outlier.value, outlier.median))
    if outlier.cpu is None:
        return f"{outlier.figure} {value} (median of {outlier.machines}: {median})"
    whose = f"{outlier.figure} of CPU {outlier.cpu}, its slowest,"
    return f"{whose} {value} (median of the slowest of {outlier.machines}: {median})"


def _no_outlier_sentence(fleet: Fleet) -> str:
    """Return a sentence for a fleet without known outliers; it has the number of compared hosts."""
    if fleet.compared:
        return f"no figure is {_RULE}; {fleet.compared} of {len(fleet.hosts)} hosts compared"
    return f"figures not compared: fewer than {LEAST_MACHINES} machines are known to have {_SAME}"


_RAMPS = {True: " ▁▂▃▄▅▆▇█", False: " _.-=+*#@"}
_BARS = {True: "█", False: "#"}
_STYLE_BY_OUTCOME: Mapping[Outcome, Meaning] = {
    Outcome.STABLE: "calm",
    Outcome.UNSTABLE: "grave",
    Outcome.UNKNOWN: "notable",
}
_STYLES = {0: "good", 1: "bad", 3: "doubt"}
_LONGEST_BAR, _MOST_BINS = 40, 32
_WIDE = 110  # least columns in which reasons fit next to the other cells
_LONGEST_NAME = 32
_LEAST_WIDTH = 20


def render_text(fleet: Fleet, rendering: FleetRendering) -> str:
    """Return the whole report."""
    width = max(rendering.width, _LEAST_WIDTH)
    style = _STYLES[fleet.exit_status] if rendering.in_colour else "plain"
    remarks = [line for remark in _remarks(fleet) for line in wrap_hanging(remark, width)]
    head = [*(paint(line, style) for line in wrap_hanging(_answer(fleet), width)), *remarks]
    charts = [cut(row, width) for row in _charts(fleet, rendering.in_unicode, width)]
    shortened = "worst reason" if width >= _WIDE else None
    sections = [Section(chart=charts), *_sections(fleet, rendering, _LONGEST_NAME, shortened)]
    return "\n".join(head) + "\n\n" + text_of_sections(sections, width, rendering.in_colour, keep="hyphens")


def render_markdown(fleet: Fleet, rendering: FleetRendering) -> str:
    """Return the report for an issue or a page, cut to fit in an issue unless `is_verbose`."""
    paragraphs = [(text, ()) for text in (_answer(fleet), *_remarks(fleet))]
    sections = [Section("noisewatch fleet", level=2, steps=paragraphs), *_sections(fleet, rendering)]
    return markdown_of_sections(sections, math.inf if rendering.is_verbose else MOST_BYTES)


def _sections(
    fleet: Fleet, rendering: FleetRendering, longest_name: int | None = None, shortened: str | None = None
) -> Iterator[Section]:
    """Yield the hosts, their changes and outliers: of the worst hosts, or of all if `is_verbose`."""
    hosts = fleet.hosts if rendering.is_verbose else fleet.hosts[:_MOST_ROWS]
    rest = fleet.hosts[len(hosts) :]
    open_ones = sum(host.outcome is not Outcome.STABLE for host in rest)
    remark = f", {f'{open_ones} of them not stable' if open_ones else 'all stable'} (--verbose shows all)"
    rows = [_row(host, longest_name) for host in hosts]
    styles: list[Accents] = [{"verdict": _STYLE_BY_OUTCOME[host.outcome], "host": "strong"} for host in hosts]
    yield Section(table=Table(_HEADING, rows, len(rest), shortened, ["reported"], rest_remark=remark, styles=styles))
    for title, lines in (("changed:", _change_lines(fleet)), (f"{_RULE}:", _outlier_lines(fleet))):
        if lines:
            more = [f"and {len(lines) - len(hosts)} more"] if len(lines) > len(hosts) else []
            yield Section(title, sentences=[*lines[: len(hosts)], *more])
    if not any(host.outliers for host in fleet.hosts):
        yield Section(steps=[(_no_outlier_sentence(fleet), ())])


def _charts(fleet: Fleet, in_unicode: bool, width: int) -> Iterator[Row]:
    """Yield a bar for each outcome, the distribution of noise floors, and the range of chances.

    Only the bars are sure to fit the width.
    """
    bins, highest = min(width // 4, _MOST_BINS), max(fleet.counts.values())
    counts = {outcome: count for outcome, count in fleet.counts.items() if count}
    labels = align([(outcome, f"{count}") for outcome, count in counts.items()]).splitlines()
    for label, (outcome, count) in zip(labels, counts.items(), strict=True):
        longest = max(min(_LONGEST_BAR, width - len(label) - 2), 1)
        bar = _BARS[in_unicode] * math.ceil(count / highest * longest)
        yield [(f"{label}  ", "plain"), (bar, _STYLE_BY_OUTCOME[outcome])]
    floors = [host.report.floor.expected for host in fleet.hosts if host.report and host.report.floor]
    if floors:
        ends = share_text(min(floors)), share_text(max(floors))
        spread = f"{ends[0]} to {ends[1]}" if len(set(ends)) > 1 else ends[0]
        strip = _strip(floors, _RAMPS[in_unicode], bins) if len(set(ends)) > 1 else ""
        parts = (_FLOOR, strip, f"{spread} ({len(floors)} of {len(fleet.hosts)} hosts)")
        yield [("  ".join(part for part in parts if part), "plain")]
    chances = [host.report.chance for host in fleet.hosts if host.report and host.report.chance is not None]
    if chances:
        least, most_likely = describe_chance(min(chances)), describe_chance(max(chances))
        span = least if least == most_likely else f"{least} to {most_likely}"
        yield [(f"{_CHANCE}  {span} ({len(chances)} of {len(fleet.hosts)} hosts)", "plain")]


def _strip(values: Sequence[float], ramp: str, bins: int) -> str:
    """Draw a histogram of the values on a logarithmic axis in `bins` characters; even a single value is visible."""
    logs = [math.log(max(value, 1e-6)) for value in values]
    low, span = min(logs), max(max(logs) - min(logs), 1e-9)
    counts = [0] * bins
    for log in logs:
        counts[min(int((log - low) / span * bins), bins - 1)] += 1
    highest = max(counts)
    return "".join(ramp[math.ceil(count / highest * (len(ramp) - 1))] for count in counts)
