"""A report as sections, which are made once and rendered as text and as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import inf

from msgspec import Struct

from noisewatch.judgement.terms import FOR_GOOD
from noisewatch.surfaces.drawing.accents import Accents, accent, draw, trim
from noisewatch.surfaces.drawing.colours import plain_row
from noisewatch.surfaces.drawing.tables import (
    cell,
    code,
    facts_table,
    fence,
    fit_columns,
    fitting,
    pad_columns,
    prose,
    table,
)
from noisewatch.surfaces.drawing.text_row import Row, Style, cut, length
from noisewatch.surfaces.drawing.wraps import Kept, wrap, wrap_hanging

_LEAST_WRAPPED = 30  # least width of a last column that is wrapped


class Table(Struct, frozen=True):
    """A table. `rest` is the number of rows that are left out; `rest_remark` is appended to the line `and 3 more`.

    To fit a width, the cells of the column `shortened` are cut, and the columns `spare` are dropped. Without
    `shortened`, the last column is wrapped. Text shows `sentences`, if there are any, instead of the table.
    """

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    rest: int = 0
    shortened: str | None = None
    spare: Sequence[str] = ()
    sentences: Sequence[str] = ()
    rest_remark: str = ""
    styles: Sequence[Accents] = ()  # of each row: styles of cells by the column's heading

    @property
    def more(self) -> list[str]:
        """The line `and 3 more`, below the first column that has a heading, if rows are left out."""
        return [f"{'' if self.head[0] else '  '}and {self.rest} more{self.rest_remark}"] if self.rest > 0 else []

    def lines(self, width: int, keep: Kept = "nothing") -> list[str]:
        return draw(self.drawn(width, keep), in_colour=False)

    def drawn(self, width: int, keep: Kept = "nothing") -> list[Row]:
        """Return the table as rows, with the styles of its cells."""
        if not self.rows or self.sentences:
            return []
        more: list[Row] = [[(line, "plain")] for text in self.more for line in wrap_hanging(text, width)]
        styles: Sequence[Accents] = self.styles or [{}] * len(self.rows)
        if self.shortened is not None:
            cells = pad_columns(fit_columns(width, [self.head, *self.rows], self.shortened, self.spare))
            head, *rows = [
                _styled_cells(row, cells[0], row_styles) for row, row_styles in zip(cells, [{}, *styles], strict=True)
            ]
            return [cut(row, width) for row in (_faint(head), *rows)] + more
        cells = pad_columns(row[:-1] for row in (self.head, *self.rows))
        begin = max(len("  ".join(row).rstrip()) for row in cells) + 2
        is_below = width - begin < _LEAST_WRAPPED
        title = "  ".join(cells[0])
        drawn: list[Row] = [[(title[:width] if is_below else f"{title:<{begin}}{self.head[-1]}", "faint")]]
        for row, (*_, text), row_styles in zip(cells[1:], self.rows, styles, strict=True):
            first = _styled_cells(row, cells[0], row_styles)
            style = row_styles.get(self.head[-1], "plain")
            if is_below:
                drawn += [cut(first, width), *([(line, style)] for line in wrap(text, width, "    ", keep=keep))]
                continue
            start, *further = wrap(text, width - begin) or [""]
            drawn.append([*cut(first, begin), (" " * (begin - length(first)), "plain"), (start, style)])
            drawn += [[(" " * begin, "plain"), (line, style)] for line in further]
        return drawn + more

    def markdown(self) -> str:
        parts = [table(self.head, [list(map(cell, row)) for row in self.rows])] if self.rows else []
        return "\n".join([*parts, *(f"{line}\n" for line in self.more)])


def _styled_cells(cells: Sequence[str], headings: Sequence[str], styles: Accents) -> Row:
    """Return the cells of a row, with the styles of their columns and blanks between them."""
    row: Row = []
    for number, (cell_text, heading) in enumerate(zip(cells, headings, strict=True)):
        text = cell_text.strip()
        left, right = len(cell_text) - len(cell_text.lstrip()), len(cell_text) - len(cell_text.rstrip())
        gap = "  " if number else ""
        row += [(gap + " " * (left if text else 0), "plain"), (text, styles.get(heading.strip(), "plain"))]
        row.append((" " * (right if text else len(cell_text)), "plain"))
    return trim(row)


def _faint(row: Row) -> Row:
    return [("".join(text for text, _ in row), "faint")]


class Section(Struct, frozen=True):
    """A part of a report. The title ends with the `command`. `steps` are pairs of a sentence and its named commands.

    `accents` are the styles of words and phrases in its sentences, for a terminal with colours. In Markdown the title
    is a heading of that `level`, and a section that `is_folded` at first shows only its title.
    """

    title: str = ""
    command: str = ""
    facts: Sequence[tuple[str, str]] = ()
    sentences: Sequence[str] = ()
    steps: Sequence[tuple[str, Sequence[tuple[str, str]]]] = ()
    table: Table | None = None
    chart: Sequence[Row] = ()
    title_style: Style = "plain"
    level: int = 3
    is_folded: bool = False
    accents: Accents = {}


def plain_chart(lines: Iterable[str]) -> list[Row]:
    """Return the lines as a section's chart, which is never wrapped, so that columns stay aligned."""
    return [[(line, "plain")] for line in lines]


def text_of_section(section: Section, width: int, in_colour: bool = False, keep: Kept = "nothing") -> list[str]:
    """Return the lines of the section; commands are not wrapped, so that they can be copied."""
    return draw(_rows_of(section, width, keep), in_colour)


def _rows_of(section: Section, width: int, keep: Kept) -> list[Row]:
    title = section.title + section.command
    titles = [title[:width]] if section.command else wrap(title, width, "", "  ", keep=keep)
    rows: list[Row] = [[(line, section.title_style)] for line in titles]
    rows += section.chart
    indent = "  " if title and not section.steps else ""
    widest = max((len(name) for name, _ in section.facts), default=0)
    texts = [*(f"{name:<{widest}}  {text}" for name, text in section.facts), *section.sentences]
    texts += section.table.sentences if section.table is not None else ()
    for text in texts:
        rows += accent(wrap(text, width, indent, f"{indent}  ", keep=keep), section.accents)
    for sentence, commands in section.steps:
        rows += accent(wrap(sentence, width, "", "  ", keep=keep), section.accents)
        rows += [
            [(f"    {name}: ", "faint"), (command, "plain" if name == FOR_GOOD else "command")]  # it may be prose
            for name, command in commands
        ]
    return rows + ([] if section.table is None else section.table.drawn(width, keep))


def text_of_sections(sections: Iterable[Section], width: int, in_colour: bool = False, keep: Kept = "nothing") -> str:
    """Return the sections with an empty line between them."""
    parts = ("\n".join(text_of_section(section, width, in_colour, keep)) for section in sections)
    return "\n\n".join(filter(None, parts)) + "\n"


def markdown_of_section(section: Section) -> Iterator[str]:
    """Yield the section's parts in Markdown; each ends with a line break."""
    title = f"{section.title}{code(section.command)}"
    if section.is_folded:
        yield f"<details>\n<summary>{title}</summary>\n"
    elif title:
        yield f"{'#' * section.level} {title}\n"
    if section.facts:
        yield facts_table(section.facts)
    if section.sentences:
        yield "".join(f"- {prose(sentence)}\n" for sentence in section.sentences)
    if section.chart:
        yield fence("text", [plain_row(row) for row in section.chart])
    for sentence, commands in section.steps:
        yield from [f"{prose(sentence)}\n"] if sentence else []
        for name, command in commands:  # a separate code block, so that it can be copied; FOR_GOOD may be prose
            yield f"{name}:\n\n{fence('text' if name == FOR_GOOD else 'sh', [command])}"
    if section.table is not None and (text := section.table.markdown()):
        yield text
    if section.is_folded:
        yield "</details>\n"


def markdown_of_sections(sections: Iterable[Section], max_bytes: float = inf) -> str:
    """Return as many of the first sections as fit in `max_bytes`; an empty text if not even the first one does."""
    return fitting(["\n".join(markdown_of_section(section)) for section in sections], max_bytes)
