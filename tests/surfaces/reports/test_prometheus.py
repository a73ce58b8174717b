"""`--format prometheus`: gauges in base units, with the same values as the JSON."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace
from prometheus_client.parser import text_string_to_metric_families

from noisewatch.judgement.catalogue import CATALOGUE
from noisewatch.judgement.verdict import Verdict
from tests import MACHINES
from tests.surfaces.reports.verdicts import (
    AT_S,
    failed_verdict,
    quiet_verdict,
    rendered,
    unknown_verdict,
)
from tests.surfaces.running import Run

_CALIBRATED = MACHINES / "host-calibration.nw"
_NO_BASE_UNITS = ("_ns", "_us", "_ms", "_khz", "_mhz", "_kb", "_share", "_percent")


def _samples(report: str) -> dict[str, list[tuple[dict[str, str], float]]]:
    families = text_string_to_metric_families(report)
    return {family.name: [(sample.labels, sample.value) for sample in family.samples] for family in families}


def _value(samples: dict[str, list[tuple[dict[str, str], float]]], name: str, **labels: str) -> float:
    (value,) = [value for sample_labels, value in samples[name] if sample_labels.items() >= labels.items()]
    return value


@pytest.mark.parametrize(
    ("verdict", "word"), [(quiet_verdict(), "stable"), (failed_verdict(), "unstable"), (unknown_verdict(), "unknown")]
)
def test_the_verdict_is_one_of_three_gauges(verdict: Verdict, word: str) -> None:
    samples = _samples(rendered("prometheus", verdict))["noisewatch_verdict"]
    assert {labels["verdict"]: value for labels, value in samples} == {
        outcome: float(outcome == word) for outcome in ("stable", "unstable", "unknown")
    }


def test_each_check_has_one_status() -> None:
    samples = _samples(rendered("prometheus", failed_verdict()))["noisewatch_finding_status"]
    assert {labels["check"]: (labels["area"], value) for labels, value in samples} == {
        check.id: (check.area, 1.0) for check in CATALOGUE
    }
    statuses = {labels["check"]: (labels["severity"], labels["status"]) for labels, _ in samples}
    assert statuses["tasks-on-target"] == ("blocking", "fail")
    assert statuses["on-battery"] == ("blocking", "not-applicable")


def test_time_and_cost_of_the_run_are_gauges() -> None:
    samples = _samples(rendered("prometheus", quiet_verdict()))
    assert _value(samples, "noisewatch_last_run_timestamp_seconds") == AT_S
    assert _value(samples, "noisewatch_sample_duration_seconds") == 3.0
    assert _value(samples, "noisewatch_own_cpu_ratio") == 0.01
    assert _value(samples, "noisewatch_target_cpus") == 2.0


@pytest.mark.parametrize("verdict", [quiet_verdict(), failed_verdict()], ids=["quiet", "failed"])
def test_names_end_in_base_units_and_begin_with_noisewatch(verdict: Verdict) -> None:
    names = _samples(rendered("prometheus", verdict)).keys()
    assert [name for name in names if name.endswith(_NO_BASE_UNITS)] == []
    assert [name for name in names if not name.startswith("noisewatch_")] == []


@pytest.mark.parametrize(
    "limit", [limit for check in CATALOGUE for limit in check.limits], ids=lambda limit: limit.name
)
def test_the_unit_of_every_limit_has_a_base_unit(limit: Any) -> None:
    report = rendered("prometheus", _with_measured_value("target-cpu-busy", 1.0, limit.unit))
    (name,) = [
        name
        for name, samples in _samples(report).items()
        if name.startswith("noisewatch_finding_measured") and samples[0][0]["check"] == "target-cpu-busy"
    ]
    assert not name.endswith(_NO_BASE_UNITS)


def _with_measured_value(check_id: str, measured: object, unit: str | None) -> Verdict:
    """Return the quiet verdict with a single measured value, that of one check."""
    verdict = quiet_verdict()
    findings = tuple(
        replace(
            finding,
            answer=replace(finding.answer, measured=measured if finding.check.id == check_id else None, unit=unit),
        )
        for finding in verdict.findings
    )
    return replace(verdict, findings=findings)


@pytest.mark.parametrize(
    ("unit", "name", "value"),
    [
        ("share", "ratio", 2.0),
        ("ns", "seconds", 2e-9),
        ("kB", "bytes", 2048.0),
        ("kHz", "hertz", 2000.0),
        ("per second", "per_second", 2.0),
        ("CPUs", "cpus", 2.0),
    ],
)
def test_values_are_in_base_units(unit: str, name: str, value: float) -> None:
    samples = _samples(rendered("prometheus", _with_measured_value("target-cpu-busy", 2, unit)))
    assert _value(samples, f"noisewatch_finding_measured_{name}") == pytest.approx(value)


def test_the_costliest_culprit_of_each_failure_is_named_without_its_pid() -> None:
    samples = _samples(rendered("prometheus", failed_verdict()))["noisewatch_finding_culprit_ratio"]
    (culprit,) = [sample for sample in samples if sample[0]["check"] == "tasks-on-target"]
    assert culprit == ({"check": "tasks-on-target", "cpu": "2", "culprit": "thread hog"}, 0.5)
    checks = [labels["check"] for labels, _ in samples]
    assert len(checks) == len(set(checks))


def test_a_quiet_machine_has_no_culprits() -> None:
    assert "culprit" not in rendered("prometheus", quiet_verdict())


@pytest.mark.parametrize("measured", [None, "powersave", True, float("nan"), float("inf"), [1]])
def test_non_numeric_value_has_no_sample(measured: object) -> None:
    report = rendered("prometheus", _with_measured_value("target-cpu-busy", measured, "share"))
    assert "noisewatch_finding_measured" not in report


def test_calibration_matches_the_json(run: Run) -> None:
    document = run("preflight", "--format", "json", "--replay", _CALIBRATED).json
    samples = _samples(run("preflight", "--format", "prometheus", "--replay", _CALIBRATED).out)
    (cpu,) = document["calibration"]["cpus"]
    for name, expected in (
        ("gaps_per_second", cpu["gaps_per_s"]),
        ("stolen_ratio", cpu["stolen_share"]),
        ("gap_max_seconds", cpu["gap_max_ns"] / 1e9),
        ("effective_frequency_hertz", cpu["effective_khz"] * 1e3),
        ("throughput_drift_ratio", cpu["throughput_drift_share"]),
    ):
        assert _value(samples, f"noisewatch_calibration_{name}", cpu="1") == pytest.approx(expected)
    floor = next(row for row in document["noise_floor"] if row["sample_ns"] == 100_000_000)
    for bound in ("low", "expected", "high"):
        cv = _value(samples, "noisewatch_noise_floor_cv_ratio", sample_seconds="0.1", bound=bound)
        assert cv == pytest.approx(floor[f"cv_{bound}"])
    length = {"sample_seconds": "0.1"}
    assert _value(samples, "noisewatch_noise_floor_length_chance_ratio", **length) == pytest.approx(floor["chance"])
    cache = next(row for row in document["noise_floor_by_work"]["cache"] if row["sample_ns"] == 100_000_000)
    shown = _value(samples, "noisewatch_noise_floor_by_work_chance_ratio", work="cache", **length)
    assert shown == pytest.approx(cache["chance"])


def test_chance_for_the_budget_matches_the_json_or_is_omitted(run: Run) -> None:
    """The recording is of an older version, which measured neither latency nor memory."""
    options = ("preflight", "--format", "prometheus", "--replay", _CALIBRATED)
    assert "noisewatch_noise_floor_chance_ratio" not in run(*options, "--max-cv", "100%").out
    chance = run(*options, "--work", "cache", "--format", "json").json["noise_floor_chance"]
    samples = _samples(run(*options, "--work", "cache").out)
    assert _value(samples, "noisewatch_noise_floor_chance_ratio") == pytest.approx(chance)


def test_gauges_of_the_calibration_are_omitted_without_one(run: Run) -> None:
    out = run("preflight", "--format", "prometheus", "--no-calibration", "--replay", _CALIBRATED).out
    assert "noisewatch_calibration" not in out
    assert "noisewatch_noise_floor" not in out
