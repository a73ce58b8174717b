"""The declarations of checks as text, Markdown and JSON: the list of all checks, and one check's page."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping
from typing import Any

from noisewatch.judgement.check import Check, Limit, describe_bound, describe_limit
from noisewatch.judgement.rules import PROFILES
from noisewatch.judgement.terms import Ground
from noisewatch.surfaces.reports.parts.tables import align, table

GROUNDS: Mapping[Ground, str] = {
    Ground.INVALIDATES: "no measurement can be trusted then, whatever the effect",
    Ground.EFFECT: "blocks by its measured effect against the budget",
    Ground.RISK: "a short calibration cannot see it; in a guest a noise floor within the budget answers it",
}
_ASKS_STARTER = "the monitor does not start the benchmark: only settings of the machine count"


def text_of_catalogue(checks: Iterable[Check]) -> str:
    """Return all checks by area, as text."""
    rows = [("CHECK", "AREA", "SEVERITY", "QUESTION")]
    rows += [(each.id, each.area, each.severity, each.question) for each in by_area(checks)]
    return align(rows) + "\n"


def by_area(checks: Iterable[Check]) -> list[Check]:
    """Sort the checks by area, in the order in which the areas first occur."""
    checks = list(checks)
    areas = list(dict.fromkeys(each.area for each in checks))
    return sorted(checks, key=lambda each: areas.index(each.area))


def text_of_check(each: Check, width: int) -> str:
    """Return a check's page as text: question, reasons, what it reads, limits, remedy and references."""
    sections = [
        textwrap.fill(f"{each.id} ({each.area}, {each.severity})", max(width, 40), break_on_hyphens=False),
        _paragraph(each.question, width),
        _section("Why it can block", ground_in_words(each), width),
        "Why it matters\n" + _paragraph(each.why, width),
        "What it reads\n" + _items(each.reads, width),
        _section("Limits", map(_limit_in_words, each.limits), width),
        _section("Under other profiles", differences(each), width),
        _section("Where it cannot be read", substitutes(each), width),
        _section("In the monitor", remarks_on_monitor(each), width),
        "What to do\n" + _paragraph(each.remedy, width),
        "References\n" + _items(each.sources, width),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def _limit_in_words(limit: Limit) -> str:
    return f"{limit.key}: {describe_limit(limit)}"


def ground_in_words(each: Check) -> list[str]:
    """Return the ground on which the check's failure can block; empty if it cannot."""
    return [] if each.ground is None else [f"{each.ground}: {GROUNDS[each.ground]}"]


def differences(each: Check) -> list[str]:
    """Return severities, limits and exclusions that differ under some profiles."""
    return [
        *(f"{profile}: {severity}" for profile, severity in each.severity_in.items()),
        *(f"{profile}: not asked, as {reason}" for profile, reason in each.not_asked_in.items()),
        *(
            f"{profile}: {limit.key}: {describe_bound(limit, limit.under(profile))}"
            for limit in each.limits
            for profile in limit.value_in
        ),
    ]


def substitutes(each: Check) -> list[str]:
    """Return what replaces the check's answer if nothing can be read."""
    measured = [f"{each.answered_by} measures it and answers instead"] if each.answered_by else []
    return measured + (["shared: does not apply in a guest if it is measured"] if _is_excused(each) else [])


def remarks_on_monitor(each: Check) -> list[str]:
    """Return a remark if the check is limited in the monitor."""
    return [_ASKS_STARTER] if each.asks_starter else []


def _is_excused(each: Check) -> bool:
    return each.is_hidden_from_guests and each.answered_by is not None


def _section(heading: str, texts: Iterable[str], width: int) -> str:
    items = _items(texts, width)
    return f"{heading}\n{items}" if items else ""


def _paragraph(text: str, width: int) -> str:
    return textwrap.fill(text, max(width, 40), initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)


def _items(texts: Iterable[str], width: int) -> str:
    """Return indented items, wrapped between words, never within a path or an address."""
    return "\n".join(
        textwrap.fill(
            text,
            max(width, 40),
            initial_indent="  ",
            subsequent_indent="    ",
            break_on_hyphens=False,
            break_long_words=False,
        )
        for text in texts
    )


def markdown_of_catalogue(checks: Iterable[Check]) -> str:
    """Return a table of all checks by area, as Markdown."""
    rows = [(each.area, f"`{each.id}`", each.severity, each.question.replace("|", "\\|")) for each in by_area(checks)]
    return table(("area", "check", "severity", "question"), rows)


def markdown_of_check(each: Check) -> str:
    """Return a check's page as Markdown: question, reasons, what it reads, limits, remedy and references."""
    sections = [
        f"## {each.id}",
        f"{each.question} ({each.area}, {each.severity})",
        _listed("Why it can block", ground_in_words(each)),
        f"**Why it matters.** {each.why}",
        _listed("What it reads", (f"`{path}`" for path in each.reads)),
        _listed("Limits", map(_limit_in_words, each.limits)),
        _listed("Under other profiles", differences(each)),
        _listed("Where it cannot be read", substitutes(each)),
        _listed("In the monitor", remarks_on_monitor(each)),
        f"**What to do.** {each.remedy}",
        _listed("References", (f"<{source}>" for source in each.sources)),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def _listed(heading: str, texts: Iterable[str]) -> str:
    items = [f"- {text}" for text in texts]
    return "\n".join([f"**{heading}**", "", *items]) if items else ""


def describe_check(each: Check) -> dict[str, Any]:
    """Return all that the check declares, for JSON."""
    return {
        "id": each.id,
        "area": each.area,
        "question": each.question,
        "severity": {profile: each.severity_under(profile) for profile in PROFILES},
        "ground": each.ground,
        "not_asked": dict(each.not_asked_in),
        "reads": [str(path) for path in each.reads],
        "limits": [_limit(limit) for limit in each.limits],
        "why": each.why,
        "remedy": each.remedy,
        "sources": list(each.sources),
        "needs_sample": each.asks_rates,
        "needs_calibration": each.asks_calibration,
        "answered_by": each.answered_by,
        "hidden_from_guests": each.is_hidden_from_guests,
        "asks_starter": each.asks_starter,
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
