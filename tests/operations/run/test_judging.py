"""Judging a repetition whose end was noticed late, with and without the end in the kernel's trace."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest
from msgspec.structs import replace

from noisewatch.kernel.system.clock import ClockOffsets
from noisewatch.kernel.trace.runs import TraceWindow
from noisewatch.machine.command.ending import EndedCommand, ResourceUsage
from noisewatch.machine.command.running import StartedCommand
from noisewatch.model.run.placement import NOWHERE_ELSE
from noisewatch.operations.run.judging import PendingRepetition, judge_pending
from noisewatch.operations.run.watch import RepetitionEdge, WakeUps
from tests.model.run.places import ONE_NODE, placement_of
from tests.written.repetitions import MS, ran, repeat
from tests.written.trace_windows import traced

_TARGET = frozenset({2, 3})
_NOTICED_LATE_MS = 100


def _pending(doubt_ms: int | None) -> PendingRepetition:
    """Return a repetition of one second whose end was noticed up to 100 ms late; the trace's end is 90 ms earlier."""
    repetition = traced(repeat(ran(), ran({2: 900}, 1.0), own_ms=900), own_ms=900)
    assert isinstance(repetition.trace, TraceWindow)
    began, ended = (
        RepetitionEdge(snapshot, ClockOffsets(0, 0), 0) for snapshot in (repetition.span.before, repetition.span.after)
    )
    started = cast("StartedCommand", SimpleNamespace(began_ns=repetition.began_ns, earlier_pids=frozenset()))
    wakeups = WakeUps(lambda: 0)
    wakeups.seen_late_ns = _NOTICED_LATE_MS * MS
    pending = PendingRepetition(1, 0, began, started, wakeups, windows=list(repetition.windows))
    pending.ended, pending.use = ended, repetition.use
    pending.end = EndedCommand(
        exit_status=0,
        signal_number=None,
        has_dumped_core=False,
        ended_ns=repetition.ended_ns,
        usage=ResourceUsage(),
        max_rss_bytes=None,
        stop_count=0,
        stopped_ns=0,
        left_pids=None,
        may_be_others=False,
        adopted_usage=None,
        allowed=_TARGET,
        scheduling="",
    )
    pending.placement = pending.placement_by_trace = placement_of((), _TARGET, ONE_NODE, NOWHERE_ELSE)
    doubt_ns = None if doubt_ms is None else doubt_ms * MS
    end_ns = repetition.ended_ns - 90 * MS
    pending.trace = replace(repetition.trace, end_ns=end_ns, end_doubt_ns=doubt_ns)
    return pending


@pytest.mark.parametrize(
    ("doubt_ms", "length_ms", "late_ms"), [(0, 910, 0), (30, 910, 30), (300, 910, 100), (None, 1000, 100)]
)
def test_doubt_about_the_end_is_the_smaller_one_of_trace_and_noisewatch(
    doubt_ms: int | None, length_ms: int, late_ms: int
) -> None:
    judged = judge_pending(_pending(doubt_ms), None)
    assert (judged.repetition.length_ns // MS, (judged.repetition.seen_late_ns or 0) // MS) == (length_ms, late_ms)
    assert any("end was seen" in unknown for unknown in judged.verdict.unknowns) == (late_ms > 0)


def test_doubt_about_the_end_is_known_from_the_trace_if_the_kernel_counts_no_waits() -> None:
    pending = _pending(30)
    pending.wakeups.seen_late_ns = None
    assert judge_pending(pending, None).repetition.seen_late_ns == 30 * MS
