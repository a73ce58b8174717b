"""Causes of gaps: from a trace, and from the gaps alone."""

from __future__ import annotations

from collections import Counter

from noisewatch.kernel.calibration import CalibrationSamples, CpuSamples, Gaps
from noisewatch.kernel.interrupts.irqs import Irq, Irqs
from noisewatch.kernel.trace.runs import CpuPieces, Parent, RunStats, Thread, Trace, TracedSource
from noisewatch.kinds import Kind
from noisewatch.model.calibration.attribution import ConcurrentObservations, attribution_of, gap_culprits
from noisewatch.model.calibration.gap_causes import (
    ANOTHER_THREAD,
    OUTSIDE,
    TICK,
    UNKNOWN_CAUSE,
    causes_by_gaps,
    causes_by_trace,
)
from noisewatch.model.interval.disturbance import TIMER_INTERRUPTS

_SPINNER = Thread(50, "python3", 50, False)
_HOG = Thread(901, "hog", 900, False)
_SENDER = Thread(456, "mapper", 456, False)
_SOURCES = (
    TracedSource(Kind.IDLE, "idle"),
    TracedSource(Kind.THREAD, "python3", thread=_SPINNER),
    TracedSource(Kind.THREAD, "hog", thread=_HOG),
    TracedSource(Kind.TICK, "local_timer"),
    TracedSource(Kind.IRQ, "36", irq=36),
    TracedSource(Kind.IPI, "call_function_single", thread=_SENDER, function="flush_tlb_func"),
    TracedSource(Kind.SOFTIRQ, "BLOCK"),
)
_SPIN, _HOGS, _TICKS, _DISK, _FLUSH, _BLOCK = range(1, 7)
_IRQS = Irqs(
    None,
    {
        36: Irq(
            irq=36,
            allowed=None,
            effective=None,
            movable=True,
            actions=("virtio1-req.0",),
            device="Virtio block device (vda)",
        )
    },
)


def _gaps(*gaps: tuple[int, int], switches: int = 0) -> Gaps:
    return Gaps(
        tuple(start for start, _ in gaps),
        tuple(length for _, length in gaps),
        (switches,) * len(gaps),
        (0,) * len(gaps),
    )


def _samples(gaps: Gaps) -> CpuSamples:
    return CpuSamples(1, None, spun_ns=10_000_000, gaps=gaps, spinner_tid=50)


def _calibration(gap: tuple[int, int]) -> CalibrationSamples:
    return CalibrationSamples(
        core="native",
        begin_ns=0,
        length_ns=1,
        threshold_ns=1_000,
        is_realtime=False,
        command=(),
        cpus=(_samples(_gaps(gap)),),
    )


def _pieces(*pieces: tuple[int, int, int], lost: int | None = 0, cut: int = 0) -> CpuPieces:
    starts, ends, sources = zip(*pieces, strict=True)
    return CpuPieces(
        cpu=1,
        lost_events=lost,
        lost_pieces=cut,
        unseen_switches=0,
        unseen_ns=0,
        sources=_SOURCES,
        stats=(RunStats(0, 0, 0, {}),) * len(_SOURCES),
        start_ns=starts,
        end_ns=ends,
        source=sources,
    )


def test_gap_is_attributed_to_its_largest_part() -> None:
    pieces = _pieces(
        (0, 10_000, _SPIN),
        (10_000, 12_000, _TICKS),
        (12_000, 19_000, _HOGS),
        (19_000, 90_000, _SPIN),
        (90_000, 99_000, _DISK),
        (99_000, 103_000, _BLOCK),
    )
    causes = causes_by_trace(_samples(_gaps((9_500, 10_000), (89_000, 15_000))), pieces, 0, _IRQS)
    assert [(cause.kind, cause.name) for cause in causes] == [
        ("thread", "hog"),
        ("irq", "36 virtio1-req.0 (Virtio block device (vda))"),
    ]
    assert [part.source.name for part in causes[1].parts] == ["36", "BLOCK"]
    assert [cause.kernel_ns for cause in causes] == [9_000, 13_000]


def test_trace_times_are_aligned_with_calibration_times() -> None:
    causes = causes_by_trace(_samples(_gaps((1_000, 3_000))), _pieces((6_000, 8_000, _TICKS)), 5_000, None)
    assert (causes[0].name, causes[0].kernel_ns) == (TICK, 2_000)


def test_gap_in_which_only_the_loop_ran_came_from_outside() -> None:
    causes = causes_by_trace(_samples(_gaps((5_000, 3_000))), _pieces((0, 90_000, _SPIN)), 0, None)
    assert [(cause.kind, cause.name, cause.kernel_ns) for cause in causes] == [("outside", OUTSIDE, 0)]


def test_gap_is_unexplained_where_the_kernel_does_not_trace_all_interrupts() -> None:
    samples = _calibration((5_000, 3_000))
    for untraced, kind in ((("NMIs",), "outside"), (("softirqs",), "unexplained")):
        attribution = attribution_of(
            samples, ConcurrentObservations(Trace(0, 1, untraced, (_pieces((0, 90_000, _SPIN)),)))
        )
        assert [cause.kind for cause in attribution.causes_by_cpu[1]] == [kind]


def test_tick_does_not_explain_steal_around_it() -> None:
    ticks = [(start, start + 2_000, _TICKS) for start in range(10_000, 500_000, 10_000)]
    gaps = [(start - 1_000, 6_000) for start, _, _ in ticks[:-1]]
    causes = causes_by_trace(_samples(_gaps(*gaps, (ticks[-1][0] - 1_000, 400_000))), _pieces(*ticks), 0, None)
    assert Counter(cause.kind for cause in causes) == {"tick": len(ticks) - 1, "outside": 1}
    assert causes[-1].length_ns == 400_000


def test_call_from_another_cpu_is_named_by_its_function_and_its_caller() -> None:
    causes = causes_by_trace(_samples(_gaps((0, 3_000))), _pieces((500, 2_500, _FLUSH)), 0, None)
    (culprit,) = gap_culprits(causes, 1, 10_000_000)
    assert culprit.disturbance.name == "flush_tlb_func, called by mapper"
    assert (culprit.disturbance.pid, culprit.disturbance.tid, culprit.count) == (456, 456, 1)
    assert not culprit.disturbance.is_inferred


def test_gap_with_a_switch_is_another_threads() -> None:
    causes = causes_by_gaps(_samples(_gaps((5, 2_000), (9_000, 4_000), switches=1)), None)
    assert [(cause.kind, cause.name) for cause in causes] == [("thread", ANOTHER_THREAD)] * 2


def _tick_gaps(period_ns: int, count: int = 200) -> list[tuple[int, int]]:
    return [(1_000_000 + number * period_ns + number % 3 * 500, 9_000) for number in range(count)]


def test_ticks_are_recognized_by_their_period_at_any_frequency() -> None:
    for hz in (100, 250, 300, 1000):
        ticks = _tick_gaps(round(1e9 / hz))
        others = [(1_700_003 + number * 7_919_003, 5_000) for number in range(60)]
        causes = causes_by_gaps(_samples(_gaps(*sorted(ticks + others))), None)
        tick_starts = {cause.start_ns for cause in causes if cause.kind == "tick"}
        expected = {start for start, _ in ticks}
        assert len(tick_starts & expected) >= 0.95 * len(expected), hz
        assert len(tick_starts & expected) >= 0.95 * len(tick_starts), hz


def test_hypervisor_gap_right_before_a_tick_is_not_the_tick() -> None:
    ticks = _tick_gaps(4_000_000)
    before = [(start - 2_500, 1_200) for start, _ in ticks]
    causes = causes_by_gaps(_samples(_gaps(*sorted(ticks + before))), 250)
    assert {cause.start_ns for cause in causes if cause.kind == "tick"} == {start for start, _ in ticks}


def test_period_with_hypervisor_gaps_only_has_no_tick() -> None:
    ticks = _tick_gaps(4_000_000)
    steal = [(start + 1_000_000_000, 1_200) for start, _ in _tick_gaps(4_000_000, 50)]
    causes = causes_by_gaps(_samples(_gaps(*ticks, *steal)), 250)
    assert {cause.start_ns for cause in causes if cause.kind == "tick"} == {start for start, _ in ticks}


def test_gaps_without_a_period_are_unexplained() -> None:
    gaps = [(number * 1_234_567 + number * number * 7_919, 3_000) for number in range(300)]
    causes = causes_by_gaps(_samples(_gaps(*gaps)), None)
    assert {(cause.kind, cause.name) for cause in causes} == {("unexplained", UNKNOWN_CAUSE)}


def test_without_a_trace_all_causes_are_inferred_and_the_reason_is_kept() -> None:
    samples = _calibration((5, 2_000))
    attribution = attribution_of(samples, ConcurrentObservations("permission denied"))
    assert attribution.reason == "permission denied"
    assert [culprit.disturbance.is_inferred for culprit in attribution.culprits_by_cpu[1]] == [True]


def test_trace_with_lost_events_is_rejected() -> None:
    samples = _calibration((5, 2_000))
    for lost, cut in ((3, 0), (None, 0), (0, 1)):
        trace = Trace(0, 1, (), (_pieces((0, 3_000, _TICKS), lost=lost, cut=cut),))
        attribution = attribution_of(samples, ConcurrentObservations(trace))
        assert attribution.reason == "events were lost"
        assert [cause.kind for cause in attribution.causes_by_cpu[1]] == ["unexplained"]


def test_gaps_of_ended_threads_of_one_name_and_parent_are_one_culprit() -> None:
    parent = Parent(900, "make", is_process=False)
    threads = [Thread(tid=tid, name="cc1", pid=None, is_kernel=False, parent=parent) for tid in range(1_000, 1_300)]
    sources = tuple(TracedSource(Kind.THREAD, "cc1", thread=thread) for thread in threads)
    stats, starts = (RunStats(1, 9_000, 9_000, {}),) * 300, tuple(range(0, 6_000_000, 20_000))
    ends = tuple(start + 9_000 for start in starts)
    pieces = CpuPieces(
        cpu=1,
        lost_events=0,
        lost_pieces=0,
        unseen_switches=0,
        unseen_ns=0,
        sources=sources,
        stats=stats,
        start_ns=starts,
        end_ns=ends,
        source=tuple(range(300)),
    )
    gaps = _gaps(*((start, 10_000) for start in starts))
    (culprit,) = gap_culprits(causes_by_trace(_samples(gaps), pieces, 0, None), 1, 10_000_000)
    disturbance = culprit.disturbance
    assert (disturbance.name, disturbance.pid, disturbance.tid) == ("cc1 (300 ended children of make)", 900, None)
    assert (culprit.count, disturbance.stolen_ns, disturbance.share) == (300, 3_000_000, 0.3)


def test_long_gap_of_many_short_lived_threads_is_theirs_and_not_of_the_longest_running_thread() -> None:
    sources = (
        TracedSource(Kind.THREAD, "make", thread=Thread(900, "make", 900, False)),
        *(TracedSource(Kind.THREAD, "cc1", thread=Thread(tid, "cc1", None, False)) for tid in range(1_000, 1_004)),
    )
    edges = (0, 40_000, 60_000, 80_000, 100_000, 120_000)
    pieces = CpuPieces(
        cpu=1,
        lost_events=0,
        lost_pieces=0,
        unseen_switches=0,
        unseen_ns=0,
        sources=sources,
        stats=(RunStats(1, 1, 1, {}),) * 5,
        start_ns=edges[:-1],
        end_ns=edges[1:],
        source=tuple(range(5)),
    )
    (cause,) = causes_by_trace(_samples(_gaps((0, 120_500))), pieces, 0, None)
    assert (cause.name, cause.pid, cause.thread) == ("cc1 (4 ended threads)", None, None)
    assert [(part.name, part.ns) for part in cause.parts] == [("cc1 (4 ended threads)", 80_000), ("make", 40_000)]


def test_gaps_are_timer_interrupts_where_the_timer_rate_explains_them() -> None:
    samples = _samples(_gaps(*((50_000 * number, 10_000) for number in range(1, 200))))
    assert {cause.name for cause in causes_by_gaps(samples, 250, 20_000.0)} == {TIMER_INTERRUPTS}
    assert TIMER_INTERRUPTS not in {cause.name for cause in causes_by_gaps(samples, 250, 260.0)}
    assert TIMER_INTERRUPTS not in {cause.name for cause in causes_by_gaps(samples, 250, 2_000.0)}  # a tenth of them
    assert TIMER_INTERRUPTS not in {cause.name for cause in causes_by_gaps(samples, None, 1_200.0)}


def test_gap_with_a_switch_is_a_threads_at_any_timer_rate() -> None:
    (cause,) = causes_by_gaps(_samples(_gaps((5_000, 10_000), switches=1)), 250, 20_000.0)
    assert cause.name == ANOTHER_THREAD
