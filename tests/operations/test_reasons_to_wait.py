"""Whom `preflight --wait` waits for, in words."""

from __future__ import annotations

from dataclasses import replace

from noisewatch.kinds import Kind
from noisewatch.model.interval.disturbance import Disturbance
from noisewatch.operations.preflight import name_reasons
from tests.surfaces.reports.verdicts import failed_verdict, hostile_verdict, unknown_verdict, warned_verdict


def _culprit(name: str, cpu: int, share: float, kind: Kind = Kind.THREAD) -> Disturbance:
    return Disturbance(kind=kind, name=name, cpu=cpu, stolen_ns=1, share=share, rate_per_s=None)


def _named(*culprits: Disturbance) -> str:
    verdict = failed_verdict()
    (finding,) = [finding for finding in verdict.findings if finding.check.id == "tasks-on-target"]
    accused = replace(finding, answer=replace(finding.answer, culprits=culprits))
    return name_reasons(replace(verdict, findings=(accused,)))


def test_a_culprit_of_several_findings_is_named_once() -> None:
    assert name_reasons(failed_verdict()) == "hog on CPU 2"


def test_a_finding_without_a_culprit_is_named_by_its_check() -> None:
    assert name_reasons(unknown_verdict()) == "governor-not-performance"
    assert _named() == "tasks-on-target"


def test_where_nothing_blocks_the_warnings_are_named() -> None:
    assert name_reasons(warned_verdict()) == "cpu 2 is not isolated on CPU 2"  # so the culprit there is called


def test_all_loud_culprits_are_named_and_the_first_where_none_is_loud() -> None:
    loud = [_culprit("cc1", 2, 0.9), _culprit("cc1", 3, 0.8)]
    assert _named(*loud, _culprit("sshd", 2, 0.01)) == "cc1 on CPU 2, cc1 on CPU 3"
    assert _named(_culprit("sshd", 2, 0.02), _culprit("cron", 2, 0.01)) == "sshd on CPU 2"


def test_more_than_fit_are_counted_as_more() -> None:
    assert _named(*[_culprit("cc1", cpu, 0.9) for cpu in range(9)]).endswith("cc1 on CPU 3, …")


def test_what_is_no_thread_has_its_kind() -> None:
    assert _named(_culprit("eth0", 2, 0.2, Kind.IRQ)) == "irq eth0 on CPU 2"


def test_a_name_cannot_write_to_the_terminal() -> None:
    assert "\x1b" not in name_reasons(hostile_verdict("\x1b[31mred"))
