"""A topic's page for a terminal: wrapped to its width, with numbered sources."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator
from itertools import groupby

from noisewatch.surfaces.reports.parts.colours import painted
from noisewatch.surfaces.reports.topics.parsed import BlockKind, TopicBlock, TopicPage, TopicSource

_NARROWEST = 20
_INDENT = "  "
_GLUE = "\N{NO-BREAK SPACE}"  # which no line is broken at


def text_of_page(page: TopicPage, width: int, in_colour: bool) -> str:
    """Its title, its sections and its sources; code as it stands in the page."""
    width = max(width, _NARROWEST)
    parts = [
        _heading(page.title, width, in_colour),
        _body(page.summary.blocks, width),
        *(section_of(each.heading, _body(each.blocks, width), width, in_colour) for each in page.sections),
        section_of("Sources", "\n".join(_sources(page.sources, width)), width, in_colour),
    ]
    return "\n\n".join(parts) + "\n"


def section_of(heading: str, body: str, width: int, in_colour: bool) -> str:
    """The heading above the body."""
    return f"{_heading(heading, width, in_colour)}\n{body}"


def items_of(texts: Iterable[str], width: int) -> str:
    """A list, each item wrapped."""
    return "\n".join(_wrapped(text, width, f"{_INDENT}- ") for text in texts)


def _heading(text: str, width: int, in_colour: bool) -> str:
    lines = textwrap.wrap(text, max(width, _NARROWEST), break_on_hyphens=False, break_long_words=False)
    return "\n".join(painted(line, "title") if in_colour else line for line in lines)


def _body(blocks: Iterable[TopicBlock], width: int) -> str:
    return "\n\n".join(_groups(blocks, width))


def _groups(blocks: Iterable[TopicBlock], width: int) -> Iterator[str]:
    """Paragraphs, pieces of code and whole lists."""
    for kind, group in groupby(blocks, lambda block: block.kind):
        texts = [block.text for block in group]
        if kind == BlockKind.ITEM:
            yield items_of(texts, width)
        elif kind == BlockKind.CODE:
            yield from (textwrap.indent(text, 2 * _INDENT) for text in texts)
        else:
            yield from (_wrapped(text, width, _INDENT) for text in texts)


def _sources(sources: Iterable[TopicSource], width: int) -> Iterator[str]:
    for number, source in enumerate(sources, 1):
        first = f"{_INDENT}[{number}] "
        yield _wrapped(source.text, width, first)
        yield " " * len(first) + source.url


def _wrapped(text: str, width: int, first: str) -> str:
    """Short code, and a number with the word before it, stay in one line."""
    glued = re.sub(r"`[^`]*`", lambda code: _glued(code[0], width), text)
    glued = re.sub(r" (\[\d+\])", f"{_GLUE}\\1", glued)
    lines = textwrap.wrap(
        glued,
        max(width, _NARROWEST),
        initial_indent=first,
        subsequent_indent=" " * len(first),
        break_on_hyphens=False,
        break_long_words=False,
    )
    return "\n".join(lines).replace(_GLUE, " ")


def _glued(code: str, width: int) -> str:
    return code.replace(" ", _GLUE) if len(code) <= width // 2 else code
