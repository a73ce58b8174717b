"""Complaints in the kernel log: old ones are reported, but do not count."""

from __future__ import annotations

import pytest

from noisewatch.judgement.case import Case
from noisewatch.judgement.verdict import judge
from noisewatch.kernel.snapshot.snapshot import SnapshotOptions, read_snapshot
from noisewatch.kernel.system.log import QUESTION
from tests.judgement.judging import finding
from tests.written import WrittenMachine
from tests.written.quiet_machine import ANSWERS, quiet_files

_NOW_S = 7201


@pytest.mark.parametrize(
    ("written_s", "status", "sentence"),
    [
        (_NOW_S - 600, "fail", "disk (10 min ago)"),
        (_NOW_S - 601, "pass", "none recently; earlier: disk (10 min ago)"),
        (0, "pass", "none recently; earlier: disk (2 h ago)"),
        (_NOW_S + 30, "fail", "disk (0 s ago)"),
    ],
)
def test_only_complaints_of_the_last_ten_minutes_fail(written_s: int, status: str, sentence: str) -> None:
    answers = {**ANSWERS, QUESTION: {"troubles": {"disk": [1, written_s * 1_000_000]}, "is_complete": True}}
    machine = WrittenMachine(quiet_files(), quiet_files(), answers=answers, seconds_between=_NOW_S - 1)
    machine.advance()
    result = finding(judge(Case(read_snapshot(machine, SnapshotOptions()))), "kernel-log-troubled")
    assert (result.status, result.answer.said) == (status, sentence)


def test_an_unreadable_log_is_unknown_with_its_reason() -> None:
    answers = {question: answer for question, answer in ANSWERS.items() if question != QUESTION}
    result = finding(
        judge(Case(read_snapshot(WrittenMachine(quiet_files(), answers=answers), SnapshotOptions()))),
        "kernel-log-troubled",
    )
    assert (result.status, result.severity, result.answer.reason) == (
        "unknown",
        "information",
        f"{QUESTION}: not written down",
    )
