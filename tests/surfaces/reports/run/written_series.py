"""Series to render as reports: tests choose what disturbed each repetition, which takes one second."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from msgspec.structs import replace

from noisewatch.judgement.run.reasons import ReasonKind, RepetitionVerdict, RunOutcome, RunReason
from noisewatch.kinds import Kind
from noisewatch.machine.command.ending import EndedCommand, ResourceUsage
from noisewatch.model.run.placement import NOWHERE_ELSE
from noisewatch.model.run.repetition import Repetition
from noisewatch.operations.run.judging import JudgedRepetition
from noisewatch.operations.run.options import RunOptions
from noisewatch.operations.run.series import RunSeries, WatchingCost
from noisewatch.surfaces.reports.run.formats import render_series
from noisewatch.surfaces.reports.run.options import SeriesOptions
from tests.judgement.run.test_placement_reasons import placed
from tests.kernel.tasks.commands import thread_look
from tests.model.run.places import ONE_NODE, placement_of
from tests.written.repetitions import ALLOWED, MS, ran, repeat

UNDISTURBED = RepetitionVerdict(RunOutcome.UNDISTURBED)
UNKNOWN = RepetitionVerdict(RunOutcome.UNKNOWN, unknowns=("the counters stood still",))
_END = EndedCommand(
    exit_status=0,
    signal_number=None,
    has_dumped_core=False,
    ended_ns=0,
    usage=ResourceUsage(**dict.fromkeys(ResourceUsage.__annotations__, 0)),
    max_rss_bytes=None,
    stop_count=0,
    stopped_ns=0,
    left_pids=frozenset(),
    adopted_usage=None,
    may_be_others=False,
    allowed=None,
    scheduling="",
)


def disturbed_by(name: str, pid: int = 900) -> RepetitionVerdict:
    """Return the verdict on a repetition that a thread disturbed; threads of one `pid` are one culprit."""
    reason = RunReason(
        kind=ReasonKind.FOREIGN, name=name, noise=Kind.THREAD, cpu=2, pid=pid, ns=50 * MS, share=0.05, begin_ns=0
    )
    return RepetitionVerdict(RunOutcome.DISTURBED, (reason,))


@cache
def _one_second() -> Repetition:
    return repeat(ran(), ran(seconds=1.0))


def written_series(
    *verdicts: RepetitionVerdict,
    argv: Sequence[str] = ("/opt/secret/sort", "--key"),
    statuses: Sequence[int] = (),
    has_two: bool = False,
    ended_by: int | None = None,
    failed: int | None = None,
    warm_ups: int = 0,
) -> RunSeries:
    """Return a series with a repetition for each verdict; two commands take turns, A first.

    All warm-ups are of the first command.
    """
    statuses = statuses or [0] * len(verdicts)
    judged = []
    for at, (verdict, status) in enumerate(zip(verdicts, statuses, strict=True)):
        command = at % 2 if has_two else 0
        ended_ns = _one_second().ended_ns + at * MS
        repetition = replace(_one_second(), number=at + 1, command=command, status=status, ended_ns=ended_ns)
        judged.append(
            JudgedRepetition(repetition, ALLOWED, verdict, placement_of([], frozenset({2}), {}, NOWHERE_ELSE))
        )
    against = ("/opt/secret/other",) if has_two else None
    warm_up = replace(_one_second(), is_warm_up=True)
    return RunSeries(
        options=RunOptions(argv=tuple(argv), runs=len(verdicts), against=against, warm_ups=warm_ups),
        seed=1,
        machine=_one_second().span.before,
        repetitions=tuple(judged),
        end=_END,
        own_cost=WatchingCost(0.25, frozenset({0, 1})),
        own_cpu_s=0.1,
        ended_by=ended_by,
        failed=failed,
        warm_ups=tuple(
            replace(judged[0], repetition=replace(warm_up, number=number)) for number in range(1, warm_ups + 1)
        ),
    )


def timed(series: RunSeries, seconds: Sequence[float]) -> RunSeries:
    """Return the series with repetitions of these lengths, each one directly after the last."""
    began_ns, judged = series.repetitions[0].repetition.began_ns, []
    for run, time in zip(series.repetitions, seconds, strict=True):
        ended_ns = began_ns + round(time * 1e9)
        judged.append(replace(run, repetition=replace(run.repetition, began_ns=began_ns, ended_ns=ended_ns)))
        began_ns = ended_ns
    return replace(series, repetitions=tuple(judged))


def stacked(series: RunSeries) -> RunSeries:
    """Return the series with two threads of the command sharing CPU 2 while CPU 3 was free, which yields advice."""
    threads = [thread_look(tid, 2, 5, state="R", waited_ns=10**9) for tid in (8, 9)]
    placement = placed(threads, threads, places=ONE_NODE, target=frozenset({2, 3}))
    return replace(series, repetitions=tuple(replace(run, placement=placement) for run in series.repetitions))


def render(form: str, series: RunSeries, identifies: bool = False) -> str:
    """Return the report in a format."""
    return render_series(form, series, SeriesOptions(identifies=identifies))
