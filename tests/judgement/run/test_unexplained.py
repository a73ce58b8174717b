"""Unexplained time in which a command did not run."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from noisewatch.judgement.run.reasons import RunOutcome
from noisewatch.model.run.freezing import Freezing
from noisewatch.model.run.repetition import Repetition
from tests.written.quiet.system import diskstats
from tests.written.repetitions import ALONE, MS, THREADED, judge, ran, repeat
from tests.written.trace_windows import thread_time, traced


def _repetition(own_ms: float = 500) -> Repetition:
    return repeat(ran(), ran({2: own_ms}, 1.0), own_ms=own_ms, use=THREADED)


def _unknowns(repetition: Repetition) -> str:
    verdict = judge(repetition)
    assert verdict.outcome in {RunOutcome.UNKNOWN, RunOutcome.UNDISTURBED}
    return "; ".join(verdict.unknowns)


@pytest.mark.parametrize(("held_ms", "is_unknown"), [(4, False), (6, True), (500, True)])
def test_a_command_held_back_for_longer_than_the_allowance_is_unknown(held_ms: float, is_unknown: bool) -> None:
    words = _unknowns(traced(_repetition(), own_ms=500, held_ms=held_ms))
    assert (f"ready to run for {held_ms}" in words) == is_unknown


def test_a_held_back_time_in_the_trace_explains_the_wait() -> None:
    repetition = repeat(ran(), ran({2: 500}, 1.0), own_ms=500, use=replace(ALONE, waited_ns=400 * MS))
    assert "ready to run for 400 ms" in _unknowns(traced(repetition, own_ms=500, held_ms=400))


def test_a_known_disturbance_outranks_unexplained_time() -> None:
    verdict = judge(traced(_repetition(), thread_time("hog", 900, 90), own_ms=500, held_ms=400))
    assert (verdict.outcome, [reason.name for reason in verdict.reasons]) == (RunOutcome.DISTURBED, ["hog"])


def test_a_wait_in_the_kernel_without_disk_use_is_unknown() -> None:
    repetition = traced(_repetition(), own_ms=500, blocked_ms=30)
    assert "waited in the kernel for 30 ms, and for no disk" in _unknowns(repetition)


@pytest.mark.parametrize(("waits", "is_explained"), [(30, True), (20, False)])
def test_a_file_server_explains_a_millisecond_a_wait(waits: int, is_explained: bool) -> None:
    """The command's sleeps do not count as waits."""
    served = replace(_repetition(), served="nfs4", use=replace(THREADED, user_ns=500 * MS, switches=20))
    words = _unknowns(traced(served, own_ms=500, blocked_ms=30, waits=waits))
    assert ("and for no disk, and for files (nfs4) for 20 ms at most" in words) != is_explained


def test_waits_without_a_file_server_are_unknown() -> None:
    assert "and for no disk: a frozen control group" in _unknowns(
        traced(_repetition(), own_ms=500, blocked_ms=30, waits=30)
    )


def test_neither_disks_nor_a_file_server_explain_a_debugger() -> None:
    files = [
        moment | {"/proc/diskstats": diskstats(sda=at * 200)} for at, moment in enumerate((ran(), ran({2: 500}, 1.0)))
    ]
    repetition = repeat(*files, own_ms=500, use=replace(THREADED, blocks_in=8))
    held = traced(replace(repetition, served="nfs4"), own_ms=500, blocked_ms=190, debugged_ms=30, waits=500)
    assert "waited in the kernel for 190 ms" in _unknowns(held)


@pytest.mark.parametrize("io", [{"blocks_in": 8}, {"blocks_out": 8}, {"major_faults": 1}])
def test_disks_explain_waits_for_as_long_as_they_were_busy(io: dict[str, Any]) -> None:
    files = [
        moment | {"/proc/diskstats": diskstats(sda=at * 200)} for at, moment in enumerate((ran(), ran({2: 500}, 1.0)))
    ]
    repetition = repeat(*files, own_ms=500, use=replace(THREADED, **io))
    assert judge(traced(repetition, own_ms=500, blocked_ms=190)).outcome == RunOutcome.UNDISTURBED
    held = traced(repetition, own_ms=500, blocked_ms=400)
    assert "waited in the kernel for 400 ms, and for disks for 210 ms at most" in _unknowns(held)
    without = repeat(ran(), ran({2: 500}, 1.0), own_ms=500, use=repetition.use, gone=["/proc/diskstats"])
    assert "disk busy times are unavailable (/proc/diskstats)" in _unknowns(traced(without, own_ms=500, blocked_ms=190))


def test_wakeups_of_an_idle_cpu_explain_short_waits() -> None:
    repetition = traced(_repetition(), own_ms=500, blocked_ms=30)
    assert judge(replace(repetition, use=replace(repetition.use, switches=400))).outcome == RunOutcome.UNDISTURBED


def test_time_explained_by_a_freeze_or_a_quota_is_not_unknown() -> None:
    repetition, freezing = traced(_repetition(), own_ms=500, held_ms=30), Freezing(ns=30 * MS, folder="/a")
    for explained in (replace(repetition, freezing=freezing), replace(repetition, quota=freezing)):
        verdict = judge(explained)
        assert (verdict.outcome, verdict.unknowns) == (RunOutcome.DISTURBED, ())


def test_an_untraced_wait_longer_than_the_foreign_time_is_unknown_without_a_culprit() -> None:
    use = replace(ALONE, waited_ns=400 * MS)
    verdict = judge(repeat(ran(), ran({2: 500}, 1.0), own_ms=500, use=use))
    assert (verdict.outcome, verdict.reasons) == (RunOutcome.UNKNOWN, ())
    assert "the command waited for its CPU for" in verdict.unknowns[0]


def test_a_child_that_waits_longer_than_the_foreign_time_is_unknown() -> None:
    repetition = repeat(ran(), ran({2: 500}, 1.0), own_ms=500, use=THREADED)
    held = replace(repetition, thread_waits=((10 * MS, 0), (450 * MS, 300 * MS)))
    assert "the command waited for its CPU for" in _unknowns(held)
    assert judge(replace(held, thread_waits=((250 * MS, 240 * MS),) * 2)).outcome == RunOutcome.UNDISTURBED


@pytest.mark.parametrize("is_traced", [False, True])
def test_a_control_group_entered_unobserved_is_unknown_if_the_command_left_time_unused(is_traced: bool) -> None:
    blind = Freezing(blind_ns=90 * MS)
    for own_ms, is_unknown in ((500, True), (1000, False)):
        repetition = replace(repeat(ran(), ran({2: own_ms}, 1.0), own_ms=own_ms, use=ALONE), freezing=blind)
        words = _unknowns(traced(repetition, own_ms=own_ms) if is_traced else repetition)
        assert ("for up to 90 ms the command was, or may have been," in words) == is_unknown
