"""`--format github`: annotations, and the step summary."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from noisewatch.surfaces.reports.parts.sections import markdown_of_sections
from noisewatch.surfaces.reports.parts.workflow import workflow_command
from noisewatch.surfaces.reports.verdict.markdown import sections_of
from tests.surfaces.reports import consumers
from tests.surfaces.reports.consumers import read_markdown
from tests.surfaces.reports.verdicts import (
    failed_verdict,
    hostile_verdict,
    quiet_verdict,
    rendered,
    strict_verdict,
    unknown_verdict,
)
from tests.surfaces.running import Run, quiet_tree
from tests.written.quiet_machine import CPUS

_GOVERNOR = f"{CPUS}/cpu2/cpufreq/scaling_governor"
_SETTINGS = ("--sample", "0", "--no-calibration")
_MIB = 1024 * 1024


def _levels(report: str) -> dict[str, str]:
    commands = [consumers.workflow_command(line) for line in report.splitlines()]
    return {properties["title"].removeprefix("noisewatch: "): level for level, properties, _ in commands}


def test_failures_are_errors_and_warnings_are_warnings() -> None:
    levels = _levels(rendered("github", failed_verdict()))
    assert levels == {
        "UNSTABLE": "notice",
        "tasks-on-target": "error",
        "device-interrupts-on-target": "error",
        "governor-not-performance": "warning",
        "target-not-isolated": "warning",
        "frequency-window-open": "notice",
        "default-irq-affinity-includes-target": "notice",
    }


def test_unknown_verdict_has_no_error_annotation() -> None:
    levels = _levels(rendered("github", unknown_verdict()))
    assert levels == {"UNKNOWN": "notice", "governor-not-performance": "warning"}


def test_a_quiet_machine_is_one_notice() -> None:
    assert _levels(rendered("github", quiet_verdict())) == {"STABLE": "notice"}


@pytest.mark.parametrize("status", ["warn", "unknown"])
def test_warning_or_unknown_is_an_error_with_strict(status: str) -> None:
    assert _levels(rendered("github", strict_verdict(status)))["target-not-isolated"] == "error"


def test_percent_and_line_ends_are_escaped_everywhere_and_separators_in_properties() -> None:
    assert workflow_command("error", "a:b,c%\r\n", "a:b,c%\r\n") == (
        "::error title=a%3Ab%2Cc%25%0D%0A::a:b,c%25%0D%0A"
    )  # fmt: skip


@pytest.mark.parametrize("text", ["50%", "%25", "%0A", "a::b", "::error::x", "a,b=c:d", "", "\r\n", "%250A%3A"])
def test_parsed_workflow_command_has_the_original_text(text: str) -> None:
    assert consumers.workflow_command(workflow_command("error", f"x{text}", text)) == (
        "error",
        {"title": f"x{text}"},
        text,
    )


def test_findings_beyond_the_limit_are_named_in_the_last_annotation(run: Run) -> None:
    out = run("preflight", "--format", "github", "--replay", "tests/machines/lab-disturbed.nw").out
    notices = [line for line in out.splitlines() if line.startswith("::notice")]
    assert len(notices) == 10
    assert re.match(r"::notice title=noisewatch%3A \d+ more::[a-z-]+, [a-z-]+, ", notices[-1])


def _summarise(run: Run, root: Path, summary: Path, monkeypatch: pytest.MonkeyPatch, name: str = "github") -> str:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    ran = run("preflight", "--format", name, "--sysroot", root, *_SETTINGS)
    assert ran.status == 1
    return ran.err


@pytest.fixture
def noisy_tree(tmp_path: Path) -> Path:
    return quiet_tree(tmp_path, {_GOVERNOR: "powersave\n"})


def test_the_markdown_report_is_appended_to_the_step_summary(
    run: Run, noisy_tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    summary = tmp_path / "summary.md"
    summary.write_text("# before\n")
    assert _summarise(run, noisy_tree, summary, monkeypatch) == ""
    before, _, report = summary.read_text().partition("\n\n")
    assert before == "# before"
    assert report.startswith("## noisewatch preflight: UNSTABLE\n")
    assert "governor-not-performance" in read_markdown(report)


def test_other_formats_do_not_write_the_step_summary(
    run: Run, noisy_tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    summary = tmp_path / "summary.md"
    _summarise(run, noisy_tree, summary, monkeypatch, "markdown")
    assert not summary.exists()


def test_summary_is_omitted_outside_of_a_step(run: Run, noisy_tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    assert run("preflight", "--format", "github", "--sysroot", noisy_tree, *_SETTINGS).err == ""


@pytest.mark.parametrize("room", [0, 1, 20, 100, 300, 1000, 100_000])
def test_summary_keeps_to_the_size_limit_of_github(
    run: Run, noisy_tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    summary = tmp_path / "summary.md"
    summary.write_bytes(b"x" * (_MIB - room))
    _summarise(run, noisy_tree, summary, monkeypatch)
    assert summary.stat().st_size <= _MIB
    assert (summary.stat().st_size > _MIB - room) == (room >= 300)


def test_unwritable_summary_is_reported_and_changes_nothing(
    run: Run, noisy_tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    error = _summarise(run, noisy_tree, tmp_path / "none" / "summary.md", monkeypatch)
    assert error == f"noisewatch: {tmp_path}/none/summary.md: no such file or directory\n"


@pytest.mark.parametrize("max_bytes", [0, 50, 200, 500, 1000, 2000, 4000, 10_000])
@pytest.mark.parametrize("name", ["hog", "é" * 15, "`" * 15])
def test_truncated_report_is_valid_markdown(max_bytes: int, name: str) -> None:
    report = markdown_of_sections(sections_of(hostile_verdict(name)), max_bytes)
    assert len(report.encode()) <= max_bytes
    assert read_markdown(report) is not None
    assert (report == "") == (max_bytes <= 50)
