"""Causes: each finding and each step belongs to one cause, the gravest come first, and fixes settle what they claim."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import pytest
from msgspec.structs import replace

from noisewatch.judgement.case import Case
from noisewatch.judgement.causes import Cause, Way, causes_of, is_settled
from noisewatch.judgement.checks.interrupts.devices import steer
from noisewatch.judgement.fixes.actions import Move, Write
from noisewatch.judgement.fixes.fix import merge_fixes, steps_of
from noisewatch.judgement.rules import DEFAULT, LATENCY, SHARED, Rules
from noisewatch.judgement.terms import Gravity, Severity
from noisewatch.judgement.verdict import Verdict, judge
from noisewatch.kernel.snapshot.snapshot import SnapshotOptions, read_snapshot
from noisewatch.kernel.tasks.threads import TaskReader
from tests.judgement.example import Example, all_examples
from tests.judgement.judging import judged
from tests.written import WrittenMachine
from tests.written.quiet_machine import ANSWERS, CPUS, cpu_row, process, quiet_files, stat_file

_ORDER = (Gravity.FAILED, Gravity.UNANSWERED, Gravity.WARNED)
_SOME = [example for number, example in enumerate(all_examples()) if number % 7 == 0]  # the sweeps judge all of them
_TARGET = frozenset({2, 3})
_BY_NUMBER = Rules(LATENCY)  # a few interrupts fail
_AFFINITIES = ("smp_affinity_list", "effective_affinity_list")


def _ids(findings: object) -> list[str]:
    return [finding.check.id for finding in findings]  # type: ignore[attr-defined]


def _cause_of(verdict: Verdict, check_id: str) -> Cause:
    (match,) = [cause for cause in causes_of(verdict) if check_id in _ids(cause.findings)]
    return match


def _noisy_verdict(count: int = 900, share: float = 0.5, rules: Rules = _BY_NUMBER) -> Verdict:
    """Return the verdict with an interrupt and a thread on CPU 2, and the clock set as distributions do."""
    changed: dict[str, str] = {
        f"{CPUS}/cpu2/cpufreq/scaling_governor": "powersave\n",
        f"{CPUS}/cpufreq/boost": "1\n",
        "/proc/irq/24/smp_affinity_list": "2\n",
        "/proc/irq/24/effective_affinity_list": "2\n",
    }
    before = quiet_files() | changed | process(900, "hog", 2, 0, allowed="0-3")
    after = quiet_files(3.0) | changed | process(900, "hog", 2, round(share * 3e9), allowed="0-3")
    for files, number in ((before, 0), (after, count)):
        files["/proc/interrupts"] = f" CPU0 CPU1 CPU2 CPU3\n 24: 0 0 {number} 0 PCI-MSI 24-edge eth0\n"
    after["/proc/stat"] = stat_file({2: round(300 * share)}, 300)
    return judged(WrittenMachine(before, after, answers=ANSWERS), _TARGET, rules=rules)


def _ids_that_count(verdict: Verdict) -> list[str]:
    gravities = (Gravity.FAILED, Gravity.WARNED, Gravity.UNANSWERED)
    return [finding.check.id for finding in verdict.findings if finding.gravity(verdict.is_strict) in gravities]


def _check_causes(verdict: Verdict) -> None:
    """Assert what holds for the causes of any verdict."""
    causes = causes_of(verdict)
    counts = Counter(check_id for cause in causes for check_id in _ids(cause.findings))
    assert counts == Counter(_ids_that_count(verdict))
    ranks = [_ORDER.index(cause.gravity) for cause in causes]
    assert ranks == sorted(ranks)
    steps = Counter(step for cause in causes if cause.fix is not None for step in steps_of(cause.fix))
    assert [step for step, times in steps.items() if times > 1] == []
    for cause in causes:
        gravities = [finding.gravity(verdict.is_strict) for finding in cause.findings]
        assert gravities[0] == cause.gravity == min(gravities, key=_ORDER.index)
        assert (cause.way is None) == (cause.gravity != Gravity.UNANSWERED)
        settled = set(_ids(cause.settles))
        assert settled <= set(_ids(cause.findings))
        assert not settled or cause.fix is not None or cause.target is not None
        assert settled.isdisjoint(_ids(cause.helps))


@pytest.mark.parametrize("example", _SOME, ids=lambda example: example.name)
def test_every_finding_that_counts_is_in_one_cause_and_no_step_in_two(example: Example) -> None:
    verdict = example.judged()
    _check_causes(verdict)
    _check_causes(replace(verdict, is_strict=True))


def test_a_noisy_machine_has_few_causes_and_each_has_its_findings() -> None:
    verdict = _noisy_verdict()
    _check_causes(verdict)
    assert _ids(_cause_of(verdict, "governor-not-performance").settles) == ["governor-not-performance", "turbo-enabled"]
    assert _ids(_cause_of(verdict, "device-interrupts-on-target").settles) == [
        "device-interrupts-on-target",
        "irq-routed-to-target",
    ]
    assert _ids(_cause_of(verdict, "tasks-on-target").settles) == ["tasks-on-target", "target-cpu-busy"]


def test_one_action_for_an_interrupt_moves_it_once() -> None:
    fix = _cause_of(_noisy_verdict(), "irq-routed-to-target").fix
    assert fix is not None
    assert fix.now == "echo 0-1 | sudo tee /proc/irq/24/smp_affinity_list"
    assert fix.undo == "echo 2 | sudo tee /proc/irq/24/smp_affinity_list"


def test_a_fix_does_not_settle_a_finding_of_which_it_moves_only_a_part() -> None:
    before = quiet_files() | process(900, "hog", 2, 0, allowed="0-3")
    after = quiet_files(3.0) | process(900, "hog", 2, 300_000_000, allowed="0-3")
    after["/proc/stat"] = stat_file({2: 270}, 300)  # mostly of threads that were not visible
    cause = _cause_of(judged(WrittenMachine(before, after, answers=ANSWERS), _TARGET), "target-cpu-busy")
    assert _ids(cause.settles) == []
    assert set(_ids(cause.helps)) == {"tasks-on-target", "target-cpu-busy"}
    assert cause.advice is not None
    assert "trace" in cause.advice


def _settings_verdict(
    changes: Mapping[str, str | None], target: frozenset[int] | None = None, rules: Rules | None = None
) -> Verdict:
    files = {path: text for path, text in {**quiet_files(), **changes}.items() if text is not None}
    machine = WrittenMachine(files, answers=ANSWERS, is_copy=True)
    case = Case(read_snapshot(machine, SnapshotOptions(target), TaskReader(asks_all_affinities=True)))
    return judge(case if rules is None else replace(case, rules=rules))


def test_other_target_cpus_are_proposed_and_settle_findings_about_the_target() -> None:
    verdict = _settings_verdict({}, frozenset(range(4)))
    cause = _cause_of(verdict, "no-housekeeping-cpu")
    assert cause.target is not None
    assert cause.target < frozenset(range(4))
    assert 0 not in cause.target
    assert "no-housekeeping-cpu" in _ids(cause.settles)
    proposed = _settings_verdict({}, cause.target)
    remaining = {finding.check.id for finding in (*proposed.failures, *proposed.warnings)}
    assert remaining.isdisjoint(_ids(cause.settles))


def test_without_a_topology_no_cpus_are_proposed_and_nothing_is_settled() -> None:
    siblings = dict.fromkeys(path for path in quiet_files() if "/topology/" in path or "/cache/" in path)
    cause = _cause_of(_settings_verdict(siblings, frozenset(range(4))), "no-housekeeping-cpu")
    assert (cause.target, cause.settles, cause.is_about_target) == (None, (), True)


def test_what_a_copy_lacks_is_to_be_asked_on_the_live_machine() -> None:
    verdict = _settings_verdict({"/proc/meminfo": None, f"{CPUS}/cpu2/cpufreq/scaling_governor": None}, _TARGET)
    assert _cause_of(verdict, "governor-not-performance").way == Way.LIVE


@pytest.mark.parametrize("profile", ["micro", SHARED])
def test_settings_hidden_from_guests_are_to_be_asked_live_under_any_profile(profile: str) -> None:
    guest = {"/proc/cpuinfo": "processor : 0\nflags : hypervisor\n", f"{CPUS}/cpu2/cpufreq/scaling_governor": None}
    rules = Rules(profile=profile, severity_by_id={"governor-not-performance": Severity.BLOCKING})
    assert _cause_of(_settings_verdict(guest, _TARGET, rules), "governor-not-performance").way == Way.LIVE


def test_a_merged_fix_omits_settings_that_are_set_and_undoes_only_its_own() -> None:
    verdict = _noisy_verdict()
    fixes = [finding.answer.fix for finding in verdict.findings if finding.answer.fix is not None]
    for fix in filter(None, map(merge_fixes, fixes)):
        settings = [setting for action in fix.actions if isinstance(action, Write) for setting in action.settings]
        assert all(setting.before != setting.value for setting in settings) or len(fix.actions) == len(fixes)
    move = next(action for fix in fixes for action in fix.actions if isinstance(action, Move))
    twice = merge_fixes(*[fix for fix in fixes if move in fix.actions] * 2)
    assert twice is not None
    assert twice.actions == (move,)


def _interrupted_verdict(per_s_by_irq: Mapping[int, int], fixed: int | None = None) -> Verdict:
    """Return the verdict with device interrupts on CPU 2; only the kernel can move the IRQ `fixed`."""
    folders = {f"/proc/irq/{irq}/{name}": "2\n" for irq in per_s_by_irq for name in _AFFINITIES}
    before, after = quiet_files() | folders, quiet_files(3.0) | folders
    for files, seconds in ((before, 0), (after, 3)):
        rows = "".join(f" {n}: 5 0 {seconds * rate} 0 PCI-MSI {n}-edge nic{n}\n" for n, rate in per_s_by_irq.items())
        files["/proc/interrupts"] = " CPU0 CPU1 CPU2 CPU3\n" + rows
    modes = {} if fixed is None else {f"/proc/irq/{fixed}/smp_affinity": 0o444}
    return judged(WrittenMachine(before, after, answers=ANSWERS, modes=modes), _TARGET, rules=_BY_NUMBER)


def test_an_irq_that_cannot_be_moved_is_not_settled_by_moving_others() -> None:
    verdict = _interrupted_verdict({24: 18, 25: 2, 26: 3}, fixed=24)
    _check_causes(verdict)
    of_fixed = _cause_of(verdict, "device-interrupts-on-target")
    of_others = _cause_of(verdict, "irq-routed-to-target")
    assert of_fixed.fix is not None
    assert of_fixed.fix.now is None
    assert "isolcpus=managed_irq" in (of_fixed.fix.persist or "")
    assert (_ids(of_fixed.settles), _ids(of_fixed.helps)) == ([], ["device-interrupts-on-target"])
    assert of_others.fix is not None
    assert "for n in 25 26;" in (of_others.fix.now or "")
    assert (_ids(of_others.settles), _ids(of_others.helps)) == ([], ["irq-routed-to-target"])


def test_irqs_that_are_not_needed_to_meet_the_limit_are_not_moved() -> None:
    verdict = _interrupted_verdict({24: 900, 25: 2})
    (finding,) = [result for result in verdict.findings if result.check.id == "device-interrupts-on-target"]
    assert finding.answer.fix is not None
    assert finding.answer.fix.now == "echo 0-1 | sudo tee /proc/irq/24/smp_affinity_list"
    cause = _cause_of(verdict, "device-interrupts-on-target")
    assert "device-interrupts-on-target" in _ids(cause.settles)


def test_a_fix_for_one_cpu_does_not_settle_interrupts_of_another() -> None:
    cpu_by_irq = {24: 2, 25: 3}
    folders = {f"/proc/irq/{irq}/{name}": f"{cpu}\n" for irq, cpu in cpu_by_irq.items() for name in _AFFINITIES}
    before, after = quiet_files() | folders, quiet_files(3.0) | folders
    for files, count in ((before, 0), (after, 30_000)):
        files["/proc/interrupts"] = (
            f" CPU0 CPU1 CPU2 CPU3\n 24: 5 0 {count} 0 PCI-MSI 24-edge nic0\n 25: 5 0 0 {count} PCI-MSI 25-edge nic1\n"
        )
    verdict = judged(WrittenMachine(before, after, answers=ANSWERS), _TARGET)
    (finding,) = [result for result in verdict.findings if result.check.id == "device-interrupts-on-target"]
    assert verdict.case.snapshot.irqs is not None
    irqs = verdict.case.snapshot.irqs.by_number
    fixes = [steer(verdict.case, [irqs[number] for number in numbers]) for numbers in ((24, 25), (24,), (25,))]
    assert [fix is not None and is_settled(finding, fix, verdict.case) for fix in fixes] == [True, False, False]


def test_of_two_failures_the_one_that_costs_more_comes_first() -> None:
    for irqs_per_3_s, share, first in ((90_000, 0.006, "device-interrupts-on-target"), (60, 0.5, "tasks-on-target")):
        verdict = _noisy_verdict(irqs_per_3_s, share, DEFAULT)
        failed = [cause for cause in causes_of(verdict) if cause.gravity == Gravity.FAILED]
        assert first in _ids(failed[0].findings)


@pytest.mark.parametrize("packets", [4_000, 4_000_000], ids=["the card's", "more than the card brings"])
def test_a_busy_cpu_is_settled_with_the_irq_that_brings_its_packets(packets: int) -> None:
    before, after = quiet_files(), quiet_files(3.0)
    for files, count in ((before, 0), (after, 1)):
        files.update({f"/proc/irq/24/{name}": "2\n" for name in _AFFINITIES} | {"/proc/irq/24/eth0/x": ""})
        files["/proc/interrupts"] = f" CPU0 CPU1 CPU2 CPU3\n 24: 5 0 {count * 4000} 0 PCI-MSI 24-edge eth0\n"
        files["/proc/softirqs"] = f" CPU0 CPU1 CPU2 CPU3\nNET_RX: 0 0 {count * packets} 0\n"
    row = cpu_row("cpu2", user=1000, idle=100_300)
    after["/proc/stat"] = stat_file({}, 300).replace(row, "cpu2 1000 0 500 100291 20 3 11 0 0 0\n")
    verdict = judged(WrittenMachine(before, after, answers=ANSWERS), _TARGET)
    assert "target-cpu-busy" in {finding.check.id for finding in verdict.warnings}
    cause = _cause_of(verdict, "device-interrupts-on-target")
    assert ("target-cpu-busy" in _ids(cause.settles)) == (packets == 4_000)
