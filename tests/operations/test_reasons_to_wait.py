"""The texts of the reasons why `preflight --wait` waits, and the comparison of clocks."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from noisewatch.kernel.system.reference_clock import QUESTION, ClockComparison
from noisewatch.kinds import Kind
from noisewatch.machine.live import LiveMachine
from noisewatch.machine.recording.replay import Recording
from noisewatch.model.interval.disturbance import Disturbance, main_culprit_names
from noisewatch.operations.preflight import ClockRateWatch, name_reasons
from tests.surfaces.reports.verdicts import failed_verdict, hostile_verdict, unknown_verdict, warned_verdict
from tests.surfaces.running import record
from tests.written.quiet.system import compared
from tests.written.quiet_machine import quiet_files


def _culprit(name: str, cpu: int, share: float, kind: Kind = Kind.THREAD) -> Disturbance:
    return Disturbance(kind=kind, name=name, cpu=cpu, stolen_ns=1, share=share, rate_per_s=None)


def _reasons(*culprits: Disturbance) -> str:
    verdict = failed_verdict()
    (finding,) = [finding for finding in verdict.findings if finding.check.id == "tasks-on-target"]
    accused = replace(finding, answer=replace(finding.answer, culprits=culprits))
    return name_reasons(replace(verdict, findings=(accused,)))


def test_a_culprit_of_several_findings_is_named_once() -> None:
    assert name_reasons(failed_verdict()) == "hog on CPU 2"


def test_a_finding_without_a_culprit_is_named_by_its_check() -> None:
    assert name_reasons(unknown_verdict()) == "governor-not-performance"
    assert _reasons() == "tasks-on-target"


def test_warnings_are_named_if_nothing_blocks() -> None:
    assert name_reasons(warned_verdict()) == "cpu 2 is not isolated on CPU 2"  # the culprit's name in that verdict


def test_all_large_culprits_are_named_or_else_the_first() -> None:
    large = [_culprit("cc1", 2, 0.9), _culprit("cc1", 3, 0.8)]
    assert _reasons(*large, _culprit("sshd", 2, 0.01)) == "cc1 on CPU 2, cc1 on CPU 3"
    assert _reasons(_culprit("sshd", 2, 0.02), _culprit("cron", 2, 0.01)) == "sshd on CPU 2"


def test_culprits_of_one_name_on_a_cpu_are_named_once() -> None:
    """Otherwise several processes `cc1` would take the places of other culprits."""
    culprits = [_culprit("cc1", 2, 0.4), _culprit("cc1", 2, 0.3), _culprit("ld", 2, 0.2)]
    assert main_culprit_names(culprits) == ["cc1 on CPU 2", "ld on CPU 2"]


def test_culprits_that_do_not_fit_are_an_ellipsis() -> None:
    assert _reasons(*[_culprit("cc1", cpu, 0.9) for cpu in range(9)]).endswith("cc1 on CPU 3, …")


def test_a_culprit_that_is_not_a_thread_has_its_kind() -> None:
    assert _reasons(_culprit("eth0", 2, 0.2, Kind.IRQ)) == "irq eth0 on CPU 2"


def test_names_have_no_terminal_escapes() -> None:
    assert "\x1b" not in name_reasons(hostile_verdict("\x1b[31mred"))


def test_a_clock_watch_that_has_not_begun_has_no_comparison() -> None:
    assert ClockRateWatch(LiveMachine()).end() == f"{QUESTION}: not begun"


def test_a_clock_watch_on_this_host_has_a_comparison_or_a_reason_each_time() -> None:
    watch = ClockRateWatch(LiveMachine())
    for _ in range(2):
        watch.begin(0.5)
        comparison = watch.end()
        assert isinstance(comparison, ClockComparison) or comparison.startswith(f"{QUESTION}: ")
        assert comparison != f"{QUESTION}: not begun"


def test_a_replay_has_the_recorded_comparison(tmp_path: Path) -> None:
    moments = (quiet_files(), quiet_files(3.0))
    file = record(tmp_path / "machine.nw", *moments, asides={QUESTION: compared(0.07, 0.07)})
    comparison = ClockRateWatch(Recording(str(file))).end()
    assert isinstance(comparison, ClockComparison)
    assert [round(ratio.deviation, 3) for ratio in comparison.ratios] == [0.07, 0.07]


def test_a_recording_without_a_comparison_has_the_reason(tmp_path: Path) -> None:
    file = record(tmp_path / "machine.nw", quiet_files())
    assert ClockRateWatch(Recording(str(file))).end() == f"{QUESTION}: not in the recording"
