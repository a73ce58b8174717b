"""The results file of `noisewatch run --results FILE [--filtered OUT]`: its report, and the filtered file."""

from __future__ import annotations

import gzip
import sys
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, cast

from noisewatch.errors import NoisewatchError, UsageError
from noisewatch.operations.run.results import MarkedResults, mark_results, refuse_same_file
from noisewatch.operations.run.series import RunSeries
from noisewatch.surfaces.output import opened_output, width
from noisewatch.surfaces.reports.run.results_text import text_of_results


def check_results(arguments: Namespace) -> None:
    """Raise UsageError for contradictory options, before anything runs."""
    if arguments.filtered is None:
        return
    if arguments.results is None:
        raise UsageError("--filtered needs --results FILE")
    refuse_same_file(arguments.results, arguments.filtered)


def read_results(path: str, series: RunSeries) -> MarkedResults | None:
    """Return the runs in the file; if it cannot be read, print why and return None."""
    try:
        return mark_results(path, series)
    except NoisewatchError as error:
        print(f"noisewatch run: {error}", file=sys.stderr)
        return None


def tell_results(marked: MarkedResults, filtered: str | None) -> bool:
    """Print the runs' verdicts to standard error; return whether the undisturbed runs could be written as requested."""
    print(text_of_results(marked, width()), end="", file=sys.stderr)
    if filtered is None:
        return True
    try:
        refuse_same_file(marked.file.path, filtered)
        with _opened(filtered) as output:
            marked.write_undisturbed(output)
    except NoisewatchError as error:
        print(f"noisewatch run: {error}", file=sys.stderr)
        return False
    return True


@contextmanager
def _opened(path: str) -> Iterator[BinaryIO]:
    with opened_output(path) as output:
        if not path.endswith(".gz"):
            yield output
            return
        with gzip.open(output, "wb") as packed:
            yield cast(BinaryIO, packed)
