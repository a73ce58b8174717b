"""`noisewatch history`"""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from noisewatch.errors import UsageError
from noisewatch.machine.history_file import usual_path
from noisewatch.operations.history.view import accept_machine, read_history
from noisewatch.surfaces.output import opened_output, print_answer, takes_unicode, width
from noisewatch.surfaces.reports.history.json import json_of_history
from noisewatch.surfaces.reports.history.text import text_of_history


def run(arguments: Namespace) -> int:
    """Prints what this host remembers of itself, or accepts the machine as it is."""
    path = Path(arguments.file) if arguments.file else usual_path()
    if arguments.action == "accept":
        accept_machine(path, arguments.why or "")
        print_answer(f"{path}: from here on this is the machine\n")
        return 0
    if arguments.why is not None:
        raise UsageError("--why: only with `noisewatch history accept`")
    view = read_history(path)
    with opened_output(arguments.output) as output:
        if arguments.format == "json":
            text = json_of_history(view)
        else:
            text = text_of_history(view, width(), takes_unicode(arguments.output), arguments.verbose)
        output.write(text.encode("utf-8", "replace"))
    return 0
