"""Every report and screen shows the same counts for a verdict, and a row for each counted finding."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from noisewatch.judgement.finding_words import counts
from noisewatch.judgement.terms import Gravity, Status
from noisewatch.judgement.verdict import Verdict, compose
from noisewatch.operations.frame.making import frame_of
from noisewatch.surfaces.drawing.colours import STYLES, Meaning, painted
from noisewatch.surfaces.drawing.glyphs import UNICODE
from noisewatch.surfaces.reports.verdict.formats import RenderOptions
from noisewatch.surfaces.reports.verdict.text import render
from noisewatch.surfaces.tui.app.export import window_reports
from noisewatch.surfaces.tui.draw.headline import headline_row
from tests.surfaces.reports.consumers import read_nagios, tables
from tests.surfaces.reports.verdicts import failed_verdict, quiet_verdict, rendered, unknown_verdict, warned_verdict
from tests.surfaces.tui.framing import model_of, screen_of

_COUNTED = re.compile(r"\d+ block, .*?\d+ pass")


def _mixed(is_strict: bool = False) -> Verdict:
    """Each status with each severity, some blocking questions answered by a measurement."""
    statuses = (Status.FAIL, Status.WARN, Status.UNKNOWN)
    findings = tuple(
        replace(
            each,
            answer=replace(each.answer, status=statuses[at % 4], said="found", reason="unread", severity=None),
            answered_by="noise-floor-above-budget" if statuses[at % 4] == Status.UNKNOWN and at % 3 == 0 else None,
        )
        if at % 4 < 3
        else each
        for at, each in enumerate(quiet_verdict().findings)
    )
    return replace(quiet_verdict(), findings=findings, verdict=compose(findings, is_strict), is_strict=is_strict)


_VERDICTS: dict[str, Callable[[], Verdict]] = {
    "quiet": quiet_verdict,
    "warned": warned_verdict,
    "unknown": unknown_verdict,
    "failed": failed_verdict,
    "mixed": _mixed,
    "strict": lambda: _mixed(is_strict=True),
}
_ALL = pytest.mark.parametrize("make", _VERDICTS.values(), ids=_VERDICTS)


def _monitored(verdict: Verdict) -> str:
    """The monitor's checks at the verdict's own moment, and what it exports of them."""
    model = model_of(frame_of(verdict.case.snapshot, verdict.case.interval, verdict, sampler_cpu_s=None))
    exported = window_reports(model, 100)["md"] if verdict.counts.fail else ""
    return "\n".join([*screen_of(model, "preflight", 160, 60), exported])


@_ALL
def test_every_report_and_the_monitor_count_alike(make: Callable[[], Verdict]) -> None:
    verdict = make()
    texts = [
        *(rendered(name, verdict) for name in ("markdown", "github", "nagios")),
        _text(verdict),
        _monitored(verdict),
    ]
    told = {said for text in texts for said in _COUNTED.findall(text)}
    assert told == {counts(verdict).removesuffix(", strict")}
    assert all(_COUNTED.search(text) for text in texts)


@_ALL
def test_the_counts_are_those_of_the_findings_in_json(make: Callable[[], Verdict]) -> None:
    verdict = make()
    findings = json.loads(rendered("json", verdict))["findings"]
    statuses = Counter(each["status"] for each in findings)
    found = verdict.counts
    assert (found.fail, found.warn, found.unknown) == tuple(statuses[name] for name in ("fail", "warn", "unknown"))
    assert (found.passed, found.ignored, found.not_applicable) == tuple(
        statuses[name] for name in ("pass", "ignored", "not-applicable")
    )
    blocking = Counter(
        each["status"] for each in findings if each["severity"] == "blocking" and not each["answered_by"]
    )
    assert (found.blocking_fail, found.blocking_unknown) == (blocking["fail"], blocking["unknown"])


def _text(verdict: Verdict) -> str:
    return render(verdict, RenderOptions(verdict.exit_status, 0.0, width=100_000, is_verbose=True))


def _rows_of_text(verdict: Verdict) -> list[tuple[str, str]]:
    rows = re.findall(r"^(\S+) +([a-z0-9, -]+) \((\w+)\)$", _text(verdict), re.MULTILINE)
    return [(label, weight) for label, names, weight in rows for _ in names.split(", ")]


def _rows_of_markdown(verdict: Verdict) -> list[tuple[str, str]]:
    found = tables(rendered("markdown", verdict))
    return [(row[0], row[2]) for row in found[1][1:]] if len(found) > 1 else []


def _rows_of_nagios(verdict: Verdict) -> list[tuple[str, str]]:
    lines = "\n".join(read_nagios(rendered("nagios", verdict))[1:])
    return re.findall(r"^(fail|warn|unknown|FAIL|WARN|UNKNOWN) \S+ \((\w+)\)", lines, re.MULTILINE)


def _rows_of_monitor(verdict: Verdict) -> list[tuple[str, str]]:
    lines = frame_of(verdict.case.snapshot, verdict.case.interval, verdict, sampler_cpu_s=None).findings
    return [(each.status, each.weight) for each in lines]


@pytest.mark.parametrize("rows_of", [_rows_of_text, _rows_of_markdown, _rows_of_monitor])
@_ALL
def test_there_are_as_many_rows_of_each_status_as_are_counted(
    make: Callable[[], Verdict], rows_of: Callable[[Verdict], list[tuple[str, str]]]
) -> None:
    verdict = make()
    rows = [(label.lower(), weight) for label, weight in rows_of(verdict)]
    statuses, found = Counter(label for label, _ in rows), verdict.counts
    assert tuple(statuses[name] for name in ("fail", "warn", "unknown")) == (found.fail, found.warn, found.unknown)
    assert rows.count(("fail", "blocking")) == found.blocking_fail
    assert rows.count(("unknown", "blocking")) == found.blocking_unknown
    assert ("warn", "blocking") not in rows


def test_in_nagios_rows_and_counts_agree_as_far_as_it_reads() -> None:
    rows = _rows_of_nagios(failed_verdict())
    assert len(rows) == failed_verdict().counts.fail + failed_verdict().counts.warn + failed_verdict().counts.unknown


@_ALL
def test_the_causes_in_json_hold_each_finding_that_counts_once_and_are_those_of_the_text(
    make: Callable[[], Verdict],
) -> None:
    verdict = make()
    causes = json.loads(rendered("json", verdict))["causes"]
    telling = (Gravity.FAILED, Gravity.WARNED, Gravity.UNANSWERED)
    wanted = [each.check.id for each in verdict.findings if each.gravity(verdict.is_strict) in telling]
    assert sorted(name for cause in causes for name in cause["findings"]) == sorted(wanted)
    numbered = re.findall(r"^ *(\d+) [✗!?] ", _text(verdict), re.MULTILINE)
    assert [int(number) for number in numbered] == list(range(1, len(causes) + 1))


_MARKS = {"✗": Gravity.FAILED, "!": Gravity.WARNED, "i": Gravity.NOTED, "✓": Gravity.PASSED, "·": Gravity.LEFT_OUT}


@_ALL
def test_the_characters_of_all_checks_are_those_of_the_findings(make: Callable[[], Verdict]) -> None:
    verdict = make()
    rows = _text(verdict).partition("CHECKS")[2].partition("✗ fails")[0]
    drawn = Counter(character for marks in re.findall(r"(?<= )[✗!i?✓·]+(?=\s)", rows) for character in marks)
    gravities = Counter(each.gravity(verdict.is_strict) for each in verdict.findings)
    unknown = gravities[Gravity.UNANSWERED] + gravities[Gravity.OPEN]
    wanted = {mark: gravities[gravity] for mark, gravity in _MARKS.items()} | {"?": unknown}
    assert drawn == Counter({mark: count for mark, count in wanted.items() if count})
    words = {"block": "✗", "warn": "!", "note": "i", "unknown": "?", "pass": "✓"}
    told = {
        words[word]: int(number)
        for number, word in re.findall(r"(?:^|, )(\d+) (block|warn|note|unknown|pass)\b", counts(verdict))
    }
    assert all(drawn[mark] == number for mark, number in told.items())
    assert drawn.keys() - {"·"} <= told.keys()


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
    assert painted(word, style) in report.splitlines()[-1]
    model = model_of(frame_of(verdict.case.snapshot, verdict.case.interval, verdict, sampler_cpu_s=None))
    assert headline_row(model, 100, UNICODE)[0][1] == style


def test_what_is_unknown_is_yellow_everywhere_and_nothing_else_has_its_style() -> None:
    report = render(unknown_verdict(), RenderOptions(3, 0.0, in_colour=True, is_verbose=True))
    assert painted("UNKNOWN", "unknown") in report
    assert painted("?", "unknown") in report
    assert all("yellow" in STYLES[name] for name in ("unknown", "doubt"))
    assert len(set(STYLES.values())) == len(STYLES)
