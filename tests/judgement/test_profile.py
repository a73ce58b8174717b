"""The profile that applies if the user names none, and limits that follow the budget."""

from __future__ import annotations

from functools import partial

import pytest

from noisewatch.judgement.answer import Limit
from noisewatch.judgement.case import rules_for
from noisewatch.judgement.catalogue import CATALOGUE
from noisewatch.judgement.noise.budget import Budget
from noisewatch.judgement.rules import PROFILES, Rules
from noisewatch.judgement.terms import Ground, Severity
from noisewatch.kernel.snapshot.snapshot import Snapshot, SnapshotOptions, read_snapshot
from tests.judgement.example import VIRTUAL
from tests.written import Files, WrittenMachine, without
from tests.written.quiet_machine import ANSWERS, CPUS, quiet_files

_UNNAMED = Rules(is_profile_given=False)
_DOCKER = {"/.dockerenv": ""}
_GOVERNORS = tuple(f"{CPUS}/cpu{cpu}/cpufreq/scaling_governor" for cpu in range(4))
_BUDGETS = (0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)


def _snapshot(files: Files | None = None, *missing: str, is_copy: bool = False) -> Snapshot:
    machine = WrittenMachine(without(quiet_files() | dict(files or {}), *missing), answers=ANSWERS, is_copy=is_copy)
    return read_snapshot(machine, SnapshotOptions(frozenset({2, 3})))


@pytest.mark.parametrize(
    ("snapshot", "profile", "reason"),
    [
        (_snapshot(), "micro", None),
        (_snapshot(VIRTUAL), "shared", "a virtual machine"),
        (_snapshot(VIRTUAL | _DOCKER), "shared", "a virtual machine"),
        (_snapshot(_DOCKER), "micro", None),
        (_snapshot(_DOCKER, *_GOVERNORS), "shared", "a container"),
        (_snapshot(_DOCKER, _GOVERNORS[3]), "shared", "a container"),
        (_snapshot(_DOCKER, _GOVERNORS[0]), "micro", None),
        (_snapshot(_DOCKER, "/proc/bus/pci/devices"), "shared", "a container"),
        (_snapshot({}, *_GOVERNORS), "micro", None),
        (_snapshot({}, "/proc/cpuinfo"), "micro", None),
    ],
    ids=[
        *("bare metal", "VM", "container in a VM", "container that sees the governors", "container that sees none"),
        *("container that lacks one", "container that lacks another CPU's", "container that may be in a VM"),
        *("bare metal without governors", "unknown"),
    ],
)
def test_the_machine_decides_where_no_profile_was_named(snapshot: Snapshot, profile: str, reason: str | None) -> None:
    rules = rules_for(_UNNAMED, snapshot)
    assert (rules.profile, rules.profile_reason) == (profile, reason)


@pytest.mark.parametrize("profile", PROFILES)
def test_a_profile_that_was_named_stays(profile: str) -> None:
    for files in ({}, VIRTUAL, _DOCKER):
        rules = rules_for(Rules(profile), _snapshot(files))
        assert (rules.profile, rules.profile_reason) == (profile, None)


@pytest.mark.parametrize(
    ("files", "rules", "confidence"),
    [
        ({}, _UNNAMED, 0.9),
        (VIRTUAL, _UNNAMED, 0.70),
        ({}, Rules("shared"), 0.70),
        (VIRTUAL, Rules("micro"), 0.9),
        (VIRTUAL, Rules(is_profile_given=False, budget=Budget(confidence=0.95)), 0.95),
        ({}, Rules("shared", budget=Budget(confidence=0.6)), 0.6),
    ],
)
def test_the_profile_decides_on_the_confidence_unless_the_user_does(
    files: Files, rules: Rules, confidence: float
) -> None:
    assert rules_for(rules, _snapshot(files)).budget.least_chance == confidence


def test_other_rules_are_unchanged() -> None:
    rules = Rules(is_profile_given=False, ignored=frozenset({"clock"}), budget=Budget(max_cv=0.2, samples=7))
    changed = rules_for(rules, _snapshot(VIRTUAL))
    assert (changed.ignored, changed.budget.max_cv, changed.budget.samples) == (rules.ignored, 0.2, 7)


_limit = partial(Limit, key="fails", name="share", unit="share", reason="for the test")


@pytest.mark.parametrize(
    ("limit", "by_budget"),
    [
        (_limit(value=0.005), {0.001: 0.005, 0.01: 0.005, 0.2: 0.005}),
        (_limit(value=0.005, of_budget=0.5), {0.001: 0.0005, 0.01: 0.005, 0.02: 0.01, 0.05: 0.025, 0.2: 0.1}),
        (_limit(value=0.05, of_budget=0.5), {0.005: 0.025, 0.01: 0.05, 0.02: 0.05, 0.1: 0.05, 0.2: 0.1}),
        (_limit(value=0.002, of_budget=0.5), {0.01: 0.002, 0.02: 0.004, 0.2: 0.04}),
    ],
    ids=["not of the budget", "in proportion", "above its part of the budget", "below it"],
)
def test_a_limit_follows_the_budget_up_to_its_part_of_it(limit: Limit, by_budget: dict[float, float]) -> None:
    values = {max_cv: limit.under("micro", max_cv) for max_cv in by_budget}
    assert values == pytest.approx(by_budget)


def test_a_limit_of_the_profile_follows_the_budget_too() -> None:
    limit = _limit(value=0.005, of_budget=0.5, value_in={"shared": 0.004})
    assert limit.under("shared", 0.02) == pytest.approx(0.008)
    assert limit.under("micro", 0.02) == pytest.approx(0.01)


def test_limits_are_as_declared_at_the_default_budget() -> None:
    for check in CATALOGUE:
        for limit in check.limits:
            for profile in PROFILES:
                assert limit.under(profile) == limit.value_in.get(profile, limit.value)


def test_no_limit_falls_while_the_budget_grows() -> None:
    limits = [limit for check in CATALOGUE for limit in check.limits if limit.of_budget is not None]
    assert len(limits) > 5
    for limit in limits:
        values = [limit.under("micro", max_cv) for max_cv in _BUDGETS]
        assert values == sorted(values), limit
        assert values[0] < values[-1]


def test_limits_that_follow_the_budget_are_of_effects_and_warn_before_they_fail() -> None:
    for check in CATALOGUE:
        by_key = {limit.key: limit for limit in check.limits if limit.of_budget is not None}
        assert not by_key or check.ground == Ground.EFFECT or check.severity != Severity.BLOCKING
        for prefix in ("", "cost-"):
            if {f"{prefix}passes", f"{prefix}fails"} <= by_key.keys():
                both = [[by_key[f"{prefix}{key}"].under("micro", cv) for cv in _BUDGETS] for key in ("passes", "fails")]
                assert all(passes < fails for passes, fails in zip(*both, strict=True))
