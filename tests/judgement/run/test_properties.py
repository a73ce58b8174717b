"""Properties of all repetitions: neither more noise nor fewer readable files make a verdict better."""

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
    missing: tuple[str, ...] = (),
    constant: tuple[str, ...] = (),
) -> Repetition:
    """Return a repetition of 0.3 s, or of the 0.1 s in its middle.

    The command had 60% of CPU 2, and another task ran from the middle on. Files in `constant` do not change.
    """

    def moment(at: int) -> dict[str, str]:
        noise_ms = foreign_ms if at >= 2 else 0.0
        files = ran({1: sibling_ms * at / 3, 2: 60 * at, 3: noise_ms}, at / 10)
        files = late(files, [5 + at] * 4) if is_late else files
        return files | process(900, "hog", 3, round(noise_ms * MS), allowed="3") if is_named else files

    use = ALONE if is_alone else THREADED
    moments = [moment(at) for at in range(4)]
    first = quiet_files() | moments[0]
    moments = [files | {path: first[path] for path in constant} for files in moments]
    whole = repeat(*moments, seconds=0.1, marks=marks, own_ms=60.0 * (3 if marks == (0, -1) else 1), gone=missing)
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
@given(foreign=_milliseconds, sibling=_milliseconds, ways=_ways, missing=st.sets(st.sampled_from(_FILES), min_size=1))
def test_unreadable_files_never_make_a_verdict_undisturbed(
    foreign: float, sibling: float, ways: dict[str, bool], missing: set[str]
) -> None:
    complete = judge(_repetition(foreign, sibling, **ways), _SIBLINGS)  # type: ignore[arg-type]
    partial = judge(_repetition(foreign, sibling, missing=tuple(missing), **ways), _SIBLINGS)  # type: ignore[arg-type]
    assert complete.outcome == RunOutcome.UNDISTURBED or partial.outcome != RunOutcome.UNDISTURBED


@settings(max_examples=60, deadline=None)
@given(foreign=_milliseconds, ways=_ways)
def test_an_unknown_wait_never_makes_a_verdict_undisturbed(foreign: float, ways: dict[str, bool]) -> None:
    repetition = _repetition(foreign, **ways)  # type: ignore[arg-type]
    waited = replace(repetition, use=replace(repetition.use, waited_ns=round(foreign * MS)))
    unknown = judge(replace(repetition, use=replace(repetition.use, waited_ns=None)))
    assert judge(waited).outcome == RunOutcome.UNDISTURBED or unknown.outcome != RunOutcome.UNDISTURBED


@settings(max_examples=60, deadline=None)
@given(foreign=_milliseconds, sibling=_milliseconds, ways=_ways)
def test_reasons_never_exceed_the_time_of_the_cpus(foreign: float, sibling: float, ways: dict[str, bool]) -> None:
    repetition = _repetition(foreign, sibling, **ways)  # type: ignore[arg-type]
    verdict = judge(repetition, _SIBLINGS)
    sums = {kind: sum(reason.ns or 0 for reason in verdict.reasons if reason.kind == kind) for kind in ReasonKind}
    assert sums[ReasonKind.FOREIGN] <= repetition.length_ns * len(repetition.target)
    assert sums[ReasonKind.SIBLING] <= repetition.length_ns
    assert all(0 <= (reason.share or 0.0) <= 1 for reason in verdict.reasons)


@settings(max_examples=40, deadline=None)
@given(foreign=_milliseconds, share=st.floats(0.005, 0.1), ways=_ways)
def test_a_smaller_allowance_never_makes_a_verdict_better(foreign: float, share: float, ways: dict[str, bool]) -> None:
    repetition = _repetition(foreign, **ways)  # type: ignore[arg-type]
    ranks = [_rank(judge(repetition, allowance=Allowance(allowed_share, True))) for allowed_share in (share, 0.005)]
    assert ranks == sorted(ranks)


@pytest.mark.parametrize("is_late", [False, True])
@pytest.mark.parametrize("path", ["the exact count", *_COUNTS, *_GROUPS])
def test_a_missing_file_of_counters_makes_a_verdict_unknown(path: str, is_late: bool) -> None:
    exact = SCHEDSTAT if is_late else CPUACCT
    missing = (exact if path == "the exact count" else path,)
    ways = {"is_named": False, "is_late": is_late, "is_alone": True}
    assert judge(_repetition(0.0, **ways), _SIBLINGS).outcome == RunOutcome.UNDISTURBED  # type: ignore[arg-type]
    assert judge(_repetition(0.0, missing=missing, **ways), _SIBLINGS).outcome == RunOutcome.UNKNOWN  # type: ignore[arg-type]


@pytest.mark.parametrize("is_late", [False, True])
@pytest.mark.parametrize(
    "path", ["the exact count", "/proc/stat", "/proc/interrupts", "/proc/softirqs", "/proc/vmstat"]
)
def test_a_file_of_counters_that_do_not_advance_makes_a_verdict_unknown(path: str, is_late: bool) -> None:
    exact = SCHEDSTAT if is_late else CPUACCT
    constant = (exact if path == "the exact count" else path,)
    verdict = judge(_repetition(0.0, is_named=False, is_late=is_late, is_alone=True, constant=constant), _SIBLINGS)
    assert verdict.outcome == RunOutcome.UNKNOWN
