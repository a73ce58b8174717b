"""`noisewatch explain [ID | --schema]`"""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Sequence

from noisewatch.judgement.catalogue import CATALOGUE
from noisewatch.judgement.check import Check
from noisewatch.surfaces.cli.rules import areas, check_named
from noisewatch.surfaces.output import print_answer, width
from noisewatch.surfaces.reports.explain import (
    describe_check,
    markdown_of_catalogue,
    markdown_of_check,
    text_of_catalogue,
    text_of_check,
)
from noisewatch.surfaces.reports.verdict.json import schema_of_verdict

_WIDEST = 100


def run(arguments: Namespace) -> int:
    """Prints one check's page, the list of all or of an area, or the schema of a verdict."""
    if arguments.schema:
        print_answer(schema_of_verdict())
    elif arguments.id is None:
        print_answer(_listed(CATALOGUE, arguments.format))
    else:
        print_answer(_page(arguments.id, arguments.format))
    return 0


def _listed(checks: Sequence[Check], form: str) -> str:
    if form == "json":
        return json.dumps([describe_check(each) for each in checks], indent=1) + "\n"
    return markdown_of_catalogue(checks) if form == "markdown" else text_of_catalogue(checks)


def _page(name: str, form: str) -> str:
    """That of the check, or the list of the area's."""
    if name in areas():
        return _listed([each for each in CATALOGUE if each.area == name], form)
    found = check_named(name)
    if form == "json":
        return json.dumps(describe_check(found), indent=1) + "\n"
    return markdown_of_check(found) if form == "markdown" else text_of_check(found, min(width(), _WIDEST))
