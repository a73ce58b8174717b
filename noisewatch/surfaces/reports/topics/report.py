"""A topic as text, Markdown and JSON. Where an area of checks has its name, these come after the page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from noisewatch.judgement.check import Check
from noisewatch.surfaces.reports.explain import markdown_of_catalogue
from noisewatch.surfaces.reports.topics.pages import read_page
from noisewatch.surfaces.reports.topics.parsed import parse_page
from noisewatch.surfaces.reports.topics.text import items_of, section_of, text_of_page

_OF_AREA = "Checks of this area"


def text_of_topic(topic: str, of_area: Sequence[Check], width: int, in_colour: bool) -> str:
    """The page, wrapped, and the questions of the checks."""
    page = text_of_page(parse_page(read_page(topic)), width, in_colour)
    questions = items_of((f"`{each.id}` ({each.severity}): {each.question}" for each in of_area), width)
    return f"{page}\n{section_of(_OF_AREA, questions, width, in_colour)}\n" if of_area else page


def markdown_of_topic(topic: str, of_area: Sequence[Check]) -> str:
    """The page as it stands, and a table of the checks."""
    return read_page(topic) + (f"\n## {_OF_AREA}\n\n{markdown_of_catalogue(of_area)}" if of_area else "")


def describe_topic(topic: str, checks: Sequence[Check]) -> dict[str, Any]:
    """Texts are Markdown; `checks` are the ids of those that the page names, then of those of the area of its name."""
    page = parse_page(read_page(topic))
    ids = {each.id for each in checks}
    named = [code for code in page.code if code in ids]
    return {
        "topic": topic,
        "title": page.title,
        "summary": page.summary.markdown,
        "sections": [{"heading": each.heading, "text": each.markdown} for each in page.sections],
        "sources": [{"text": each.text, "url": each.url} for each in page.sources],
        "checks": list(dict.fromkeys([*named, *(each.id for each in checks if each.area == topic)])),
    }
