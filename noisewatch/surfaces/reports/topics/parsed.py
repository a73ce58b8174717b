"""A parsed topic page: its sections, and its sources, whose numbers replace the addresses of links."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

from noisewatch.records import dataclass


class BlockKind(StrEnum):
    """The kind of a block in a section."""

    PARAGRAPH = "paragraph"
    ITEM = "item"
    CODE = "code"


@dataclass(frozen=True, slots=True)
class TopicBlock:
    """A block of a section: prose in one line with source numbers in brackets, or code with all its lines."""

    kind: BlockKind
    text: str


@dataclass(frozen=True, slots=True)
class TopicSection:
    """A section of a page; `markdown` is all that is below its heading."""

    heading: str
    markdown: str
    blocks: tuple[TopicBlock, ...]


@dataclass(frozen=True, slots=True)
class TopicSource:
    """A source: author, title, date and publication, and its URL."""

    text: str
    url: str


@dataclass(frozen=True, slots=True)
class TopicPage:
    """A parsed page; `code` is all inline code of its prose, in order."""

    title: str
    summary: TopicSection
    sections: tuple[TopicSection, ...]
    sources: tuple[TopicSource, ...]
    code: tuple[str, ...]


def parse_page(page: str) -> TopicPage:
    """Parse a page that consists of a title, a summary, sections, and a list of sources at the end.

    Tests ensure that the pages in the package have this form.
    """
    root = SyntaxTreeNode(MarkdownIt("commonmark").parse(page))
    title, *nodes = root.children
    *parts, (_, listed) = _parted(nodes)
    sources = tuple(_source(item) for item in listed[0].children)
    numbers = {source.url: number for number, source in enumerate(sources, 1)}
    lines = page.splitlines()
    summary, *sections = (_section(heading, below, lines, numbers) for heading, below in parts)
    code = tuple(node.content for node in root.walk() if node.type == "code_inline")
    return TopicPage(_said(title, numbers), summary, tuple(sections), sources, code)


def _parted(nodes: Iterable[SyntaxTreeNode]) -> list[tuple[SyntaxTreeNode | None, list[SyntaxTreeNode]]]:
    """Return headings with the nodes below them; nodes above the first heading have None."""
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
    return TopicSection("" if heading is None else _said(heading, numbers), markdown, blocks)


def _blocks(node: SyntaxTreeNode, numbers: Mapping[str, int]) -> Iterator[TopicBlock]:
    if node.type == "fence":
        yield TopicBlock(BlockKind.CODE, node.content.rstrip("\n"))
    elif node.type == "bullet_list":
        yield from (TopicBlock(BlockKind.ITEM, _said(item, numbers)) for item in node.children)
    else:
        yield TopicBlock(BlockKind.PARAGRAPH, _said(node, numbers))


def _said(node: SyntaxTreeNode, numbers: Mapping[str, int]) -> str:
    """Return the node's text in one line, with source numbers behind the texts of links."""
    if node.type == "code_inline":
        return f"`{node.content}`"
    if node.type == "softbreak":
        return " "
    if node.type == "text":
        return node.content
    inner = "".join(_said(child, numbers) for child in node.children)
    return f"{inner} [{numbers[str(node.attrs['href'])]}]" if node.type == "link" else inner


def _source(item: SyntaxTreeNode) -> TopicSource:
    """Parse an item that ends with its URL."""
    *told, link = item.children[0].children[0].children
    return TopicSource("".join(_said(node, {}) for node in told).strip(), str(link.attrs["href"]))
