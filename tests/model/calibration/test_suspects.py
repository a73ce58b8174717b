"""Suspects of gaps that no trace explains: threads that ran on the CPU meanwhile."""

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
    """Return an interval in which a thread had 40 ms of CPU 2, and spinners that have exited had most of the rest."""
    before = process(901, "hog", 2, 0, allowed="0-3") | process(30, "elsewhere", 1, 0)
    after = process(901, "hog", 2, 40_000_000, allowed="0-3") | process(30, "elsewhere", 1, 70_000_000)
    table = quiet_files(3.0)["/proc/interrupts"]
    more_ticks = {"/proc/interrupts": table.replace("120        120   Local timer", "870        120   Local timer")}
    interval = interval_of(before, after | more_ticks | {"/proc/stat": stat_file({1: 7, 2: 290}, 300, {2: 5})})
    return ConcurrentObservations(**trace, interval=interval)  # type: ignore[arg-type]  # passed through


def _suspects(meanwhile: ConcurrentObservations) -> dict[str, Disturbance]:
    return {suspect.name: suspect for suspect in attribution_of(_SAMPLES, meanwhile).suspects_by_cpu.get(2, ())}


def test_threads_and_the_hypervisor_are_suspects_but_not_the_loop_itself() -> None:
    suspects = _suspects(_meanwhile())
    assert (suspects["hog"].stolen_ns, suspects["hog"].pid) == (40_000_000, 901)
    assert suspects["hypervisor (steal time)"].stolen_ns == 50_000_000
    assert "unattributed time" not in suspects
    assert "elsewhere" not in suspects


def test_ticks_are_suspects_only_if_the_gaps_show_no_tick() -> None:
    meanwhile = _meanwhile()
    assert "tick" in {culprit.kind for culprit in _suspects(meanwhile).values()}
    ticking = parse_calibration(written_calibration((2,), gaps=_TICKS))
    attribution = attribution_of(ticking, meanwhile)
    assert {culprit.disturbance.kind for culprit in attribution.culprits_by_cpu[2]} == {"tick"}
    assert "tick" not in {culprit.kind for culprit in attribution.suspects_by_cpu[2]}


def test_gaps_far_longer_than_observed_threads_are_of_exited_threads() -> None:
    gaps = tuple((10_000_000 + number * 40_000_000, 20_000_000, 1, 0) for number in range(40))
    samples = parse_calibration(written_calibration((2,), gaps=gaps))
    suspects = attribution_of(samples, _meanwhile()).suspects_by_cpu[2]
    assert (suspects[0].name, suspects[0].is_inferred) == (EXITED, True)
    assert 0.1 < (suspects[0].share or 0) < 0.3
    assert EXITED not in _suspects(_meanwhile())


def test_complete_trace_leaves_no_suspects() -> None:
    assert _suspects(_meanwhile(trace=parse_trace(written_trace()))) == {}


def test_trace_with_lost_events_leaves_suspects() -> None:
    trace = written_trace()
    trace["cpus"][0]["lost_events"] = 1
    assert "hog" in _suspects(_meanwhile(trace=parse_trace(trace)))
