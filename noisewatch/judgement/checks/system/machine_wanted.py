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
from noisewatch.model.wanted import WantedFact, in_quotes, shown


class _Held(Struct, frozen=True):
    """A requested fact and its actual value. `is_met` is None if that is unknown, with the `reason`."""

    wanted: WantedFact
    found: str | None
    is_met: bool | None
    reason: str | None = None

    def __str__(self) -> str:
        """Return `memory: wanted at least "64 GiB", found "15.6 GiB"`."""
        name = self.wanted.name
        return f"{name}: wanted {self.wanted}, found {in_quotes(shown(name, self.found or ''))}"


@check(
    id="not-the-machine-wanted",
    area=Area.HARDWARE,
    question="Is this the machine that was asked for?",
    severity=Severity.BLOCKING,
    ground=Ground.INVALIDATES,
    reads=(
        "the file of --machine (or of `machine` in the options file)",
        f"{CPUINFO}, {MEMINFO}, {RELEASE}, {COMMAND_LINE}",
        f"{DMI}/{{sys_vendor,product_name,bios_version,bios_date}}",
        f"{CPUS}/present, {CPUS}/cpuN/{{topology,cache,cpufreq}}, {CONTROLLERS}",
        "and what else the description names: `noisewatch show --format machine` lists all facts",
    ),
    reads_counters=True,
    why=(
        "Runners of a pool are called the same and are not: another CPU model, other caches, less memory, an older "
        "kernel. What one of them measures does not compare with what another did, and a difference between two "
        "commits may be one between two machines."
    ),
    remedy=(
        "Ask the pool for that machine (a label, an instance type, a node selector). Where the difference does not "
        "matter, edit the description: delete the fact, list what else will do, or ask for `at_least`. To accept "
        "this machine as the one wanted, write its description: noisewatch show --format machine --output FILE."
    ),
    sources=(
        "https://github.com/open-telemetry/opentelemetry-collector/issues/15436",
        "https://github.com/benchmark-action/github-action-benchmark/issues/79",
    ),
)
def not_the_machine_wanted(case: Case) -> Answer:
    wanted = case.rules.wanted
    if wanted is None:
        return not_applicable("no machine was asked for (--machine)")
    held = list(_held(case, wanted.facts))
    graded = case.graded(evidence={"description": wanted.file, "facts": _evidence(held)})
    others = [fact for fact in held if fact.is_met is False]
    unread_facts = [fact for fact in held if fact.is_met is None]
    if others:
        text = f"not the machine in {wanted.file} ({len(others)} of {len(held)} facts differ)"
        items = (*map(str, others), *(f"not known: {line}" for line in _with_reasons(unread_facts)))
        return graded.fails(text, measured=len(others), items=items)
    if unread_facts:
        reason = f"whether this is the machine in {wanted.file} is not known: {'; '.join(_with_reasons(unread_facts))}"
        return graded.unknown(reason)
    facts = f"all {len(held)} facts are" if len(held) > 1 else "the fact is"
    return graded.passes(f"the machine in {wanted.file}: {facts} as it says", measured=0)


def _held(case: Case, facts: Sequence[WantedFact]) -> Iterator[_Held]:
    known: Facts = facts_of(case.snapshot)
    for wanted in facts:
        found = known[wanted.of_class].get(wanted.name)
        if found is None:
            yield _Held(wanted, None, None, why_unread(case, wanted.of_class, wanted.name))
            continue
        is_met = wanted.is_met_by(found)
        reason = f"{in_quotes(found)} is neither more nor less than what is wanted" if is_met is None else None
        yield _Held(wanted, found, is_met, reason)


def _with_reasons(facts: Sequence[_Held]) -> list[str]:
    """Return the unread facts grouped by reason: `governor, turbo (…: permission denied)`."""
    names_by_reason: dict[str | None, list[str]] = {}
    for fact in facts:
        names_by_reason.setdefault(fact.reason, []).append(fact.wanted.name)
    return [f"{', '.join(names)} ({reason})" for reason, names in names_by_reason.items()]


def _evidence(held: Sequence[_Held]) -> list[Mapping[str, Any]]:
    return [
        {
            "class": str(fact.wanted.of_class),
            "fact": fact.wanted.name,
            "wanted": {"at_least": fact.wanted.at_least}
            if fact.wanted.at_least is not None
            else {"any_of": list(fact.wanted.any_of)},
            "found": fact.found,
            "is_met": fact.is_met,
            "reason": fact.reason,
        }
        for fact in held
    ]


def why_unread(case: Case, of_class: FactClass, name: str) -> str:
    """Return why the fact's file could not be read; if each CPU has its own file, the first reason of any."""
    cpus = sorted(case.snapshot.online.online or case.snapshot.topology) or [0]
    paths = paths_of(of_class, name) or ()
    return case.why_unknown(*(path.replace("{cpu}", str(cpu)) for path in paths for cpu in cpus))
