"""One check's page, and the list of all."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from noisewatch.judgement.declaration import Check
from noisewatch.surfaces.reports.table import align
from noisewatch.surfaces.reports.verdict_text import describe_limit


def text_of_catalogue(checks: Iterable[Check]) -> str:
    """All checks, by area."""
    rows = [("CHECK", "AREA", "SEVERITY", "QUESTION")]
    rows += [(each.id, each.area, each.severity, each.question) for each in checks]
    return align(rows) + "\n"


def text_of_check(each: Check, width: int) -> str:
    """What it asks, why it matters, what it reads, its limits, and what to do."""
    sections = [
        f"{each.id} ({each.area}, {each.severity})",
        _paragraph(each.question, width),
        "Why it matters\n" + _paragraph(each.why, width),
        "What it reads\n" + _items(each.reads),
        "Limits\n" + _items(map(describe_limit, each.limits)) if each.limits else "",
        "What to do\n" + _paragraph(each.remedy, width),
        "Sources\n" + _items(each.sources),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def _paragraph(text: str, width: int) -> str:
    return textwrap.fill(text, max(width, 40), initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)


def _items(texts: Iterable[str]) -> str:
    return "\n".join(f"  {text}" for text in texts)
