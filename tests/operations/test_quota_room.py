"""The room that a command leaves in a CPU quota, and what noisewatch omits if there is none."""

from __future__ import annotations

import os

import pytest
from msgspec.structs import replace

from noisewatch.judgement.run.reasons import ReasonKind, RepetitionVerdict, RunOutcome, RunReason, own_quota_words
from noisewatch.judgement.run.repetition_verdict import judge_repetition
from noisewatch.kernel.calibration import CalibrationOptions
from noisewatch.kernel.cgroup.bandwidth import UNLIMITED, CgroupLevel
from noisewatch.kernel.snapshot.snapshot import Snapshot, SnapshotOptions, read_snapshot
from noisewatch.kernel.tasks.threads import TaskReader
from noisewatch.machine.live import LiveMachine
from noisewatch.model.run.freezing import Freezing
from noisewatch.operations import calibrate
from noisewatch.operations.calibrate import CalibrationRun, calibrate_cpus
from noisewatch.operations.machines import MachineOptions
from noisewatch.operations.quota_room import QuotaRoom, is_tight
from noisewatch.operations.run import series as run
from noisewatch.operations.run.options import RunOptions
from noisewatch.surfaces.cli.live import SilentListener
from tests.written import WrittenMachine
from tests.written.quiet_machine import ANSWERS, quiet_files
from tests.written.repetitions import ALLOWED, ALONE, ran, repeat

_CPU = max(os.sched_getaffinity(0))
_SECOND = 10**9


def _snapshot(quota: float, target: frozenset[int] = frozenset({2}), levels: tuple[CgroupLevel, ...] = ()) -> Snapshot:
    machine = WrittenMachine(quiet_files(0), answers=ANSWERS)
    snapshot = read_snapshot(machine, SnapshotOptions(), TaskReader())
    cgroup = replace(snapshot.cgroup, known_quota_share=quota, levels=levels)
    return replace(snapshot, cgroup=cgroup, target=replace(snapshot.target, cpus=target))


@pytest.mark.parametrize(
    ("quota", "cpus", "expected"),
    [(UNLIMITED, 64, False), (1, 1, True), (1.19, 1, True), (1.2, 1, False), (2, 1, False), (2, 64, True)],
)
def test_a_quota_is_tight_without_a_share_for_noisewatch(quota: float, cpus: int, expected: bool) -> None:
    assert is_tight(_snapshot(quota), cpus) is expected


def test_a_command_that_needs_the_whole_quota_leaves_no_room() -> None:
    room = QuotaRoom(_snapshot(1))
    full = "noisewatch slept, because it shares a quota of 1 CPU with the command, which needs all of it"
    reasons = [room.reason]
    for waited_ns in (0, _SECOND // 2):  # without other processes it would have used the whole second
        room.end(replace(ALONE, user_ns=_SECOND // 2, waited_ns=waited_ns), _SECOND)
        reasons.append(room.reason)
    assert reasons == [full, None, full]


def test_unknown_waits_are_no_need() -> None:
    room = QuotaRoom(_snapshot(1))
    room.end(replace(ALONE, user_ns=_SECOND // 2, waited_ns=None), _SECOND)
    assert room.reason is None


def test_waits_for_the_target_cpus_are_no_waits_for_the_quota() -> None:
    room = QuotaRoom(_snapshot(1.5))
    assert room.reason is None
    room.end(replace(ALONE, user_ns=_SECOND, waited_ns=_SECOND // 2), _SECOND)
    assert room.reason is None


def test_the_longest_period_of_the_narrowest_quota_counts() -> None:
    levels = [(1, 100_000), (1, 250_000), (1, None), (2, 900_000), (UNLIMITED, None)]
    of_quota = tuple(CgroupLevel("/sys/fs/cgroup", quota, None, period_us=us) for quota, us in levels)
    assert QuotaRoom(_snapshot(1, levels=of_quota)).period_ns == 250_000_000
    assert QuotaRoom(_snapshot(UNLIMITED, levels=of_quota)).period_ns == 0
    assert QuotaRoom(_snapshot(UNLIMITED)).period_ns == 0


def test_less_than_two_cpus_are_expected_to_leave_no_room() -> None:
    assert "a quota of 1.9 CPUs" in (QuotaRoom(_snapshot(1.9, frozenset({2, 3}))).reason or "")


def test_two_cpus_are_expected_to_leave_room() -> None:
    room = QuotaRoom(_snapshot(2, frozenset(range(64))))
    reasons = [room.reason]
    room.end(replace(ALONE, user_ns=2 * _SECOND), _SECOND)
    reasons.append(room.reason)
    assert reasons[0] is None
    assert "2 CPUs" in (reasons[1] or "")


def test_a_quota_with_room_is_never_full() -> None:
    room = QuotaRoom(_snapshot(UNLIMITED))
    room.end(replace(ALONE, user_ns=_SECOND), _SECOND)
    assert room.reason is None


def test_without_room_the_command_is_not_looked_at_and_the_report_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(QuotaRoom):
        reason = "no room"

    monkeypatch.setattr(run, "QuotaRoom", Full)
    options = RunOptions(argv=("sleep", "0.5"), machine=MachineOptions(cpus=str(_CPU)))
    judged = run.run_series(LiveMachine([os.getpid()]), options, SilentListener()).repetitions[0]
    assert judged.placement.looks == 0
    assert len(judged.repetition.windows) == 1
    assert "no room" in [unwatched.why for unwatched in judged.verdict.unwatched]


def test_without_room_a_calibration_shows_no_progress_and_has_a_fixed_length(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibrate, "is_tight", lambda snapshot, cpus: True)
    calls: list[float] = []
    snapshot = read_snapshot(LiveMachine(), SnapshotOptions(), TaskReader())
    options = CalibrationOptions(0.6, is_auto=True, is_enough=lambda samples: True)
    measured = calibrate_cpus(
        LiveMachine(), snapshot, frozenset({_CPU}), options, lambda progress: calls.append(progress.done_s)
    )
    assert isinstance(measured, CalibrationRun)
    assert measured.samples.length_ns == pytest.approx(0.6e9, rel=0.01)
    assert [done_s for done_s in calls if 0 < done_s < 0.6] == []


def _asleep(*moments: dict[str, str], own_ms: float) -> RepetitionVerdict:
    """Return the verdict on a repetition of one second in which noisewatch slept."""
    repetition = repeat(*moments, own_ms=own_ms)
    after = repetition.span.after
    ticking = replace(after, isolation=replace(after.isolation, nohz_full=frozenset()))
    repetition = replace(repetition, span=replace(repetition.span, after=ticking), no_looks_reason="no room")
    return judge_repetition(repetition, frozenset(), ALLOWED)


def test_a_busy_command_was_not_stopped_while_noisewatch_slept() -> None:
    assert _asleep(ran({2: 0}), ran({2: 1000}, seconds=1.0), own_ms=995).outcome == RunOutcome.UNDISTURBED


def test_a_command_with_unused_time_may_have_been_stopped() -> None:
    verdict = _asleep(ran({2: 0}), ran({2: 600}, seconds=1.0), own_ms=600)
    assert verdict.outcome == RunOutcome.UNKNOWN
    assert "the command may have been stopped, or the machine paused, for up to 400 ms: no room" in verdict.unknowns


def test_missing_ticks_may_be_a_pause() -> None:
    """The command was busy by its own clock, which ran on, but the CPU's ticks are missing."""
    verdict = _asleep(ran({2: 0}), ran({2: 1000}, seconds=0.5), own_ms=1000)
    assert any("the machine paused" in unknown for unknown in verdict.unknowns)


def test_own_time_is_named_in_runs_that_the_own_quota_stopped() -> None:
    run = replace(repeat(ran(), ran(seconds=1.0)), own_cpu_ns=12_000_000)
    stopped = RepetitionVerdict(RunOutcome.DISTURBED, (RunReason(kind=ReasonKind.QUOTA, name="CPU quota of /ci"),))
    of_command = replace(run, quota=Freezing(ns=5_000_000, folder="/sys/fs/cgroup/sub"))  # without noisewatch
    judged = [(run, RepetitionVerdict(RunOutcome.UNDISTURBED)), (of_command, stopped)]
    assert own_quota_words(judged) is None
    judged += [(replace(run, number=2), stopped), (replace(run, number=3), stopped)]
    assert own_quota_words(judged) == "noisewatch itself used 24 ms of the CPU quota in runs 2-3"
