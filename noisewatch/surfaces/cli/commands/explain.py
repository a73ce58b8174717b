"""`noisewatch explain [ID | --schema [COMMAND]]`"""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Sequence

from noisewatch.judgement.check import Check
from noisewatch.judgement.checks import check_with_id
from noisewatch.surfaces.output import print_answer, width
from noisewatch.surfaces.reports.explain import (
    describe_check,
    markdown_of_catalogue,
    markdown_of_check,
    text_of_catalogue,
    text_of_check,
)

_WIDEST = 100


def run(arguments: Namespace) -> int:
    """Prints one check's page, the list of all or of an area, or a schema."""
    print_answer(_asked(arguments))
    return 0


def _asked(arguments: Namespace) -> str:
    if arguments.schema:
        return _schema(arguments.schema)
    found = check_with_id(arguments.id) if arguments.id is not None else None
    if found is not None:
        return _page(found, arguments.format)
    # Imported here, as these import all checks: the page of one does without the others.
    from noisewatch.judgement.catalogue import CATALOGUE
    from noisewatch.surfaces.cli.rules import areas, check_named

    if arguments.id is not None and arguments.id not in areas():
        return _page(check_named(arguments.id), arguments.format)
    return _listed([each for each in CATALOGUE if arguments.id in (None, each.area)], arguments.format)


def _schema(command: str) -> str:
    if command == "run":
        from noisewatch.surfaces.reports.run.receipt import schema_of_run

        return schema_of_run()
    if command == "plan":
        from noisewatch.surfaces.reports.plan.json import schema_of_plan

        return schema_of_plan()
    if command == "compare":
        from noisewatch.surfaces.reports.compare.json import schema_of_comparison

        return schema_of_comparison()
    from noisewatch.surfaces.reports.verdict.json import schema_of_verdict

    return schema_of_verdict()


def _listed(checks: Sequence[Check], form: str) -> str:
    if form == "json":
        return json.dumps([describe_check(each) for each in checks], indent=1) + "\n"
    return markdown_of_catalogue(checks) if form == "markdown" else text_of_catalogue(checks)


def _page(found: Check, form: str) -> str:
    if form == "json":
        return json.dumps(describe_check(found), indent=1) + "\n"
    return markdown_of_check(found) if form == "markdown" else text_of_check(found, min(width(), _WIDEST))
