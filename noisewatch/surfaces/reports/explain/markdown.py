"""The checks as Markdown: a table of all, as in the README, and one check's page."""

from __future__ import annotations

from collections.abc import Iterable

from noisewatch.judgement.declaration import Check
from noisewatch.judgement.finding_words import describe_limit
from noisewatch.surfaces.reports.explain.text import by_area, differences, remarks_on_monitor, substitutes


def markdown_of_catalogue(checks: Iterable[Check]) -> str:
    """A row for each check, by area."""
    rows = [f"| {each.area} | `{each.id}` | {each.severity} | {_cell(each.question)} |" for each in by_area(checks)]
    return "\n".join(["| area | check | severity | question |", "| --- | --- | --- | --- |", *rows]) + "\n"


def markdown_of_check(each: Check) -> str:
    """What it asks, why it matters, what it reads, its limits, and what to do."""
    sections = [
        f"## {each.id}",
        f"{each.question} ({each.area}, {each.severity})",
        f"**Why it matters.** {each.why}",
        _items("What it reads", (f"`{path}`" for path in each.reads)),
        _items("Limits", map(describe_limit, each.limits)),
        _items("Under other profiles", differences(each)),
        _items("Where it cannot be read", substitutes(each)),
        _items("In the monitor", remarks_on_monitor(each)),
        f"**What to do.** {each.remedy}",
        _items("Sources", (f"<{source}>" for source in each.sources)),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def _items(heading: str, texts: Iterable[str]) -> str:
    items = [f"- {text}" for text in texts]
    return "\n".join([f"**{heading}**", "", *items]) if items else ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
