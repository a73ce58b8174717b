"""Write the manual page from the parser: `python -m tests.surfaces.cli.manual`."""

from __future__ import annotations

import os
import re
from pathlib import Path

from argparse_manpage.manpage import Manpage

import noisewatch
from noisewatch.surfaces.cli.parsers import build_parsers

ROOT = Path(noisewatch.__file__).parent
PAGE, CHANGES = ROOT / "surfaces/cli/noisewatch.1", ROOT.parent / "CHANGELOG.md"
_ABOUT = {
    "prog": "noisewatch",
    "project_name": "noisewatch",
    "version": noisewatch.__version__,
    "description": "show what disturbs the CPUs that a benchmark runs on, and whether the benchmark may start",
    "manual_section": 1,
    "manual_title": "User Commands",
}


def newest_release() -> tuple[str, str]:
    """Return the version and the date of the newest release in the list of changes."""
    match = re.search(r"^## (\S+) \((\d{4}-\d\d-\d\d)\)$", CHANGES.read_text(), re.MULTILINE)
    assert match is not None
    return match[1], match[2]


def manual() -> str:
    """Return the page in man(7), dated as the newest release. Each usage is one line, which the viewer wraps."""
    day = newest_release()[1]
    columns = os.environ.get("COLUMNS", "")
    os.environ["COLUMNS"] = "10000"
    try:
        page = str(Manpage(build_parsers()[0], _ABOUT | {"date": day}, "single-commands-section"))
    finally:
        os.environ["COLUMNS"] = columns
    return page.replace(day.replace("-", "\\-"), day)  # the hyphens of a date are not escaped


if __name__ == "__main__":
    PAGE.write_text(manual())
