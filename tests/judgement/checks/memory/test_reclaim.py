"""Swapping, without a sample."""

from __future__ import annotations

from noisewatch.judgement.case import Case
from noisewatch.judgement.verdict import judge
from noisewatch.kernel.snapshot.snapshot import SnapshotOptions, read_snapshot
from tests.judgement.judging import finding
from tests.written import WrittenMachine
from tests.written.quiet_machine import ANSWERS, quiet_files


def test_swapping_is_unknown_without_a_sample() -> None:
    snapshot = read_snapshot(WrittenMachine(quiet_files(), answers=ANSWERS), SnapshotOptions())
    result = finding(judge(Case(snapshot, no_sample_reason="single snapshot")), "swapping")
    assert (result.status, result.answer.reason) == ("unknown", "single snapshot")
    assert finding(judge(Case(snapshot)), "swapping").answer.said == "almost no swap is in use"
