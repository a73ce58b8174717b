"""The command `noisewatch history`."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from noisewatch.cpus import parse_nonempty_cpu_list
from noisewatch.errors import Malformed, UsageError
from noisewatch.machine.history_file import usual_path
from noisewatch.operations.history import HistoryView, accept_machine, read_history
from noisewatch.surfaces.cli.common import open_report
from noisewatch.surfaces.output import print_answer, width
from noisewatch.surfaces.reports.history.json import json_of_history
from noisewatch.surfaces.reports.history.text import WIDTH, history_rows, markdown_of_history, text_of_history


def run(arguments: Namespace) -> int:
    """Print the history of this host, or make the current machine the new baseline (`accept`)."""
    path = Path(arguments.file) if arguments.file else usual_path()
    if arguments.action == "accept":
        if arguments.cpus is not None:
            raise UsageError("--cpus: not with `noisewatch history accept`, which accepts the whole machine")
        accept_machine(path, arguments.why or "")
        print_answer(f"{path}: this machine is the new baseline\n")
        return 0
    if arguments.why is not None:
        raise UsageError("--why: only with `noisewatch history accept`")
    try:
        cpus = None if arguments.cpus is None else parse_nonempty_cpu_list(arguments.cpus)
    except Malformed as error:
        raise UsageError(f"--cpus {arguments.cpus}: {error}") from error
    view = read_history(path, cpus)
    with open_report(arguments) as report:
        report.write(_render(view, arguments, report.in_unicode, report.in_colour))
    return 0


def _render(view: HistoryView, arguments: Namespace, in_unicode: bool, in_colour: bool) -> str:
    if arguments.format == "json":
        return json_of_history(view)
    if arguments.format == "markdown":
        return markdown_of_history(view, arguments.verbose)
    if arguments.format == "svg":
        from noisewatch.surfaces.picture import THEMES, svg_of  # imports rich, which no other format needs

        rows = history_rows(view, WIDTH, True, arguments.verbose)
        return svg_of(rows, WIDTH, "noisewatch history", THEMES[arguments.theme])
    return text_of_history(view, width(), in_unicode, arguments.verbose, in_colour)
