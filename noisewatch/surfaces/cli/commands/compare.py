"""The command `noisewatch compare`."""

from __future__ import annotations

from argparse import Namespace

from noisewatch.judgement.comparison import SideComparison
from noisewatch.operations.records.files import Document
from noisewatch.operations.records.reader import compare_files
from noisewatch.surfaces.cli.common import open_report
from noisewatch.surfaces.output import width


def run(arguments: Namespace) -> int:
    """Print the differences. Return 0 if none blocks, 1 if one blocks, 3 if it is unknown whether one blocks."""
    with open_report(arguments) as report:
        comparison = compare_files(arguments.before, arguments.after, _judge_recording)
        report.write(_render(comparison, arguments.format, report.in_unicode, report.in_colour))
    return comparison.exit_status


def _judge_recording(path: str) -> tuple[Document, str | None]:
    """Return the verdict on a recording, as in `preflight --replay`, and the damage that ended the replay, if any."""
    from noisewatch.documents.document import to_builtins
    from noisewatch.operations.machines import MachineOptions, open_machine  # imports all checks, needed only here
    from noisewatch.operations.preflight import PreflightOptions, preflight
    from noisewatch.surfaces.cli.live import TerminalListener
    from noisewatch.surfaces.reports.verdict.json import describe_verdict

    machine = open_machine(MachineOptions(replay=path))
    verdict = preflight(machine, PreflightOptions(), TerminalListener()).verdict
    return to_builtins(describe_verdict(verdict, None, verdict.exit_status)), getattr(machine, "damage", None)


def _render(comparison: SideComparison, form: str, in_unicode: bool, in_colour: bool) -> str:
    if form == "json":
        from noisewatch.surfaces.reports.compare.json import json_of_comparison

        return json_of_comparison(comparison)
    if form == "markdown":
        from noisewatch.surfaces.reports.compare.text import markdown_of_comparison

        return markdown_of_comparison(comparison)
    from noisewatch.surfaces.reports.compare.text import text_of_comparison

    return text_of_comparison(comparison, width(), in_unicode, in_colour)
