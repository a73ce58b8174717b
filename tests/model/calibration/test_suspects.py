"""Whom the gaps may be of where no trace tells: who was seen on that CPU meanwhile."""

from __future__ import annotations

from noisewatch.kernel.calibration import parse_calibration
from noisewatch.kernel.trace.runs import parse_trace
from noisewatch.model.calibration.attribution import EXITED, ConcurrentObservations, attribution_of
from noisewatch.model.interval.disturbance import Disturbance
from tests.model.interval.sampling import interval_of
from tests.written.calibration import written_calibration
from tests.written.quiet_machine import process, quiet_files, stat_file
from tests.written.trace import written_trace

_GAP = (10_000_000, 5_000_000, 1, 0)
_TICKS = tuple((4_000_000 * number, 9_000, 0, 0) for number in range(1, 300))
_SAMPLES = parse_calibration(written_calibration((2,), gaps=(_GAP,)))


def _meanwhile(**trace: object) -> ConcurrentObservations:
    """CPU 2 was busy all the time: 40 ms of it were a thread's, the rest that of spinners that are gone."""
    before = process(901, "hog", 2, 0, allowed="0-3") | process(30, "elsewhere", 1, 0)
    after = process(901, "hog", 2, 40_000_000, allowed="0-3") | process(30, "elsewhere", 1, 70_000_000)
    counted = quiet_files(3.0)["/proc/interrupts"]
    ticked = {"/proc/interrupts": counted.replace("120        120   Local timer", "870        120   Local timer")}
    interval = interval_of(before, after | ticked | {"/proc/stat": stat_file({1: 7, 2: 290}, 300, {2: 5})})
    return ConcurrentObservations(**trace, interval=interval)  # type: ignore[arg-type]  # passed through


def _suspects(meanwhile: ConcurrentObservations) -> dict[str, Disturbance]:
    return {each.name: each for each in attribution_of(_SAMPLES, meanwhile).suspects_by_cpu.get(2, ())}


def test_threads_and_the_hypervisor_are_suspects_and_the_loop_itself_is_none() -> None:
    found = _suspects(_meanwhile())
    assert (found["hog"].stolen_ns, found["hog"].pid) == (40_000_000, 901)
    assert found["hypervisor (steal time)"].stolen_ns == 50_000_000
    assert "unattributed time" not in found
    assert "elsewhere" not in found


def test_ticks_are_suspects_only_where_their_phase_did_not_tell() -> None:
    meanwhile = _meanwhile()
    assert "tick" in {each.kind for each in _suspects(meanwhile).values()}
    ticking = parse_calibration(written_calibration((2,), gaps=_TICKS))
    attribution = attribution_of(ticking, meanwhile)
    assert {each.disturbance.kind for each in attribution.culprits_by_cpu[2]} == {"tick"}
    assert "tick" not in {each.kind for each in attribution.suspects_by_cpu[2]}


def test_where_the_gaps_are_far_longer_than_what_was_seen_others_have_ended() -> None:
    gaps = tuple((10_000_000 + number * 40_000_000, 20_000_000, 1, 0) for number in range(40))
    samples = parse_calibration(written_calibration((2,), gaps=gaps))
    found = attribution_of(samples, _meanwhile()).suspects_by_cpu[2]
    assert (found[0].name, found[0].is_inferred) == (EXITED, True)
    assert 0.1 < (found[0].share or 0) < 0.3
    assert EXITED not in _suspects(_meanwhile())


def test_where_a_trace_tells_nobody_is_suspected() -> None:
    assert _suspects(_meanwhile(trace=parse_trace(written_trace()))) == {}


def test_where_a_trace_has_lost_something_they_are_again() -> None:
    said = written_trace()
    said["cpus"][0]["lost_events"] = 1
    assert "hog" in _suspects(_meanwhile(trace=parse_trace(said)))
