"""The command `noisewatch explain [ID | TOPIC | --schema [COMMAND]]`."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from noisewatch.judgement.check import Check
from noisewatch.judgement.checks import check_with_id
from noisewatch.judgement.terms import Area
from noisewatch.surfaces.output import print_answer, takes_colour, width
from noisewatch.surfaces.reports.explain import (
    describe_check,
    markdown_of_catalogue,
    markdown_of_check,
    text_of_catalogue,
    text_of_check,
)
from noisewatch.surfaces.reports.topics import ALL_TOPICS, TOPICS

_WIDEST = 100
_Page = Mapping[str, Callable[[], Any]]  # functions by format, which return text or data for JSON


def run(arguments: Namespace) -> int:
    """Print the page of a check, topic or term, a list of checks, or a schema."""
    if arguments.schema:
        from noisewatch.documents.schema import schema_text  # imports all documents

        print_answer(schema_text(arguments.schema))
    else:
        page = _page_of(arguments.id, takes_colour(None, arguments.color))[arguments.format]()
        print_answer(page if isinstance(page, str) else json.dumps(page, indent=1) + "\n")
    return 0


def _page_of(name: str | None, in_colour: bool) -> _Page:
    """Return the page of a check, an area, a topic, all topics or a term; without a name, list checks and topics."""
    columns = min(width(), _WIDEST)
    if name in TOPICS or name == ALL_TOPICS:
        return _topics_page() if name == ALL_TOPICS else _topic_page(str(name), columns, in_colour)
    check = check_with_id(name) if name is not None else None
    if check is None:
        # This imports all checks, which the page of a single check does not need.
        from noisewatch.surfaces.cli.rules import areas, check_named

        if name is None or name in areas():
            return _list_page(name)
        if (term := _term_page(name, columns, in_colour)) is not None:
            return term
        check = check_named(name)
    return {
        "json": partial(describe_check, check),
        "markdown": partial(markdown_of_check, check),
        "text": partial(text_of_check, check, columns),
    }


def _list_page(area: str | None) -> _Page:
    """Return the checks of the area, or all checks and then the topics; JSON is always an array of checks only."""
    checks = _checks(area)

    def with_topics(listed: str, form: str) -> str:
        return listed if area is not None else f"{listed}\n{_topics_page()[form]()}"

    return {
        "json": lambda: [describe_check(check) for check in checks],
        "markdown": lambda: with_topics(markdown_of_catalogue(checks), "markdown"),
        "text": lambda: with_topics(text_of_catalogue(checks), "text"),
    }


def _checks(area: str | None = None) -> Sequence[Check]:
    from noisewatch.judgement.catalogue import CATALOGUE

    return [check for check in CATALOGUE if area in (None, check.area)]


def _topics_page() -> _Page:
    from noisewatch.surfaces.reports.topics.report import describe_topic, markdown_of_topics, text_of_topics

    return {
        "json": lambda: [describe_topic(topic, _checks()) for topic in TOPICS],
        "markdown": markdown_of_topics,
        "text": text_of_topics,
    }


def _term_page(name: str, columns: int, in_colour: bool) -> _Page | None:
    """Return the page of the glossary's term `name`, ignoring case and hyphens; None if there is no such term."""
    from noisewatch.surfaces.reports.topics.report import terms, text_of_term

    section = {_fold(term): section for term, section in terms().items()}.get(_fold(name))
    if section is None:
        return None
    return {
        "json": lambda: {"heading": section.heading, "text": section.markdown},
        "markdown": lambda: f"## {section.heading}\n\n{section.markdown}\n",
        "text": partial(text_of_term, section, columns, in_colour),
    }


def _fold(term: str) -> str:
    return term.casefold().replace("-", " ")


def _topic_page(topic: str, columns: int, in_colour: bool) -> _Page:
    """Return the topic's page, with the checks of the area that has the same name."""
    from noisewatch.surfaces.reports.topics.report import describe_topic, markdown_of_topic, text_of_topic

    of_area = _checks(topic) if topic in set(Area) else []
    return {
        "json": lambda: describe_topic(topic, _checks()),
        "markdown": partial(markdown_of_topic, topic, of_area),
        "text": partial(text_of_topic, topic, of_area, columns, in_colour),
    }
