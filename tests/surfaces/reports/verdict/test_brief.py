"""Without -v the report of a verdict fits a screen and ends with the essential line."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from noisewatch.judgement.catalogue import CATALOGUE
from noisewatch.judgement.cause_words import warnings_of
from noisewatch.judgement.causes import causes_of
from noisewatch.judgement.noise.by_work import chance_within_budget
from noisewatch.judgement.rules import Rules
from noisewatch.judgement.terms import Gravity, Outcome, Severity, Status
from noisewatch.judgement.verdict import Verdict
from noisewatch.surfaces.reports.verdict.formats import FORMATS, RenderOptions
from noisewatch.text import printable
from tests import MACHINES
from tests.judgement.checks.calibration.calibrating import verdict_of
from tests.judgement.example import all_examples
from tests.judgement.judging import judged
from tests.surfaces.reports import verdicts
from tests.surfaces.reports.verdicts import HOSTILE_NAMES, hostile_verdict, short_hostile_verdict
from tests.written import WrittenMachine
from tests.written.quiet_machine import ANSWERS, process, quiet_files, stat_file

_ROWS, _COLUMNS = 24, 80
_RECORDED = sorted(MACHINES.glob("*.nw"))
_WRITTEN: Mapping[str, Callable[[], Verdict]] = {
    "quiet": verdicts.quiet_verdict,
    "warned": verdicts.warned_verdict,
    "unknown": verdicts.unknown_verdict,
    "strict": lambda: verdicts.strict_verdict(Status.WARN),
    "strict unknown": lambda: verdicts.strict_verdict(Status.UNKNOWN),
    "failed": verdicts.failed_verdict,
    "nothing": verdicts.verdict_on_nothing,
}
_STEPS = ("now", "undo", "for good")
_STATUSES = ("fail", "unknown")


def _text(
    verdict: Verdict,
    width: int = _COLUMNS,
    is_verbose: bool = False,
    in_colour: bool = False,
    in_unicode: bool = True,
) -> str:
    options = RenderOptions(
        verdict.exit_status, 0.0, width=width, in_colour=in_colour, in_unicode=in_unicode, is_verbose=is_verbose
    )
    return FORMATS["text"].render(verdict, options)


def _rows(text: str, width: int = _COLUMNS) -> int:
    """Return the number of terminal rows that the text needs."""
    return sum(max(-(-len(line) // width), 1) for line in text.splitlines())


def _prose(text: str) -> list[str]:
    """Return all lines except the commands and the last line."""
    *lines, _ = text.splitlines()
    return [
        line
        for line in lines
        if "noisewatch " not in line
        and not re.match(rf" +({'|'.join(_STEPS)}) ", line)
        and not line.startswith(" " * 14)
    ]


def _verdict_of_recording(path: Path) -> Verdict:
    return verdicts.verdict_of_recording(path, is_profile_given=False)


@cache
def _verdict_with_hogs(*names: str) -> Verdict:
    before, after = quiet_files(), quiet_files(3.0)
    for pid, name in enumerate(names, start=900):
        before |= process(pid, name, 2, 0, allowed="0-3")
        after |= process(pid, name, 2, 1_080_000_000 // (pid - 899), allowed="0-3")
    after["/proc/stat"] = stat_file({2: 108 * len(names)}, 300)
    return judged(WrittenMachine(before, after, answers=ANSWERS), is_calibrated=False)


@pytest.mark.parametrize("path", _RECORDED, ids=lambda path: path.stem)
def test_report_on_a_recorded_machine_fits_a_screen(path: Path) -> None:
    text = _text(_verdict_of_recording(path))
    assert _rows(text) <= _ROWS
    assert [line for line in _prose(text) if len(line) > _COLUMNS] == []


@pytest.mark.parametrize("name", _WRITTEN)
def test_report_on_a_written_machine_fits_a_screen(name: str) -> None:
    text = _text(_WRITTEN[name]())
    assert _rows(text) <= _ROWS
    assert [line for line in _prose(text) if len(line) > _COLUMNS] == []


@pytest.mark.parametrize("check_id", sorted({example.id for example in all_examples()}))
def test_report_on_every_example_machine_fits_a_screen(check_id: str) -> None:
    examples = [example for example in all_examples() if example.id == check_id and example.status in _STATUSES]
    for example in examples:
        text = _text(example.judged())
        assert (_rows(text) <= _ROWS, example.name) == (True, example.name)
        assert [line for line in _prose(text) if len(line) > _COLUMNS] == []
        assert len(text.splitlines()[-1]) < _COLUMNS


def test_failures_that_do_not_fit_are_counted() -> None:
    failed = {example.id: example.found() for example in all_examples() if example.status == "fail"}
    verdict = replace(verdicts.quiet_verdict(), verdict=Outcome.UNSTABLE, findings=(*failed.values(),), is_strict=True)
    text = _text(verdict)
    assert _rows(text) <= _ROWS
    number = len([cause for cause in causes_of(verdict) if cause.gravity == Gravity.FAILED])
    shown = len(re.findall(r"^ *\d+ ✗ ", text, re.MULTILINE))
    assert 3 <= shown < number
    assert f"   … and {number - shown} more: -v" in text.splitlines()
    assert f", and {number - 1} more (exit" in text.splitlines()[-1]


@pytest.mark.parametrize("path", _RECORDED, ids=lambda path: path.stem)
def test_commands_are_not_shortened(path: Path) -> None:
    verdict = _verdict_of_recording(path)
    whole = {" ".join(line.split()) for line in _text(verdict, is_verbose=True).splitlines()}
    commands = [line for line in _text(verdict).splitlines() if re.match(r" +(now|undo|for good) ", line)]
    assert [line for line in commands if " ".join(line.split()) not in whole] == []


def test_a_culprit_is_named_first_and_last_with_its_effect_in_the_unit_of_the_budget() -> None:
    lines = _text(_verdict_with_hogs("cp")).splitlines()
    assert lines[0] == "UNSTABLE   CPUs 2-3: do not benchmark now"
    assert lines[3].startswith(" 1 ✗ cp [900] takes ~36% of CPU 2 ")
    assert lines[3].endswith(" (budget 1%, limit 0.5%)")
    assert "     now      sudo taskset -pc 0-1 900" in lines
    assert lines[-1].startswith("UNSTABLE: cp [900] takes ~36% of CPU 2")
    assert lines[-1].endswith("(exit 1)")


def test_other_culprits_are_listed_below_the_costliest() -> None:
    text = _text(_verdict_with_hogs("cp", "sort"))
    assert re.search(r"^ 1 ✗ cp \[900\] takes ~36% of CPU 2", text, re.MULTILINE)
    assert re.search(r"^     who      sort \[901\] 18%", text, re.MULTILINE)


def test_stable_verdict_is_short_and_states_its_basis() -> None:
    lines = _text(verdicts.quiet_verdict()).splitlines()
    assert len(lines) <= 8
    assert lines[0] == "STABLE   CPUs 2-3: ready to benchmark"
    text = "\n".join(lines)
    assert "25 samples of 100 ms stay within 1%: chance >99%" in text
    assert "CPUs 2-3 · profile micro · 3 s sample, 5 s calibration" in text
    assert lines[-1] == "STABLE: 25 samples of 100 ms stay within 1%: chance >99% (exit 0)"


def test_open_questions_are_named_in_the_last_line() -> None:
    lines = _text(verdicts.unknown_verdict()).splitlines()
    assert lines[0].startswith("UNKNOWN   CPUs 2-3: ")
    assert lines[-1] == "UNKNOWN: no answer to governor-not-performance (exit 3)"


def test_too_small_chance_names_options_that_may_pass() -> None:
    text = _text(_verdict_of_recording(MACHINES / "host-kinds.nw"))
    assert re.search(r"^ 1 ✗ 25 samples of 100 ms stay within 1%: chance <1% \(cache work\)", text, re.MULTILINE)
    assert "(needs 70%)" in text
    assert re.search(r"^     try +.*--max-cv \d+% \(\d+%\)", text, re.MULTILINE)


@pytest.mark.parametrize("changes", [{3: {"state": "moved"}}, {3: {"lost_gaps": 5, "lost_gaps_ns": 10_000}}])
def test_uncertain_chance_is_not_reported(changes: dict[int, Any]) -> None:
    verdict = verdict_of(changes=changes)
    assert verdict.case.calibrated is not None
    assert chance_within_budget(verdict.case.calibrated).value is None
    text = _text(verdict)
    assert not re.search(r"(chance|\() *[<>\d]+ *\d* ?%", text)
    assert text.splitlines()[-1].startswith("UNKNOWN: ")


def test_profile_is_shown_with_its_reason() -> None:
    assert "profile shared (virtual machine)" in _text(_verdict_of_recording(MACHINES / "host-kinds.nw"))


def test_warnings_are_one_line_with_the_costliest_first() -> None:
    text = _text(_verdict_of_recording(MACHINES / "lab-disturbed.nw"))
    assert re.search(r"^ 8 warnings, the costliest:  disk sda 0\.15% \(IRQ 40, 374/s\)", text, re.MULTILINE)


def test_incomplete_names_of_warnings_without_a_cost_are_marked() -> None:
    verdict = _verdict_of_recording(MACHINES / "lab-disturbed.nw")
    warned = [cause for cause in causes_of(verdict) if cause.gravity == Gravity.WARNED]
    alone = [(cause, warnings_of([cause, cause], verdict.case)) for cause in warned]
    free = [cause for cause, warnings in alone if warnings is not None and warnings.heading == "2 warnings"]
    assert len(free) > 3
    warnings = warnings_of(free, verdict.case)
    assert warnings is not None
    assert (warnings.heading, len(warnings.costliest)) == (f"{len(free)} warnings, among them", 3)


@pytest.mark.parametrize("width", [20, 40, 60])
@pytest.mark.parametrize("path", _RECORDED, ids=lambda path: path.stem)
def test_prose_is_wrapped_at_narrow_widths(path: Path, width: int) -> None:
    text = _text(_verdict_of_recording(path), width)
    longest = [line for line in _prose(text) if len(line) > width]
    assert [line for line in longest if not re.search(r"--|sudo|/sys/|\w{15}", line)] == []
    assert text.splitlines()[-1].startswith("UNSTABLE: ")


@pytest.mark.parametrize("is_short", [False, True])
@pytest.mark.parametrize("name", HOSTILE_NAMES, ids=range(len(HOSTILE_NAMES)))
def test_hostile_name_is_plain_text_and_fits_a_screen(name: str, is_short: bool) -> None:
    for verdict in (short_hostile_verdict(name) if is_short else hostile_verdict(name), hostile_verdict(name * 20)):
        text = _text(verdict)
        assert [line for line in text.splitlines() if not line.isprintable()] == []
        assert _rows(text) <= _ROWS
        assert len(text.splitlines()[-1]) < _COLUMNS
    assert f"{printable(name)} [900]" in _text(hostile_verdict(name)) or "takes" not in _text(hostile_verdict(name))


def test_ascii_marks_failures_with_letters_and_colour_changes_no_text() -> None:
    verdict = verdicts.failed_verdict()
    assert re.search(r"^ 1 X hog \[900\]", _text(verdict, in_unicode=False), re.MULTILINE)
    coloured = _text(verdict, in_colour=True)
    assert "\x1b[" in coloured
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == _text(verdict)


@pytest.mark.parametrize("path", _RECORDED, ids=lambda path: path.stem)
def test_verbose_report_lists_all_checks_and_ends_with_the_same_line(path: Path) -> None:
    verdict = _verdict_of_recording(path)
    verbose = _text(verdict, is_verbose=True)
    assert [finding.check.id for finding in verdict.findings if finding.check.id not in verbose] == []
    assert "WHAT TO DO" in verbose
    assert f"ALL {len(verdict.findings)} CHECKS" in verbose
    assert verbose.splitlines()[-1] == _text(verdict).splitlines()[-1]


@pytest.mark.parametrize("path", _RECORDED, ids=lambda path: path.stem)
def test_report_advises_no_other_profile_and_uses_no_synonyms(path: Path) -> None:
    text = _text(_verdict_of_recording(path), is_verbose=True)
    assert "--profile shared" not in text
    assert [word for word in (" settles ", " keep  ", " by hand ", " about  ", "passes up to") if word in text] == []


def test_checks_that_options_exclude_or_change_are_counted() -> None:
    rules = Rules(
        ignored=frozenset({"load"}),
        severity_by_id={"noise-floor-above-budget": Severity.INFORMATION},
        value_by_limit={("busy-sibling", "fails"): 1.0, ("swapping", "fails"): 9.0},
    )
    text = " ".join(_text(verdict_of(None, rules=rules)).split())
    left_out = sum(check.area == "load" for check in CATALOGUE)
    assert f"{left_out} checks not asked · severity of 1 check changed · 2 limits changed" in text
    assert not re.search(r"not asked|checks? changed|limits? changed", _text(verdict_of()))
