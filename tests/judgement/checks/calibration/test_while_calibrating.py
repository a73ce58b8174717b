"""Noise that came after the sample, in the calibration: it counts as what the sample has seen does."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from noisewatch.judgement.case import Case
from noisewatch.judgement.verdict import Finding
from noisewatch.kernel.calibration import parse_calibration
from noisewatch.kernel.trace.runs import Trace, parse_trace
from tests.judgement.checks.calibration.meanwhile import OURS, case_of, finding_after, intervals_until
from tests.judgement.judging import finding_in
from tests.written.calibration import written_calibration
from tests.written.quiet_machine import process, quiet_files, stat_file
from tests.written.trace import written_trace

_MS = 1_000_000
_CHECKS = ("tasks-on-target", "target-cpu-busy")


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
    found = finding_after(check_id, {}, _trace())
    assert (found.status, found.answer.measured, set(found.answer.cpus)) == ("fail", pytest.approx(0.38), {2})
    (culprit, *_) = found.answer.culprits
    assert (culprit.name, culprit.pid, culprit.is_inferred) == ("hog", 901, False)
    assert "during the calibration" in found.answer.said


@pytest.mark.parametrize("check_id", _CHECKS)
def test_a_thread_that_had_most_of_the_cpu_is_no_less_a_disturbance(check_id: str) -> None:
    assert finding_after(check_id, {}, _trace(ns=1_400 * _MS)).answer.measured == pytest.approx(0.7)


@pytest.mark.parametrize(
    "known",
    [
        {"name": "noisewatch", "pid": OURS},
        {"name": "sh", "pid": None, "parent": {"pid": OURS, "name": "noisewatch", "is_process": False}},
        {"name": "python3", "pid": None},
    ],
    ids=["ourselves", "what we started", "who started the loop"],
)
@pytest.mark.parametrize("check_id", _CHECKS)
def test_what_is_ours_is_no_culprit(check_id: str, known: dict[str, Any]) -> None:
    assert not finding_after(check_id, {}, _trace(**known)).answer.culprits


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
    found = finding_after("tasks-on-target", {}, _crowds("true"))
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
    sample, loaded = intervals_until(after, sampled, before=before)
    case = case_of(sample, loaded, _crowds("true", "as", parent=920, each_ns=each_ns))
    found = finding_in(case, "tasks-on-target").answer.culprits
    assert sorted(each.name for each in found if each.pid == 920) == culprits


def test_what_a_switch_that_was_not_told_may_have_given_to_another_is_not_counted() -> None:
    assert finding_after("tasks-on-target", {}, _trace(ns=19 * _MS)).status == "fail"
    unseen = {"unseen_switches": 1, "unseen_ns": 16 * _MS}
    assert finding_after("tasks-on-target", {}, _trace(ns=19 * _MS, unseen=unseen)).status == "pass"


def test_many_switches_that_were_not_told_hide_nobody_where_the_next_event_came_soon() -> None:
    unseen = {"unseen_switches": 184, "unseen_ns": 6 * _MS}
    assert finding_after("tasks-on-target", {}, _trace(ns=400 * _MS, unseen=unseen)).answer.measured == pytest.approx(
        0.197
    )


@pytest.mark.parametrize("check_id", _CHECKS)
def test_without_a_trace_those_who_were_seen_there_afterwards_count(check_id: str) -> None:
    files = process(901, "hog", 2, 1_140 * _MS, allowed="2") | {"/proc/stat": stat_file({2: 280, 3: 180}, 600)}
    found = finding_after(check_id, files)
    assert (found.status, found.answer.measured) == ("fail", pytest.approx(0.38))
    assert found.answer.culprits[0].name == "hog"


def _beside_a_loop_that_lost_a_fifth(before: dict[str, str], after: dict[str, str]) -> Finding:
    """A busy CPU 2 lost a fifth in gaps with a context switch."""
    gaps = tuple((at, _MS, 2, _MS) for at in range(0, 5_000 * _MS, 5 * _MS))
    written = written_calibration(gaps=gaps, changes={3: {"gaps": []}})
    after = after | {"/proc/stat": stat_file({0: 78, 2: 300, 3: 180}, 600)}
    sample, loaded = intervals_until(after, before, parse_calibration(written).lost_share_by_cpu)
    return finding_in(case_of(sample, loaded, written=written), "tasks-on-target")


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
    assert finding_after(check_id, files).status == "pass"


def test_the_fix_moves_a_thread_that_came_after_the_sample() -> None:
    fix = finding_after("tasks-on-target", process(901, "hog", 2, 1_140 * _MS, allowed="0-3")).answer.fix
    assert fix is not None
    assert fix.now == "sudo taskset -pc 0-1 901"


def test_a_device_that_spoke_up_in_the_calibration_fails() -> None:
    lines = quiet_files(6.0)["/proc/interrupts"].splitlines(keepends=True)
    row = next(line for line in lines if line.startswith(" 25:")).split()
    row[3] = "30000"
    table = "".join(" ".join(row) + "\n" if line.startswith(" 25:") else line for line in lines)
    found = finding_after("device-interrupts-on-target", {"/proc/interrupts": table})
    assert (found.status, found.answer.measured) == ("fail", pytest.approx(0.04)), found.answer.said
    assert found.answer.culprits[0].irq == 25
    assert "during the calibration" in found.answer.said


def test_what_the_hypervisor_takes_from_a_cpu_that_works_counts() -> None:
    found = finding_after("hypervisor-steal", {"/proc/stat": stat_file({2: 180, 3: 180}, 600, {2: 30})})
    assert (found.status, found.answer.measured) == ("fail", pytest.approx(0.1))
    assert [each.kind for each in found.answer.culprits] == ["outside"]


def test_it_counts_without_a_sample_as_well() -> None:
    """`preflight --sample 0` takes none; a calibration that met no task answers nothing."""
    for taken, status in ((30, "fail"), (0, "ignored")):
        sample, loaded = intervals_until({"/proc/stat": stat_file({2: 180, 3: 180}, 600, {2: taken})})
        case = replace(case_of(sample, loaded), interval=None)
        assert finding_in(case, "hypervisor-steal").status == status


def test_packets_that_came_in_the_calibration_are_softirqs_on_the_target() -> None:
    rows = quiet_files(6.0)["/proc/softirqs"].splitlines(keepends=True)
    table = "".join("NET_RX: 1000 0 90000 0\n" if "NET_RX" in row else row for row in rows)
    found = finding_after("softirqs-on-target", {"/proc/softirqs": table})
    assert (found.status, found.answer.culprits[0].name) == ("warn", "NET_RX")
    assert "during the calibration" in found.answer.said


def _twice(sampled: dict[str, str], after: dict[str, str]) -> Finding:
    sample, loaded = intervals_until(after, sampled)
    return finding_in(Case(sample.after, sample, under_load=loaded), "tasks-on-target")


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
    sample, loaded = intervals_until(after | {"/proc/stat": stat_file({2: 230, 3: 180}, 600)}, sampled, before=before)
    answer = finding_in(Case(sample.after, sample, under_load=loaded), "tasks-on-target").answer
    assert len([each for each in answer.culprits if each.name.startswith("noise (")]) == 1
