"""Area `hardware`: whether the machine matches the requested description, fact by fact, and why a fact is unknown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from noisewatch.judgement.answer import Answer, not_applicable
from noisewatch.judgement.case import Case
from noisewatch.judgement.check import check
from noisewatch.judgement.terms import Area, Ground, Severity
from noisewatch.kernel.cpus.cpuinfo import PATH as CPUINFO
from noisewatch.kernel.cpus.online import CPUS
from noisewatch.kernel.memory.counters import MEMINFO
from noisewatch.kernel.system.hardware_errors import CONTROLLERS
from noisewatch.kernel.system.hypervisor import DMI
from noisewatch.kernel.system.release import COMMAND_LINE, RELEASE
from noisewatch.model.history.fact_table import facts_of, paths_of
from noisewatch.model.history.facts import FactClass, Facts
from noisewatch.model.wanted import WantedFact, describe_fact, in_quotes


class _Comparison(Struct, frozen=True):
    """A requested fact and its actual value. `is_met` is None if they cannot be compared, for this `reason`."""

    wanted: WantedFact
    actual: str | None
    is_met: bool | None
    reason: str | None = None

    def __str__(self) -> str:
        """Return `memory: expected at least "64 GiB", found "15.6 GiB"`."""
        name = self.wanted.name
        return f"{name}: expected {self.wanted}, found {in_quotes(describe_fact(name, self.actual or ''))}"


@check(
    id="not-the-machine-wanted",
    area=Area.HARDWARE,
    question="Is this the requested machine?",
    severity=Severity.BLOCKING,
    ground=Ground.INVALIDATES,
    reads=(
        "the description file given by --machine (or by `machine` in the options file)",
        f"{CPUINFO}, {MEMINFO}, {RELEASE}, {COMMAND_LINE}",
        f"{DMI}/{{sys_vendor,product_name,bios_version,bios_date}}",
        f"{CPUS}/present, {CPUS}/cpuN/{{topology,cache,cpufreq}}, {CONTROLLERS}",
        "and the other facts in the description: `noisewatch show --format machine` lists all",
    ),
    reads_counters=True,
    why=(
        "Runners of a pool share a name but may differ: another CPU model, other caches, less memory, an older kernel. "
        "Their results are then not comparable: a difference between two commits may be a difference between two "
        "machines."
    ),
    remedy=(
        "Ask the pool for that machine (a label, an instance type, a node selector). If the difference does not "
        "matter, edit the description: delete the fact, list other accepted values, or use `at_least`. To accept this "
        "machine, write its description: noisewatch show --format machine --output FILE."
    ),
    sources=(
        "https://github.com/open-telemetry/opentelemetry-collector/issues/15436",
        "https://github.com/benchmark-action/github-action-benchmark/issues/79",
    ),
)
def not_the_machine_wanted(case: Case) -> Answer:
    wanted = case.rules.wanted
    if wanted is None:
        return not_applicable("no machine was requested (--machine)")
    facts = list(_compare(case, wanted.facts))
    graded = case.graded(evidence={"description": wanted.file, "facts": _evidence(facts)})
    different = [fact for fact in facts if fact.is_met is False]
    unread_facts = [fact for fact in facts if fact.is_met is None]
    if different:
        text = f"not the machine in {wanted.file} ({len(different)} of {len(facts)} facts differ)"
        items = (*map(str, different), *(f"unknown: {line}" for line in _names_with_reasons(unread_facts)))
        return graded.fails(text, measured=len(different), items=items)
    if unread_facts:
        reasons = "; ".join(_names_with_reasons(unread_facts))
        return graded.unknown(f"cannot tell whether this machine matches {wanted.file}: {reasons}")
    matching = f"all {len(facts)} facts match" if len(facts) > 1 else "the fact matches"
    return graded.passes(f"the machine in {wanted.file}: {matching}", measured=0)


def _compare(case: Case, facts: Sequence[WantedFact]) -> Iterator[_Comparison]:
    known: Facts = facts_of(case.snapshot)
    for wanted in facts:
        actual = known[wanted.of_class].get(wanted.name)
        if actual is None:
            yield _Comparison(wanted, None, None, unread_fact_reason(case, wanted.of_class, wanted.name))
            continue
        is_met = wanted.is_met_by(actual)
        reason = f"{in_quotes(actual)} cannot be compared with the requested value" if is_met is None else None
        yield _Comparison(wanted, actual, is_met, reason)


def _names_with_reasons(facts: Sequence[_Comparison]) -> list[str]:
    """Return the unread facts grouped by reason: `governor, turbo (…: permission denied)`."""
    names_by_reason: dict[str | None, list[str]] = {}
    for fact in facts:
        names_by_reason.setdefault(fact.reason, []).append(fact.wanted.name)
    return [f"{', '.join(names)} ({reason})" for reason, names in names_by_reason.items()]


def _evidence(facts: Sequence[_Comparison]) -> list[Mapping[str, Any]]:
    return [
        {
            "class": str(fact.wanted.of_class),
            "fact": fact.wanted.name,
            "wanted": {"at_least": fact.wanted.at_least}
            if fact.wanted.at_least is not None
            else {"any_of": list(fact.wanted.any_of)},
            "found": fact.actual,
            "is_met": fact.is_met,
            "reason": fact.reason,
        }
        for fact in facts
    ]


def unread_fact_reason(case: Case, of_class: FactClass, name: str) -> str:
    """Return why the fact's file could not be read; if each CPU has its own file, the first reason."""
    cpus = sorted(case.snapshot.online.online or case.snapshot.topology) or [0]
    paths = paths_of(of_class, name) or ()
    return case.unread_reason(*(path.replace("{cpu}", str(cpu)) for path in paths for cpu in cpus))
