"""`--format junit`: what a CI server counts as failed, broken, skipped and passed."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from noisewatch.judgement.catalogue import CATALOGUE
from noisewatch.judgement.verdict import Verdict
from tests.surfaces.reports.verdicts import (
    failed_verdict,
    quiet_verdict,
    rendered,
    strict_verdict,
    unknown_verdict,
    verdict_on_nothing,
    warned_verdict,
)


def _report(verdict: Verdict) -> ElementTree.Element:
    return ElementTree.fromstring(rendered("junit", verdict))


def _case(report: ElementTree.Element, check_id: str) -> ElementTree.Element:
    (case,) = [case for case in report.iter("testcase") if case.get("name") == check_id]
    return case


def _result(verdict: Verdict, check_id: str) -> list[str]:
    return [child.tag for child in _case(_report(verdict), check_id)]


def test_there_is_a_suite_for_each_area_and_a_case_for_each_check() -> None:
    report = _report(quiet_verdict())
    names_by_suite = {suite.get("name"): {case.get("name") for case in suite.iter("testcase")} for suite in report}
    assert names_by_suite == {
        f"noisewatch.{area}": {check.id for check in CATALOGUE if check.area == area}
        for area in {check.area for check in CATALOGUE}
    }


@pytest.mark.parametrize(
    ("check_id", "result"),
    [
        ("tasks-on-target", ["failure"]),
        ("governor-not-performance", ["error"]),
        ("frequency-window-open", ["skipped"]),  # unknown, but not blocking
        ("on-battery", ["skipped"]),
        ("turbo-enabled", ["skipped"]),
        ("target-not-isolated", ["system-out"]),  # a warning
        ("default-irq-affinity-includes-target", ["system-out"]),  # information only
        ("swapping", []),
    ],
)
def test_result_of_a_case_is_its_effect_on_the_verdict(check_id: str, result: list[str]) -> None:
    assert _result(failed_verdict(), check_id) == result


@pytest.mark.parametrize(("status", "result"), [("warn", ["failure"]), ("unknown", ["error"])])
def test_warning_or_unknown_does_not_pass_with_strict(status: str, result: list[str]) -> None:
    assert _result(strict_verdict(status), "target-not-isolated") == result


def test_failure_lists_the_culprits_and_the_commands() -> None:
    (failure,) = _case(_report(failed_verdict()), "tasks-on-target")
    assert failure.get("message") == "hog (limit 0.5%)"
    assert failure.get("type") == "blocking"
    assert (failure.text or "").splitlines()[1:] == [
        "CPU 2: thread hog (pid 900) 50.00%",
        "CPU 3: irq hog 30/s 0.10% (estimated)",
        "now: hog",
        "undo: hog",
        "for good: hog",
    ]


@pytest.mark.parametrize("check_id", ["on-battery", "turbo-enabled", "frequency-window-open"])
def test_skipped_case_has_its_reason(check_id: str) -> None:
    (skipped,) = _case(_report(failed_verdict()), check_id)
    assert skipped.attrib == {"message": "hog"}


def test_warning_passes_with_a_message() -> None:
    (output,) = _case(_report(warned_verdict()), "target-not-isolated")
    assert (output.text or "").startswith("warned: cpu 2 is not isolated\n")


def test_time_is_the_duration_of_the_measurement_before_now() -> None:
    report = _report(quiet_verdict())
    assert report.get("time") == "8.000"
    assert {suite.get("timestamp") for suite in report} == {"2023-11-14T22:13:12"}


def test_properties_describe_what_was_judged() -> None:
    properties = _report(unknown_verdict()).iterfind("testsuite[1]/properties/property")
    texts = {element.get("name"): element.get("value") for element in properties}
    assert (texts["target"], texts["profile"], texts["verdict"], texts["exit_status"]) == (
        "2-3",
        "micro",
        "unknown",
        "3",
    )
    assert texts["machine"] == "Linux 6.14.0 · A Processor @ 3.00GHz · bare metal"


def test_verdict_without_selected_checks_is_an_error() -> None:
    report = _report(verdict_on_nothing())
    assert report.get("errors") == "1"
    assert [child.tag for child in _case(report, "verdict")] == ["error"]


@pytest.mark.parametrize("verdict", [quiet_verdict(), warned_verdict()], ids=["quiet", "warned"])
def test_a_stable_machine_has_neither_failures_nor_errors(verdict: Verdict) -> None:
    report = _report(verdict)
    assert (report.get("failures"), report.get("errors")) == ("0", "0")
