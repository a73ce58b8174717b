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
    (found,) = [case for case in report.iter("testcase") if case.get("name") == check_id]
    return found


def _result(verdict: Verdict, check_id: str) -> list[str]:
    return [child.tag for child in _case(_report(verdict), check_id)]


def test_there_is_a_suite_for_each_area_and_a_case_for_each_check() -> None:
    report = _report(quiet_verdict())
    told = {suite.get("name"): {case.get("name") for case in suite.iter("testcase")} for suite in report}
    assert told == {
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
def test_a_finding_is_what_it_does_to_the_verdict(check_id: str, result: list[str]) -> None:
    assert _result(failed_verdict(), check_id) == result


@pytest.mark.parametrize(("status", "result"), [("warn", ["failure"]), ("unknown", ["error"])])
def test_what_strict_forbids_is_no_pass(status: str, result: list[str]) -> None:
    assert _result(strict_verdict(status), "target-not-isolated") == result


def test_a_failure_tells_the_culprits_and_the_commands() -> None:
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
def test_what_was_skipped_says_why(check_id: str) -> None:
    (skipped,) = _case(_report(failed_verdict()), check_id)
    assert skipped.attrib == {"message": "hog"}


def test_a_warning_passes_and_says_so() -> None:
    (output,) = _case(_report(warned_verdict()), "target-not-isolated")
    assert (output.text or "").startswith("warned: cpu 2 is not isolated\n")


def test_the_time_is_how_long_the_machine_was_looked_at_and_ends_now() -> None:
    report = _report(quiet_verdict())
    assert report.get("time") == "8.000"
    assert {suite.get("timestamp") for suite in report} == {"2023-11-14T22:13:12"}


def test_the_properties_tell_what_was_judged() -> None:
    properties = _report(unknown_verdict()).iterfind("testsuite[1]/properties/property")
    told = {each.get("name"): each.get("value") for each in properties}
    assert (told["target"], told["profile"], told["verdict"], told["exit_status"]) == ("2-3", "micro", "unknown", "3")
    assert told["machine"] == "Linux 6.14.0 · A Processor @ 3.00GHz · bare metal"


def test_where_nothing_was_asked_nothing_looks_like_success() -> None:
    report = _report(verdict_on_nothing())
    assert report.get("errors") == "1"
    assert [child.tag for child in _case(report, "verdict")] == ["error"]


@pytest.mark.parametrize("verdict", [quiet_verdict(), warned_verdict()], ids=["quiet", "warned"])
def test_a_stable_machine_has_neither_failures_nor_errors(verdict: Verdict) -> None:
    report = _report(verdict)
    assert (report.get("failures"), report.get("errors")) == ("0", "0")
