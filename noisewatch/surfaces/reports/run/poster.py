"""The poster of a run: what its receipt concluded, the time of each run, and the culprits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from noisewatch.cpus import name_cpus
from noisewatch.judgement.run.reasons import RunStanding
from noisewatch.judgement.run.run_culprits import RunCulprit
from noisewatch.operations.records.receipt import Receipt
from noisewatch.surfaces.drawing.colours import Meaning
from noisewatch.surfaces.drawing.glyphs import UNICODE
from noisewatch.surfaces.drawing.text_row import Row, Style
from noisewatch.surfaces.drawing.wraps import wrap
from noisewatch.surfaces.poster import Body, Poster
from noisewatch.surfaces.reports.run.picture import RunShown, runs_rows
from noisewatch.surfaces.reports.run.sentences import COMMANDS, mean_words
from noisewatch.surfaces.reports.run.words import table_of_culprits
from noisewatch.text import clean, printable
from noisewatch.units import NS_PER_S, describe_count

_MOST_STRETCH = 12  # columns from one run to the next
_MOST_SHORT_CULPRITS = 2  # in a poster with little room


def poster_of_run(receipt: Receipt) -> Poster:
    """Return the poster of a receipt. Its title is the headline of the report, or the difference of two commands."""
    header, words = receipt.header, receipt.words
    title, *_ = words.difference or [words.headline]
    shown, culprits = _shown_runs(receipt), receipt.culprits

    def body(max_culprits: int) -> Body:
        return lambda columns, _: list(_rows(receipt, shown, culprits, columns, max_culprits))

    programs = " against ".join(clean(command.program) for command in header.commands)
    target = f"{name_cpus(header.target)} ({printable(header.target_chosen_by)})"
    count = describe_count(len(receipt.runs), "run")
    return Poster(
        heading=f"noisewatch run · {programs} · {target} · {count}",
        title=printable(title),
        style=_meaning_of(receipt),
        bodies=[body(len(words.culprits)), body(_MOST_SHORT_CULPRITS), body(0)],
        source=_sources(receipt),
    )


def _meaning_of(receipt: Receipt) -> Meaning:
    """Return the meaning that the headline of the report has."""
    footer = receipt.footer
    if footer.is_difference_refused is True or any(command.is_refused for command in footer.commands):
        return "bad"
    is_undisturbed = all(run.standing == RunStanding.UNDISTURBED for run in receipt.runs)
    return "good" if is_undisturbed and not receipt.words.doubts else "doubt"


def _rows(
    receipt: Receipt, shown: Sequence[RunShown], culprits: Sequence[RunCulprit], width: int, max_culprits: int
) -> Iterator[Row]:
    """Yield the sentences below the title, the statistics, the picture and the first culprits."""
    words = receipt.words
    if words.difference:
        yield from _wrapped([words.headline], "strong", width)
    yield from _wrapped(words.doubts, "notable", width)
    yield from _wrapped(words.difference[1:], "plain", width)
    yield from _wrapped(_statistics(receipt), "plain", width)
    letters = ["A: ", "B: "] if len(receipt.header.commands) > 1 else [""]
    picture = runs_rows(shown, letters, culprits, width, UNICODE, _MOST_STRETCH)
    yield from [[], *picture] if picture else []
    if max_culprits and words.culprits:
        lines = table_of_culprits(words.culprits[:max_culprits], len(culprits)).lines(width)
        yield []
        for number, line in enumerate(lines):
            yield [(printable(line), "plain" if number else "faint")]


def _wrapped(texts: Iterable[str], style: Style, width: int) -> Iterator[Row]:
    for text in texts:
        for line in wrap(printable(text), width, "", "  "):
            yield [(line, style)]


def _statistics(receipt: Receipt) -> Iterator[str]:
    """Yield a sentence with the statistics of each command."""
    for command in receipt.statistics:
        letter = f"{command.command.upper()}: " if len(receipt.header.commands) > 1 else ""
        which = "undisturbed runs" if command.is_of_undisturbed else "all runs"
        yield f"{letter}{which} {mean_words(command.statistics, not command.is_refused)}"


def _shown_runs(receipt: Receipt) -> Sequence[RunShown]:
    first_ns = receipt.runs[0].part.began_ns
    return [
        RunShown(
            place=place,
            number=run.part.number,
            command=COMMANDS.index(run.part.command),
            began_ns=run.part.began_ns - first_ns,
            seconds=run.part.wall_ns / NS_PER_S,
            standing=run.standing,
        )
        for place, run in enumerate(receipt.runs)
    ]


def _sources(receipt: Receipt) -> list[str]:
    """Return a line on the machine, the attribution's source and the day, in versions from long to short."""
    header, machine = receipt.header, receipt.header.machine
    kernel = f"Linux {clean(machine.kernel)}" if machine.kernel is not None else "kernel unknown"
    cpu = [clean(machine.cpu_model)] if machine.cpu_model is not None else []
    virtual = [clean(machine.virtual)] if machine.virtual not in (None, "none") else []
    day = receipt.runs[0].part.began_utc[:10]
    attribution = "attribution: " + ("counters" if header.attribution.trace == "none" else "kernel trace")
    ours = f"noisewatch {clean(header.noisewatch)}"
    return [
        " · ".join([*cpu, *virtual, kernel, attribution, day, ours]),
        " · ".join([*cpu, *virtual, attribution, day, ours]),
        " · ".join([day, ours]),
    ]
