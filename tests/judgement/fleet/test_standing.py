"""The standing of each host by its reports, and the fleet's outcome by its worst host."""

from __future__ import annotations

from typing import Any

import pytest

from noisewatch.judgement.fleet import (
    Fleet,
    Floor,
    HostReports,
    Reason,
    Report,
    SlowestCpu,
    Standing,
    changes_between,
    fleet_of,
    lasting_difference,
    named_reasons,
)
from noisewatch.judgement.terms import Outcome
from noisewatch.model.history.figures import Figure

_NOW_S = 1_800_000_000.0


def _report(host: str = "web1", **changes: Any) -> Report:
    fields: dict[str, Any] = {
        "host": host,
        "source": f"{host}.json",
        "written_s": _NOW_S,
        "outcome": Outcome.STABLE,
        "at_s": _NOW_S - 60,
        "facts": {},
        "figures": {},
    }
    return Report(**{**fields, **changes})


def _fleet(*reports: Report, earlier: Report | None = None, **options: Any) -> Fleet:
    reports_by_host = {report.host: HostReports(report, count=1) for report in reports}
    if earlier is not None:
        reports_by_host[earlier.host].earlier = earlier
    defaults: dict[str, Any] = {"baseline": None, "expected": None, "max_age_s": None, "now_s": _NOW_S}
    return fleet_of(reports_by_host, **{**defaults, **options})


@pytest.mark.parametrize(
    ("outcomes", "status"),
    [
        ([Outcome.STABLE], 0),
        ([Outcome.STABLE, Outcome.UNKNOWN], 3),
        ([Outcome.STABLE, Outcome.UNKNOWN, Outcome.UNSTABLE], 1),
    ],
)
def test_the_exit_status_is_that_of_the_worst_host(outcomes: list[Outcome], status: int) -> None:
    fleet = _fleet(*(_report(f"web{number}", outcome=outcome) for number, outcome in enumerate(outcomes)))
    assert fleet.exit_status == status
    assert [host.outcome for host in fleet.hosts] == outcomes[::-1]


_UNSTABLE_WEB2 = {"web2": _report("web2", outcome=Outcome.UNSTABLE)}


@pytest.mark.parametrize(
    ("options", "why", "unexpected"),
    [
        ({"expected": ("web1", "web2")}, "has not reported", ()),
        ({"baseline": _UNSTABLE_WEB2}, "has not reported, was unstable in the baseline", ()),
        ({"expected": ("web2",)}, "has not reported", ("web1",)),
        ({"expected": ("web1",), "baseline": _UNSTABLE_WEB2}, None, ()),
    ],
    ids=["expected", "in the baseline", "another one reported", "expected outweighs the baseline"],
)
def test_an_expected_host_without_a_report_is_unknown(
    options: dict[str, Any], why: str | None, unexpected: tuple[str, ...]
) -> None:
    fleet = _fleet(_report("web1"), **options)
    missing = [("web2", Standing.MISSING, Outcome.UNKNOWN, why)] if why is not None else []
    assert [(host.name, host.standing, host.outcome, host.why) for host in fleet.hosts] == [
        *missing,
        ("web1", Standing.REPORTED, Outcome.STABLE, None),
    ]
    assert (fleet.exit_status, fleet.unexpected) == (3 if missing else 0, unexpected)


def _fleet_of_one_name(report: Report, at_s: float = _NOW_S - 120, **facts: str | None) -> Fleet:
    """Return the fleet of this report and another one, of another machine with the same name and in another folder."""
    other = _report(source="b/web1.json", outcome=Outcome.UNSTABLE, at_s=at_s, facts=facts)
    of_host = HostReports(report)
    for host_report in (report, other):
        of_host.add(host_report)
    return fleet_of({"web1": of_host}, None, None, 3600.0, _NOW_S)


def test_the_worse_of_two_machines_with_one_name_counts_and_both_are_named() -> None:
    fleet = _fleet_of_one_name(_report(source="a/web1.json", facts={"board": "one"}), board="two")
    (host,) = fleet.hosts
    assert (host.standing, host.outcome, fleet.exit_status) == (Standing.AMBIGUOUS, Outcome.UNSTABLE, 1)
    assert host.why == "2 machines have this name (board one or two): b/web1.json is unstable, a/web1.json is stable"
    assert (host.changes, fleet.perhaps_two) == (None, ())


def test_a_stale_one_of_two_machines_with_one_name_is_unknown() -> None:
    (host,) = _fleet_of_one_name(_report(facts={"board": "one"}), at_s=_NOW_S - 7200, board="two").hosts
    assert (host.standing, host.outcome) == (Standing.AMBIGUOUS, Outcome.UNKNOWN)
    assert "b/web1.json is stale" in (host.why or "")


@pytest.mark.parametrize(("one", "other", "name"), [
    ({"board": "a"}, {"board": "b"}, "board"),
    ({"board": "a", "cpu model": "x"}, {"board": "a", "cpu model": "y"}, "cpu model"),
    ({"board": "a"}, {"board": None}, None),
    ({"board": "a"}, {}, None),
    ({"board": "a", "kernel": "6.1"}, {"board": "a", "kernel": "6.18"}, None),
])  # fmt: skip
def test_machines_are_distinguished_by_a_lasting_fact_in_both_reports(
    one: dict[str, str | None], other: dict[str, str | None], name: str | None
) -> None:
    assert lasting_difference(_report(facts=one), _report(facts=other)) == name


@pytest.mark.parametrize(("earlier", "standing", "perhaps"), [
    ({"source": "b/web1.json", "at_s": _NOW_S - 100}, Standing.AMBIGUOUS, ()),
    ({"source": "b/web1.json", "at_s": _NOW_S - 3600}, Standing.REPORTED, ("web1",)),
    ({"source": "a/web1.jsonl", "at_s": _NOW_S - 100}, Standing.REPORTED, ()),
    ({"source": "b/web1.json", "at_s": _NOW_S - 100, "is_identified": True}, Standing.REPORTED, ()),
    ({"source": "b/web1.json", "at_s": _NOW_S - 100, "outcome": Outcome.STABLE}, Standing.REPORTED, ()),
])  # fmt: skip
def test_an_unstable_report_in_another_folder_may_be_of_another_machine(
    earlier: dict[str, Any], standing: Standing, perhaps: tuple[str, ...]
) -> None:
    before = _report(**{"outcome": Outcome.UNSTABLE, **earlier})
    fleet = _fleet(_report(source="a/web1.json"), earlier=before)
    (host,) = fleet.hosts
    assert (host.standing, fleet.perhaps_two) == (standing, perhaps)
    assert (host.outcome is Outcome.STABLE) == (standing is Standing.REPORTED)


def test_an_unstable_newest_report_is_not_ambiguous() -> None:
    earlier = _report(source="b/web1.json", outcome=Outcome.UNKNOWN, at_s=_NOW_S - 100)
    fleet = _fleet(_report(source="a/web1.json", outcome=Outcome.UNSTABLE), earlier=earlier)
    assert (fleet.hosts[0].standing, fleet.perhaps_two) == (Standing.REPORTED, ())


@pytest.mark.parametrize(
    ("report", "standing", "words"),
    [
        (_report(at_s=_NOW_S - 7201), Standing.STALE, "reported stable 2 h ago"),
        (_report(at_s=_NOW_S + 7200), Standing.FUTURE, "reported 2 h in the future"),
        (_report(at_s=None, written_s=_NOW_S - 10), Standing.UNDATED, "the age is unknown"),
        (_report(at_s=None, written_s=_NOW_S - 7201), Standing.STALE, "2 h ago"),
        (_report(trouble="not JSON", outcome=Outcome.UNKNOWN), Standing.BROKEN, "web1.json: not JSON"),
    ],
)
def test_an_unusable_report_counts_as_unknown(report: Report, standing: Standing, words: str) -> None:
    (host,) = _fleet(report, max_age_s=3600.0).hosts
    assert (host.standing, host.outcome) == (standing, Outcome.UNKNOWN)
    assert words in (host.why or "")


@pytest.mark.parametrize(
    ("report", "max_age_s", "status"),
    [
        (_report(at_s=_NOW_S + 200), 3600.0, 0),  # clocks differ a little
        (_report(at_s=_NOW_S + 1e6), None, 3),
        (_report(at_s=None), None, 0),
    ],
)
def test_a_future_report_is_unknown_and_an_only_report_without_a_time_counts(
    report: Report, max_age_s: float | None, status: int
) -> None:
    assert _fleet(report, max_age_s=max_age_s).exit_status == status


def test_the_order_of_reports_is_unknown_if_the_newer_file_has_no_time() -> None:
    earlier = _report(at_s=_NOW_S - 90, outcome=Outcome.UNSTABLE)
    (host,) = _fleet(_report(at_s=None), earlier=earlier).hosts
    assert (host.standing, host.outcome) == (Standing.UNDATED, Outcome.UNKNOWN)


@pytest.mark.parametrize(
    ("newer", "older"),
    [
        (_report(at_s=2.0), _report(at_s=1.0, outcome=Outcome.UNSTABLE)),
        (_report(at_s=2.0, outcome=Outcome.UNSTABLE), _report(at_s=2.0)),
        (_report(at_s=2.0, outcome=Outcome.UNKNOWN), _report(at_s=2.0)),
        (_report(at_s=2.0), _report(at_s=None, written_s=1.0, trouble="cut")),
        (_report(at_s=None, written_s=3.0, trouble="cut"), _report(at_s=2.0)),
        (_report(at_s=2.0, written_s=1.0), _report(at_s=1.0, written_s=5.0)),
    ],
)
def test_the_newest_report_by_its_own_time_counts_or_the_worse_of_equal_times(newer: Report, older: Report) -> None:
    assert newer.replaces(older)
    assert not older.replaces(newer)


def test_changes_are_listed_with_the_gravest_first() -> None:
    before = _report(
        open_checks=("throttled",), floor=Floor(0.001, 0.002, 0.003), facts={"kernel": "6.1", "virtual": None}
    )
    after = _report(
        outcome=Outcome.UNSTABLE,
        open_checks=("tasks-on-target",),
        floor=Floor(0.01, 0.02, 0.03),
        facts={"kernel": "6.18", "virtual": "kvm"},
    )
    assert list(changes_between(before, after)) == [
        "was stable",
        "new: tasks-on-target",
        "settled: throttled",
        "noise floor 0.2% → 2%",
        "kernel 6.1 → 6.18",
    ]


def test_noise_floors_with_overlapping_intervals_are_not_a_change() -> None:
    before, after = (_report(floor=Floor(low, 2 * low, 4 * low)) for low in (0.01, 0.03))
    assert list(changes_between(before, after)) == []


def _speeds(mean: float, slowest: float) -> dict[str, Any]:
    facts = {"cpu model": "x", "kernel": "6.1", "virtual": "none", "loops": "native"}
    return {
        "facts": facts,
        "figures": {Figure.LATENCY: mean},
        "slowest": {Figure.LATENCY: SlowestCpu(5, slowest)},
    }


@pytest.mark.parametrize(("mean", "slowest", "outlier_cpus"), [
    (100.0, 100.0, []),
    (100.5, 160.0, [5]),  # one of very many CPUs
    (115.0, 160.0, [None, 5]),
    (125.0, 125.5, [None]),  # the whole machine
    (80.0, 80.0, [None]),
])  # fmt: skip
def test_a_slow_cpu_or_a_slow_machine_is_an_outlier(
    mean: float, slowest: float, outlier_cpus: list[int | None]
) -> None:
    others = [_report(f"web{number}", **_speeds(100.0, 100.0)) for number in range(9)]
    fleet = _fleet(*others, _report("odd", **_speeds(mean, slowest)))
    assert {host.name: [outlier.cpu for outlier in host.outliers] for host in fleet.hosts if host.outliers} == (
        {"odd": outlier_cpus} if outlier_cpus else {}
    )


def test_a_baseline_replaces_the_earlier_report() -> None:
    earlier, baseline = _report(at_s=1.0), _report(at_s=0.0, outcome=Outcome.UNSTABLE)
    (host,) = _fleet(_report(), earlier=earlier, baseline={"web1": baseline}).hosts
    assert (host.earlier, host.changes) == (baseline, ("was unstable",))


def test_reasons_are_counted_over_hosts_that_are_not_stable() -> None:
    hog = Reason("tasks-on-target", "hog (pid 9): 50% of CPU 2", "hog (pid 9)")
    reports = [_report(f"web{number}", outcome=Outcome.UNSTABLE, reason=hog) for number in range(2)]
    fleet = _fleet(*reports, _report("web7", reason=hog), expected=("web0", "web1", "web7", "web8"))
    assert list(named_reasons(fleet)) == [("tasks-on-target", 2), ("missing", 1)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [("hog (pid 9): 50%", "x: hog (pid 9): 50%"), ("CPU 2 is busy", "x: CPU 2 is busy (hog (pid 9))")],
)
def test_a_reason_names_its_culprit_once(text: str, expected: str) -> None:
    assert str(Reason("x", text, "hog (pid 9)")) == expected
