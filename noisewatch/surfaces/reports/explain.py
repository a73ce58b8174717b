"""The declarations of checks as text, Markdown and JSON: the list of all checks, and one check's page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from noisewatch.judgement.answer import Limit, describe_bound, describe_limit
from noisewatch.judgement.check import Check
from noisewatch.judgement.rules import PROFILES
from noisewatch.judgement.terms import Ground
from noisewatch.surfaces.drawing.tables import align, table
from noisewatch.surfaces.drawing.wraps import wrap

GROUNDS: Mapping[Ground, str] = {
    Ground.INVALIDATES: "no measurement can be trusted, whatever the effect",
    Ground.EFFECT: "blocks if its measured effect is too large for the budget",
    Ground.RISK: (
        "a short calibration may miss the effect; in a guest a noise floor within the budget answers the check"
    ),
}
_ASKS_STARTER = "the monitor does not start the benchmark, so there the check judges only the machine's settings"


def text_of_catalogue(checks: Iterable[Check]) -> str:
    """Return all checks by area, as text."""
    rows = [("CHECK", "AREA", "SEVERITY", "QUESTION")]
    rows += [(check.id, check.area, check.severity, check.question) for check in by_area(checks)]
    return align(rows) + "\n"


def by_area(checks: Iterable[Check]) -> list[Check]:
    """Sort the checks by area, in the order in which the areas first occur."""
    checks = list(checks)
    areas = list(dict.fromkeys(check.area for check in checks))
    return sorted(checks, key=lambda check: areas.index(check.area))


def text_of_check(check: Check, width: int) -> str:
    """Return a check's page as text: question, reasons, what it reads, limits, remedy and references."""
    paragraphs = [
        "\n".join(wrap(f"{check.id} ({check.area}, {check.severity})", width, keep="hyphens", min_width=40)),
        _paragraph(check.question, width),
    ]
    for heading, content in _parts(check):
        text = _paragraph(content, width) if isinstance(content, str) else _items(content, width)
        paragraphs.append(f"{heading}\n{text}")
    return "\n\n".join(paragraphs) + "\n"


def markdown_of_check(check: Check) -> str:
    """Return a check's page as Markdown: question, reasons, what it reads, limits, remedy and references."""
    paragraphs = [f"## {check.id}", f"{check.question} ({check.area}, {check.severity})"]
    for heading, content in _parts(check):
        if isinstance(content, str):
            paragraphs.append(f"**{heading}.** {content}")
        else:
            markup = _MARKUP.get(heading, "{}")
            paragraphs.append("\n".join([f"**{heading}**", "", *(f"- {markup.format(text)}" for text in content)]))
    return "\n\n".join(paragraphs) + "\n"


_READS, _REFERENCES = "What it reads", "References"
_MARKUP = {_READS: "`{}`", _REFERENCES: "<{}>"}


def _parts(check: Check) -> list[tuple[str, str | Sequence[str]]]:
    """Return the page's headings, each with a paragraph or a list; parts without content are left out."""
    parts: list[tuple[str, str | Sequence[str]]] = [
        ("Why it can block", [] if check.ground is None else [f"{check.ground}: {GROUNDS[check.ground]}"]),
        ("Why it matters", check.why),
        (_READS, [str(path) for path in check.reads]),
        ("Limits", [f"{limit.key}: {describe_limit(limit)}" for limit in check.limits]),
        ("Under other profiles", differences(check)),
        ("If it cannot be read", substitutes(check)),
        ("In the monitor", [_ASKS_STARTER] if check.asks_starter else []),
        ("What to do", check.remedy),
        (_REFERENCES, check.sources),
    ]
    return [(heading, content) for heading, content in parts if content]


def differences(check: Check) -> list[str]:
    """Return severities, limits and exclusions that differ under some profiles."""
    return [
        *(f"{profile}: {severity}" for profile, severity in check.severity_in.items()),
        *(f"{profile}: not asked, because {reason}" for profile, reason in check.not_asked_in.items()),
        *(
            f"{profile}: {limit.key}: {describe_bound(limit, limit.under(profile))}"
            for limit in check.limits
            for profile in limit.value_in
        ),
    ]


def substitutes(check: Check) -> list[str]:
    """Return notes on the check that answers instead if this check's files cannot be read."""
    measured = [f"{check.answered_by} measures the effect and answers instead"] if check.answered_by else []
    is_excused = check.is_hidden_from_guests and check.answered_by is not None
    return measured + ([f"shared: not applicable in a guest if {check.answered_by} is measured"] if is_excused else [])


def _paragraph(text: str, width: int) -> str:
    return "\n".join(wrap(text, width, "  ", keep="hyphens", min_width=40))


def _items(texts: Iterable[str], width: int) -> str:
    """Return indented items, wrapped between words, never within a path or an address."""
    return "\n".join(line for text in texts for line in wrap(text, width, "  ", "    ", keep="words", min_width=40))


def markdown_of_catalogue(checks: Iterable[Check]) -> str:
    """Return a table of all checks by area, as Markdown."""
    rows = [
        (check.area, f"`{check.id}`", check.severity, check.question.replace("|", "\\|")) for check in by_area(checks)
    ]
    return table(("area", "check", "severity", "question"), rows)


def describe_check(check: Check) -> dict[str, Any]:
    """Return the check's declaration, for JSON."""
    return {
        "id": check.id,
        "area": check.area,
        "question": check.question,
        "severity": {profile: check.severity_under(profile) for profile in PROFILES},
        "ground": check.ground,
        "not_asked": dict(check.not_asked_in),
        "reads": [str(path) for path in check.reads],
        "limits": [_limit(limit) for limit in check.limits],
        "why": check.why,
        "remedy": check.remedy,
        "sources": list(check.sources),
        "needs_sample": check.asks_rates,
        "needs_calibration": check.asks_calibration,
        "answered_by": check.answered_by,
        "hidden_from_guests": check.is_hidden_from_guests,
        "asks_starter": check.asks_starter,
    }


def _limit(limit: Limit) -> dict[str, Any]:
    return {
        "key": limit.key,
        "name": limit.name,
        "value": {profile: limit.under(profile) for profile in PROFILES},
        "unit": limit.unit,
        "reason": limit.reason,
        "set_by": limit.set_by,
    }
