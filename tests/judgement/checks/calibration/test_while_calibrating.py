"""Noise during the calibration, after the sample: it counts like noise in the sample."""

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


def _trace(name: str = "hog", ns: int = 760 * _MS, unreported: dict[str, int] | None = None, **thread: Any) -> Trace:
    """Return a trace of two seconds of CPU 2, in which a thread took `ns` from the loop."""
    written = written_trace()
    written["cpus"][0] |= unreported or {}
    written["cpus"][0]["sources"][5] = ["thread", name, 901, None]
    written["cpus"][0]["spells"][5] = [90, ns, 9 * _MS, [8 * _MS, 90]]
    written["threads"]["900"] = {"name": "python3", "pid": None, "is_kernel": None}
    written["threads"]["901"] = {"name": name, "pid": 901, "is_kernel": False} | thread
    return parse_trace(written)


@pytest.mark.parametrize("check_id", _CHECKS)
def test_a_thread_that_the_trace_saw_fails_though_the_sample_was_quiet(check_id: str) -> None:
    finding = finding_after(check_id, {}, _trace())
    assert (finding.status, finding.answer.measured, set(finding.answer.cpus)) == ("fail", pytest.approx(0.38), {2})
    (culprit, *_) = finding.answer.culprits
    assert (culprit.name, culprit.pid, culprit.is_inferred) == ("hog", 901, False)
    assert "during the calibration" in finding.answer.said


@pytest.mark.parametrize("check_id", _CHECKS)
def test_a_thread_that_had_most_of_the_cpu_counts_in_full(check_id: str) -> None:
    assert finding_after(check_id, {}, _trace(ns=1_400 * _MS)).answer.measured == pytest.approx(0.7)


@pytest.mark.parametrize(
    "thread",
    [
        {"name": "noisewatch", "pid": OURS},
        {"name": "sh", "pid": None, "parent": {"pid": OURS, "name": "noisewatch", "is_process": False}},
        {"name": "python3", "pid": None},
    ],
    ids=["own process", "own child", "starter of the loop"],
)
@pytest.mark.parametrize("check_id", _CHECKS)
def test_threads_of_noisewatch_are_not_culprits(check_id: str, thread: dict[str, Any]) -> None:
    assert not finding_after(check_id, {}, _trace(**thread)).answer.culprits


def _crowds(*names: str, parent: int = 500, ns: int = _MS) -> Trace:
    """Return a trace of two seconds of CPU 2, with 400 ended children of each name."""
    written = written_trace()
    for tid in range(2_000, 2_000 + 400 * len(names)):
        name = names[(tid - 2_000) // 400]
        written["cpus"][0]["sources"].append(["thread", name, tid, None])
        written["cpus"][0]["spells"].append([1, ns, ns, [ns, 1]])
        starter = {"pid": parent, "name": "loop", "is_process": False}
        written["threads"][str(tid)] = {"name": name, "pid": None, "is_kernel": None, "parent": starter}
    return parse_trace(written)


def test_a_crowd_counts_with_its_sum() -> None:
    finding = finding_after("tasks-on-target", {}, _crowds("true"))
    assert finding.answer.culprits[0].name == "true (400 ended children of loop)"
    assert finding.answer.measured == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("ns", "expected"),
    [
        (_MS, ["as (400 ended children of loop)", "true (400 ended children of loop)"]),
        (100_000, ["children of loop"]),
    ],
    ids=["more in the calibration", "more in the sample"],
)
def test_children_of_sample_and_calibration_are_named_once_by_the_larger_share(ns: int, expected: list[str]) -> None:
    before = process(920, "loop", 0, 0, allowed="0") | process(950, "work", 2, 0, allowed="2", parent=920)
    sampled = process(920, "loop", 0, 1_000, allowed="0", children=30) | {"/proc/stat": stat_file({2: 30}, 300)}
    after = process(920, "loop", 0, 2_000, allowed="0", children=60)
    sample, loaded = intervals_until(after, sampled, before=before)
    case = case_of(sample, loaded, _crowds("true", "as", parent=920, ns=ns))
    culprits = finding_in(case, "tasks-on-target").answer.culprits
    assert sorted(culprit.name for culprit in culprits if culprit.pid == 920) == expected


def test_time_that_an_unreported_switch_may_have_given_to_another_thread_does_not_count() -> None:
    assert finding_after("tasks-on-target", {}, _trace(ns=19 * _MS)).status == "fail"
    unreported = {"unseen_switches": 1, "unseen_ns": 16 * _MS}
    assert finding_after("tasks-on-target", {}, _trace(ns=19 * _MS, unreported=unreported)).status == "pass"


def test_unreported_switches_hide_no_thread_where_the_next_event_came_soon() -> None:
    unreported = {"unseen_switches": 184, "unseen_ns": 6 * _MS}
    assert finding_after(
        "tasks-on-target", {}, _trace(ns=400 * _MS, unreported=unreported)
    ).answer.measured == pytest.approx(0.197)


@pytest.mark.parametrize("check_id", _CHECKS)
def test_without_a_trace_threads_that_were_last_on_the_cpu_count(check_id: str) -> None:
    files = process(901, "hog", 2, 1_140 * _MS, allowed="2") | {"/proc/stat": stat_file({2: 280, 3: 180}, 600)}
    finding = finding_after(check_id, files)
    assert (finding.status, finding.answer.measured) == ("fail", pytest.approx(0.38))
    assert finding.answer.culprits[0].name == "hog"


def _finding_with_lost_fifth(before: dict[str, str], after: dict[str, str]) -> Finding:
    """Return the finding on tasks of a busy CPU 2, whose loop lost a fifth of its time to context switches."""
    gaps = tuple((at, _MS, 2, _MS) for at in range(0, 5_000 * _MS, 5 * _MS))
    written = written_calibration(gaps=gaps, changes={3: {"gaps": []}})
    after = after | {"/proc/stat": stat_file({0: 78, 2: 300, 3: 180}, 600)}
    sample, loaded = intervals_until(after, before, parse_calibration(written).lost_share_by_cpu)
    return finding_in(case_of(sample, loaded, written=written), "tasks-on-target")


@pytest.mark.parametrize(("children", "share"), [(90, 0.2), (30, 0.1)])
def test_without_a_trace_children_count_with_at_most_what_the_loop_lost(children: int, share: float) -> None:
    before = process(900, "script", 0, 0, allowed="0") | process(950, "work", 2, 0, allowed="2", parent=900)
    after = process(900, "script", 0, 1_000, allowed="0", children=children)
    finding = _finding_with_lost_fifth(before, after)
    (culprit,) = finding.answer.culprits
    assert (finding.status, culprit.name, culprit.pid, culprit.cpu) == ("fail", "children of script", 900, 2)
    assert culprit.share == pytest.approx(share, abs=2e-3)
    assert f"children of script (pid 900): ~{culprit.share:.1%} of CPU 2 during the calibration" in finding.answer.said


def test_without_a_trace_a_moving_thread_counts_with_at_most_what_the_loop_lost() -> None:
    before, after = (
        process(900, "hopper", 0, ns, allowed="0-3") | {"/proc/900/sched": f"se.nr_migrations : {moves}\n"}
        for ns, moves in ((10 * _MS, 9), (1_210 * _MS, 99))
    )
    (culprit,) = _finding_with_lost_fifth(before, after).answer.culprits
    assert (culprit.name, culprit.cpu, culprit.is_inferred) == ("hopper", 2, True)
    assert 0.18 < (culprit.share or 0.0) < 0.202


@pytest.mark.parametrize("check_id", _CHECKS)
def test_the_time_of_the_loops_is_not_attributed_to_other_tasks(check_id: str) -> None:
    files = process(901, "make", 0, 1_000, allowed="0-3", children=900)
    sample, loaded = intervals_until(files, lost_share_by_cpu={2: 0.0, 3: 0.0})
    assert finding_in(case_of(sample, loaded), check_id).status == "pass"


def test_the_fix_moves_a_thread_that_came_after_the_sample() -> None:
    fix = finding_after("tasks-on-target", process(901, "hog", 2, 1_140 * _MS, allowed="0-3")).answer.fix
    assert fix is not None
    assert fix.now == "sudo taskset -pc 0-1 901"


def test_a_device_that_interrupts_only_during_the_calibration_fails() -> None:
    lines = quiet_files(6.0)["/proc/interrupts"].splitlines(keepends=True)
    row = next(line for line in lines if line.startswith(" 25:")).split()
    row[3] = "30000"
    table = "".join(" ".join(row) + "\n" if line.startswith(" 25:") else line for line in lines)
    finding = finding_after("device-interrupts-on-target", {"/proc/interrupts": table})
    assert (finding.status, finding.answer.measured) == ("fail", pytest.approx(0.04)), finding.answer.said
    assert finding.answer.culprits[0].irq == 25
    assert "during the calibration" in finding.answer.said


def test_steal_from_a_busy_cpu_counts() -> None:
    finding = finding_after("hypervisor-steal", {"/proc/stat": stat_file({2: 180, 3: 180}, 600, {2: 30})})
    assert (finding.status, finding.answer.measured) == ("fail", pytest.approx(0.1))
    assert [culprit.kind for culprit in finding.answer.culprits] == ["outside"]


def test_steal_counts_without_a_sample() -> None:
    """`preflight --sample 0` takes no sample; a calibration without steal does not answer the check."""
    for stolen, status in ((30, "fail"), (0, "ignored")):
        sample, loaded = intervals_until({"/proc/stat": stat_file({2: 180, 3: 180}, 600, {2: stolen})})
        case = replace(case_of(sample, loaded), interval=None)
        assert finding_in(case, "hypervisor-steal").status == status


def test_packets_that_came_in_the_calibration_are_softirqs_on_the_target() -> None:
    rows = quiet_files(6.0)["/proc/softirqs"].splitlines(keepends=True)
    table = "".join("NET_RX: 1000 0 90000 0\n" if "NET_RX" in row else row for row in rows)
    finding = finding_after("softirqs-on-target", {"/proc/softirqs": table})
    assert (finding.status, finding.answer.culprits[0].name) == ("warn", "NET_RX")
    assert "during the calibration" in finding.answer.said


def _finding_of_both(sampled: dict[str, str], after: dict[str, str]) -> Finding:
    sample, loaded = intervals_until(after, sampled)
    return finding_in(Case(sample.after, sample, under_load=loaded), "tasks-on-target")


def test_a_renamed_thread_is_named_once_by_its_last_name_and_largest_share() -> None:
    sampled = process(901, "n1", 2, 60 * _MS, allowed="2") | {"/proc/stat": stat_file({2: 6}, 300)}
    after = process(901, "n2", 2, 1_200 * _MS, allowed="2") | {"/proc/stat": stat_file({2: 280, 3: 180}, 600)}
    answer = _finding_of_both(sampled, after).answer
    assert [culprit.name for culprit in answer.culprits] == ["n2"]
    assert answer.said == "n2 (pid 901): 38.0% of CPU 2 during the calibration"


def test_a_thread_with_a_larger_share_in_the_sample_keeps_that_share() -> None:
    sampled = process(901, "n1", 2, 1_140 * _MS, allowed="2") | {"/proc/stat": stat_file({2: 114}, 300)}
    after = process(901, "n2", 2, 1_200 * _MS, allowed="2") | {"/proc/stat": stat_file({2: 294, 3: 180}, 600)}
    assert _finding_of_both(sampled, after).answer.said == "n1 (pid 901): 38.0% of CPU 2"


def test_a_group_of_threads_is_named_once_though_it_has_grown() -> None:
    few, many = (range(901, 901 + count) for count in (20, 30))
    before = {path: text for pid in many for path, text in process(pid, "noise", 2, 0, allowed="2").items()}
    sampled = before | {
        path: text for pid in few for path, text in process(pid, "noise", 2, 6 * _MS, allowed="2").items()
    }
    after = {path: text for pid in many for path, text in process(pid, "noise", 2, 14 * _MS, allowed="2").items()}
    sampled |= {"/proc/stat": stat_file({2: 12}, 300)}
    sample, loaded = intervals_until(after | {"/proc/stat": stat_file({2: 230, 3: 180}, 600)}, sampled, before=before)
    answer = finding_in(Case(sample.after, sample, under_load=loaded), "tasks-on-target").answer
    assert len([culprit for culprit in answer.culprits if culprit.name.startswith("noise (")]) == 1
