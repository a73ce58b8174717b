"""Reports in files and folders: their hosts, and which of them count."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from noisewatch.errors import UsageError
from noisewatch.judgement.fleet import SlowestCpu, Standing
from noisewatch.judgement.terms import Outcome
from noisewatch.model.history.figures import Figure
from noisewatch.operations.fleet import FleetOptions, expected_hosts, gather
from tests.operations.fleet.reporting import calibration, gather_fleet, only_host, verdict_lines, write
from tests.surfaces.reports.verdicts import HOSTILE_NAMES


@pytest.mark.parametrize(
    ("path", "host"),
    [
        ("web1.json", "web1"),
        ("web1.example.org.json", "web1.example.org"),
        ("web1/verdict.json", "web1"),
        ("2026-11-24/web1.json", "web1"),
        ("a/b/web1/noisewatch.jsonl", "web1"),
    ],
)
def test_the_file_or_its_folder_names_the_host(tmp_path: Path, path: str, host: str) -> None:
    write(tmp_path / path)
    assert only_host(tmp_path).name == only_host(tmp_path / path).name == host


def test_the_host_in_a_verdict_outweighs_the_file_name(tmp_path: Path) -> None:
    assert only_host(write(tmp_path / "x.json", host="db1")).name == "db1"


def test_json_lines_have_the_same_report_as_json(tmp_path: Path) -> None:
    (tmp_path / "lines").mkdir()
    (tmp_path / "lines" / "web1.jsonl").write_text(verdict_lines("unstable"))
    lines, whole = only_host(tmp_path / "lines"), only_host(write(tmp_path / "web1.json", "unstable"))
    assert lines.outcome is Outcome.UNSTABLE
    assert lines.why == whole.why
    assert lines.report is not None
    assert whole.report is not None
    assert lines.report.open_checks == whole.report.open_checks


def test_the_newest_report_counts_by_its_own_time_and_is_compared_with_the_one_before(tmp_path: Path) -> None:
    now_s = time.time()
    write(tmp_path / "3/web1.json", "unstable", at=now_s - 10)
    write(tmp_path / "1/web1.json", "stable", at=now_s - 20)
    write(tmp_path / "2/web1.json", "unknown", at=now_s - 30)
    host = only_host(tmp_path)
    assert host.outcome is Outcome.UNSTABLE
    assert host.earlier is not None
    assert host.earlier.at_s == now_s - 20
    assert (host.changes or ())[0] == "was stable"
    assert gather_fleet(tmp_path).passed_over == 2


def test_a_baseline_is_compared_but_not_counted(tmp_path: Path) -> None:
    baseline = write(tmp_path / "old/web1.json", "unstable").parent
    write(tmp_path / "new/web1.json", "stable")
    fleet = gather_fleet(tmp_path / "new", baseline=baseline)
    assert [(host.name, (host.changes or ())[0]) for host in fleet.hosts] == [("web1", "was unstable")]


def _facts(board: str | None) -> dict[str, Any]:
    return {"identity": {"board": board}}


def test_two_machines_with_one_name_are_distinguished_by_their_boards(tmp_path: Path) -> None:
    now_s = time.time()
    write(tmp_path / "a/web1.json", at=now_s - 10, facts=_facts("one"))
    write(tmp_path / "b/web1.json", "unstable", at=now_s - 20, facts=_facts("two"))
    write(tmp_path / "c/web1.json", at=now_s - 7200, facts=_facts("two"))
    write(tmp_path / "d/web1.json", at=now_s - 7300, facts=_facts(None))
    host = only_host(tmp_path)
    assert (host.standing, host.outcome) == (Standing.AMBIGUOUS, Outcome.UNSTABLE)
    assert f"(board one or two): {tmp_path}/b/web1.json is unstable" in (host.why or "")


def test_many_reports_of_one_machine_are_one_host(tmp_path: Path) -> None:
    for day in range(5):
        write(tmp_path / f"{day}/web1.json", "unstable" if day % 2 else "stable", at=1e9 + 86400 * day)
    fleet = gather_fleet(tmp_path)
    assert [(host.standing, host.outcome) for host in fleet.hosts] == [(Standing.REPORTED, Outcome.STABLE)]
    assert (fleet.exit_status, fleet.perhaps_two) == (0, ("web1",))


def test_the_slowest_cpus_are_those_with_the_longest_time_and_the_lowest_clock(tmp_path: Path) -> None:
    fields = calibration(2e5, 3e5, 1e5)
    fields["cpus"][2]["effective_khz"] = 2e6
    report = only_host(write(tmp_path / "web1.json", calibration=fields)).report
    assert report is not None
    assert report.slowest == {Figure.LATENCY: SlowestCpu(1, 3e5), Figure.CLOCK: SlowestCpu(2, 2e6)}


def test_an_unknown_speed_of_work_is_left_out(tmp_path: Path) -> None:
    for unknown in ({"median_ns": 1e6}, {"median_ns": 1e6, "pieces": 0}, {"median_ns": None, "pieces": 5}, None):
        cpus = [{"cpu": 2, "latency_work": unknown}]
        report = only_host(write(tmp_path / "web1.json", calibration={"core": "native", "cpus": cpus})).report
        assert report is not None
        assert (set(report.figures), report.slowest) == ({Figure.NOISE_100MS}, {})


def test_speeds_of_a_cpu_that_is_listed_twice_are_unknown(tmp_path: Path) -> None:
    fields = calibration(2e5, 3e5)
    fields["cpus"][1]["cpu"] = fields["cpus"][0]["cpu"]
    report = only_host(write(tmp_path / "web1.json", calibration=fields)).report
    assert report is not None
    assert report.slowest == {}


def test_a_folder_that_contains_itself_is_read_once(tmp_path: Path) -> None:
    write(tmp_path / "rack/web1.json")
    (tmp_path / "rack/again").symlink_to(tmp_path)
    assert gather_fleet(tmp_path, tmp_path).passed_over == 0


def test_hidden_and_other_files_are_ignored(tmp_path: Path) -> None:
    write(tmp_path / "web1.json")
    write(tmp_path / ".noisewatch-x.json", "unstable")
    write(tmp_path / "web2.json.part", "unstable")
    assert only_host(tmp_path).name == "web1"


@pytest.mark.parametrize("name", [name for name in HOSTILE_NAMES if name.strip()])
def test_host_names_that_differ_in_unprintable_characters_stay_distinct(tmp_path: Path, name: str) -> None:
    write(tmp_path / "1.json", host=name)
    write(tmp_path / "2.json", host=f"{name}\x01")
    names = [host.name for host in gather_fleet(tmp_path).hosts]
    assert len(names) == 2
    assert all(host_name.isprintable() for host_name in names)


@pytest.mark.parametrize("place", ["", "none", "none/"])
def test_a_missing_place_is_refused(tmp_path: Path, place: str) -> None:
    with pytest.raises(UsageError, match="no such"):
        gather_fleet(tmp_path / "x" / place if place else tmp_path / "x")


def test_a_folder_without_reports_is_refused_unless_hosts_are_expected(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no report"):
        gather_fleet(tmp_path)
    fleet = gather(FleetOptions(places=[str(tmp_path)], expected=("web1",)))
    assert [(host.name, host.standing) for host in fleet.hosts] == [("web1", Standing.MISSING)]


def test_expected_hosts_are_in_a_list_or_a_file(tmp_path: Path) -> None:
    hosts = tmp_path / "hosts"
    hosts.write_text("# ours\nweb1\n\nweb2  # new\n")
    assert expected_hosts(str(hosts)) == expected_hosts("web1, web2") == ("web1", "web2")


def test_a_long_list_of_expected_hosts_is_not_a_path() -> None:
    names = tuple(f"web{number}" for number in range(5000))
    assert expected_hosts(",".join(names)) == names


@pytest.mark.parametrize("text", ["", " , ", "/none/hosts", "/dev", "web[1-4]", "web1 web2"])
def test_expected_hosts_without_a_valid_name_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--expect"):
        expected_hosts(text)
