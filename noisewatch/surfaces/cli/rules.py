"""The rules in the options: the selected checks, their severities and their limits."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterable
from typing import TypeVar

from noisewatch.errors import UsageError
from noisewatch.judgement.answer import FAILS, Limit
from noisewatch.judgement.catalogue import CATALOGUE
from noisewatch.judgement.check import Check
from noisewatch.judgement.checks.tasks.jobs import machine_locked
from noisewatch.judgement.rules import MICRO, Rules
from noisewatch.judgement.terms import Severity
from noisewatch.model.wanted import WantedMachine
from noisewatch.operations.wanted import read_description
from noisewatch.surfaces.cli.common import budget_of
from noisewatch.surfaces.cli.values import parse_number
from noisewatch.surfaces.reports.topics import ALL_TOPICS, TOPICS
from noisewatch.surfaces.reports.topics.report import terms

T = TypeVar("T")

_MAX_SUGGESTIONS = 4
_NAME_BY_WORD = {  # synonyms of areas and topics from the kernel's files, other tools and guides
    "compare": "over-time",
    **dict.fromkeys(("irq", "irqs", "softirq", "interrupt", "nmi", "ipi"), "interrupts"),
    **dict.fromkeys(("freq", "frequency", "cpufreq"), "clock"),
    **dict.fromkeys(("smt", "ht", "hyperthreads", "hyperthreading", "hyper-threading", "siblings"), "hyper-threads"),
    **dict.fromkeys(("aslr", "alignment", "pgo", "link-order"), "layout"),
    **dict.fromkeys(("mean", "minimum", "variance", "deviation", "significance", "samples"), "statistics"),
    **dict.fromkeys(("isolcpus", "nohz", "nohz_full", "cpuset", "affinity", "pinning"), "isolation"),
    **dict.fromkeys(("vm", "vms", "cloud", "hypervisor", "guest"), "virtual-machines"),
    **dict.fromkeys(("github", "gitlab", "runner", "runners"), "ci"),
    **dict.fromkeys(("boost", "p-states"), "turbo"),
    **dict.fromkeys(("nodes", "membind", "numactl"), "numa"),
}


def rules_of(arguments: Namespace) -> Rules:
    """Return the rules that the options define. Raise UsageError if an option contains an unknown name."""
    return Rules(
        profile=arguments.profile or MICRO,
        is_profile_given=arguments.profile is not None,
        budget=budget_of(arguments),
        selected=_parse_names("--select", arguments.select),
        ignored=_parse_names("--ignore", arguments.ignore),
        severity_by_id=dict(_parse_pairs("--severity", arguments.severity, _parse_severity)),
        value_by_limit=dict(_parse_pairs("--limit", arguments.limit, _parse_limit)),
        expected_s=arguments.expect,
        configured_by=arguments.configured_by,
        required=frozenset({machine_locked.id} if arguments.lock else ()),
        wanted=None
        if arguments.machine is None
        else _read_required_machine(arguments.machine, arguments.configured_by),
    )


def _read_required_machine(path: str, configured_by: str | None) -> WantedMachine:
    """Return the description of the required machine. Raise UsageError; it names the options file, if one was used."""
    try:
        return read_description(path)
    except UsageError as error:
        if configured_by is None:
            raise
        raise UsageError(f"{error} (with options of {configured_by})") from error


def refuse_unknown_names(option: str, text: str) -> None:
    """Raise UsageError if the value of a rules option contains an unknown check, area or limit."""
    if option in ("--select", "--ignore"):
        _parse_names(option, [text])
    elif option in ("--severity", "--limit"):
        list(_parse_pairs(option, [text], _parse_severity if option == "--severity" else _parse_limit))


def check_named(name: str, option: str = "") -> Check:
    """Return the check with this id. Raise UsageError, with similar names, if there is none."""
    check_by_id = {check.id: check for check in CATALOGUE}
    if name not in check_by_id:
        other_names = [] if option else [*areas(), *TOPICS, ALL_TOPICS, *terms()]  # `explain` accepts them as well
        kind = "check, area, topic or term" if other_names else "check"
        raise UsageError(_unknown_name_message(option, name, kind, dict.fromkeys([*other_names, *check_by_id])))
    return check_by_id[name]


def areas() -> list[str]:
    """Return all areas, in the catalogue's order."""
    return list(dict.fromkeys(check.area for check in CATALOGUE))


def _parse_names(option: str, texts: Iterable[str]) -> frozenset[str]:
    """Return the check ids and areas in comma-separated lists. Raise UsageError for an unknown name."""
    valid_names = [check.id for check in CATALOGUE] + areas()
    names = [name.strip() for text in texts for name in text.split(",")]
    for name in names:
        if name not in valid_names:
            raise UsageError(_unknown_name_message(option, name, "check or area", valid_names))
    return frozenset(names)


def _parse_pairs(option: str, texts: Iterable[str], parse: Callable[[str, str], T]) -> Iterable[T]:
    for text in texts:
        name, sign, value = text.partition("=")
        if not sign:
            raise UsageError(f"{option} {text}: expected CHECK=VALUE")
        yield parse(name.strip(), value.strip())


def _parse_severity(name: str, value: str) -> tuple[str, Severity]:
    check = check_named(name, "--severity")
    matches = [severity for severity in Severity if value and severity.startswith(value)]
    if len(matches) != 1:
        raise UsageError(_unknown_name_message(f"--severity {name}", value, "severity", Severity))
    return check.id, matches[0]


def _parse_limit(name: str, value: str) -> tuple[tuple[str, str], float]:
    """Parse a limit: `ID.KEY=…` sets a limit of a check; `ID=…` sets its only limit, or its failing limit."""
    check_id, _, key = name.partition(".")
    check = check_named(check_id, "--limit")
    limits = {limit.key: limit for limit in check.limits}
    limit_key = key or (FAILS if len(limits) != 1 else next(iter(limits)))
    if not limits:
        raise UsageError(f"--limit {name}: this check has no limit")
    if limit_key not in limits:
        raise UsageError(f"--limit {name}: expected one of {', '.join(f'{check_id}.{key}' for key in limits)}")
    return (check_id, limit_key), _parse_limit_value(name, value, limits[limit_key])


def _parse_limit_value(name: str, text: str, limit: Limit) -> float:
    if limit.set_by is not None:
        raise UsageError(f"--limit {name}: use {limit.set_by} to set this limit")
    is_share = limit.unit == "share"
    value = parse_number(text, is_share)
    if value is None or (is_share and value > 1):
        example = "a share such as 2% or 0.02" if is_share else f"a number of {limit.unit}".removesuffix(" of ")
        raise UsageError(f"--limit {name}: expected {example}, found {text!r}")
    return value


def _unknown_name_message(option: str, name: str, kind: str, valid_names: Iterable[str]) -> str:
    """Return the error message for an unknown name of a `kind`, with suggestions."""
    valid_names = list(valid_names)
    suggestions = _suggestions(name, valid_names)
    if suggestions:
        hint = f"did you mean {' or '.join(suggestions)}?"
    else:
        hint = f"expected {', '.join(valid_names)}" if kind == "severity" else "`noisewatch explain` lists all"
    return f"{option} {name!r}: no such {kind}; {hint}".strip()


def _suggestions(name: str, valid_names: list[str]) -> list[str]:
    """Return valid names that the user may have meant: synonyms, names that contain `name`, similar names."""
    from difflib import get_close_matches  # only misspelt names need it

    word = name.lower()
    synonyms = [_NAME_BY_WORD[word]] if _NAME_BY_WORD.get(word) in valid_names else []
    longer = [valid_name for valid_name in valid_names if word and word in valid_name]
    similar = get_close_matches(word, valid_names, n=3, cutoff=0.5)
    return list(dict.fromkeys([*synonyms, *longer, *similar]))[:_MAX_SUGGESTIONS]
