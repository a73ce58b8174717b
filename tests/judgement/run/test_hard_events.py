"""Events that disturb any repetition: a clock step, a stop, swapping, heat, a quota, a pause of the machine."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from noisewatch.judgement.run.reasons import ReasonKind, RunOutcome
from noisewatch.kernel.cgroup.bandwidth import UNLIMITED, CgroupLevel, QuotaThrottling
from noisewatch.kernel.snapshot.snapshot import Snapshot
from noisewatch.model.interval.clock_shift import ClockShift
from noisewatch.model.run.freezing import Freezing
from noisewatch.model.run.repetition import Repetition
from tests.written.quiet_machine import CPUS, quiet_files, stat_file
from tests.written.repetitions import MS, judge, ran, repeat

_CORE = f"{CPUS}/cpu2/thermal_throttle/core_throttle_count"
_VMSTAT = "/proc/vmstat"


def _quiet() -> Repetition:
    return repeat(ran(), ran({2: 900}, 1.0), own_ms=900)


def _kinds(repetition: Repetition) -> list[ReasonKind]:
    return [reason.kind for reason in judge(repetition).reasons]


def _swapping(name: str) -> Repetition:
    grown = "".join(
        f"{line.split()[0]} {int(line.split()[1]) + 7}\n" if line.split()[0] == name else f"{line}\n"
        for line in quiet_files(1.0)[_VMSTAT].splitlines()
    )
    return repeat(ran(), ran({2: 900}, 1.0) | {_VMSTAT: grown}, own_ms=900)


@pytest.mark.parametrize(
    ("shift", "kind"),
    [
        (ClockShift(2 * MS, 0), ReasonKind.CLOCK_STEPPED),
        (ClockShift(-2 * MS, 0), ReasonKind.CLOCK_STEPPED),
        (ClockShift(0, 2 * MS), ReasonKind.SUSPENDED),
    ],
)
def test_a_clock_step_or_a_suspend_disturbs(shift: ClockShift, kind: ReasonKind) -> None:
    assert _kinds(replace(_quiet(), shift=shift)) == [kind]


def test_a_small_clock_shift_does_not_disturb() -> None:
    assert _kinds(replace(_quiet(), shift=ClockShift(MS // 2, MS // 2))) == []


def test_a_stopped_command_is_disturbed() -> None:
    quiet = _quiet()
    (reason,) = judge(replace(quiet, use=replace(quiet.use, stopped_ns=500 * MS))).reasons
    assert (reason.kind, reason.ns, reason.share) == (ReasonKind.STOPPED, 500 * MS, 0.5)


@pytest.mark.parametrize("is_estimate", [False, True])
def test_a_frozen_control_group_disturbs(is_estimate: bool) -> None:
    freezing = Freezing(ns=500 * MS, folder="/sys/fs/cgroup/a", is_estimate=is_estimate)
    verdict = judge(replace(_quiet(), freezing=freezing))
    (reason,) = verdict.reasons
    assert (verdict.outcome, reason.kind, reason.ns, reason.share) == ("disturbed", ReasonKind.FROZEN, 500 * MS, 0.5)
    assert (reason.name, reason.is_estimate) == ("the control group /sys/fs/cgroup/a was frozen", is_estimate)


def test_an_unreadable_control_group_may_have_been_frozen() -> None:
    verdict = judge(replace(_quiet(), freezing=Freezing(unknown="/sys/fs/cgroup/a/cgroup.events: permission denied")))
    assert verdict.outcome == RunOutcome.UNKNOWN
    assert (
        "cannot tell whether the command's control group was frozen: /sys/fs/cgroup/a/cgroup.events"
        in verdict.unknowns[0]
    )


def test_a_freeze_of_noisewatch_and_its_command_explains_the_delay() -> None:
    held_up = replace(_quiet(), held_up_ns=500 * MS, freezing=Freezing(ns=450 * MS, folder="/a"))
    verdict = judge(held_up)
    assert ([reason.kind for reason in verdict.reasons], verdict.unknowns) == ([ReasonKind.FROZEN], ())
    assert judge(replace(held_up, freezing=Freezing())).unknowns


@pytest.mark.parametrize("name", ["pswpin", "pswpout"])
def test_swapped_pages_disturb(name: str) -> None:
    assert _kinds(_swapping(name)) == [ReasonKind.SWAPPED]


def test_a_core_throttled_by_heat_disturbs() -> None:
    repetition = repeat(ran() | {_CORE: "3\n"}, ran({2: 900}, 1.0) | {_CORE: "5\n"}, own_ms=900)
    (reason,) = judge(repetition).reasons
    assert (reason.kind, reason.cpu) == (ReasonKind.THROTTLED, 2)
    assert "heat" in reason.name


def test_an_event_of_several_windows_is_one_reason() -> None:
    moments = [ran({2: 900 * at}, 1.0 * at) | {_CORE: f"{3 + at}\n"} for at in range(3)]
    (reason,) = judge(repeat(*moments, looks=(0, 1, 2), own_ms=1800)).reasons
    assert (reason.kind, reason.begin_ns, reason.end_ns) == (ReasonKind.THROTTLED, 0, 2000 * MS)


def test_an_event_in_a_window_around_the_repetition_is_an_estimate() -> None:
    moments = [ran({2: 90 * at}, 0.1 * at) | {_CORE: f"{3 + (at == 3)}\n"} for at in range(4)]
    (reason,) = judge(repeat(*moments, seconds=0.1, marks=(1, 2), own_ms=90)).reasons
    assert (reason.is_estimate, reason.begin_ns, reason.end_ns) == (True, 0, 100 * MS)


def test_an_event_before_the_repetition_does_not_disturb_it() -> None:
    moments = [ran({2: 90 * at}, 0.1 * at) | {_CORE: f"{3 + (at > 0)}\n"} for at in range(3)]
    both = repeat(*moments, seconds=0.1, looks=(0, 1, 2), own_ms=180)
    assert _kinds(both) == [ReasonKind.THROTTLED]
    second = repeat(*moments, seconds=0.1, looks=(0, 1, 2), marks=(1, 2), own_ms=90)
    assert _kinds(replace(second, windows=both.windows)) == []


def test_a_target_cpu_that_went_offline_disturbs() -> None:
    offline = {f"{CPUS}/online": "0-2\n", f"{CPUS}/offline": "3\n"}
    assert ReasonKind.OFFLINE in _kinds(repeat(ran(), ran({2: 900}, 1.0) | offline, own_ms=900))


def _group(enforced: int, periods: int) -> dict[str, str]:
    """Return noisewatch's cgroup, whose quota applied in `enforced` periods and throttled it in `periods` of them."""
    folder = "/sys/fs/cgroup/ci"
    return {
        "/proc/self/cgroup": "0::/ci\n",
        f"{folder}/cgroup.controllers": "cpu\n",
        f"{folder}/cpu.max": "50000 100000\n",
        f"{folder}/cpu.stat": f"nr_periods {enforced}\nnr_throttled {periods}\nthrottled_usec {periods * 1000}\n",
    }


def test_a_quota_that_stopped_the_group_disturbs() -> None:
    moments = (ran() | _group(10, 1), ran({2: 900}, 1.0) | _group(20, 4))
    (reason,) = judge(repeat(*moments, own_ms=900)).reasons
    assert (reason.kind, reason.ns) == (ReasonKind.QUOTA, 3 * MS)
    uncounted = repeat(*moments, own_ms=900, gone=("/sys/fs/cgroup/ci/cpu.stat",))
    assert judge(uncounted).outcome == RunOutcome.UNKNOWN


def test_a_quota_whose_periods_do_not_advance_is_unknown() -> None:
    advancing, constant = (
        judge(repeat(ran() | _group(10, 1), ran({2: 900}, 1.0) | _group(enforced, 1), own_ms=900))
        for enforced in (20, 10)
    )
    assert advancing.outcome == RunOutcome.UNDISTURBED
    assert constant.unknowns == ("cannot tell whether the CPU quota of /sys/fs/cgroup/ci stopped the command",)


def test_swapping_is_unknown_without_vmstat() -> None:
    verdict = judge(repeat(ran(), ran({2: 900}, 1.0), own_ms=900, gone=(_VMSTAT,)))
    assert verdict.outcome == RunOutcome.UNKNOWN
    assert _VMSTAT in verdict.unknowns[0]


def test_an_unreadable_counter_of_heat_is_unknown() -> None:
    repetition = repeat(ran() | {_CORE: "3\n"}, ran({2: 900}, 1.0) | {_CORE: "rubbish\n"}, own_ms=900)
    verdict = judge(repetition)
    assert verdict.outcome == RunOutcome.UNKNOWN
    assert _CORE in verdict.unknowns[0]


def _repetition_in_group(*stops: int | None, quota_share: float = 0.5) -> Repetition:
    """Return a repetition whose process 77 has a cgroup of its own.

    `stops` has the cgroup's number of throttled periods at each look, or None if it was not read.
    """
    quiet = _quiet()

    def look(snapshot: Snapshot, periods: int | None) -> Snapshot:
        enforced = round(snapshot.taken_at_ns / MS / 100)
        throttling = QuotaThrottling(periods or 0, (periods or 0) * MS, enforced)
        level = CgroupLevel("/sys/fs/cgroup/scope", quota_share, throttling, period_us=100_000)
        groups = {} if periods is None else {77: (level,)}
        return replace(snapshot, own_pids=snapshot.own_pids | {77}, worker_cgroups=groups)

    (window,) = quiet.windows
    before, after = (
        look(snapshot, count) for snapshot, count in zip((window.before, window.after), stops, strict=True)
    )
    return replace(quiet, windows=(replace(window, before=before, after=after),))


def test_a_quota_that_stopped_a_group_the_command_moved_to_disturbs() -> None:
    (reason,) = judge(_repetition_in_group(2, 5)).reasons
    assert (reason.kind, reason.ns) == (ReasonKind.QUOTA, 3 * MS)
    assert "scope" in reason.name
    assert judge(_repetition_in_group(5, 5)).outcome == RunOutcome.UNDISTURBED


def test_a_group_without_an_earlier_look_is_unknown_if_it_was_stopped() -> None:
    verdict = judge(_repetition_in_group(None, 5))
    assert verdict.outcome == RunOutcome.UNKNOWN
    assert verdict.unknowns == ("cannot tell whether the CPU quota of /sys/fs/cgroup/scope stopped the command",)
    assert judge(_repetition_in_group(None, 0)).outcome == RunOutcome.UNDISTURBED
    assert judge(_repetition_in_group(None, 5, quota_share=UNLIMITED)).outcome == RunOutcome.UNDISTURBED


def test_a_repetition_not_covered_by_windows_is_unknown() -> None:
    quiet = _quiet()
    for windows in ((), quiet.windows[:0]):
        assert judge(replace(quiet, windows=windows)).outcome == RunOutcome.UNKNOWN
    assert judge(replace(quiet, ended_ns=quiet.ended_ns + MS)).outcome == RunOutcome.UNKNOWN


def _held_up_repetition(busy_ms: float, length_s: float, held_up_ms: int = 500) -> Repetition:
    """Return a repetition of 2 s, of which the CPUs count `length_s`; CPU 2 was busy for `busy_ms`.

    If the CPUs count all of the repetition, CPU 0 was as busy as CPU 2.
    """
    after = ran({2: busy_ms}, length_s)
    others = {"/proc/stat": stat_file(dict.fromkeys((0, 2), round(busy_ms / 10)), 200)} if length_s == 2.0 else {}
    quiet = repeat(ran(), after | others, seconds=2.0, own_ms=busy_ms)
    return replace(quiet, held_up_ns=held_up_ms * MS)


def test_a_paused_machine_misses_the_ticks_of_the_pause() -> None:
    (reason,) = (reason for reason in judge(_held_up_repetition(1400, 1.5)).reasons if reason.kind == ReasonKind.PAUSED)
    assert (reason.ns, reason.share) == (500 * MS, 0.25)


def test_a_cpu_that_ran_on_shows_that_noisewatch_alone_was_stopped() -> None:
    assert judge(_held_up_repetition(1900, 2.0)).outcome == RunOutcome.UNDISTURBED


def test_a_command_that_may_have_been_stopped_with_noisewatch_is_not_undisturbed() -> None:
    ran_on = _held_up_repetition(1900, 2.0)
    less, threaded = replace(ran_on.use, user_ns=1500 * MS), replace(ran_on.use, ran_alone=False)
    for use in (less, threaded):  # several threads might have had two CPUs
        verdict = judge(replace(ran_on, use=use))
        assert verdict.outcome != RunOutcome.UNDISTURBED
        assert any("cannot tell whether the command was stopped too" in unknown for unknown in verdict.unknowns)


def test_a_delay_while_all_cpus_were_idle_is_unknown() -> None:
    verdict = judge(_held_up_repetition(100, 2.0))
    assert verdict.outcome == RunOutcome.UNKNOWN
    assert "the machine was paused" in verdict.unknowns[0]


def test_a_short_delay_or_a_stop_is_not_a_pause() -> None:
    assert judge(_held_up_repetition(100, 2.0, held_up_ms=90)).outcome == RunOutcome.UNDISTURBED
    stopped = _held_up_repetition(100, 2.0)
    stopped = replace(stopped, use=replace(stopped.use, stopped_ns=450 * MS))
    assert ReasonKind.PAUSED not in _kinds(stopped)
    assert judge(stopped).unknowns == ()


def test_an_end_observed_late_is_unknown() -> None:
    quiet = _quiet()
    assert judge(replace(quiet, seen_late_ns=4 * MS)).outcome == RunOutcome.UNDISTURBED
    verdict = judge(replace(quiet, seen_late_ns=6 * MS))
    assert verdict.outcome == RunOutcome.UNKNOWN
    assert "up to 6" in verdict.unknowns[0]
    short = repeat(ran(), ran({2: 9}, 0.01), seconds=0.01, own_ms=9)
    assert judge(replace(short, seen_late_ns=MS // 10)).outcome == RunOutcome.UNDISTURBED


def test_an_end_with_an_unknown_delay_is_unknown_unless_the_command_ran_until_then() -> None:
    ran_on, slept = (repeat(ran(), ran({2: ms}, 1.0), own_ms=ms) for ms in (998, 900))
    assert judge(replace(ran_on, seen_late_ns=None)).outcome == RunOutcome.UNDISTURBED
    verdict = judge(replace(slept, seen_late_ns=None))
    assert verdict.outcome == RunOutcome.UNKNOWN
    assert "/proc/PID/schedstat" in verdict.unknowns[0]
    threaded = judge(replace(ran_on, seen_late_ns=None, use=replace(ran_on.use, ran_alone=False)))
    assert any("/proc/PID/schedstat" in unknown for unknown in threaded.unknowns)


def test_a_delay_of_unknown_cause_does_not_mention_a_free_cpu() -> None:
    idle = _held_up_repetition(100, 2.0)
    explained, unexplained = judge(idle), judge(replace(idle, seen_late_ns=None))
    assert "though its CPU was free" in explained.unknowns[0]
    assert "though" not in unexplained.unknowns[0]
    assert "the machine was paused" in unexplained.unknowns[0]
