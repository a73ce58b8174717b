"""Culprits, gaps and interruptions as tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from noisewatch.kinds import Kind
from noisewatch.machine.tracefs.instance import FOR_ROOT
from noisewatch.model.calibration.gap_causes import GapCause, Interruption, Part
from noisewatch.model.interval.disturbance import Disturbance
from noisewatch.model.trace.culprits import MeasuredCulprit
from noisewatch.program import as_root
from noisewatch.surfaces.drawing.accents import Accents
from noisewatch.surfaces.drawing.colours import STYLE_BY_KIND
from noisewatch.surfaces.drawing.wraps import wrap
from noisewatch.surfaces.reports.parts.sections import Table
from noisewatch.text import printable
from noisewatch.units import describe_ns, describe_share

if TYPE_CHECKING:
    from noisewatch.kernel.tasks.identity import ProcessIdentity

_BARS = " ▁▂▃▄▅▆▇█"
_FIRST_BIT, _LAST_BIT = 9, 24  # from half a microsecond to sixteen milliseconds, a bar for each doubling
_LENGTHS = "0.5 µs … 16 ms"
_MOST_PARTS = 4
_MOST_RHYTHMS = 3


def culprit_lines(culprits: Sequence[MeasuredCulprit], max_rows: int, width: int) -> list[str]:
    """Return a table of the first `max_rows` culprits, the number of the others, and those that disturb regularly.

    Lines have at most `width` columns.
    """
    head = ["", "kind", "who", "times", "time", "share", "p50", "p99", "longest", _LENGTHS]
    rows = [["", *_row(culprit)] for culprit in culprits[:max_rows]]
    table = Table(head, rows, len(culprits) - len(rows), "who", (_LENGTHS, "p50", "p99", "time"))
    return [*table.lines(width), *_rhythm_lines([culprit.disturbance for culprit in culprits[:max_rows]], width)]


def _rhythm_lines(culprits: Sequence[Disturbance], width: int) -> list[str]:
    """Return `hog (pid 4711) disturbs 10 times a second, 5 ms each` for the costliest regular culprits but the tick."""
    regular = [culprit for culprit in culprits if culprit.rhythm is not None and culprit.kind != Kind.TICK]
    return [
        line
        for culprit in regular[:_MOST_RHYTHMS]
        if culprit.rhythm is not None
        for line in wrap(f"{disturbance_name(culprit)} disturbs {culprit.rhythm.text}", width, "  ")
    ]


def root_lines(reason: str | None, arguments: str, is_live: bool) -> list[str]:
    """Return the command that traces as root, on a separate line to copy, if only privileges are missing."""
    if reason is None or FOR_ROOT not in reason or not is_live:
        return []
    return [f"    {as_root(arguments, is_here=True)}"]


def culprit_accents(disturbances: Iterable[Disturbance]) -> Accents:
    """Return the style of each culprit's name, by its kind as in the monitor; the kind is in the same row."""
    return {disturbance_name(disturbance): STYLE_BY_KIND[disturbance.kind] for disturbance in disturbances}


def _row(culprit: MeasuredCulprit) -> list[str]:
    disturbance = culprit.disturbance
    return [
        disturbance.kind,
        disturbance_name(disturbance),
        str(culprit.count),
        describe_ns(disturbance.stolen_ns),
        share_of(disturbance),
        describe_ns(culprit.quantile_ns(0.5)),
        describe_ns(culprit.quantile_ns(0.99)),
        describe_ns(culprit.max_ns),
        _bars(culprit),
    ]


def _bars(culprit: MeasuredCulprit) -> str:
    """Draw a histogram of interruptions by length, a column per doubling; even a single one is visible."""
    counts = [0] * (_LAST_BIT - _FIRST_BIT + 1)
    for length, count in culprit.count_by_length.items():
        counts[min(max(length.bit_length(), _FIRST_BIT), _LAST_BIT) - _FIRST_BIT] += count
    highest = max(counts)
    return "".join(_BARS[-(-count * (len(_BARS) - 1) // highest)] for count in counts) if highest else ""


def rate_of(disturbance: Disturbance) -> str:
    """Return the events per second (of a thread, its time slices), or an empty text if they were not counted."""
    rate = disturbance.rate_per_s if disturbance.slices_per_s is None else disturbance.slices_per_s
    return "" if rate is None else f"{rate:.1f}"


def share_of(disturbance: Disturbance) -> str:
    """Return the culprit's share of the time, with `~` before an inferred one."""
    return ("~" if disturbance.is_inferred else "") + describe_share(disturbance.share)


def disturbance_name(disturbance: Disturbance) -> str:
    """Return the culprit's name, with its process if it has one."""
    return printable(disturbance.label)


def process_table(processes: Iterable[tuple[int | None, ProcessIdentity | None]], with_arguments: bool = True) -> Table:
    """Return a table of culprits' processes, each once, with their units, containers and pods, and commands."""
    known = ((pid, identity) for pid, identity in processes if identity is not None)
    rows = [
        (f"{identity.name} (pid {pid})", str(identity.surroundings), identity.command if with_arguments else "")
        for pid, identity in known
        if identity.details(with_arguments)
    ]
    columns = [at for at in range(3) if any(row[at] for row in rows)]
    head = [("process", "in", "command")[at] for at in columns]
    cells = [[printable(row[at]) for at in columns] for row in dict.fromkeys(rows)]
    return Table(head, cells, shortened=head[-1] if head else None, spare=head[1:-1])


def gap_lines(causes: Iterable[GapCause], width: int) -> list[str]:
    """Return a table of gaps: start, length, the time that the kernel trace explains, and the culprits."""
    head = ["", "at", "length", "traced", "who"]
    rows = [
        [
            "",
            _at(cause.start_ns),
            describe_ns(cause.length_ns),
            "" if cause.kernel_ns is None else describe_ns(cause.kernel_ns),
            parts_in_words(cause.parts) or printable(cause.name),
        ]
        for cause in causes
    ]
    return Table(head, rows, shortened="who").lines(width)


def interruption_lines(stretches: Iterable[Interruption], width: int) -> list[str]:
    """Return a table of interruptions: periods in which other tasks or interrupts ran without a break."""
    rows = [
        ["", _at(stretch.start_ns), describe_ns(stretch.length_ns), parts_in_words(stretch.parts)]
        for stretch in stretches
    ]
    return Table(["", "at", "length", "who"], rows, shortened="who").lines(width)


def suspect_words(suspects: Sequence[Disturbance], max_names: int) -> str:
    """Return the first suspects, the costliest first: `hog (pid 901) ~3.1%, RCU 12.0/s`."""
    texts = [
        f"{disturbance_name(suspect)} {rate_of(suspect) + '/s' if suspect.rate_per_s else share_of(suspect)}"
        for suspect in suspects[:max_names]
    ]
    other_count = len(suspects) - len(texts)
    return ", ".join(texts + ([f"and {other_count} more"] if other_count else []))


def _at(start_ns: int) -> str:
    return f"{start_ns / 1e9:.6f} s"


def parts_in_words(parts: Sequence[Part]) -> str:
    """Return `kworker/1:2 58.6 µs + timer tick 9.2 µs + 3 more`."""
    texts = [f"{printable(part.name)} {describe_ns(part.ns)}" for part in parts[:_MOST_PARTS]]
    other_count = len(parts) - len(texts)
    return " + ".join(texts + ([f"{other_count} more"] if other_count else []))
