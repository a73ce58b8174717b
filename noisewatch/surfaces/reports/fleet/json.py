"""A fleet as JSON: null means unknown, shares are fractions of 1, times are seconds since 1970."""

from __future__ import annotations

import json
from typing import Any

from noisewatch.judgement.fleet import FLOOR_NS, Fleet, FleetHost, Report
from noisewatch.model.outliers import LEAST_MACHINES, MOST_DEVIATIONS, OutOfLine
from noisewatch.surfaces.reports.fleet.text import FleetRendering

SCHEMA = 1


def render(fleet: Fleet, _: FleetRendering) -> str:
    """Return the document with one line for each host, the worst first."""
    head = {
        "schema": SCHEMA,
        "exit_status": fleet.exit_status,
        "counts": {str(outcome): count for outcome, count in fleet.counts.items()},
        "not_expected": list(fleet.unexpected),
        "perhaps_two_machines": list(fleet.perhaps_two),
        "older_reports_passed_over": fleet.passed_over,
        "ignored_files": list(fleet.ignored),
        "cpu_models": [{"model": model, "hosts": hosts} for model, hosts in fleet.hosts_by_cpu_model.items()],
        "noise_floor_sample_ns": FLOOR_NS,
        "outlier_rule": {"deviations_by_mad": MOST_DEVIATIONS, "least_machines": LEAST_MACHINES},
        "hosts_compared": fleet.compared,
    }
    hosts = ",\n  ".join(json.dumps(_host(host), allow_nan=False) for host in fleet.hosts)
    return f'{json.dumps(head)[:-1]},\n "hosts": [\n  {hosts}\n ]}}\n'


def _host(host: FleetHost) -> dict[str, Any]:
    return {
        "host": host.name,
        "verdict": host.outcome,
        "standing": host.standing,
        "why": host.why,
        **_report(host.report),
        "changed_since": None if host.earlier is None or host.changes is None else host.earlier.latest_s,
        "changes": None if host.changes is None else list(host.changes),
        "out_of_line": [_outlier(outlier) for outlier in host.outliers],
    }


def _report(report: Report | None) -> dict[str, Any]:
    floor = report.floor if report is not None else None
    reason = report.reason if report is not None else None
    return {
        "source": None if report is None else report.source.encode("utf-8", "replace").decode(),
        "reported": None if report is None or report.trouble is not None else report.outcome,
        "at": None if report is None else report.at_s,
        "check": None if reason is None else reason.check,
        "said": None if reason is None else reason.said,
        "culprit": None if reason is None else reason.culprit,
        "noise_floor": None
        if floor is None
        else {"cv_low": floor.low, "cv_expected": floor.expected, "cv_high": floor.high},
        "noise_floor_chance": None if report is None else report.chance,
        "facts": {} if report is None else dict(report.facts),
    }


def _outlier(outlier: OutOfLine) -> dict[str, Any]:
    return {
        "figure": outlier.figure,
        "cpu": outlier.cpu,
        "value": outlier.value,
        "median": outlier.median,
        "machines": outlier.machines,
    }
