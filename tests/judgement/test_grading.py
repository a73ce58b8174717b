"""The worst CPU against two limits."""

from __future__ import annotations

import pytest

from noisewatch.cpus import CpuSet, name_cpus
from noisewatch.judgement.answer import Answer, Limit
from noisewatch.judgement.case import Case
from noisewatch.judgement.grading import grade_cpus
from noisewatch.kernel.snapshot.snapshot import SnapshotOptions, read_snapshot
from tests.written import WrittenMachine
from tests.written.quiet_machine import ANSWERS, quiet_files

_PASSES = Limit(key="passes", name="what passes", value=1.0, unit="share", reason="made up")
_FAILS = Limit(key="fails", name="what fails", value=2.0, unit="share", reason="made up")


def _grade(value_by_cpu: dict[int, float], unknown_reason: str | None = None) -> Answer:
    case = Case(read_snapshot(WrittenMachine(quiet_files(), answers=ANSWERS), SnapshotOptions()))
    return grade_cpus(
        case, value_by_cpu, _FAILS, _PASSES, describe=name_cpus, calm="calm", evidence={}, unknown_reason=unknown_reason
    )


@pytest.mark.parametrize(
    ("value_by_cpu", "unknown_reason", "status", "cpus"),
    [
        ({2: 0.0, 3: 1.0}, None, "pass", set()),
        ({2: 0.0, 3: 1.1}, None, "warn", {3}),
        ({2: 1.5, 3: 2.0}, None, "warn", {2, 3}),
        ({2: 1.5, 3: 2.1}, None, "fail", {3}),
        ({2: 0.0}, "CPU 3 was not counted", "unknown", set()),
        ({2: 1.5}, "CPU 3 was not counted", "unknown", set()),
        ({2: 2.1}, "CPU 3 was not counted", "fail", {2}),
        ({}, None, "unknown", set()),
    ],
)
def test_the_worst_cpu_decides_and_an_unknown_cpu_prevents_a_pass(
    value_by_cpu: dict[int, float], unknown_reason: str | None, status: str, cpus: CpuSet
) -> None:
    answer = _grade(value_by_cpu, unknown_reason)
    assert (answer.status, answer.cpus) == (status, cpus)


def test_without_any_cpu_the_answer_has_a_reason() -> None:
    assert _grade({}).reason == "there is no target CPU"
    assert _grade({}, "no column").reason == "no column"
