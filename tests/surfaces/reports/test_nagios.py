"""`--format nagios`: status line, performance data, long output."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from noisewatch.judgement.terms import Status
from noisewatch.judgement.verdict import Verdict
from noisewatch.surfaces.reports.verdict.nagios import describe_trouble
from tests import MACHINES
from tests.surfaces.reports.consumers import perfdata, read_nagios
from tests.surfaces.reports.verdicts import (
    failed_verdict,
    hostile_verdict,
    quiet_verdict,
    rendered,
    strict_verdict,
    unknown_verdict,
    warned_verdict,
    with_answer,
)
from tests.surfaces.running import Run

_RECORDINGS = sorted(MACHINES.glob("*.nw"))


@pytest.mark.parametrize(
    ("verdict", "state"),
    [
        (quiet_verdict(), "OK: 0 block, 0 warn, 0 unknown, %d pass"),
        (warned_verdict(), "WARNING: 0 block, 1 warn, 0 unknown, %d pass"),
        (unknown_verdict(), "UNKNOWN: 0 block, 0 warn, 1 unknown (1 blocking), %d pass: governor-not-performance"),
        (strict_verdict("warn"), "CRITICAL: 1 block, 0 warn, 0 unknown, %d pass, strict: target-not-isolated"),
    ],
    ids=["stable", "warned", "unknown", "strict"],
)  # fmt: skip
def test_status_line_has_the_state_and_the_gravest_finding(verdict: Verdict, state: str) -> None:
    line = rendered("nagios", verdict).partition(" | ")[0]
    assert line == f"NOISEWATCH {state % len(verdict.passes)} (CPUs 2-3, profile micro)"


def test_long_output_lists_the_gravest_findings_first() -> None:
    labels = [line.split()[0] for line in read_nagios(rendered("nagios", failed_verdict()))[1:]]
    statuses = [label for label in labels if label in ("FAIL", "UNKNOWN", "warn", "unknown", "fail")]
    assert statuses == ["FAIL", "FAIL", "UNKNOWN", "warn", "unknown", "fail"]


def test_the_chance_is_performance_data_and_a_line() -> None:
    report = rendered("nagios", quiet_verdict())
    value, thresholds = perfdata(report)["noise_floor_chance"]
    assert (float(value.rstrip("%")) > 99, value[-1], thresholds) == (True, "%", ";;;0;100")
    assert "25 samples of 100 ms stay within 1%: chance >99% (" in report
    case = replace(quiet_verdict().case, calibrated=None)
    assert "chance" not in rendered("nagios", replace(quiet_verdict(), case=case)).partition("\n")[0]


def test_counts_and_measured_values_are_performance_data() -> None:
    data = perfdata(rendered("nagios", failed_verdict()))
    assert (data["fail"], data["blocking_fail"]) == (("3", ";;;0"), ("2", ";;0;0"))
    assert (data["warn"], data["unknown"], data["blocking_unknown"]) == (("1", ";;;0"), ("2", ";;;0"), ("1", ";;;0"))
    assert data["target-cpu-busy"] == ("0%", ";;5")


@pytest.mark.parametrize(
    ("unit", "measured", "limit", "value", "thresholds"),
    [
        ("share", 0.0123456789, 0.01, "1.23457%", ";;1"),
        ("ns", 1_500_000.0, 1_000_000, "0.0015s", ";;0.001"),
        ("ns", 1.5, 1, "0.0000000015s", ";;0.000000001"),
        ("kB", 70_000, 65_536, "70000KB", ";;65536"),
        ("CPUs", 2, 1, "2", ";;1"),
        (None, 12.5, None, "12.5", ""),
        ("share", 1e-12, 0.0, "0.0000000001%", ";;0"),
        ("per second", 1e22, 10, "10000000000000000000000", ";;10"),
    ],
)
def test_values_are_digits_in_units_allowed_for_plugins(
    unit: str | None, measured: float, limit: float | None, value: str, thresholds: str
) -> None:
    verdict = with_answer("target-cpu-busy", status=Status.FAIL, unit=unit, measured=measured, limit=limit)
    report = rendered("nagios", verdict)
    assert perfdata(report)["target-cpu-busy"] == (value, thresholds)
    assert read_nagios(report) != []


@pytest.mark.parametrize("measured", [None, "powersave", True, float("nan"), float("inf"), [1, 2], {"a": 1}])
def test_non_numeric_value_is_not_in_the_performance_data(measured: object) -> None:
    assert "target-cpu-busy" not in perfdata(rendered("nagios", with_answer("target-cpu-busy", measured=measured)))


@pytest.mark.parametrize(
    ("check_id", "status", "measured", "thresholds"),
    [
        ("target-cpu-busy", Status.FAIL, 3, ";;2"),
        ("target-cpu-busy", Status.FAIL, 1, ";;2:"),  # too little
        ("target-cpu-busy", Status.FAIL, 2, ""),  # fails for another reason
        ("target-cpu-busy", Status.PASS, 1, ";;2"),
        ("target-cpu-busy", Status.PASS, 3, ";;2:"),
        ("target-cpu-busy", Status.WARN, 1, ";;2"),
        ("target-cpu-busy", Status.WARN, 3, ";2"),
        ("target-cpu-busy", Status.UNKNOWN, 1, ""),
        ("target-cpu-busy", Status.FAIL, -1, ""),
    ],
)
def test_threshold_is_crossed_if_the_check_does_not_pass(
    check_id: str, status: str, measured: float, thresholds: str
) -> None:
    verdict = with_answer(check_id, status=status, measured=measured, limit=2, unit="CPUs", reason="because")
    assert perfdata(rendered("nagios", verdict))[check_id][1] == thresholds


@pytest.mark.parametrize("check_id", ["pressure-stall", "nmi-watchdog-runs"])  # a warning, information
def test_only_values_of_checks_that_can_block_are_performance_data(check_id: str) -> None:
    verdict = with_answer(check_id, status=Status.FAIL, measured=3, limit=2, unit="CPUs", reason="because")
    report = rendered("nagios", verdict)
    assert check_id not in perfdata(report)
    assert check_id in "\n".join(read_nagios(report))


@pytest.mark.parametrize("recording", _RECORDINGS, ids=lambda path: path.stem)
def test_passed_checks_cross_no_threshold(run: Run, recording: Path) -> None:
    findings = run("preflight", "--format", "json", "--replay", recording).json["findings"]
    data = perfdata(run("preflight", "--format", "nagios", "--replay", recording).out)
    passed = {finding["id"] for finding in findings if finding["status"] == "pass"}
    crossed = {label for label, (value, rest) in data.items() if _is_crossed(value, rest)}
    assert len(data) > 3
    assert crossed & passed == set()


@pytest.mark.parametrize("recording", _RECORDINGS, ids=lambda path: path.stem)
def test_the_last_line_counts_the_findings_that_are_left_out(run: Run, recording: Path) -> None:
    findings = run("preflight", "--format", "json", "--replay", recording).json["findings"]
    report = run("preflight", "--format", "nagios", "--replay", recording).out
    status, *lines, last = report.splitlines()
    hidden = re.fullmatch(r"and (\d+) more: noisewatch preflight", last)
    assert hidden is not None
    assert len(report.encode()) <= 1000
    not_passed = [finding["id"] for finding in findings if finding["status"] in ("fail", "warn", "unknown")]
    assert len(lines) + int(hidden[1]) == len(not_passed)
    assert {line.split()[1] for line in lines} <= set(not_passed)
    assert re.search(rf"\b{sum(finding['status'] == 'unknown' for finding in findings)} unknown", status)


def _is_crossed(value: str, rest: str) -> bool:
    number = float(re.match(r"[-\d.]+", value)[0])  # type: ignore[index]  # a value begins with digits
    ranges = [threshold for threshold in rest.split(";")[1:3] if threshold]
    return any(not _is_in_range(number, threshold) for threshold in ranges)


def _is_in_range(number: float, threshold: str) -> bool:
    low, _, high = threshold.rpartition(":")
    return float(low or 0) <= number <= float(high or "inf")


@pytest.mark.parametrize("name", ["long " * 400, "µ" * 400, "…|" * 400])
def test_long_report_is_cut_within_the_limit_of_nrpe(name: str) -> None:
    report = rendered("nagios", hostile_verdict(name))
    assert len(report.encode()) <= 1000
    assert len(read_nagios(report)) > 1
    assert re.fullmatch(r"and \d+ more: noisewatch preflight", report.splitlines()[-1])


def test_long_trouble_is_cut() -> None:
    report = describe_trouble("cannot read " + "µ" * 4000)
    assert report.endswith("…\n")
    assert len(report.encode()) <= 1000


def test_a_culprit_that_the_sentence_does_not_name_is_added() -> None:
    lines = read_nagios(rendered("nagios", failed_verdict()))
    assert [line for line in lines if "hog (pid 900)" in line] != []


def test_commands_are_omitted_because_a_pipe_ends_the_output() -> None:
    assert "sudo" not in "\n".join(read_nagios(rendered("nagios", failed_verdict())))
