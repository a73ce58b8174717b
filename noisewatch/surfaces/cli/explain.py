"""`noisewatch explain [ID | --schema]`"""

from __future__ import annotations

from argparse import Namespace

from noisewatch.errors import UsageError
from noisewatch.judgement.catalogue import CATALOGUE
from noisewatch.surfaces.cli.terminal import width
from noisewatch.surfaces.output import print_answer
from noisewatch.surfaces.reports.explain_text import text_of_catalogue, text_of_check
from noisewatch.surfaces.reports.verdict_schema import schema_of_verdict


def run(arguments: Namespace) -> int:
    """Prints one check's page, the list of all, or the schema of a verdict."""
    if arguments.schema:
        print_answer(schema_of_verdict())
        return 0
    if arguments.id is None:
        print_answer(text_of_catalogue(CATALOGUE))
        return 0
    by_id = {each.id: each for each in CATALOGUE}
    if arguments.id not in by_id:
        raise UsageError(f"there is no check {arguments.id!r}; `noisewatch explain` lists them")
    print_answer(text_of_check(by_id[arguments.id], min(width(), 100)))
    return 0
