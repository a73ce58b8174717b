"""Culprits that the trace of a calibration shows to be regular, and how findings describe them."""

from __future__ import annotations

from msgspec.structs import replace

from noisewatch.judgement.case import Case
from noisewatch.judgement.cause_words import short_title, summary_of_verdict
from noisewatch.judgement.causes import causes_of
from noisewatch.judgement.finding_words import culprit_line
from noisewatch.judgement.verdict import judge
from noisewatch.kernel.trace.runs import NOT_TRACED, Trace, parse_trace
from noisewatch.model.calibration.attribution import ConcurrentObservations
from noisewatch.model.interval.disturbance import disturbances_of
from tests.judgement.checks.calibration.meanwhile import SPINNER
from tests.judgement.judging import calibrated_by, deciding_checks, finding
from tests.model.interval.sampling import interval_of
from tests.written.calibration import written_calibration
from tests.written.quiet_machine import process
from tests.written.trace import trace_with_regular_hog

_MS = 1_000_000
_BEGIN_NS = 1_000_000_000  # of the calibration
_GAPS = tuple((at, 5 * _MS, 1, 0) for at in range(30 * _MS, 3_000 * _MS, 100 * _MS))
_TEXT = "10 times a second, 5 ms each"
_TRACE = parse_trace(trace_with_regular_hog(_BEGIN_NS, 3))


def _case(trace: Trace | str) -> Case:
    """Return the case of CPU 2, on which a hog took 5% in the sample and in the calibration."""
    hog = process(901, "hog", 2, 0, allowed="0-3")
    sample = interval_of(hog, process(901, "hog", 2, 150 * _MS, allowed="0-3"))
    meanwhile = ConcurrentObservations(trace, sample.after)
    written = written_calibration((2,), gaps=_GAPS, changes={2: {"tid": SPINNER}})
    return Case(sample.after, sample, calibrated=calibrated_by(written, cpus=frozenset({2}), meanwhile=meanwhile))


def _title(case: Case, check_id: str) -> str:
    verdict = judge(case, deciding_checks(check_id))
    (cause,) = [cause for cause in causes_of(verdict) if check_id in {finding.check.id for finding in cause.findings}]
    return short_title(cause, case).text


def test_culprit_of_the_gaps_has_the_rhythm_of_the_trace() -> None:
    case = _case(_TRACE)
    result = finding(judge(case, deciding_checks("target-cpus-interrupted")), "target-cpus-interrupted")
    (hog,) = [culprit for culprit in result.answer.culprits if culprit.name == "hog"]
    assert hog.rhythm is not None
    assert hog.rhythm.text == _TEXT
    assert culprit_line(hog).endswith(_TEXT)
    assert "/s" not in culprit_line(hog)  # gaps per second of the measured slots: the rhythm replaces them


def test_title_describes_the_culprit_of_the_sample_with_the_rhythm_of_the_trace() -> None:
    assert _title(_case(_TRACE), "tasks-on-target") == f"hog [901] takes ~5% of CPU 2, {_TEXT}"


def test_last_line_of_a_report_has_no_room_for_the_rhythm() -> None:
    verdict = judge(_case(_TRACE), deciding_checks("tasks-on-target"))
    assert summary_of_verdict(verdict, 1) == "UNSTABLE: hog [901] takes ~5% of CPU 2 (exit 1)"


def test_title_without_a_trace_has_no_rhythm() -> None:
    assert _title(_case(NOT_TRACED), "tasks-on-target") == "hog [901] takes ~5% of CPU 2"


def test_another_thread_does_not_get_the_rhythm() -> None:
    case = _case(_TRACE)
    assert case.interval is not None
    assert case.attribution is not None
    (hog,) = [culprit for culprit in disturbances_of(case.interval, 2) if culprit.name == "hog"]
    assert case.attribution.with_rhythm(hog).rhythm is not None
    for other in (replace(hog, tid=902), replace(hog, cpu=3), replace(hog, pid=900)):
        assert case.attribution.with_rhythm(other) == other
