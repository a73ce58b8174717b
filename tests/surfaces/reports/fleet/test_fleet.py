"""`noisewatch fleet`: the summary first, the worst host first, and the same content in each format."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt
from prometheus_client.parser import text_string_to_metric_families

from tests.operations.fleet.reporting import calibration, floor, verdict, write
from tests.surfaces.reports.verdicts import HOSTILE_NAMES
from tests.surfaces.running import Run

_FORMATS = ("text", "markdown", "json", "prometheus")


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    """Write the reports of four hosts: unstable, unknown, unstable until yesterday, and always stable."""
    now_s = time.time()
    write(tmp_path / "db3.json", "unstable", at=now_s - 10, noise_floor=floor(0.2), noise_floor_chance=0.004)
    write(tmp_path / "web1.json", at=now_s - 20, noise_floor=floor(0.001), noise_floor_chance=0.999)
    write(tmp_path / "web2.json", "unknown", at=now_s - 20, noise_floor=[], noise_floor_chance=None)
    older = verdict(at=now_s - 30, noise_floor=floor(0.002))
    del older["noise_floor_chance"]
    (tmp_path / "web4.json").write_text(json.dumps(older))
    write(tmp_path / "yesterday/web4.json", "unstable", at=now_s - 86_400)
    return tmp_path


def test_first_line_names_the_hosts_that_are_not_stable(run: Run, fleet: Path) -> None:
    ran = run("fleet", fleet)
    assert ran.out.splitlines()[0] == "2 of 4 hosts not stable: 1 unstable (db3), 1 unknown (web2)"
    assert ran.status == 1


def test_the_worst_host_comes_first_with_its_reason_and_its_culprit(
    run: Run, fleet: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "140")
    lines = run("fleet", fleet).out.splitlines()
    rows = lines[lines.index(next(line for line in lines if line.startswith("host "))) + 1 :][:4]
    assert [row.split()[:2] for row in rows] == [
        ["db3", "UNSTABLE"],
        ["web2", "UNKNOWN"],
        ["web4", "stable"],
        ["web1", "stable"],
    ]
    assert "tasks-on-target: hog" in rows[0]
    assert "was unstable" in rows[2]


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_chance_is_shown_next_to_the_noise_floor_or_is_unknown(
    run: Run, fleet: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.setenv("COLUMNS", "140")
    report = run("fleet", fleet, "--format", form).out
    lines = [" ".join(line.replace("|", " ").replace("`", " ").split()) for line in report.splitlines()]
    for host, columns in (
        ("db3", "UNSTABLE 20% <1%"),
        ("web1", "stable 0.1% >99%"),
        ("web2", "UNKNOWN ? ?"),
        ("web4", "stable 0.2% ?"),
    ):
        assert [line for line in lines if line.startswith(f"{host} {columns} ")]
    if form == "text":
        assert "chance of staying within the budget  <1% to >99% (2 of 4 hosts)" in report


@pytest.mark.parametrize("chance", [-0.1, 1.01, "high"])
def test_impossible_chance_makes_the_host_unknown(run: Run, tmp_path: Path, chance: object) -> None:
    write(tmp_path / "web1.json", noise_floor_chance=chance)
    host = run("fleet", tmp_path, "--format", "json").json["hosts"][0]
    assert host["verdict"] == "unknown"
    assert "noise_floor_chance" in host["why"]


@pytest.mark.parametrize("columns", [20, 80, 140])
def test_no_line_is_wider_than_the_terminal(
    run: Run, fleet: Path, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    write(fleet / f"{'long' * 40}.json", "unstable")
    lines = run("fleet", fleet, "--expect", "web1,web9").out.splitlines()
    assert len(lines) > 10
    assert max(map(len, lines)) <= columns


@pytest.mark.parametrize("columns", [30, 40, 80])
def test_bars_are_scaled_to_the_terminal_and_not_cut(
    run: Run, fleet: Path, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    bars = {line.split()[0]: line.count("█") for line in run("fleet", fleet).out.splitlines() if "█" in line}
    assert bars["stable"] == min(columns - len("unstable  2  "), 40)  # 2 hosts are stable, 1 is unstable, 1 unknown
    assert bars["unstable"] == bars["unknown"] == -(-bars["stable"] // 2)


def test_change_of_a_host_is_shown_with_its_time(run: Run, fleet: Path) -> None:
    words = run("fleet", fleet).words
    assert "web4 since" in words
    assert "was unstable; settled: tasks-on-target" in words


def test_host_in_the_baseline_only_is_shown_with_its_last_report(run: Run, fleet: Path) -> None:
    write(fleet / "before/db9.json", at=1_700_000_000.0)
    words = run("fleet", fleet / "yesterday", "--baseline", fleet / "before").words
    assert "has not reported, was stable in the baseline" in words
    assert re.search(r"db9 UNKNOWN \? \? - 2023-11-1[45]", words)  # depends on the local time zone


def test_hosts_whose_older_report_may_be_of_another_machine_are_named(run: Run, fleet: Path) -> None:
    note = "not stable in an older report in another folder: web4; if the report is another machine's, rename its file"
    assert note in run("fleet", fleet).words
    assert note in run("fleet", fleet, "--format", "markdown").words
    assert run("fleet", fleet, "--format", "json").json["perhaps_two_machines"] == ["web4"]


def test_stable_hosts_are_reported_in_one_line_with_status_0(run: Run, tmp_path: Path) -> None:
    for number in range(3):
        write(tmp_path / f"web{number}.json")
    ran = run("fleet", tmp_path, "--max-age", "1h")
    assert (ran.status, ran.out.splitlines()[0]) == (3, "3 of 3 hosts not stable: 3 unknown (web0, web1, web2)")
    ran = run("fleet", tmp_path)
    assert (ran.status, ran.out.splitlines()[0]) == (0, "all 3 hosts stable")


def test_outlier_is_reported_with_the_rule(run: Run, tmp_path: Path) -> None:
    for number in range(9):
        write(tmp_path / f"web{number}.json", calibration=calibration(2e5 * (1.5 if number == 7 else 1.0)))
    words = run("fleet", tmp_path).words
    assert "more than 3.5 standard deviations, estimated by MAD, from the median of at least 8" in words
    assert words.index("web7 stable") < words.index("web0 stable")
    assert "out of line: latency work 300 µs (median of 9: 200 µs)" in words
    assert "web7: latency work 300 µs (median of 9: 200 µs)" in words
    assert run("fleet", tmp_path, "--format", "json").json["hosts_compared"] == 9


def test_a_slow_cpu_is_named_in_each_format(run: Run, tmp_path: Path) -> None:
    for number in range(9):
        latencies_ns = [2e5, 2e5, 2e5, 3e5 if number == 7 else 2e5]
        write(tmp_path / f"web{number}.json", calibration=calibration(*latencies_ns))
    outlier = "web7: latency work 225 µs (median of 9: 200 µs), latency work of CPU 3, its slowest, 300 µs"
    for form in ("text", "markdown"):
        assert f"{outlier} (median of the slowest of 9: 200 µs)" in run("fleet", tmp_path, "--format", form).words
    (web7,) = (host for host in run("fleet", tmp_path, "--format", "json").json["hosts"] if host["host"] == "web7")
    assert [(figure["cpu"], figure["value"]) for figure in web7["out_of_line"]] == [(None, 225_000.0), (3, 300_000.0)]
    families = text_string_to_metric_families(run("fleet", tmp_path, "--format", "prometheus").out)
    (samples,) = (family.samples for family in families if family.name == "noisewatch_fleet_out_of_line")
    assert [(sample.labels["figure"], sample.labels["cpu"]) for sample in samples] == [
        ("latency work", ""),
        ("latency work", "3"),
    ]


def test_too_few_machines_of_a_kind_are_not_compared(run: Run, fleet: Path) -> None:
    assert "figures not compared: fewer than 8 machines are known to have the same CPU" in run("fleet", fleet).words


def test_hidden_hosts_are_counted(run: Run, tmp_path: Path) -> None:
    for number in range(45):
        write(tmp_path / f"web{number}.json", "unstable" if number < 42 else "stable")
    for form in ("text", "markdown"):
        assert "and 5 more, 2 of them not stable" in run("fleet", tmp_path, "--format", form).words
        assert "more, " not in run("fleet", tmp_path, "--format", form, "--verbose").words


def test_json_has_the_details_of_each_host(run: Run, fleet: Path) -> None:
    ran = run("fleet", fleet, "--format", "json", "--expect", "db3,web9")
    document = ran.json
    assert (document["exit_status"], document["counts"]) == (1, {"unstable": 1, "unknown": 2, "stable": 2})
    assert document["not_expected"] == ["web1", "web2", "web4"]
    by_name: dict[str, Any] = {host["host"]: host for host in document["hosts"]}
    assert next(iter(by_name)) == "db3"
    assert (by_name["db3"]["check"], by_name["db3"]["culprit"]) == ("tasks-on-target", "hog (pid 900)")
    assert by_name["db3"]["noise_floor"]["cv_expected"] == 0.2
    chances = {name: host["noise_floor_chance"] for name, host in by_name.items()}
    assert chances == {"db3": 0.004, "web1": 0.999, "web2": None, "web4": None, "web9": None}
    assert by_name["web4"]["changes"][0] == "was unstable"
    assert (by_name["web9"]["standing"], by_name["web9"]["verdict"]) == ("missing", "unknown")


def test_prometheus_has_the_verdict_of_each_host(run: Run, fleet: Path) -> None:
    report = run("fleet", fleet, "--format", "prometheus", "--expect", "web9").out
    samples = [sample for family in text_string_to_metric_families(report) for sample in family.samples]
    verdicts = {
        sample.labels["host"]: sample.labels["verdict"]
        for sample in samples
        if sample.name == "noisewatch_fleet_verdict" and sample.value
    }
    assert verdicts == {"db3": "unstable", "web1": "stable", "web2": "unknown", "web4": "stable", "web9": "unknown"}
    floors = {sample.labels["host"]: sample.value for sample in samples if sample.name.endswith("noise_floor_cv_ratio")}
    assert floors == {"db3": 0.2, "web1": 0.001, "web4": 0.002}
    chances = {
        sample.labels["host"]: sample.value for sample in samples if sample.name.endswith("noise_floor_chance_ratio")
    }
    assert chances == {"db3": 0.004, "web1": 0.999}


@pytest.mark.parametrize("name", [name for name in HOSTILE_NAMES if name.strip()])
def test_hostile_name_breaks_no_format(run: Run, tmp_path: Path, name: str) -> None:
    write(tmp_path / "web1.json", "unstable", host=name, machine={"kernel": name, "cpu_model": name})
    reports = {form: run("fleet", tmp_path, "--format", form).out for form in _FORMATS}
    for report in reports.values():
        assert "\x1b" not in report
        assert all(character.isprintable() or character == "\n" for character in report)
    assert len(json.loads(reports["json"])["hosts"]) == 1
    assert len(list(text_string_to_metric_families(reports["prometheus"]))) == 9
    _assert_one_row(reports["markdown"])


def _assert_one_row(report: str) -> None:
    """Assert that the table has one row of seven cells, and no markup from a name."""
    tokens = MarkdownIt("gfm-like", {"linkify": False}).parse(report)
    assert [token.type for token in tokens].count("td_open") == 7
    kinds = {child.type for token in tokens for child in token.children or ()}
    assert kinds <= {"text", "code_inline", "softbreak"}


def test_cpu_models_and_other_json_are_named_in_each_format(run: Run, tmp_path: Path) -> None:
    models = ["Acme 3000"] * 3 + ["Zeta 9"] * 2 + [None]
    for number, model in enumerate(models):
        write(tmp_path / f"web{number}.json", machine={"kernel": "6.8", "cpu_model": model}, facts={})
    (tmp_path / "results.json").write_text("[1, 2]")
    ignored = f"{tmp_path}/results.json"
    expected = "Acme 3000 (3 hosts); Zeta 9 (2 hosts: web3, web4); unknown (1 host: web5)"
    text, markdown = run("fleet", tmp_path), run("fleet", tmp_path, "--format", "markdown")
    for ran in (text, markdown):
        assert ran.status == 0
        assert f"several CPU models, whose times are not comparable: {expected}" in ran.words
        assert "ignored JSON without a verdict: " in ran.words
        assert ran.out.count("results.json") == 1
    document = run("fleet", tmp_path, "--format", "json").json
    assert document["ignored_files"] == [ignored]
    assert [(part["model"], len(part["hosts"])) for part in document["cpu_models"]] == [
        ("Acme 3000", 3),
        ("Zeta 9", 2),
        (None, 1),
    ]
    assert "\nnoisewatch_fleet_ignored_files 1.0\n" in run("fleet", tmp_path, "--format", "prometheus").out


def test_one_cpu_model_is_not_mentioned(run: Run, tmp_path: Path) -> None:
    for name, model in (("web1", "Acme 3000"), ("web2", "Acme 3000"), ("web3", None)):
        write(tmp_path / f"{name}.json", machine={"kernel": "6.8", "cpu_model": model}, facts={})
    assert "CPU model" not in run("fleet", tmp_path).words.partition("figures not compared")[0]


def test_report_is_written_to_a_file(run: Run, fleet: Path, tmp_path: Path) -> None:
    ran = run("fleet", fleet, "--format", "markdown", "--output", tmp_path / "fleet.md")
    assert (ran.status, ran.out) == (1, "")
    assert (tmp_path / "fleet.md").read_text().startswith("## noisewatch fleet\n\n2 of 4 hosts not stable")


@pytest.mark.parametrize(
    ("words", "word"),
    [
        ("none", "none"),
        (". --max-age soon", "--max-age"),
        (". --max-age 0h", "--max-age"),
        (". --expect /none/hosts", "--expect"),
        (". --baseline none", "none"),
        (". --format xml", "xml"),
        ("", "FILE|DIR"),
    ],
)
def test_invalid_arguments_are_refused_in_one_line(
    run: Run, fleet: Path, monkeypatch: pytest.MonkeyPatch, words: str, word: str
) -> None:
    monkeypatch.chdir(fleet)
    ran = run("fleet", *words.split())
    assert (ran.status, ran.out, len(ran.err.splitlines())) == (2, "", 1)
    assert word in ran.err
