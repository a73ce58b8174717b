"""Interrupts and softirqs on the target CPUs within a repetition."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from noisewatch.judgement.run.reasons import ReasonKind, RepetitionVerdict, RunOutcome, RunReason
from noisewatch.model.run.repetition import CommandUse
from tests.written.quiet_machine import quiet_files
from tests.written.repetitions import ALONE, THREADED, judge, ran, repeat

_INTERRUPTS, _SOFTIRQS = "/proc/interrupts", "/proc/softirqs"
_IO = replace(ALONE, blocks_out=8000)


def _tables(seconds: float, counts: dict[str, int]) -> dict[str, str]:
    """Return the quiet machine's tables with these further counts by row on CPU 2; unknown names are new rows."""
    files = quiet_files(seconds)
    interrupts = files[_INTERRUPTS] + "TLB:          0          0          0          0   TLB shootdowns\n"
    interrupts += "CAL:          0          0          0          0   Function call interrupts\n"
    softirqs = files[_SOFTIRQS] + "".join(f"{name}: 0 0 0 0\n" for name in ("BLOCK", "SCHED"))
    return {_INTERRUPTS: _add_counts(interrupts, counts), _SOFTIRQS: _add_counts(softirqs, counts)}


def _add_counts(table: str, counts: dict[str, int]) -> str:
    rows = []
    for row in table.splitlines():
        label, *words = row.split()
        if label.rstrip(":") in counts and len(words) >= 4:
            words[2] = str(int(words[2]) + counts[label.rstrip(":")])
        rows.append(" ".join([label, *words]))
    return "\n".join(rows) + "\n"


def _judge(use: CommandUse = ALONE, seconds: float = 1.0, **counts: int) -> RepetitionVerdict:
    busy = {2: 900 * seconds}
    named = {name.removeprefix("irq"): count for name, count in counts.items()}
    moments = (ran() | _tables(0.0, {}), ran(busy, seconds) | _tables(seconds, named))
    return judge(repeat(*moments, seconds=seconds, own_ms=900 * seconds, use=use))


def _times_us(reasons: tuple[RunReason, ...]) -> list[tuple[str, int]]:
    return [(reason.name.split(" (")[0], (reason.ns or 0) // 1000) for reason in reasons]


def test_interrupts_of_a_device_disturb() -> None:
    verdict = _judge(irq24=2000)
    assert _times_us(verdict.reasons) == [("24 eth0-rx-0", 8000)]
    assert verdict.reasons[0].kind == ReasonKind.INTERRUPTIONS
    assert (verdict.reasons[0].irq, verdict.reasons[0].cpu) == (24, 2)


def test_a_few_interrupts_are_allowed() -> None:
    assert _judge(irq24=1000).outcome == RunOutcome.UNDISTURBED


def test_the_tick_does_not_disturb() -> None:
    assert _judge(LOC=1000, SCHED=1000, TIMER=1000).outcome == RunOutcome.UNDISTURBED


@pytest.mark.parametrize("count", [1, 2])
def test_a_tick_or_two_in_a_short_repetition_are_not_a_foreign_timer(count: int) -> None:
    assert _judge(LOC=count, seconds=0.0005).reasons == ()


def test_timers_that_come_more_often_than_the_tick_disturb() -> None:
    assert _times_us(_judge(LOC=20_000).reasons) == [("timer interrupts", 40_000)]


def test_softirqs_that_come_more_often_than_the_tick_disturb() -> None:
    assert _times_us(_judge(LOC=250, SCHED=5000).reasons) == [("SCHED", 10_000)]


def test_interrupts_of_the_commands_writes_are_its_own() -> None:
    verdict = _judge(_IO, irq25=1000, BLOCK=1000)
    assert verdict.outcome == RunOutcome.UNDISTURBED
    assert sorted(_times_us(verdict.own)) == [("25 nvme0q1", 4000), ("BLOCK", 2000)]


def test_disk_interrupts_are_foreign_if_the_command_wrote_nothing() -> None:
    assert _times_us(_judge(irq25=2000).reasons) == [("25 nvme0q1", 8000)]


def test_more_disk_interrupts_than_the_command_wrote_are_foreign() -> None:
    verdict = _judge(_IO, irq25=4000)
    assert _times_us(verdict.reasons) == [("25 nvme0q1", 12_000)]
    assert _times_us(verdict.own) == [("25 nvme0q1", 4000)]


def test_calls_between_threads_of_the_command_are_its_own() -> None:
    verdict = _judge(THREADED, TLB=10_000, RES=10_000)
    assert verdict.outcome == RunOutcome.UNDISTURBED
    assert len(verdict.own) == 2


def test_calls_to_a_single_thread_are_foreign() -> None:
    assert _times_us(_judge(TLB=10_000).reasons) == [("TLB shootdowns", 15_000)]
    assert _times_us(_judge(RES=10_000).reasons) == [("Rescheduling interrupts", 15_000)]


@pytest.mark.parametrize("row", ["RES", "CAL"])
def test_wakeup_calls_are_own_up_to_the_number_of_sleeps(row: str) -> None:
    assert _judge(replace(ALONE, switches=10_000), **{row: 10_000}).outcome == RunOutcome.UNDISTURBED
    assert _judge(replace(ALONE, switches=100), **{row: 10_000}).outcome == RunOutcome.DISTURBED


def test_a_sleep_accounts_for_one_wakeup_call() -> None:
    verdict = _judge(replace(ALONE, switches=10_000), RES=10_000, CAL=10_000)
    assert sum(reason.ns or 0 for reason in verdict.own) == 15_000_000
    assert sum(reason.ns or 0 for reason in verdict.reasons) == 15_000_000


def _with_softirq_ticks(ticks: int) -> RepetitionVerdict:
    stat = ran({2: 900}, 1.0)["/proc/stat"].replace(
        "cpu2 1090 0 500 100010 20 0 5", f"cpu2 1090 0 500 100000 20 0 {ticks}"
    )
    assert f"20 0 {ticks} 0 0 0\n" in stat
    moments = (ran() | _tables(0.0, {}), ran({2: 900}, 1.0) | _tables(1.0, {"NET_RX": 100}) | {"/proc/stat": stat})
    return judge(repeat(*moments, own_ms=900))


def test_measured_softirq_time_replaces_typical_costs() -> None:
    """A softirq that handles many packets takes longer than a typical one."""
    assert _times_us(_with_softirq_ticks(5 + 4).reasons) == [("NET_RX", 30_000)]


def test_a_single_softirq_tick_does_not_disturb() -> None:
    assert _with_softirq_ticks(5 + 1).outcome == RunOutcome.UNDISTURBED


def test_an_unreadable_table_makes_a_repetition_unknown() -> None:
    for path in (_INTERRUPTS, _SOFTIRQS):
        verdict = judge(repeat(ran(), ran({2: 900}, 1.0), own_ms=900, gone=(path,)))
        assert verdict.outcome == RunOutcome.UNKNOWN
        assert path in verdict.unknowns[0]


def test_a_truncated_table_makes_a_repetition_unknown() -> None:
    cut = quiet_files(1.0)[_INTERRUPTS].split("MCE:")[0]
    verdict = judge(repeat(ran(), ran({2: 900}, 1.0) | {_INTERRUPTS: cut}, own_ms=900))
    assert verdict.outcome == RunOutcome.UNKNOWN
    assert "row MCE" in verdict.unknowns[0]


def test_a_table_without_a_target_cpu_makes_a_repetition_unknown() -> None:
    lines = [" ".join(row.split()[:4]) for row in quiet_files(1.0)[_SOFTIRQS].splitlines()]
    three = "\n".join(["CPU0 CPU1 CPU2", *lines[1:]]) + "\n"
    verdict = judge(repeat(ran(), ran({2: 900}, 1.0) | {_SOFTIRQS: three}, own_ms=900))
    assert (verdict.outcome, verdict.unknowns) == (RunOutcome.UNKNOWN, ("softirqs of CPU 3 were not counted",))


def test_counters_constant_in_a_short_repetition_are_valid_if_they_advance_around_it() -> None:
    constant = {path: quiet_files(0.1)[path] for path in (_INTERRUPTS, _SOFTIRQS)}
    moments = [ran(seconds=0.1 * at) | (constant if at in (1, 2) else {}) for at in range(4)]
    assert judge(repeat(*moments, seconds=0.1, marks=(1, 2))).outcome == RunOutcome.UNDISTURBED


def test_counters_that_never_advance_make_a_repetition_unknown() -> None:
    constant = {path: quiet_files()[path] for path in (_INTERRUPTS, _SOFTIRQS)}
    verdict = judge(repeat(*(ran(seconds=0.1 * at) | constant for at in range(4)), seconds=0.1, marks=(1, 2)))
    assert verdict.outcome == RunOutcome.UNKNOWN
    assert "did not advance" in verdict.unknowns[0]


def test_interruptions_count_in_proportion_to_the_time_in_which_the_command_ran() -> None:
    """The counters are read before the command starts and when its end is observed."""
    moments = (ran() | _tables(0.0, {}), ran({2: 100}, 1.0) | _tables(1.0, {"24": 2000}))
    whole = repeat(*moments, own_ms=100, use=ALONE)
    part = replace(whole, began_ns=whole.began_ns + whole.length_ns // 4, ended_ns=whole.ended_ns - 1)
    assert _times_us(judge(part).reasons) == [("24 eth0-rx-0", 6000)]
