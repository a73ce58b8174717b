"""Noise on the other hardware threads of the target's cores. CPU 1 is one of them here."""

from __future__ import annotations

from msgspec.structs import replace

from noisewatch.judgement.run.reasons import ReasonKind, RepetitionVerdict, RunOutcome
from tests.written.quiet_machine import CPUS, process, stat_file
from tests.written.repetitions import ALLOWED, MS, late, ran, repeat
from tests.written.repetitions import judge as judge_with

_SIBLINGS = frozenset({1})
_HOG = [process(900, "hog", 1, ms * MS, allowed="1") for ms in (0, 100)]


def _judge(*moments: dict[str, str], own_ms: float = 900, **options: object) -> RepetitionVerdict:
    return judge_with(repeat(*moments, own_ms=own_ms, **options), _SIBLINGS, ALLOWED)  # type: ignore[arg-type]


def test_an_idle_sibling_does_not_disturb() -> None:
    assert _judge(ran(), ran({2: 900}, 1.0)).outcome == RunOutcome.UNDISTURBED


def test_a_busy_sibling_is_named() -> None:
    (reason,) = _judge(ran() | _HOG[0], ran({1: 100, 2: 900}, 1.0) | _HOG[1]).reasons
    assert (reason.kind, reason.name, reason.cpu, reason.ns) == (ReasonKind.SIBLING, "hog", 1, 100 * MS)


def test_a_busy_sibling_without_an_observed_task_disturbs() -> None:
    (reason,) = _judge(ran(), ran({1: 100, 2: 900}, 1.0)).reasons
    assert (reason.kind, reason.cpu, reason.ns) == (ReasonKind.SIBLING, 1, 100 * MS)
    assert "unobserved" in reason.name


def test_a_thread_that_moved_had_no_more_than_the_busy_time_of_the_sibling() -> None:
    wanderer = [process(900, "wanderer", cpu, ms * MS, allowed="0-3") for cpu, ms in ((0, 0), (1, 30))]
    (reason,) = _judge(ran() | wanderer[0], ran({1: 10, 2: 900}, 1.0) | wanderer[1]).reasons
    assert (reason.name, reason.ns) == ("wanderer", 10 * MS)


def test_noisewatch_on_a_sibling_is_noise() -> None:
    moments = [process(900, "noisewatch", 1, ms * MS, allowed="1") for ms in (0, 60)]
    (reason,) = _judge(ran() | moments[0], ran({1: 60, 2: 900}, 1.0) | moments[1], own_pids=[900]).reasons
    assert (reason.name, reason.ns) == ("noisewatch", 60 * MS)


def test_a_sibling_busy_before_or_during_the_repetition_is_unknown() -> None:
    whole = repeat(ran(), ran({1: 35, 2: 60}, 0.1), seconds=0.1, own_ms=60)
    assert judge_with(whole, _SIBLINGS).outcome == RunOutcome.DISTURBED
    verdict = judge_with(replace(whole, began_ns=whole.began_ns + 36 * MS), _SIBLINGS)
    assert verdict.outcome == RunOutcome.UNKNOWN
    assert "just around, the repetition" in verdict.unknowns[0]


def test_the_looks_detect_a_hog_that_still_runs_on_the_sibling() -> None:
    hog = [process(900, "hog", 1, ms * MS, allowed="1") for ms in (0, 298)]
    moments = [late(ran(seconds=at / 10), [5 + at, 5, 5, 5]) | hog[at == 3] for at in range(4)]
    (reason,) = _judge(*moments, own_ms=0, seconds=0.1, marks=(1, 2)).reasons
    assert (reason.kind, reason.name) == (ReasonKind.SIBLING, "hog")


def test_a_sibling_counted_in_ticks_is_unknown() -> None:
    verdict = _judge({}, {"/proc/stat": stat_file({2: 90}, 100)})
    assert verdict.outcome == RunOutcome.UNKNOWN
    assert [why for why in verdict.unknowns if "CPU 1, which shares a core with a target CPU, was" in why]


def test_a_sibling_without_a_row_is_unknown_unless_it_is_offline() -> None:
    before, after = (_without_row_of_cpu1(files) for files in (ran(), ran({2: 900}, 1.0)))
    assert _judge(ran(), after).outcome == RunOutcome.UNKNOWN
    offline = {f"{CPUS}/online": "0,2-3\n", f"{CPUS}/offline": "1\n"}
    assert _judge(before | offline, after | offline).outcome == RunOutcome.UNDISTURBED


def _without_row_of_cpu1(files: dict[str, str]) -> dict[str, str]:
    rows = [line for line in files["/proc/stat"].splitlines(keepends=True) if not line.startswith("cpu1")]
    return files | {"/proc/stat": "".join(rows)}


def test_a_repetition_is_unknown_if_siblings_are_unknown() -> None:
    missing = [f"{CPUS}/cpu{cpu}/topology/thread_siblings_list" for cpu in range(4)]
    verdict = _judge(ran(), ran({2: 900}, 1.0), gone=missing)
    assert verdict.outcome == RunOutcome.UNKNOWN
    assert "share a core" in verdict.unknowns[0]
