"""`noisewatch explain [ID]`"""

from __future__ import annotations

import json
from argparse import Namespace

from noisewatch.judgement.catalogue import CATALOGUE
from noisewatch.surfaces.cli.rules import check_named
from noisewatch.surfaces.cli.terminal import width
from noisewatch.surfaces.output import print_answer
from noisewatch.surfaces.reports.explain_json import describe_check
from noisewatch.surfaces.reports.explain_markdown import markdown_of_catalogue, markdown_of_check
from noisewatch.surfaces.reports.explain_text import text_of_catalogue, text_of_check

_WIDEST = 100


def run(arguments: Namespace) -> int:
    """Prints one check's page, or the list of all."""
    print_answer(_catalogue(arguments.format) if arguments.id is None else _page(arguments.id, arguments.format))
    return 0


def _catalogue(form: str) -> str:
    if form == "json":
        return json.dumps([describe_check(each) for each in CATALOGUE], indent=1) + "\n"
    return markdown_of_catalogue(CATALOGUE) if form == "markdown" else text_of_catalogue(CATALOGUE)


def _page(check_id: str, form: str) -> str:
    found = check_named(check_id)
    if form == "json":
        return json.dumps(describe_check(found), indent=1) + "\n"
    return markdown_of_check(found) if form == "markdown" else text_of_check(found, min(width(), _WIDEST))
