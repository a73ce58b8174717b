"""Workflow commands, which GitHub Actions shows as annotations of the run.

::error title=noisewatch%3A tasks-on-target::hog (pid 900): 50.0%25 of CPU 2 (limit 1.0%25)
https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands
"""

from __future__ import annotations

from collections.abc import Sequence

MOST_ANNOTATIONS = 10  # per level and step; GitHub drops further annotations
_ESCAPES = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_ESCAPES_IN_PROPERTIES = _ESCAPES | str.maketrans({":": "%3A", ",": "%2C"})


def workflow_command(level: str, title: str, message: str) -> str:
    """Return one line that GitHub parses as a command, with title and message escaped."""
    return f"::{level} title={title.translate(_ESCAPES_IN_PROPERTIES)}::{message.translate(_ESCAPES)}"


def annotation_lines(level: str, titled: Sequence[tuple[str, str]], room: int = MOST_ANNOTATIONS) -> list[str]:
    """Return an annotation for each title and message; if there are more than `room`, the last one names the others."""
    shown = titled if len(titled) <= room else titled[: room - 1]
    lines = [workflow_command(level, f"noisewatch: {title}", message) for title, message in shown]
    rest = titled[len(shown) :]
    if rest:
        lines.append(workflow_command(level, f"noisewatch: {len(rest)} more", ", ".join(title for title, _ in rest)))
    return lines
