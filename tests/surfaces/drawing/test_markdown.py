"""`--format markdown`: a report for an issue."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from noisewatch.judgement.finding_words import counts_text
from noisewatch.surfaces.drawing.tables import code
from tests.surfaces.reports.consumers import read_markdown, tables
from tests.surfaces.reports.verdicts import failed_verdict, hostile_verdict, quiet_verdict, rendered


def test_the_first_line_is_the_verdict() -> None:
    report = rendered("markdown", failed_verdict())
    assert report.splitlines()[:3] == [
        "## noisewatch preflight: UNSTABLE",
        "",
        counts_text(failed_verdict()),
    ]


def test_the_first_table_shows_target_machine_and_noise_floor() -> None:
    facts = dict(row for row in tables(rendered("markdown", quiet_verdict()))[0])
    assert facts["target"] == "CPUs 2-3 (isolated)"
    assert facts["machine"] == "Linux 6.14.0 · A Processor @ 3.00GHz · bare metal"
    assert facts["measured"] == "3.0 s sample · 5.0 s calibration (native core)"
    assert facts["noise floor"].startswith("CV of samples of 100 ms: latency <0.01% (")
    assert "; chance >99%)" in facts["noise floor"]
    assert facts["chance"].startswith("25 samples of 100 ms stay within 1%: chance >99% (")
    assert facts["profile"] == "micro"
    assert facts["smallest change"].endswith(" can be detected here with 25 samples of 100 ms.")


def test_the_samples_needed_to_detect_a_change_are_a_block() -> None:
    case = quiet_verdict().case
    assert case.calibrated is not None
    budget = replace(case.calibrated.budget, detect=0.02)
    detecting = replace(case, calibrated=replace(case.calibrated, budget=budget))
    heading = "samples of each version needed to show a change of 2%"
    assert f"```text\n{heading}" in rendered("markdown", replace(quiet_verdict(), case=detecting))
    assert heading not in rendered("markdown", quiet_verdict())


def test_the_profile_shows_which_kind_of_machine_selected_it() -> None:
    case = quiet_verdict().case
    rules = replace(case.rules, profile="shared", profile_reason="a virtual machine")
    report = rendered("markdown", replace(quiet_verdict(), case=replace(case, rules=rules)))
    assert dict(row for row in tables(report)[0])["profile"] == "shared (a virtual machine)"


def test_the_name_of_the_machine_is_not_in_the_report() -> None:
    verdict = quiet_verdict()
    snapshot = replace(verdict.case.snapshot, machine_name="secret-host")
    report = rendered("markdown", replace(verdict, case=replace(verdict.case, snapshot=snapshot)))
    assert "secret-host" not in report


def test_all_faults_are_in_one_table_the_gravest_first() -> None:
    table = tables(rendered("markdown", failed_verdict()))[1]
    assert table == [
        ["status", "check", "severity", "finding"],
        ["FAIL", "tasks-on-target", "blocking", "hog (limit 0.5%)"],
        ["FAIL", "device-interrupts-on-target", "blocking", "hog (limit 0.5%)"],
        ["UNKNOWN", "governor-not-performance", "blocking", "hog"],
        ["warn", "target-not-isolated", "warning", "hog"],
        ["unknown", "frequency-window-open", "warning", "hog"],
        ["fail", "default-irq-affinity-includes-target", "information", "hog"],
    ]


def test_culprits_and_each_command_have_a_fence_of_their_own() -> None:
    report = rendered("markdown", failed_verdict())
    section = report.partition("### `default-irq-affinity-includes-target`\n")[2].partition("###")[0]
    culprits = "CPU 2: thread hog (pid 900) 50.00%\nCPU 3: irq hog 30/s 0.10% (estimated)"
    languages = {"now": "sh", "undo": "sh", "for good": "text"}  # what persists is often a piece of advice
    fences = [f"{name}:\n\n```{language}\nhog\n```\n" for name, language in languages.items()]
    fences.insert(0, f"```text\n{culprits}\n```\n")
    assert section.strip("\n").split("\n\n", 1)[0] == fences[0].rstrip("\n")
    assert [fence for fence in fences if fence not in section] == []


def test_findings_of_one_cause_share_a_section_without_repeated_commands() -> None:
    report = rendered("markdown", failed_verdict())
    names = "`tasks-on-target`, `device-interrupts-on-target`, `target-not-isolated`"
    section = report.partition(f"### 1. {names}\n")[2].partition("###")[0]
    assert section.count("now:\n\n```sh\nhog\n```\n") == 1
    assert section.count("CPU 2: thread hog (pid 900)") == 1


def test_passed_and_skipped_checks_are_folded_away() -> None:
    report = rendered("markdown", failed_verdict())
    details = report.partition("<details>\n")[2].partition("</details>")[0]
    assert "- pass: `noise-floor-above-budget`" in details
    assert "- not applicable: `on-battery`: hog" in details
    assert "- not asked: `turbo-enabled`: hog" in details
    assert report.count("<details>") == report.count("</details>") == 1


def test_a_quiet_machine_has_no_table_of_faults() -> None:
    assert len(tables(rendered("markdown", quiet_verdict()))) == 1


@pytest.mark.parametrize("plain", ["updatedb (pid 336): 77.1% of CPU 2; 0.5 s", "between 1 and 2 kHz, 3×", "a/b-c"])
def test_an_ordinary_sentence_is_prose(plain: str) -> None:
    assert f" {plain} |" in rendered("markdown", hostile_verdict(plain))


@pytest.mark.parametrize(
    "markup", ["@me", "a_b_c", "www.x.org", "http://x", "<b>", "#1", ":+1:", "a*b", "~~a~~", "a&lt;"]
)
def test_a_sentence_that_could_be_markup_is_code(markup: str) -> None:
    report = rendered("markdown", hostile_verdict(markup))
    assert f"`{markup}`" in report
    assert markup in read_markdown(report)


@pytest.mark.parametrize("text", ["a", "`", "``a`", " a ", "`a", "a`", "a``` `` `b", " ` "])
def test_a_code_span_can_contain_any_backticks(text: str) -> None:
    assert read_markdown(f"{code(text)}\n") == [text]


@pytest.mark.parametrize("fence", ["```", "`````", "~~~"])
def test_a_command_that_is_a_fence_does_not_end_its_own(fence: str) -> None:
    assert f"{fence}\n" in read_markdown(rendered("markdown", hostile_verdict(fence)))


def test_a_pipe_stays_in_its_cell() -> None:
    table = tables(rendered("markdown", hostile_verdict("a|b \\| c\\\\|d")))[1]
    assert table[1][3] == "a|b ·| c\\·|d (limit 0.5%)"
