"""Usual facts, by entries of the same and of other target CPUs."""

from __future__ import annotations

from noisewatch.judgement.case import Case
from noisewatch.judgement.checks.calibration.history import usual_facts
from noisewatch.judgement.verdict import judge
from noisewatch.kernel.snapshot.snapshot import SnapshotOptions, read_snapshot
from noisewatch.kinds import Work
from noisewatch.model.history.entries import Entry, Past
from noisewatch.model.history.fact_table import facts_of
from noisewatch.model.history.facts import FactClass, Facts
from tests.judgement.judging import finding
from tests.written.quiet_machine import quiet_machine

_SETTINGS = FactClass.SETTINGS


def _entry(number: int, cpus: set[int], facts: Facts) -> Entry:
    return Entry(86_400.0 * number, "native", frozenset(cpus), {Work.LATENCY: {1_000_000: 0.01}}, {}, facts)


def _with_settings(facts: Facts, **settings: str) -> Facts:
    return {**facts, _SETTINGS: {**facts.get(_SETTINGS, {}), **settings}}


def test_a_changed_machine_is_not_usual_by_a_single_entry_on_other_cpus() -> None:
    """The changed governor is already in the only entry of CPU 3."""
    snapshot = read_snapshot(quiet_machine(), SnapshotOptions(frozenset({3}), asks_inventory=True))
    current = facts_of(snapshot)
    before = [_entry(number, {2}, _with_settings(current, governor="schedutil")) for number in range(50)]
    past = Past((*before, _entry(50, {3}, current)))
    answer = finding(judge(Case(snapshot, past=past)), "machine-changed").answer
    assert answer.status == "fail"
    assert answer.said == "changed: governor: schedutil → performance"


def test_facts_of_target_cpus_are_compared_with_entries_of_the_same_cpus() -> None:
    others = [_entry(number, {2}, {_SETTINGS: {"idle states": "POLL C6", "SMT": "on"}}) for number in range(5)]
    own = _entry(5, {3}, {_SETTINGS: {"idle states": "POLL", "SMT": "off"}})
    assert usual_facts([*others, own], frozenset({3}))[_SETTINGS] == {"idle states": "POLL", "SMT": "on"}
    assert usual_facts(others, frozenset({3}))[_SETTINGS] == {"idle states": None, "SMT": "on"}
