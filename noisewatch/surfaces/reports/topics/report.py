"""A topic's page as text, Markdown or JSON, followed by the checks of the area that has the topic's name.

A page has sections, and may have a list of sources. In text, the number of a source replaces the address of a link. The
page on the verdict ends with the checks that can block, grouped by the ground on which they block.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from importlib.resources import files
from itertools import groupby
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from noisewatch.judgement.catalogue import CATALOGUE
from noisewatch.judgement.check import Check
from noisewatch.judgement.rules import PROFILES
from noisewatch.judgement.terms import Severity
from noisewatch.patterns import regex
from noisewatch.surfaces.drawing.colours import paint
from noisewatch.surfaces.drawing.tables import align, cell, code, table
from noisewatch.surfaces.drawing.wraps import wrap, wrap_around
from noisewatch.surfaces.reports.explain import GROUNDS, markdown_of_catalogue
from noisewatch.surfaces.reports.topics import GLOSSARY, TOPICS, VERDICT

if TYPE_CHECKING:
    from markdown_it.tree import SyntaxTreeNode

_SOURCES = "Sources"


def read_page(topic: str) -> str:
    """Return the Markdown of one of TOPICS: a title, a summary, sections and perhaps sources."""
    return files(__package__).joinpath(f"{topic}.md").read_text("utf-8")


def text_of_topics() -> str:
    """Return a table of the topics with their titles, as text."""
    return align([("TOPIC", "TITLE"), *((topic, _title(topic)) for topic in TOPICS)]) + "\n"


def markdown_of_topics() -> str:
    """Return a table of the topics with their titles, as Markdown."""
    return table(("topic", "title"), [(f"`{topic}`", _title(topic)) for topic in TOPICS])


def _title(topic: str) -> str:
    return read_page(topic).partition("\n")[0].removeprefix("# ")


class BlockKind(StrEnum):
    """The kind of a block in a section."""

    PARAGRAPH = "paragraph"
    ITEM = "item"
    CODE = "code"


class TopicBlock(Struct, frozen=True):
    """A block of a section: prose joined into one line, with source numbers in brackets; or the lines of code."""

    kind: BlockKind
    text: str


class TopicSection(Struct, frozen=True):
    """A section of a page; `markdown` is its Markdown below the heading, and `blocks` is the same content parsed."""

    heading: str
    markdown: str
    blocks: tuple[TopicBlock, ...]


class TopicSource(Struct, frozen=True):
    """A source: author, title, date and publication, and its URL."""

    text: str
    url: str


class TopicPage(Struct, frozen=True):
    """A parsed page; `code` contains the page's inline code (in backquotes), in order."""

    title: str
    summary: TopicSection
    sections: tuple[TopicSection, ...]
    sources: tuple[TopicSource, ...]
    code: tuple[str, ...]


def parse_page(page: str) -> TopicPage:
    """Parse a page that consists of a title, a summary, sections, and perhaps a list of sources at the end.

    Tests ensure that the pages in the package have this form.
    """
    from markdown_it import MarkdownIt  # lists of topics do not need the parser
    from markdown_it.tree import SyntaxTreeNode

    root = SyntaxTreeNode(MarkdownIt("commonmark").parse(page))
    title, *nodes = root.children
    parts = _split_by_heading(nodes)
    heading, listed = parts[-1]
    has_sources = heading is not None and _node_text(heading, {}) == _SOURCES
    sources = tuple(_source(item) for item in listed[0].children) if has_sources else ()
    parts = parts[:-1] if has_sources else parts
    numbers = {source.url: number for number, source in enumerate(sources, 1)}
    lines = page.splitlines()
    summary, *sections = (_section(heading, below, lines, numbers) for heading, below in parts)
    code = tuple(node.content for node in root.walk() if node.type == "code_inline")
    return TopicPage(_node_text(title, numbers), summary, tuple(sections), sources, code)


def _split_by_heading(nodes: Iterable[SyntaxTreeNode]) -> list[tuple[SyntaxTreeNode | None, list[SyntaxTreeNode]]]:
    """Return pairs of a heading and the nodes below it. The first pair has no heading (None)."""
    parts: list[tuple[SyntaxTreeNode | None, list[SyntaxTreeNode]]] = [(None, [])]
    for node in nodes:
        if node.type == "heading":
            parts.append((node, []))
        else:
            parts[-1][1].append(node)
    return parts


def _section(
    heading: SyntaxTreeNode | None, below: list[SyntaxTreeNode], lines: list[str], numbers: Mapping[str, int]
) -> TopicSection:
    places = [place for node in below if (place := node.map) is not None]
    markdown = "\n".join(lines[places[0][0] : places[-1][1]]).strip()
    blocks = tuple(block for node in below for block in _blocks(node, numbers))
    return TopicSection("" if heading is None else _node_text(heading, numbers), markdown, blocks)


def _blocks(node: SyntaxTreeNode, numbers: Mapping[str, int]) -> Iterator[TopicBlock]:
    if node.type == "fence":
        yield TopicBlock(BlockKind.CODE, node.content.rstrip("\n"))
    elif node.type == "bullet_list":
        yield from (TopicBlock(BlockKind.ITEM, _node_text(item, numbers)) for item in node.children)
    else:
        yield TopicBlock(BlockKind.PARAGRAPH, _node_text(node, numbers))


def _node_text(node: SyntaxTreeNode, numbers: Mapping[str, int]) -> str:
    """Return the node's text in one line; a link's text is followed by its source's number, by URL in `numbers`."""
    if node.type == "code_inline":
        return f"`{node.content}`"
    if node.type == "softbreak":
        return " "
    if node.type == "text":
        return node.content
    inner = "".join(_node_text(child, numbers) for child in node.children)
    return f"{inner} [{numbers[str(node.attrs['href'])]}]" if node.type == "link" else inner


def _source(item: SyntaxTreeNode) -> TopicSource:
    """Parse an item of the list of sources, which ends with the source's URL."""
    *text_nodes, link = item.children[0].children[0].children
    return TopicSource("".join(_node_text(node, {}) for node in text_nodes).strip(), str(link.attrs["href"]))


_OF_AREA, _BY_GROUND = "Checks of this area", "What can block, and why"
_NARROWEST = 20
_INDENT = "  "
_KEPT = regex(r"`[^`]*`| \[\d+\]")


def text_of_topic(topic: str, of_area: Sequence[Check], width: int, in_colour: bool) -> str:
    """Return the topic's page, then the questions of the checks `of_area`, wrapped to `width` columns.

    The page `verdict` is followed by all checks that can block, by their ground.
    """
    page = text_of_page(parse_page(read_page(topic)), width, in_colour)
    questions = items_of((f"`{check.id}` ({check.severity}): {check.question}" for check in of_area), width)
    if of_area:
        page += f"\n{section_of(_OF_AREA, questions, width, in_colour)}\n"
    if topic == VERDICT:
        parts = [
            "\n".join([*wrap(heading, width, _INDENT, keep="hyphens", min_width=_NARROWEST), items_of(items, width)])
            for heading, items in _lines_by_ground(CATALOGUE)
        ]
        page += "\n" + section_of(_BY_GROUND, "\n\n".join(parts), width, in_colour) + "\n"
    return page


def markdown_of_topic(topic: str, of_area: Sequence[Check]) -> str:
    """Return the topic's page unchanged, then a table of the checks `of_area`, if there are any.

    The page `verdict` is followed by a table of all checks that can block.
    """
    page = read_page(topic) + (f"\n## {_OF_AREA}\n\n{markdown_of_catalogue(of_area)}" if of_area else "")
    return page + (f"\n## {_BY_GROUND}\n\n{_table_of_grounds()}" if topic == VERDICT else "")


def _table_of_grounds() -> str:
    rows = [
        (code(check.id), cell(check.ground or ""), cell(_where_it_blocks(check)), cell(check.question))
        for check in checks_by_ground(CATALOGUE)
    ]
    return table(("check", "ground", "blocks", "question"), rows)


def _lines_by_ground(checks: Iterable[Check]) -> Iterator[tuple[str, list[str]]]:
    """Yield a heading for each ground, with a text for each of its checks: the id, and the profiles where it blocks."""
    checks = list(checks)
    for ground, words in GROUNDS.items():
        listed = [check for check in checks_by_ground(checks) if check.ground == ground]
        yield f"{ground}: {words}", [f"`{check.id}` ({_where_it_blocks(check)})" for check in listed]


def checks_by_ground(checks: Iterable[Check]) -> list[Check]:
    """Return the checks that can block, sorted by ground."""
    checks = list(checks)
    return [check for ground in GROUNDS for check in checks if check.ground == ground]


def _where_it_blocks(check: Check) -> str:
    """Return the profiles in which the check's failure blocks: names, `all profiles`, or `grave findings only`."""
    blocking = [profile for profile in PROFILES if check.severity_under(profile) == Severity.BLOCKING]
    asked = [profile for profile in PROFILES if profile not in check.not_asked_in]
    if set(asked) <= set(blocking):
        return "all profiles"
    return ", ".join(blocking) or "grave findings only"


def terms() -> Mapping[str, TopicSection]:
    """Return the sections of the glossary by term; a section may explain several terms."""
    sections = parse_page(read_page(GLOSSARY)).sections
    return {term: section for section in sections for term in section.heading.split(", ")}


def text_of_term(section: TopicSection, width: int, in_colour: bool) -> str:
    """Return a section of the glossary as text, wrapped to `width` columns."""
    width = max(width, _NARROWEST)
    return section_of(section.heading, _body(section.blocks, width), width, in_colour) + "\n"


def describe_topic(topic: str, checks: Sequence[Check]) -> dict[str, Any]:
    """Return the topic for JSON, with texts in Markdown. `checks` is the whole catalogue.

    The key `checks` has the ids of the checks that the page names, then of the checks in the area that has the topic's
    name.
    """
    page = parse_page(read_page(topic))
    ids = {check.id for check in checks}
    named = [code for code in page.code if code in ids]
    return {
        "topic": topic,
        "title": page.title,
        "summary": page.summary.markdown,
        "sections": [{"heading": section.heading, "text": section.markdown} for section in page.sections],
        "sources": [{"text": source.text, "url": source.url} for source in page.sources],
        "checks": list(dict.fromkeys([*named, *(check.id for check in checks if check.area == topic)])),
        "grounds": {
            ground: [check.id for check in checks_by_ground(checks) if check.ground == ground] for ground in GROUNDS
        }
        if topic == VERDICT
        else None,
    }


def text_of_page(page: TopicPage, width: int, in_colour: bool) -> str:
    """Return the title, sections and sources of the page as text. Prose is wrapped, code is not."""
    width = max(width, _NARROWEST)
    parts = [
        _heading(page.title, width, in_colour),
        _body(page.summary.blocks, width),
        *(section_of(section.heading, _body(section.blocks, width), width, in_colour) for section in page.sections),
    ]
    if page.sources:
        parts.append(section_of(_SOURCES, "\n".join(_sources(page.sources, width)), width, in_colour))
    return "\n\n".join(parts) + "\n"


def section_of(heading: str, body: str, width: int, in_colour: bool) -> str:
    """Return the heading with the body below it."""
    return f"{_heading(heading, width, in_colour)}\n{body}"


def items_of(texts: Iterable[str], width: int) -> str:
    """Return the texts as a bulleted list, wrapped to `width` columns."""
    return "\n".join(_wrap_with_code(text, width, f"{_INDENT}- ") for text in texts)


def _heading(text: str, width: int, in_colour: bool) -> str:
    lines = wrap(text, width, keep="words", min_width=_NARROWEST)
    return "\n".join(paint(line, "title") if in_colour else line for line in lines)


def _body(blocks: Iterable[TopicBlock], width: int) -> str:
    """Return the blocks as text, with blank lines between paragraphs, code blocks and whole lists."""
    parts: list[str] = []
    for kind, group in groupby(blocks, lambda block: block.kind):
        texts = [block.text for block in group]
        if kind == BlockKind.ITEM:
            parts.append(items_of(texts, width))
        elif kind == BlockKind.CODE:
            parts += [textwrap.indent(text, 2 * _INDENT) for text in texts]
        else:
            parts += [_wrap_with_code(text, width, _INDENT) for text in texts]
    return "\n\n".join(parts)


def _sources(sources: Iterable[TopicSource], width: int) -> Iterator[str]:
    for number, source in enumerate(sources, 1):
        first = f"{_INDENT}[{number}] "
        yield _wrap_with_code(source.text, width, first)
        yield " " * len(first) + source.url


def _wrap_with_code(text: str, width: int, first: str) -> str:
    """Wrap the text, but neither within short code nor between a word and the source number after it."""
    further = " " * len(first)
    return "\n".join(wrap_around(text, width, _KEPT, first, further, min_width=_NARROWEST, longest=width // 2))
