"""The page that GitHub shows below a workflow's step: the file that $GITHUB_STEP_SUMMARY names.

https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands#adding-a-job-summary
"""

from __future__ import annotations

import os
import sys

from noisewatch.judgement.verdict import Verdict

_MOST_BYTES = 1024 * 1024  # of a step's file; GitHub refuses one that is longer


def fill_step_summary(verdict: Verdict) -> None:
    """Appends the verdict in Markdown, as much of it as there is room for. What fails is told on standard error."""
    path = os.environ.get("GITHUB_STEP_SUMMARY")
    if not path:
        return
    try:
        with open(path, "ab") as file:
            file.write(_fitting(verdict, _MOST_BYTES - file.tell()))
    except OSError as error:
        print(f"noisewatch: {path}: {(error.strerror or str(error)).lower()}", file=sys.stderr)


def _fitting(verdict: Verdict, most_bytes: int) -> bytes:
    from noisewatch.surfaces.reports.verdict.markdown import markdown_of_verdict

    separated = "\n" + markdown_of_verdict(verdict, most_bytes - 1)
    return separated.encode("utf-8", "replace") if len(separated) > 1 else b""
