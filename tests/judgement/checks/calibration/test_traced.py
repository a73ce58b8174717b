"""A calibration that was traced: the findings name who made its gaps, and say what helps against the first."""

from __future__ import annotations

from typing import Any

import pytest

from noisewatch.judgement.case import Case, calibrated_with
from noisewatch.judgement.noise_floor import Budget
from noisewatch.judgement.verdict import Finding, judge
from noisewatch.kernel.calibration import parse_calibration
from noisewatch.kernel.snapshot.snapshot import SnapshotOptions, read_snapshot
from noisewatch.kernel.tasks.threads import TaskReader
from noisewatch.kernel.trace.runs import Trace, parse_trace
from noisewatch.model.calibration.attribution import Meanwhile
from tests.judgement.judging import finding
from tests.model.interval.sampling import interval_of
from tests.written import WrittenMachine
from tests.written.calibration import written_calibration
from tests.written.quiet_machine import ANSWERS, process, quiet_files
from tests.written.trace import written_trace

_MS = 1_000_000
_GAP = (10 * _MS, 5 * _MS, 1, 0)
_BEGIN_NS = 900_000_000  # a tenth of a second before the calibration
_PIECES = [0, 110 * _MS, 1, 110 * _MS, 115 * _MS, 5, 115 * _MS, 500 * _MS, 1]


def _interrupted(trace: Trace | str) -> Finding:
    """Of a machine on which CPU 2 lost five milliseconds."""
    files = quiet_files() | process(30, "kworker/2:1", 2, 5, flags=0x0020_0000, allowed="0-3")
    snapshot = read_snapshot(
        WrittenMachine(files, answers=ANSWERS), SnapshotOptions(), TaskReader(asks_all_affinities=True)
    )
    samples = parse_calibration(written_calibration((2,), gaps=(_GAP,)))
    calibrated = calibrated_with(samples, Budget(), frozenset({2}), Meanwhile(trace, snapshot))
    return finding(judge(Case(snapshot, calibrated=calibrated)), "target-cpus-interrupted")


def _trace(**changes: Any) -> Trace:
    said = written_trace(begin_ns=_BEGIN_NS)
    said["cpus"][0] |= {"pieces": _PIECES, **changes}
    said["cpus"][0]["sources"][5] = ["thread", "hog", 901, None]
    said["threads"]["901"] = {"name": "hog", "pid": 901, "is_kernel": False}
    return parse_trace(said)


def test_the_thread_that_made_the_gap_is_the_culprit() -> None:
    found = _interrupted(_trace())
    assert found.status == "fail"
    (culprit,) = found.answer.culprits
    assert (culprit.kind, culprit.name, culprit.pid, culprit.stolen_ns) == ("thread", "hog", 901, 5 * _MS)
    assert not culprit.is_inferred


@pytest.mark.parametrize("trace", [_trace(lost_events=1), _trace(lost_events=None), "permission denied"])
def test_a_trace_that_cannot_be_believed_names_nobody(trace: Trace | str) -> None:
    found = _interrupted(trace)
    assert (found.status, found.answer.culprits, found.answer.fix) == ("fail", (), None)


def test_without_a_trace_those_who_were_seen_meanwhile_are_the_culprits() -> None:
    before = process(901, "hog", 2, 0, allowed="0-3")
    interval = interval_of(before, process(901, "hog", 2, 40_000_000, allowed="0-3"))
    samples = parse_calibration(written_calibration((2,), gaps=(_GAP,)))
    calibrated = calibrated_with(samples, Budget(), frozenset({2}), Meanwhile("permission denied", None, interval))
    found = finding(judge(Case(interval.after, calibrated=calibrated)), "target-cpus-interrupted")
    assert (found.status, found.answer.culprits[0].name, found.answer.culprits[0].pid) == ("fail", "hog", 901)


def test_what_helps_against_the_first_is_the_fix() -> None:
    said = written_trace(begin_ns=_BEGIN_NS)
    said["cpus"][0]["pieces"] = [*_PIECES[:3], 110 * _MS, 115 * _MS, 3, *_PIECES[6:]]
    fix = _interrupted(parse_trace(said)).answer.fix
    assert fix is not None
    assert fix.now == "echo 0-1 | sudo tee /proc/irq/25/smp_affinity_list"
