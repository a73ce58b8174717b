"""A CPU quota that the calibration exhausts: its check fails, and it is the culprit and cause of noise elsewhere."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from noisewatch.judgement.answer import Answer
from noisewatch.judgement.case import Case
from noisewatch.judgement.noise.budget import Budget
from noisewatch.judgement.noise.dominance import MEMORY, QUOTA, dominating_cause
from noisewatch.judgement.rules import Rules
from noisewatch.judgement.verdict import Verdict, judge
from noisewatch.kernel.trace.runs import Trace, parse_trace
from noisewatch.model.calibration.attribution import ConcurrentObservations
from noisewatch.model.interval.interval import Interval
from tests.judgement.judging import calibrated_by, finding, finding_in
from tests.model.interval.sampling import interval_of
from tests.written import Files, mounted
from tests.written.calibration import written_calibration
from tests.written.trace import written_trace

_MS = 1_000_000
_GROUP = "/sys/fs/cgroup/ci"
_HIDDEN = mounted("cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n", "/..")
_STOPS = tuple((100 * _MS * number + 50 * _MS, 50 * _MS, 1, 0) for number in range(50))


def _quota_files(throttled: int, usec: int) -> Files:
    return {
        "/proc/self/cgroup": "0::/ci\n",
        f"{_GROUP}/cpu.max": "800000 100000\n",
        f"{_GROUP}/cpu.stat": f"nr_throttled {throttled}\nthrottled_usec {usec}\n",
    }


def _judged(interval: Interval, *, is_stopped: bool = True, profile: str = "micro") -> Verdict:
    """Return the verdict on CPU 2, which was calibrated during the interval."""
    gaps, work = (_STOPS, _stopped_work) if is_stopped else ((), _noisy_work)
    written = written_calibration((2,), gaps=gaps, work=work)
    return judge(replace(_case(interval, written), rules=Rules(profile)))


def _case(interval: Interval, written: dict[str, Any], trace: Trace | str = "permission denied") -> Case:
    meanwhile = ConcurrentObservations(trace, interval.before, interval)
    calibrated = calibrated_by(written, Budget(max_cv=10.0), frozenset({2}), meanwhile)
    return Case(interval.before, interval, calibrated=calibrated, under_load=interval)


def _noisy_work(at_ns: int) -> int:
    """Return the length (ns) of a unit of work; one in ten takes longer, which no gap explains."""
    return 230_000 if at_ns // 200_000 % 10 == 0 else 200_000


def _stopped_work(at_ns: int) -> int:
    """Return the length (ns) of noisy work, plus the rest of the stop in which it begins."""
    left_ns = 100 * _MS - at_ns % (100 * _MS)
    return left_ns + _noisy_work(at_ns) if left_ns <= 50 * _MS else _noisy_work(at_ns)


def test_a_quota_that_only_a_load_exhausts_fails_by_the_calibration() -> None:
    """A group that may use eight CPUs never exhausts its quota in a sample of an idle machine."""
    interval = interval_of(_quota_files(0, 0), _quota_files(40, 2_000_000))
    result = finding(_judged(interval), "cpu-quota")
    assert result.status == "fail"
    assert f"throttled in 40 periods ({_GROUP}: 800 ms in each 100 ms)" in result.answer.said
    assert [(culprit.kind, culprit.cpu) for culprit in result.answer.culprits] == [("quota", 2)]
    assert result.answer.fix is not None
    assert result.answer.fix.now == f"echo max | sudo tee {_GROUP}/cpu.max"


def test_the_quota_is_the_culprit_of_the_interruptions() -> None:
    result = finding(_judged(interval_of(_quota_files(0, 0), _quota_files(40, 2_000_000))), "target-cpus-interrupted")
    assert result.answer.culprits[0].kind == "quota"
    assert result.answer.fix is not None
    assert result.answer.fix.now == f"echo max | sudo tee {_GROUP}/cpu.max"


def test_the_quota_is_the_dominating_cause_of_the_noise() -> None:
    calibrated = _judged(interval_of(_quota_files(0, 0), _quota_files(40, 2_000_000))).case.calibrated
    assert calibrated is not None
    assert calibrated.floor is not None
    assert dominating_cause(calibrated, calibrated.floor) == QUOTA != MEMORY


def test_where_parents_are_hidden_stops_that_look_like_a_quota_fail() -> None:
    result = finding(_judged(interval_of(_HIDDEN, _HIDDEN)), "cpu-quota")
    assert result.status == "fail"
    assert "to a probable CPU quota of a cgroup that is not visible, with a period of 100 ms" in result.answer.said


def _quota_answer(stops: tuple[tuple[int, int, int, int], ...], trace: Trace | str = "permission denied") -> Answer:
    """Return the answer on quotas for a loop with these stops, where the parent cgroups are hidden."""
    interval = interval_of(_HIDDEN, _HIDDEN)
    return finding_in(_case(interval, written_calibration((2,), gaps=stops), trace), "cpu-quota").answer


def test_where_parents_are_hidden_stops_of_a_short_period_without_a_running_task_fail() -> None:
    stops = tuple((10 * _MS * number, 5 * _MS, 1, 0) for number in range(200))
    written = written_trace(begin_ns=1_000_000_000, length_ns=3_000 * _MS)
    written["cpus"][0]["pieces"] = [ns for start, *_ in stops for ns in (start + 10_000, start + 40_000, 2)]
    answer = _quota_answer(stops, parse_trace(written))
    assert (answer.status, answer.unit, set(answer.cpus)) == ("fail", "share", {2})
    assert "to a probable CPU quota of a cgroup that is not visible" in answer.said
    assert [culprit.kind for culprit in answer.culprits] == ["quota"]
    assert _quota_answer(stops).status == "unknown"


def test_where_parents_are_hidden_a_long_stop_is_named_in_the_reason() -> None:
    answer = _quota_answer(((50 * _MS, 488 * _MS, 1, 0),))
    assert (answer.status, answer.reason is not None) == ("unknown", True)
    assert "the loop on CPU 2 was stopped for 488 ms at a time, as a quota would do: calibrate longer to be sure" in (
        answer.reason or ""
    )


def test_where_parents_are_hidden_and_nothing_is_stopped_the_noise_floor_answers() -> None:
    for profile in ("micro", "shared"):
        verdict = _judged(interval_of(_HIDDEN, _HIDDEN), is_stopped=False, profile=profile)
        result = finding(verdict, "cpu-quota")
        assert (result.status, result.answered_by) == ("unknown", "noise-floor-above-budget")
        assert result.answer.reason is not None
        assert "cgroup namespace" in result.answer.reason
        assert verdict.verdict == "stable"
