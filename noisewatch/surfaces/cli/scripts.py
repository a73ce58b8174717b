"""`preflight --fix-script` and `--undo-script`: beside the report, or printed in place of it."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import BinaryIO

from noisewatch.errors import UsageError
from noisewatch.judgement.verdict import Verdict
from noisewatch.surfaces.output import opened_output
from noisewatch.surfaces.reports.verdict.fix_script import fix_script, undo_script

PRINTED = "-"


@dataclass(frozen=True, slots=True)
class Script:
    """Where a script goes, and what makes it."""

    output: BinaryIO
    is_printed: bool
    text_of: Callable[[Verdict], str]

    def write(self, verdict: Verdict) -> None:
        self.output.write(self.text_of(verdict).encode("utf-8", "replace"))


@contextmanager
def opened_scripts(arguments: Namespace) -> Iterator[list[Script]]:
    """Those that are wanted, opened before any measuring. Raises UsageError."""
    wanted = [(arguments.fix_script, fix_script), (arguments.undo_script, undo_script)]
    paths = [(path, text_of) for path, text_of in wanted if path is not None]
    wishes = (arguments.output, arguments.record, arguments.fix_script, arguments.undo_script)
    places = [path for path in wishes if path is not None]
    if len(set(places)) < len(places):
        raise UsageError("--output, --record, --fix-script, --undo-script: two of them cannot go to the same place")
    if any(path == PRINTED for path, _ in paths) and arguments.output is not None:
        raise UsageError("--output: there is no report where a script is printed; give the script a FILE")
    with ExitStack() as stack:
        yield [
            Script(stack.enter_context(opened_output(None if path == PRINTED else path)), path == PRINTED, text_of)
            for path, text_of in paths
        ]
