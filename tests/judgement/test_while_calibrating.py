"""What came after the sample, and disturbed the calibration: it counts as what the sample has seen does."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import pytest

from noisewatch.judgement.case import Case, calibrated_with
from noisewatch.judgement.noise_floor import Budget
from noisewatch.judgement.verdict import Finding, judge
from noisewatch.kernel.calibration import parse_calibration
from noisewatch.kernel.snapshot.snapshot import SnapshotOptions, read_snapshot
from noisewatch.kernel.tasks.threads import TaskReader
from noisewatch.kernel.trace.runs import NOT_TRACED, Trace, parse_trace
from noisewatch.model.calibration.attribution import Meanwhile
from noisewatch.model.interval.interval import Interval, interval_between
from tests.judgement.judging import finding
from tests.written import WrittenMachine
from tests.written.calibration import written_calibration
from tests.written.quiet_machine import ANSWERS, loaded_files, process, quiet_files, stat_file
from tests.written.trace import written_trace

_MS = 1_000_000
_SPINNER, _OURS = 900, 890
_CHECKS = ("tasks-on-target", "target-cpu-busy")


def _intervals(
    after: dict[str, str],
    sampled: dict[str, str] | None = None,
    lost: Mapping[int, float] | None = None,
    before: dict[str, str] | None = None,
) -> list[Interval]:
    """A sample, quiet but for `before` and `sampled`, and the time of a calibration after which there are these files.

    The loops have `lost` such shares of their CPUs.
    """
    files = [quiet_files() | (before or {}), quiet_files(3.0) | (sampled or {}), loaded_files() | after]
    machine = WrittenMachine(*files, answers=ANSWERS, own_pids=[_OURS])
    task_reader = TaskReader(asks_all_affinities=True)
    looks = [read_snapshot(machine, SnapshotOptions(), task_reader)]
    while machine.has_next:
        machine.advance()
        looks.append(read_snapshot(machine, SnapshotOptions(), task_reader, looks[-1]))
    sample, loaded = pairwise(looks)
    return [interval_between(*sample), interval_between(*loaded, loop_lost_share_by_cpu=lost)]


def _found(check_id: str, after: dict[str, str], trace: Trace | str = NOT_TRACED) -> Finding:
    """With a budget that lets the noise floor pass all the same."""
    sample, loaded = _intervals(after)
    samples = parse_calibration(written_calibration(changes={2: {"tid": _SPINNER}, 3: {"tid": _SPINNER + 1}}))
    meanwhile = Meanwhile(trace, sample.after, loaded)
    calibrated = calibrated_with(samples, Budget(max_cv=1.0), frozenset({2, 3}), meanwhile)
    return finding(judge(Case(sample.after, sample, calibrated=calibrated, under_load=loaded)), check_id)


def _trace(name: str = "hog", ns: int = 760 * _MS, unseen: dict[str, int] | None = None, **known: Any) -> Trace:
    """Two seconds of CPU 2, in which the loop was and a thread that had so much of it."""
    said = written_trace()
    said["cpus"][0] |= unseen or {}
    said["cpus"][0]["sources"][5] = ["thread", name, 901, None]
    said["cpus"][0]["spells"][5] = [90, ns, 9 * _MS, [8 * _MS, 90]]
    said["threads"]["900"] = {"name": "python3", "pid": None, "is_kernel": None}
    said["threads"]["901"] = {"name": name, "pid": 901, "is_kernel": False} | known
    return parse_trace(said)


@pytest.mark.parametrize("check_id", _CHECKS)
def test_a_thread_that_the_trace_saw_fails_though_the_sample_was_quiet(check_id: str) -> None:
    found = _found(check_id, {}, _trace())
    assert (found.status, found.answer.measured, set(found.answer.cpus)) == ("fail", pytest.approx(0.38), {2})
    (culprit, *_) = found.answer.culprits
    assert (culprit.name, culprit.pid, culprit.is_inferred) == ("hog", 901, False)
    assert "during the calibration" in found.answer.said


@pytest.mark.parametrize("check_id", _CHECKS)
def test_a_thread_that_had_most_of_the_cpu_is_no_less_a_disturbance(check_id: str) -> None:
    assert _found(check_id, {}, _trace(ns=1_400 * _MS)).answer.measured == pytest.approx(0.7)


@pytest.mark.parametrize(
    "known",
    [
        {"name": "noisewatch", "pid": _OURS},
        {"name": "sh", "pid": None, "parent": {"pid": _OURS, "name": "noisewatch", "is_process": False}},
        {"name": "python3", "pid": None},
    ],
    ids=["ourselves", "what we started", "who started the loop"],
)
@pytest.mark.parametrize("check_id", _CHECKS)
def test_what_is_ours_is_no_culprit(check_id: str, known: dict[str, Any]) -> None:
    assert not _found(check_id, {}, _trace(**known)).answer.culprits


def _crowds(*names: str, parent: int = 500, each_ns: int = _MS) -> Trace:
    """Two seconds of CPU 2, with 400 ended children of each name."""
    said = written_trace()
    for tid in range(2_000, 2_000 + 400 * len(names)):
        name = names[(tid - 2_000) // 400]
        said["cpus"][0]["sources"].append(["thread", name, tid, None])
        said["cpus"][0]["spells"].append([1, each_ns, each_ns, [each_ns, 1]])
        known = {"pid": parent, "name": "loop", "is_process": False}
        said["threads"][str(tid)] = {"name": name, "pid": None, "is_kernel": None, "parent": known}
    return parse_trace(said)


def test_a_crowd_counts_with_its_sum() -> None:
    found = _found("tasks-on-target", {}, _crowds("true"))
    assert found.answer.culprits[0].name == "true (400 ended children of loop)"
    assert found.answer.measured == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("each_ns", "culprits"),
    [
        (_MS, ["as (400 ended children of loop)", "true (400 ended children of loop)"]),
        (100_000, ["children of loop"]),
    ],
    ids=["more in the calibration", "more in the sample"],
)
def test_children_of_both_are_named_once_as_they_had_more(each_ns: int, culprits: list[str]) -> None:
    before = process(920, "loop", 0, 0, allowed="0") | process(950, "work", 2, 0, allowed="2", parent=920)
    sampled = process(920, "loop", 0, 1_000, allowed="0", children=30) | {"/proc/stat": stat_file({2: 30}, 300)}
    after = process(920, "loop", 0, 2_000, allowed="0", children=60)
    sample, loaded = _intervals(after, sampled, before=before)
    samples = parse_calibration(written_calibration(changes={2: {"tid": _SPINNER}, 3: {"tid": _SPINNER + 1}}))
    meanwhile = Meanwhile(_crowds("true", "as", parent=920, each_ns=each_ns), sample.after, loaded)
    calibrated = calibrated_with(samples, Budget(max_cv=1.0), frozenset({2, 3}), meanwhile)
    case = Case(sample.after, sample, calibrated=calibrated, under_load=loaded)
    found = finding(judge(case), "tasks-on-target").answer.culprits
    assert sorted(each.name for each in found if each.pid == 920) == culprits


def test_what_a_switch_that_was_not_told_may_have_given_to_another_is_not_counted() -> None:
    assert _found("tasks-on-target", {}, _trace(ns=19 * _MS)).status == "fail"
    unseen = {"unseen_switches": 1, "unseen_ns": 10 * _MS}
    assert _found("tasks-on-target", {}, _trace(ns=19 * _MS, unseen=unseen)).status == "pass"


def test_many_switches_that_were_not_told_hide_nobody_where_the_next_event_came_soon() -> None:
    unseen = {"unseen_switches": 184, "unseen_ns": 6 * _MS}
    assert _found("tasks-on-target", {}, _trace(ns=400 * _MS, unseen=unseen)).answer.measured == pytest.approx(0.197)


@pytest.mark.parametrize("check_id", _CHECKS)
def test_without_a_trace_those_who_were_seen_there_afterwards_count(check_id: str) -> None:
    files = process(901, "hog", 2, 1_140 * _MS, allowed="2") | {"/proc/stat": stat_file({2: 280, 3: 180}, 600)}
    found = _found(check_id, files)
    assert (found.status, found.answer.measured) == ("fail", pytest.approx(0.38))
    assert found.answer.culprits[0].name == "hog"


def _beside_a_loop_that_lost_a_fifth(before: dict[str, str], after: dict[str, str]) -> Finding:
    """Of CPU 2, in gaps with a context switch; all of it was busy."""
    gaps = tuple((at, _MS, 2, _MS) for at in range(0, 5_000 * _MS, 5 * _MS))
    samples = parse_calibration(written_calibration(gaps=gaps, changes={3: {"gaps": []}}))
    after = after | {"/proc/stat": stat_file({0: 78, 2: 300, 3: 180}, 600)}
    sample, loaded = _intervals(after, before, samples.lost_share_by_cpu)
    calibrated = calibrated_with(
        samples, Budget(max_cv=1.0), frozenset({2, 3}), Meanwhile(NOT_TRACED, sample.after, loaded)
    )
    return finding(judge(Case(sample.after, sample, calibrated=calibrated, under_load=loaded)), "tasks-on-target")


@pytest.mark.parametrize(("children", "share"), [(90, 0.2), (30, 0.1)])
def test_without_a_trace_a_crowd_is_named_with_what_it_had_and_no_more_than_the_loop_lost(
    children: int, share: float
) -> None:
    before = process(900, "script", 0, 0, allowed="0") | process(950, "work", 2, 0, allowed="2", parent=900)
    after = process(900, "script", 0, 1_000, allowed="0", children=children)
    found = _beside_a_loop_that_lost_a_fifth(before, after)
    (culprit,) = found.answer.culprits
    assert (found.status, culprit.name, culprit.pid, culprit.cpu) == ("fail", "children of script", 900, 2)
    assert culprit.share == pytest.approx(share, abs=2e-3)
    assert f"children of script (pid 900): ~{culprit.share:.1%} of CPU 2 during the calibration" in found.answer.said


def test_without_a_trace_a_thread_that_moved_had_no_more_than_the_loop_lost() -> None:
    before, after = (
        process(900, "hopper", 0, ns, allowed="0-3") | {"/proc/900/sched": f"se.nr_migrations : {moves}\n"}
        for ns, moves in ((10 * _MS, 9), (1_210 * _MS, 99))
    )
    (culprit,) = _beside_a_loop_that_lost_a_fifth(before, after).answer.culprits
    assert (culprit.name, culprit.cpu, culprit.is_inferred) == ("hopper", 2, True)
    assert 0.18 < (culprit.share or 0.0) < 0.202


@pytest.mark.parametrize("check_id", _CHECKS)
def test_the_loops_own_time_is_nobodys_in_it(check_id: str) -> None:
    files = process(901, "make", 0, 1_000, allowed="0-3", children=900)
    assert _found(check_id, files).status == "pass"


def test_the_fix_moves_a_thread_that_came_after_the_sample() -> None:
    fix = _found("tasks-on-target", process(901, "hog", 2, 1_140 * _MS, allowed="0-3")).answer.fix
    assert fix is not None
    assert fix.now == "sudo taskset -pc 0-1 901"


def test_a_device_that_spoke_up_in_the_calibration_fails() -> None:
    lines = quiet_files(6.0)["/proc/interrupts"].splitlines(keepends=True)
    row = next(line for line in lines if line.startswith(" 25:")).split()
    row[3] = "3000"
    table = "".join(" ".join(row) + "\n" if line.startswith(" 25:") else line for line in lines)
    found = _found("device-interrupts-on-target", {"/proc/interrupts": table})
    assert (found.status, found.answer.measured) == ("fail", 1_000.0)
    assert found.answer.culprits[0].irq == 25
    assert "during the calibration" in found.answer.said


def test_what_the_hypervisor_takes_from_a_cpu_that_works_counts() -> None:
    found = _found("hypervisor-steal", {"/proc/stat": stat_file({2: 180, 3: 180}, 600, {2: 30})})
    assert (found.status, found.answer.measured) == ("fail", pytest.approx(0.1))
    assert [each.kind for each in found.answer.culprits] == ["outside"]


def test_packets_that_came_in_the_calibration_are_softirqs_on_the_target() -> None:
    rows = quiet_files(6.0)["/proc/softirqs"].splitlines(keepends=True)
    table = "".join("NET_RX: 1000 0 90000 0\n" if "NET_RX" in row else row for row in rows)
    found = _found("softirqs-on-target", {"/proc/softirqs": table})
    assert (found.status, found.answer.culprits[0].name) == ("warn", "NET_RX")
    assert "during the calibration" in found.answer.said


def _timers(seconds: float, count: int) -> dict[str, str]:
    """The quiet machine's table, in which the timer of CPU 2 has counted so much."""
    rows = quiet_files(seconds)["/proc/interrupts"].splitlines()
    known = next(row for row in rows if row.split()[0] == "LOC:")
    rows[rows.index(known)] = f"LOC: 9600 9600 {count} 120   Local timer interrupts"
    return {"/proc/interrupts": "\n".join(rows) + "\n"}


def _profiled(rate_per_s: int, share: float, function: str | None = "perf_swevent_hrtimer") -> Trace:
    """Two seconds of CPU 2, in which a profiler's timer came so often, and had so much of it."""
    said = written_trace()
    said["cpus"][0]["sources"].append(["tick", "local_timer", 0, function])
    said["cpus"][0]["spells"].append([2 * rate_per_s, round(2_000 * _MS * share), 90_000, [65_536, 2 * rate_per_s]])
    return parse_trace(said)


@pytest.mark.parametrize(("rate_per_s", "share"), [(4_000, 0.19), (600, 0.02)])
def test_a_timer_that_the_trace_measured_is_told_by_its_name_and_judged_by_its_share(
    rate_per_s: int, share: float
) -> None:
    answer = _found("timers-on-target", _timers(6.0, 120 + 3 * (250 + rate_per_s)), _profiled(rate_per_s, share)).answer
    assert (answer.status, answer.measured, answer.unit) == ("fail", pytest.approx(share), "share")
    (culprit,) = answer.culprits
    assert (culprit.name, culprit.is_inferred) == ("perf_swevent_hrtimer (a profiler's)", False)
    assert culprit.share == pytest.approx(share)
    assert f"perf_swevent_hrtimer (a profiler's) took {share:.1%} of CPU 2 during the calibration" in answer.said


@pytest.mark.parametrize(
    ("rate_per_s", "share", "status"), [(1_200, 0.005, "fail"), (200, 0.005, "warn"), (90, 0.005, "warn")]
)
def test_a_timer_that_the_trace_measured_is_judged_by_how_often_it_comes_as_well(
    rate_per_s: int, share: float, status: str
) -> None:
    found = _found("timers-on-target", _timers(6.0, 120), _profiled(rate_per_s, share))
    assert (found.status, set(found.answer.cpus)) == (status, {2})
    assert [round(each.share or 0.0, 4) for each in found.answer.culprits] == [share]


def test_a_short_timer_that_the_trace_measured_passes() -> None:
    assert _found("timers-on-target", _timers(6.0, 120), _profiled(90, 0.0009)).status == "pass"


def test_of_timers_that_the_trace_cannot_name_it_tells_the_time_and_no_more_are_beyond_the_tick_than_counted() -> None:
    answer = _found("timers-on-target", _timers(6.0, 120 + 3 * 1_100), _profiled(1_100, 0.02, None)).answer
    assert (answer.status, answer.measured) == ("warn", 850)
    assert [(each.name, each.share, each.is_inferred) for each in answer.culprits] == [
        ("timer interrupts", 0.02, False)
    ]


def test_a_timer_that_has_ended_with_the_sample_stays_an_estimate() -> None:
    sample, loaded = _intervals(_timers(6.0, 120 + 3 * 3_000), _timers(3.0, 120 + 3 * 3_000))
    samples = parse_calibration(written_calibration(changes={2: {"tid": _SPINNER}, 3: {"tid": _SPINNER + 1}}))
    meanwhile = Meanwhile(_profiled(20, 0.001), sample.after, loaded)
    calibrated = calibrated_with(samples, Budget(max_cv=1.0), frozenset({2, 3}), meanwhile)
    case = Case(sample.after, sample, calibrated=calibrated, under_load=loaded)
    answer = finding(judge(case), "timers-on-target").answer
    assert [(each.name, each.is_inferred) for each in answer.culprits] == [("timer interrupts", True)]


def test_a_timer_of_both_the_sample_and_the_calibration_is_named_once_and_as_often_as_it_came_at_most() -> None:
    sample, loaded = _intervals(_timers(6.0, 120 + 3 * 3_000 + 3 * 5_000), _timers(3.0, 120 + 3 * 3_000))
    answer = finding(judge(Case(sample.after, sample, under_load=loaded)), "timers-on-target").answer
    assert [(each.cpu, round(each.rate_per_s or 0, -2)) for each in answer.culprits] == [(2, 5_000)]


def _twice(sampled: dict[str, str], after: dict[str, str]) -> Finding:
    sample, loaded = _intervals(after, sampled)
    return finding(judge(Case(sample.after, sample, under_load=loaded)), "tasks-on-target")


def test_a_thread_of_both_is_named_once_as_it_is_called_now_and_with_what_it_had_at_most() -> None:
    sampled = process(901, "n1", 2, 60 * _MS, allowed="2") | {"/proc/stat": stat_file({2: 6}, 300)}
    after = process(901, "n2", 2, 1_200 * _MS, allowed="2") | {"/proc/stat": stat_file({2: 280, 3: 180}, 600)}
    answer = _twice(sampled, after).answer
    assert [each.name for each in answer.culprits] == ["n2"]
    assert answer.said == "n2 (pid 901): 38.0% of CPU 2 during the calibration"


def test_a_thread_that_had_more_in_the_sample_keeps_that() -> None:
    sampled = process(901, "n1", 2, 1_140 * _MS, allowed="2") | {"/proc/stat": stat_file({2: 114}, 300)}
    after = process(901, "n2", 2, 1_200 * _MS, allowed="2") | {"/proc/stat": stat_file({2: 294, 3: 180}, 600)}
    assert _twice(sampled, after).answer.said == "n1 (pid 901): 38.0% of CPU 2"


def test_many_threads_of_both_are_named_once_though_there_are_more_of_them_by_then() -> None:
    few, many = (range(901, 901 + count) for count in (20, 30))
    before = {path: text for pid in many for path, text in process(pid, "noise", 2, 0, allowed="2").items()}
    sampled = before | {
        path: text for pid in few for path, text in process(pid, "noise", 2, 6 * _MS, allowed="2").items()
    }
    after = {path: text for pid in many for path, text in process(pid, "noise", 2, 14 * _MS, allowed="2").items()}
    sampled |= {"/proc/stat": stat_file({2: 12}, 300)}
    sample, loaded = _intervals(after | {"/proc/stat": stat_file({2: 230, 3: 180}, 600)}, sampled, before=before)
    answer = finding(judge(Case(sample.after, sample, under_load=loaded)), "tasks-on-target").answer
    assert len([each for each in answer.culprits if each.name.startswith("noise (")]) == 1
