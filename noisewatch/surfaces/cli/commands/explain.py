"""`noisewatch explain [ID | TOPIC | --schema [COMMAND]]`"""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Sequence
from importlib.resources import files
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
from noisewatch.surfaces.reports.topics.pages import markdown_of_topics, text_of_topics

_WIDEST = 100


def run(arguments: Namespace) -> int:
    """Print the page of a check or a topic, the list of all checks or of an area, or a schema."""
    print_answer(_asked(arguments))
    return 0


def _asked(arguments: Namespace) -> str:
    if arguments.schema:
        if arguments.schema != "run":
            from noisewatch.documents.schema import schema_text  # imports all documents

            return schema_text(arguments.schema)
        return files("noisewatch.surfaces.reports.run").joinpath("run.schema.json").read_text("utf-8")
    if arguments.id in TOPICS:
        return _topic(arguments.id, arguments.format, takes_colour(None, arguments.color))
    if arguments.id == ALL_TOPICS:
        return _topics(arguments.format)
    check = check_with_id(arguments.id) if arguments.id is not None else None
    if check is not None:
        return _page(check, arguments.format)
    # Imported here because it imports all checks, and the page of one check does not need the others.
    from noisewatch.surfaces.cli.rules import areas, check_named

    if arguments.id is not None and arguments.id not in areas():
        return _page(check_named(arguments.id), arguments.format)
    return _listed(arguments.id, arguments.format)


def _listed(area: str | None, form: str) -> str:
    """Return the checks of the area, or all checks and then the topics; JSON is always an array of checks only."""
    checks = _checks(area)
    if form == "json":
        return _json([describe_check(check) for check in checks])
    listed = markdown_of_catalogue(checks) if form == "markdown" else text_of_catalogue(checks)
    return listed if area is not None else f"{listed}\n{_topics(form)}"


def _checks(area: str | None = None) -> Sequence[Check]:
    from noisewatch.judgement.catalogue import CATALOGUE

    return [check for check in CATALOGUE if area in (None, check.area)]


def _page(check: Check, form: str) -> str:
    if form == "json":
        return _json(describe_check(check))
    return markdown_of_check(check) if form == "markdown" else text_of_check(check, min(width(), _WIDEST))


def _topics(form: str) -> str:
    if form == "json":
        from noisewatch.surfaces.reports.topics.report import describe_topic

        return _json([describe_topic(topic, _checks()) for topic in TOPICS])
    return markdown_of_topics() if form == "markdown" else text_of_topics()


def _topic(topic: str, form: str, in_colour: bool) -> str:
    """Return the topic's page, with the checks of the area that has the same name."""
    # Imported here because the list of all checks does not need the Markdown parser.
    from noisewatch.surfaces.reports.topics.report import describe_topic, markdown_of_topic, text_of_topic

    if form == "json":
        return _json(describe_topic(topic, _checks()))
    of_area = _checks(topic) if topic in set(Area) else []
    if form == "markdown":
        return markdown_of_topic(topic, of_area)
    return text_of_topic(topic, of_area, min(width(), _WIDEST), in_colour)


def _json(value: Any) -> str:
    return json.dumps(value, indent=1) + "\n"
