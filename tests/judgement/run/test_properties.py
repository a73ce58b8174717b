"""What holds of every repetition: more noise makes no verdict better, nor does less knowledge."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from noisewatch.judgement.run.allowance import Allowance
from noisewatch.judgement.run.reasons import ReasonKind, RepetitionVerdict, RunOutcome
from noisewatch.model.run.repetition import Repetition
from tests.written.quiet_machine import CPUS, process, quiet_files
from tests.written.repetitions import ALONE, CPUACCT, MS, SCHEDSTAT, THREADED, judge, late, ran, repeat

_RANK = {RunOutcome.UNDISTURBED: 0, RunOutcome.UNKNOWN: 1, RunOutcome.DISTURBED: 2}
_SIBLINGS = frozenset({1})
_COUNTS = (
    "/proc/stat",
    "/proc/interrupts",
    "/proc/softirqs",
    "/proc/vmstat",
    f"{CPUS}/cpu2/topology/thread_siblings_list",
)
_GROUPS = ("/proc/self/cgroup", "/proc/self/mountinfo")
_FILES = (
    *_COUNTS,
    *_GROUPS,
    CPUACCT,
    SCHEDSTAT,
    "/proc/900/stat",
    "/proc/900/schedstat",
    "/proc/900/status",
    "/proc/700/stat",
    f"{CPUS}/online",
)
_milliseconds = st.floats(0, 300) | st.floats(0, 3)


def _repetition(
    foreign_ms: float,
    sibling_ms: float = 0.0,
    *,
    is_named: bool,
    is_late: bool,
    is_alone: bool,
    marks: tuple[int, int] = (0, -1),
    gone: tuple[str, ...] = (),
    still: tuple[str, ...] = (),
) -> Repetition:
    """Return a repetition of 0.3 s, or of the 0.1 s in its middle.

    The command had 60% of CPU 2, and another task ran from the middle on. Files in `still` do not change.
    """

    def moment(at: int) -> dict[str, str]:
        noise_ms = foreign_ms if at >= 2 else 0.0
        files = ran({1: sibling_ms * at / 3, 2: 60 * at, 3: noise_ms}, at / 10)
        files = late(files, [5 + at] * 4) if is_late else files
        return files | process(900, "hog", 3, round(noise_ms * MS), allowed="3") if is_named else files

    use = ALONE if is_alone else THREADED
    moments = [moment(at) for at in range(4)]
    first = quiet_files() | moments[0]
    moments = [each | {path: first[path] for path in still} for each in moments]
    whole = repeat(*moments, seconds=0.1, marks=marks, own_ms=60.0 * (3 if marks == (0, -1) else 1), gone=gone)
    return replace(whole, use=replace(use, user_ns=whole.use.user_ns, waited_ns=0))


def _rank(verdict: RepetitionVerdict) -> int:
    return _RANK[verdict.outcome]


_ways = st.fixed_dictionaries(
    {
        "is_named": st.booleans(),
        "is_late": st.booleans(),
        "is_alone": st.booleans(),
        "marks": st.sampled_from([(0, -1), (1, 2)]),
    }
)


@settings(max_examples=60, deadline=None)
@given(less=_milliseconds, more=_milliseconds, ways=_ways)
def test_more_foreign_time_never_makes_a_verdict_better(less: float, more: float, ways: dict[str, bool]) -> None:
    ranks = [_rank(judge(_repetition(ms, **ways))) for ms in sorted((less, more))]  # type: ignore[arg-type]
    assert ranks == sorted(ranks)


@settings(max_examples=60, deadline=None)
@given(less=_milliseconds, more=_milliseconds, ways=_ways)
def test_a_busier_sibling_never_makes_a_verdict_better(less: float, more: float, ways: dict[str, bool]) -> None:
    ranks = [_rank(judge(_repetition(0.0, ms, **ways), _SIBLINGS)) for ms in sorted((less, more))]  # type: ignore[arg-type]
    assert ranks == sorted(ranks)


@settings(max_examples=60, deadline=None)
@given(foreign=_milliseconds, sibling=_milliseconds, ways=_ways, gone=st.sets(st.sampled_from(_FILES), min_size=1))
def test_what_cannot_be_read_never_makes_a_verdict_calm(
    foreign: float, sibling: float, ways: dict[str, bool], gone: set[str]
) -> None:
    known = judge(_repetition(foreign, sibling, **ways), _SIBLINGS)  # type: ignore[arg-type]
    less = judge(_repetition(foreign, sibling, gone=tuple(gone), **ways), _SIBLINGS)  # type: ignore[arg-type]
    assert known.outcome == RunOutcome.UNDISTURBED or less.outcome != RunOutcome.UNDISTURBED


@settings(max_examples=60, deadline=None)
@given(foreign=_milliseconds, ways=_ways)
def test_not_to_know_how_long_it_waited_never_makes_a_verdict_calm(foreign: float, ways: dict[str, bool]) -> None:
    repetition = _repetition(foreign, **ways)  # type: ignore[arg-type]
    waited = replace(repetition, use=replace(repetition.use, waited_ns=round(foreign * MS)))
    less = judge(replace(repetition, use=replace(repetition.use, waited_ns=None)))
    assert judge(waited).outcome == RunOutcome.UNDISTURBED or less.outcome != RunOutcome.UNDISTURBED


@settings(max_examples=60, deadline=None)
@given(foreign=_milliseconds, sibling=_milliseconds, ways=_ways)
def test_nobody_had_more_than_the_cpus_have(foreign: float, sibling: float, ways: dict[str, bool]) -> None:
    repetition = _repetition(foreign, sibling, **ways)  # type: ignore[arg-type]
    verdict = judge(repetition, _SIBLINGS)
    sums = {kind: sum(each.ns or 0 for each in verdict.reasons if each.kind == kind) for kind in ReasonKind}
    assert sums[ReasonKind.FOREIGN] <= repetition.length_ns * len(repetition.target)
    assert sums[ReasonKind.SIBLING] <= repetition.length_ns
    assert all(0 <= (each.share or 0.0) <= 1 for each in verdict.reasons)


@settings(max_examples=40, deadline=None)
@given(foreign=_milliseconds, share=st.floats(0.005, 0.1), ways=_ways)
def test_to_be_allowed_less_never_makes_a_verdict_better(foreign: float, share: float, ways: dict[str, bool]) -> None:
    repetition = _repetition(foreign, **ways)  # type: ignore[arg-type]
    ranks = [_rank(judge(repetition, allowance=Allowance(each, True))) for each in (share, 0.005)]
    assert ranks == sorted(ranks)


@pytest.mark.parametrize("is_late", [False, True])
@pytest.mark.parametrize("path", ["the exact count", *_COUNTS, *_GROUPS])
def test_no_file_that_counts_may_be_missed(path: str, is_late: bool) -> None:
    exact = SCHEDSTAT if is_late else CPUACCT
    gone = (exact if path == "the exact count" else path,)
    ways = {"is_named": False, "is_late": is_late, "is_alone": True}
    assert judge(_repetition(0.0, **ways), _SIBLINGS).outcome == RunOutcome.UNDISTURBED  # type: ignore[arg-type]
    assert judge(_repetition(0.0, gone=gone, **ways), _SIBLINGS).outcome == RunOutcome.UNKNOWN  # type: ignore[arg-type]


@pytest.mark.parametrize("is_late", [False, True])
@pytest.mark.parametrize(
    "path", ["the exact count", "/proc/stat", "/proc/interrupts", "/proc/softirqs", "/proc/vmstat"]
)
def test_no_file_that_counts_may_stand_still(path: str, is_late: bool) -> None:
    exact = SCHEDSTAT if is_late else CPUACCT
    still = (exact if path == "the exact count" else path,)
    verdict = judge(_repetition(0.0, is_named=False, is_late=is_late, is_alone=True, still=still), _SIBLINGS)
    assert verdict.outcome == RunOutcome.UNKNOWN
