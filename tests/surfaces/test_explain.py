"""`explain` lists all checks and has a whole page for each."""

from __future__ import annotations

import pytest

from noisewatch.judgement.catalogue import CATALOGUE
from noisewatch.judgement.declaration import Check
from tests.surfaces.running import Run

_IDS = [each.id for each in CATALOGUE]


def test_the_list_has_one_row_for_each_check(run: Run) -> None:
    ran = run("explain")
    assert [line.split()[0] for line in ran.out.splitlines()] == ["CHECK", *_IDS]
    assert (ran.status, ran.err) == (0, "")


@pytest.mark.parametrize("check", CATALOGUE, ids=lambda check: check.id)
def test_a_row_tells_area_severity_and_question(run: Run, check: Check) -> None:
    (row,) = [line for line in run("explain").out.splitlines() if line.split()[0] == check.id]
    assert row.split()[1:3] == [check.area, check.severity]
    assert row.endswith(check.question)


@pytest.mark.parametrize("check", CATALOGUE, ids=lambda check: check.id)
def test_a_page_has_all_sections(run: Run, check: Check) -> None:
    ran = run("explain", check.id)
    headings = [line for line in ran.out.splitlines() if line and not line.startswith(" ")]
    limits = ["Limits"] if check.limits else []
    assert headings == [
        f"{check.id} ({check.area}, {check.severity})",
        *("Why it matters", "What it reads", *limits, "What to do", "Sources"),
    ]
    assert ran.status == 0


@pytest.mark.parametrize("check", CATALOGUE, ids=lambda check: check.id)
def test_a_page_holds_all_that_is_declared(run: Run, check: Check) -> None:
    words = run("explain", check.id).words
    declared = [check.question, check.why, check.remedy, *check.reads, *check.sources]
    declared += [limit.reason for limit in check.limits]
    assert [text for text in declared if " ".join(text.split()) not in words] == []


@pytest.mark.parametrize("check", CATALOGUE, ids=lambda check: check.id)
def test_no_section_is_blank(check: Check) -> None:
    texts = [check.question, check.why, check.remedy, *check.reads, *check.sources]
    assert [text for text in texts if not text.strip()] == []
    assert min(len(check.reads), len(check.sources)) > 0


def test_prose_is_wrapped_to_the_terminal(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    wide = run("explain", "cpu-quota").out
    monkeypatch.setenv("COLUMNS", "300")
    assert max(map(len, wide.splitlines())) <= 100
