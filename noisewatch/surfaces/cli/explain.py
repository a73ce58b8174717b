"""`noisewatch explain [ID]`"""

from __future__ import annotations

from argparse import Namespace

from noisewatch.judgement.catalogue import CATALOGUE
from noisewatch.surfaces.cli.rules import check_named
from noisewatch.surfaces.cli.terminal import width
from noisewatch.surfaces.output import print_answer
from noisewatch.surfaces.reports.explain_text import text_of_catalogue, text_of_check


def run(arguments: Namespace) -> int:
    """Prints one check's page, or the list of all."""
    if arguments.id is None:
        print_answer(text_of_catalogue(CATALOGUE))
        return 0
    print_answer(text_of_check(check_named(arguments.id), min(width(), 100)))
    return 0
