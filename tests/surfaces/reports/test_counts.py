"""Every report and screen shows the same counts for a verdict, and a row for each counted finding."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from noisewatch.judgement.finding_words import counts_text
from noisewatch.judgement.terms import Gravity, Status
from noisewatch.judgement.verdict import Verdict, outcome_of
from noisewatch.operations.frame.making import frame_of
from noisewatch.surfaces.drawing.colours import STYLES, Meaning, paint
from noisewatch.surfaces.drawing.glyphs import UNICODE
from noisewatch.surfaces.reports.verdict.formats import RenderOptions
from noisewatch.surfaces.reports.verdict.text import render
from noisewatch.surfaces.tui.app.export import window_reports
from noisewatch.surfaces.tui.draw.headline import headline_row
from tests.surfaces.reports.consumers import read_nagios, tables
from tests.surfaces.reports.verdicts import failed_verdict, quiet_verdict, rendered, unknown_verdict, warned_verdict
from tests.surfaces.tui.framing import model_of, screen_of

_COUNTS = re.compile(r"\d+ block, .*?\d+ pass")


def _mixed_verdict(is_strict: bool = False) -> Verdict:
    """Return a verdict with each status and severity, in which a measurement answers some blocking questions."""
    statuses = (Status.FAIL, Status.WARN, Status.UNKNOWN)
    findings = tuple(
        replace(
            finding,
            answer=replace(finding.answer, status=statuses[at % 4], said="found", reason="unread", severity=None),
            answered_by="noise-floor-above-budget" if statuses[at % 4] == Status.UNKNOWN and at % 3 == 0 else None,
        )
        if at % 4 < 3
        else finding
        for at, finding in enumerate(quiet_verdict().findings)
    )
    return replace(quiet_verdict(), findings=findings, verdict=outcome_of(findings, is_strict), is_strict=is_strict)


_VERDICTS: dict[str, Callable[[], Verdict]] = {
    "quiet": quiet_verdict,
    "warned": warned_verdict,
    "unknown": unknown_verdict,
    "failed": failed_verdict,
    "mixed": _mixed_verdict,
    "strict": lambda: _mixed_verdict(is_strict=True),
}
_ALL = pytest.mark.parametrize("make", _VERDICTS.values(), ids=_VERDICTS)


def _monitor_text(verdict: Verdict) -> str:
    """Return the checks screen of the monitor at the time of the verdict, and its exported report."""
    model = model_of(frame_of(verdict.case.snapshot, verdict.case.interval, verdict, sampler_cpu_s=None))
    export = window_reports(model, 100)["md"] if verdict.counts.fail else ""
    return "\n".join([*screen_of(model, "preflight", 160, 60), export])


@_ALL
def test_reports_and_monitor_show_the_same_counts(make: Callable[[], Verdict]) -> None:
    verdict = make()
    texts = [
        *(rendered(name, verdict) for name in ("markdown", "github", "nagios")),
        _text(verdict),
        _monitor_text(verdict),
    ]
    shown = {match for text in texts for match in _COUNTS.findall(text)}
    assert shown == {counts_text(verdict).removesuffix(", strict")}
    assert all(_COUNTS.search(text) for text in texts)


@_ALL
def test_counts_match_the_findings_in_json(make: Callable[[], Verdict]) -> None:
    verdict = make()
    findings = json.loads(rendered("json", verdict))["findings"]
    statuses = Counter(finding["status"] for finding in findings)
    totals = verdict.counts
    assert (totals.fail, totals.warn, totals.unknown) == tuple(statuses[name] for name in ("fail", "warn", "unknown"))
    assert (totals.passed, totals.ignored, totals.not_applicable) == tuple(
        statuses[name] for name in ("pass", "ignored", "not-applicable")
    )
    blocking = Counter(
        finding["status"] for finding in findings if finding["severity"] == "blocking" and not finding["answered_by"]
    )
    assert (totals.blocking_fail, totals.blocking_unknown) == (blocking["fail"], blocking["unknown"])


def _text(verdict: Verdict) -> str:
    return render(verdict, RenderOptions(verdict.exit_status, 0.0, width=100_000, is_verbose=True))


def _rows_of_text(verdict: Verdict) -> list[tuple[str, str]]:
    rows = re.findall(r"^(\S+) +([a-z0-9, -]+) \((\w+)\)$", _text(verdict), re.MULTILINE)
    return [(label, weight) for label, names, weight in rows for _ in names.split(", ")]


def _rows_of_markdown(verdict: Verdict) -> list[tuple[str, str]]:
    parsed = tables(rendered("markdown", verdict))
    return [(row[0], row[2]) for row in parsed[1][1:]] if len(parsed) > 1 else []


def _rows_of_nagios(verdict: Verdict) -> list[tuple[str, str]]:
    lines = "\n".join(read_nagios(rendered("nagios", verdict))[1:])
    return re.findall(r"^(fail|warn|unknown|FAIL|WARN|UNKNOWN) \S+ \((\w+)\)", lines, re.MULTILINE)


def _rows_of_monitor(verdict: Verdict) -> list[tuple[str, str]]:
    lines = frame_of(verdict.case.snapshot, verdict.case.interval, verdict, sampler_cpu_s=None).findings
    return [(line.status, line.weight) for line in lines]


@pytest.mark.parametrize("rows_of", [_rows_of_text, _rows_of_markdown, _rows_of_monitor])
@_ALL
def test_rows_of_each_status_match_the_counts(
    make: Callable[[], Verdict], rows_of: Callable[[Verdict], list[tuple[str, str]]]
) -> None:
    verdict = make()
    rows = [(label.lower(), weight) for label, weight in rows_of(verdict)]
    statuses, totals = Counter(label for label, _ in rows), verdict.counts
    assert tuple(statuses[name] for name in ("fail", "warn", "unknown")) == (totals.fail, totals.warn, totals.unknown)
    assert rows.count(("fail", "blocking")) == totals.blocking_fail
    assert rows.count(("unknown", "blocking")) == totals.blocking_unknown
    assert ("warn", "blocking") not in rows


def test_rows_of_nagios_match_the_counts() -> None:
    rows = _rows_of_nagios(failed_verdict())
    assert len(rows) == failed_verdict().counts.fail + failed_verdict().counts.warn + failed_verdict().counts.unknown


@_ALL
def test_causes_in_json_have_each_counted_finding_once_and_match_the_text(
    make: Callable[[], Verdict],
) -> None:
    verdict = make()
    causes = json.loads(rendered("json", verdict))["causes"]
    relevant = (Gravity.FAILED, Gravity.WARNED, Gravity.UNANSWERED)
    expected = [finding.check.id for finding in verdict.findings if finding.gravity(verdict.is_strict) in relevant]
    assert sorted(name for cause in causes for name in cause["findings"]) == sorted(expected)
    numbers = re.findall(r"^ *(\d+) [✗!?] ", _text(verdict), re.MULTILINE)
    assert [int(number) for number in numbers] == list(range(1, len(causes) + 1))


_MARKS = {"✗": Gravity.FAILED, "!": Gravity.WARNED, "i": Gravity.NOTED, "✓": Gravity.PASSED, "·": Gravity.LEFT_OUT}


@_ALL
def test_marks_of_all_checks_match_the_findings(make: Callable[[], Verdict]) -> None:
    verdict = make()
    rows = _text(verdict).partition("CHECKS")[2].partition("✗ fails")[0]
    count_by_mark = Counter(character for marks in re.findall(r"(?<= )[✗!i?✓·]+(?=\s)", rows) for character in marks)
    gravities = Counter(finding.gravity(verdict.is_strict) for finding in verdict.findings)
    unknown = gravities[Gravity.UNANSWERED] + gravities[Gravity.OPEN]
    expected = {mark: gravities[gravity] for mark, gravity in _MARKS.items()} | {"?": unknown}
    assert count_by_mark == Counter({mark: count for mark, count in expected.items() if count})
    words = {"block": "✗", "warn": "!", "note": "i", "unknown": "?", "pass": "✓"}
    numbers = {
        words[word]: int(number)
        for number, word in re.findall(r"(?:^|, )(\d+) (block|warn|note|unknown|pass)\b", counts_text(verdict))
    }
    assert all(count_by_mark[mark] == number for mark, number in numbers.items())
    assert count_by_mark.keys() - {"·"} <= numbers.keys()


@pytest.mark.parametrize(("make", "word", "style"), [
    (unknown_verdict, "UNKNOWN", "doubt"),
    (failed_verdict, "UNSTABLE", "bad"),
    (quiet_verdict, "STABLE", "good"),
])  # fmt: skip
def test_a_verdict_has_the_same_colour_in_the_report_and_on_the_screen(
    make: Callable[[], Verdict], word: str, style: Meaning
) -> None:
    verdict = make()
    report = render(verdict, RenderOptions(verdict.exit_status, 0.0, in_colour=True))
    assert paint(word, style) in report.splitlines()[-1]
    model = model_of(frame_of(verdict.case.snapshot, verdict.case.interval, verdict, sampler_cpu_s=None))
    assert headline_row(model, 100, UNICODE)[0][1] == style


def test_unknown_is_yellow_and_no_two_styles_are_equal() -> None:
    report = render(unknown_verdict(), RenderOptions(3, 0.0, in_colour=True, is_verbose=True))
    assert paint("UNKNOWN", "unknown") in report
    assert paint("?", "unknown") in report
    assert all("yellow" in STYLES[name] for name in ("unknown", "doubt"))
    assert len(set(STYLES.values())) == len(STYLES)
