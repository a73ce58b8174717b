"""A CPU quota that shows in the calibration: found by the check, named by the others, and blamed for the noise."""

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
from tests.judgement.judging import calibrated_by, finding, found_in
from tests.model.interval.sampling import interval_of
from tests.written import Files, mounted
from tests.written.calibration import written_calibration
from tests.written.trace import written_trace

_MS = 1_000_000
_GROUP = "/sys/fs/cgroup/ci"
_HIDDEN = mounted("cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n", "/..")
_STOPS = tuple((100 * _MS * number + 50 * _MS, 50 * _MS, 1, 0) for number in range(50))


def _group(throttled: int, usec: int) -> Files:
    return {
        "/proc/self/cgroup": "0::/ci\n",
        f"{_GROUP}/cpu.max": "800000 100000\n",
        f"{_GROUP}/cpu.stat": f"nr_throttled {throttled}\nthrottled_usec {usec}\n",
    }


def _judged(interval: Interval, *, is_stopped: bool = True, profile: str = "micro") -> Verdict:
    """Return the verdict on CPU 2, which was calibrated during the interval."""
    written = written_calibration((2,), gaps=_STOPS if is_stopped else (), work=_stopped if is_stopped else _shaken)
    return judge(replace(_case(interval, written), rules=Rules(profile)))


def _case(interval: Interval, written: dict[str, Any], trace: Trace | str = "permission denied") -> Case:
    meanwhile = ConcurrentObservations(trace, interval.before, interval)
    calibrated = calibrated_by(written, Budget(max_cv=10.0), frozenset({2}), meanwhile)
    return Case(interval.before, interval, calibrated=calibrated, under_load=interval)


def _shaken(at_ns: int) -> int:
    """A piece of work in ten takes longer: noise that no gap explains."""
    return 230_000 if at_ns // 200_000 % 10 == 0 else 200_000


def _stopped(at_ns: int) -> int:
    """Return the time (ns) that `_shaken` returns, plus the rest of the stop in which the work begins."""
    left_ns = 100 * _MS - at_ns % (100 * _MS)
    return left_ns + _shaken(at_ns) if left_ns <= 50 * _MS else _shaken(at_ns)


def test_a_quota_that_only_a_load_exhausts_is_found_in_the_calibration() -> None:
    """A group that may use eight CPUs never exhausts its quota in a sample of an idle machine."""
    interval = interval_of(_group(0, 0), _group(40, 2_000_000))
    found = finding(_judged(interval), "cpu-quota")
    assert found.status == "fail"
    assert f"throttled in 40 periods ({_GROUP}: 800 ms in each 100 ms)" in found.answer.said
    assert [(each.kind, each.cpu) for each in found.answer.culprits] == [("quota", 2)]
    assert found.answer.fix is not None
    assert found.answer.fix.now == f"echo max | sudo tee {_GROUP}/cpu.max"


def test_the_quota_is_the_culprit_of_the_interruptions() -> None:
    found = finding(_judged(interval_of(_group(0, 0), _group(40, 2_000_000))), "target-cpus-interrupted")
    assert found.answer.culprits[0].kind == "quota"
    assert found.answer.fix is not None
    assert found.answer.fix.now == f"echo max | sudo tee {_GROUP}/cpu.max"


def test_the_quota_is_blamed_for_the_noise_and_no_neighbour() -> None:
    calibrated = _judged(interval_of(_group(0, 0), _group(40, 2_000_000))).case.calibrated
    assert calibrated is not None
    assert calibrated.floor is not None
    assert dominating_cause(calibrated, calibrated.floor) == QUOTA != MEMORY


def test_where_parents_are_hidden_stops_that_look_like_a_quota_fail() -> None:
    found = finding(_judged(interval_of(_HIDDEN, _HIDDEN)), "cpu-quota")
    assert found.status == "fail"
    assert "to a probable CPU quota of a cgroup that is not visible, with a period of 100 ms" in found.answer.said


def _of_stops(stops: tuple[tuple[int, int, int, int], ...], trace: Trace | str = "permission denied") -> Answer:
    """Return the answer on quotas for a loop with these stops, where the parent cgroups are hidden."""
    interval = interval_of(_HIDDEN, _HIDDEN)
    return found_in(_case(interval, written_calibration((2,), gaps=stops), trace), "cpu-quota").answer


def test_where_parents_are_hidden_stops_of_a_short_period_in_which_nobody_ran_fail() -> None:
    stops = tuple((10 * _MS * number, 5 * _MS, 1, 0) for number in range(200))
    said = written_trace(begin_ns=1_000_000_000, length_ns=3_000 * _MS)
    said["cpus"][0]["pieces"] = [ns for start, *_ in stops for ns in (start + 10_000, start + 40_000, 2)]
    answer = _of_stops(stops, parse_trace(said))
    assert (answer.status, answer.unit, set(answer.cpus)) == ("fail", "share", {2})
    assert "to a probable CPU quota of a cgroup that is not visible" in answer.said
    assert [each.kind for each in answer.culprits] == ["quota"]
    assert _of_stops(stops).status == "unknown"


def test_where_parents_are_hidden_a_long_stop_is_told_in_the_reason() -> None:
    answer = _of_stops(((50 * _MS, 488 * _MS, 1, 0),))
    assert (answer.status, answer.reason is not None) == ("unknown", True)
    assert "the loop on CPU 2 was stopped for 488 ms at a time, as a quota would do: calibrate longer to be sure" in (
        answer.reason or ""
    )


def test_where_parents_are_hidden_and_nothing_is_stopped_the_noise_floor_answers() -> None:
    for profile in ("micro", "shared"):
        verdict = _judged(interval_of(_HIDDEN, _HIDDEN), is_stopped=False, profile=profile)
        found = finding(verdict, "cpu-quota")
        assert (found.status, found.answered_by) == ("unknown", "noise-floor-above-budget")
        assert found.answer.reason is not None
        assert "cgroup namespace" in found.answer.reason
        assert verdict.verdict == "stable"
