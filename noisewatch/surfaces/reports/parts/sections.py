"""A report as sections, which are made once and rendered as text and as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from noisewatch.judgement.terms import FOR_GOOD
from noisewatch.surfaces.reports.parts.colours import painted_row, plain_row
from noisewatch.surfaces.reports.parts.tables import align, align_within, cell, code, facts_table, fenced, prose, table
from noisewatch.surfaces.reports.parts.wraps import wrap, wrap_after
from noisewatch.surfaces.tui.draw.text_row import Row

_LEAST_WRAPPED = 30  # columns of a last column that is wrapped beside the others


class Table(Struct, frozen=True):
    """A table; `rest` is the number of rows that it leaves out.

    To fit a width the cells of the column `shortened` are cut, and the columns `spare` are dropped. Without such a
    column the last one is wrapped.
    """

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    rest: int = 0
    shortened: str | None = None
    spare: Sequence[str] = ()

    @property
    def more(self) -> list[str]:
        """The line `and 3 more`, below the first column that has a heading, if rows are left out."""
        return [f"{'' if self.head[0] else '  '}and {self.rest} more"] if self.rest > 0 else []

    def lines(self, width: int) -> list[str]:
        if not self.rows:
            return []
        if self.shortened is not None:
            return [*align_within(width, [self.head, *self.rows], self.shortened, self.spare), *self.more]
        head, *rows = align([row[:-1] for row in (self.head, *self.rows)]).splitlines()
        begin = max(map(len, [head, *rows])) + 2
        is_below = width - begin < _LEAST_WRAPPED
        lines = [head if is_below else f"{head:<{begin}}{self.head[-1]}"]
        for line, (*_, text) in zip(rows, self.rows, strict=True):
            if is_below:
                lines += [line, *wrap(text, width, "    ")]
            else:
                lines += [part.rstrip() for part in wrap_after(f"{line:<{begin}}", text, width)]
        return lines + self.more

    def markdown(self) -> str:
        parts = [table(self.head, [list(map(cell, row)) for row in self.rows])] if self.rows else []
        return "\n".join([*parts, *(f"{line}\n" for line in self.more)])


class Section(Struct, frozen=True):
    """A part of a report. The `command` ends the title; `steps` are sentences with their commands by name."""

    title: str = ""
    command: str = ""
    facts: Sequence[tuple[str, str]] = ()
    sentences: Sequence[str] = ()
    steps: Sequence[tuple[str, Sequence[tuple[str, str]]]] = ()
    table: Table | None = None
    chart: Sequence[Row] = ()


def text_of_section(section: Section, width: int, in_colour: bool = False) -> list[str]:
    """Return the lines of the section; commands are not wrapped, to be copied."""
    title = section.title + section.command
    lines = [title[:width]] if title else []
    indent = "  " if title and not section.steps else ""
    widest = max((len(name) for name, _ in section.facts), default=0)
    texts = [*(f"{name:<{widest}}  {text}" for name, text in section.facts), *section.sentences]
    lines += [line for text in texts for line in wrap(text, width, indent, f"{indent}  ")]
    for sentence, commands in section.steps:
        lines += wrap(sentence, width, "", "  ")
        lines += [f"    {name}: {command}" for name, command in commands]
    lines += [] if section.table is None else section.table.lines(width)
    return lines + [painted_row(row) if in_colour else plain_row(row) for row in section.chart]


def markdown_of_commands(commands: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield each command below its name, in a fence of its own to copy it as a whole; what is for good may be prose."""
    for name, command in commands:
        yield f"{name}:\n\n{fenced('text' if name == FOR_GOOD else 'sh', [command])}"


def markdown_of_section(section: Section) -> Iterator[str]:
    """Yield the parts of the section, each of which ends with a line break."""
    if section.title or section.command:
        yield f"#### {section.title}{code(section.command)}\n"
    if section.facts:
        yield facts_table(section.facts)
    if section.sentences:
        yield "".join(f"- {prose(sentence)}\n" for sentence in section.sentences)
    for sentence, commands in section.steps:
        yield f"{prose(sentence)}\n"
        yield from markdown_of_commands(commands)
    if section.table is not None and (text := section.table.markdown()):
        yield text
    if section.chart:
        yield fenced("text", [plain_row(row) for row in section.chart])
