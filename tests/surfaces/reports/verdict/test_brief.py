"""Without -v the report of a verdict fits a screen, and its end is what one needs."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from noisewatch.judgement.catalogue import CATALOGUE
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
    """Return the rows of a terminal that the text takes."""
    return sum(max(-(-len(line) // width), 1) for line in text.splitlines())


def _prose(text: str) -> list[str]:
    """Return the lines but for the commands and the last one."""
    *lines, _ = text.splitlines()
    return [
        line
        for line in lines
        if "noisewatch " not in line
        and not re.match(rf" +({'|'.join(_STEPS)}) ", line)
        and not line.startswith(" " * 14)
    ]


def _of_recording(path: Path) -> Verdict:
    return verdicts.verdict_of_recording(path, is_profile_given=False)


@cache
def _with_hogs(*names: str) -> Verdict:
    before, after = quiet_files(), quiet_files(3.0)
    for pid, name in enumerate(names, start=900):
        before |= process(pid, name, 2, 0, allowed="0-3")
        after |= process(pid, name, 2, 1_080_000_000 // (pid - 899), allowed="0-3")
    after["/proc/stat"] = stat_file({2: 108 * len(names)}, 300)
    return judged(WrittenMachine(before, after, answers=ANSWERS), is_calibrated=False)


@pytest.mark.parametrize("path", _RECORDED, ids=lambda path: path.stem)
def test_a_recorded_machine_fits_a_screen(path: Path) -> None:
    text = _text(_of_recording(path))
    assert _rows(text) <= _ROWS
    assert [line for line in _prose(text) if len(line) > _COLUMNS] == []


@pytest.mark.parametrize("name", _WRITTEN)
def test_a_written_machine_fits_a_screen(name: str) -> None:
    text = _text(_WRITTEN[name]())
    assert _rows(text) <= _ROWS
    assert [line for line in _prose(text) if len(line) > _COLUMNS] == []


@pytest.mark.parametrize("check_id", sorted({each.id for each in all_examples()}))
def test_every_machine_that_an_example_writes_fits_a_screen(check_id: str) -> None:
    for example in (each for each in all_examples() if each.id == check_id and each.status in ("fail", "unknown")):
        text = _text(example.judged())
        assert (_rows(text) <= _ROWS, example.name) == (True, example.name)
        assert [line for line in _prose(text) if len(line) > _COLUMNS] == []
        assert len(text.splitlines()[-1]) < _COLUMNS


def test_all_examples_that_fail_at_once_fit_and_the_rest_is_counted() -> None:
    failed = {each.id: each.found() for each in all_examples() if each.status == "fail"}
    verdict = replace(verdicts.quiet_verdict(), verdict=Outcome.UNSTABLE, findings=(*failed.values(),), is_strict=True)
    text = _text(verdict)
    assert _rows(text) <= _ROWS
    number = len([cause for cause in causes_of(verdict) if cause.gravity == Gravity.FAILED])
    shown = len(re.findall(r"^ *\d+ ✗ ", text, re.MULTILINE))
    assert 3 <= shown < number
    assert f"   … and {number - shown} more: -v" in text.splitlines()
    assert f", and {number - 1} more (exit" in text.splitlines()[-1]


@pytest.mark.parametrize("path", _RECORDED, ids=lambda path: path.stem)
def test_each_command_is_one_of_the_verdict_and_whole(path: Path) -> None:
    verdict = _of_recording(path)
    whole = {" ".join(line.split()) for line in _text(verdict, is_verbose=True).splitlines()}
    commands = [line for line in _text(verdict).splitlines() if re.match(r" +(now|undo|for good) ", line)]
    assert [line for line in commands if " ".join(line.split()) not in whole] == []


def test_a_culprit_is_named_first_and_last_with_its_effect_in_the_unit_of_the_budget() -> None:
    lines = _text(_with_hogs("cp")).splitlines()
    assert lines[0] == "UNSTABLE   CPUs 2-3: do not benchmark now"
    assert lines[3].startswith(" 1 ✗ cp [900] takes ~36% of CPU 2 ")
    assert lines[3].endswith(" (budget 1%, limit 0.5%)")
    assert "     now      sudo taskset -pc 0-1 900" in lines
    assert lines[-1].startswith("UNSTABLE: cp [900] takes ~36% of CPU 2")
    assert lines[-1].endswith("(exit 1)")


def test_others_who_take_time_stand_below_the_costliest() -> None:
    text = _text(_with_hogs("cp", "sort"))
    assert re.search(r"^ 1 ✗ cp \[900\] takes ~36% of CPU 2", text, re.MULTILINE)
    assert re.search(r"^     who      sort \[901\] 18%", text, re.MULTILINE)


def test_a_stable_verdict_is_short_and_says_what_it_rests_on() -> None:
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


def test_a_chance_that_is_too_small_says_what_may_decide_it() -> None:
    text = _text(_of_recording(MACHINES / "host-kinds.nw"))
    assert re.search(r"^ 1 ✗ 25 samples of 100 ms stay within 1%: chance <1% \(cache work\)", text, re.MULTILINE)
    assert "(needs 70%)" in text
    assert re.search(r"^     try +.*--max-cv \d+% \(\d+%\)", text, re.MULTILINE)


@pytest.mark.parametrize("changes", [{3: {"state": "moved"}}, {3: {"lost_gaps": 5, "lost_gaps_ns": 10_000}}])
def test_a_chance_that_is_in_doubt_is_not_told(changes: dict[int, Any]) -> None:
    verdict = verdict_of(changes=changes)
    assert verdict.case.calibrated is not None
    assert chance_within_budget(verdict.case.calibrated).value is None
    text = _text(verdict)
    assert not re.search(r"(chance|\() *[<>\d]+ *\d* ?%", text)
    assert text.splitlines()[-1].startswith("UNKNOWN: ")


def test_the_profile_is_told_with_its_reason() -> None:
    assert "profile shared (virtual machine)" in _text(_of_recording(MACHINES / "host-kinds.nw"))


def test_warnings_are_one_line_with_the_costliest_first() -> None:
    text = _text(_of_recording(MACHINES / "lab-disturbed.nw"))
    assert re.search(r"^ 8 warnings, the costliest:  disk sda 0\.15% \(IRQ 40, 374/s\)", text, re.MULTILINE)


@pytest.mark.parametrize("width", [20, 40, 60])
@pytest.mark.parametrize("path", _RECORDED, ids=lambda path: path.stem)
def test_prose_is_wrapped_at_narrow_widths(path: Path, width: int) -> None:
    text = _text(_of_recording(path), width)
    longest = [line for line in _prose(text) if len(line) > width]
    assert [line for line in longest if not re.search(r"--|sudo|/sys/|\w{15}", line)] == []
    assert text.splitlines()[-1].startswith("UNSTABLE: ")


@pytest.mark.parametrize("is_short", [False, True])
@pytest.mark.parametrize("name", HOSTILE_NAMES, ids=range(len(HOSTILE_NAMES)))
def test_a_hostile_name_is_plain_text_and_takes_no_more_room(name: str, is_short: bool) -> None:
    for verdict in (short_hostile_verdict(name) if is_short else hostile_verdict(name), hostile_verdict(name * 20)):
        text = _text(verdict)
        assert [line for line in text.splitlines() if not line.isprintable()] == []
        assert _rows(text) <= _ROWS
        assert len(text.splitlines()[-1]) < _COLUMNS
    assert f"{printable(name)} [900]" in _text(hostile_verdict(name)) or "takes" not in _text(hostile_verdict(name))


def test_without_other_characters_letters_mark_what_blocks_and_colour_changes_no_text() -> None:
    verdict = verdicts.failed_verdict()
    assert re.search(r"^ 1 X hog \[900\]", _text(verdict, in_unicode=False), re.MULTILINE)
    coloured = _text(verdict, in_colour=True)
    assert "\x1b[" in coloured
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == _text(verdict)


@pytest.mark.parametrize("path", _RECORDED, ids=lambda path: path.stem)
def test_all_else_stays_with_v_and_ends_alike(path: Path) -> None:
    verdict = _of_recording(path)
    verbose = _text(verdict, is_verbose=True)
    assert [each.check.id for each in verdict.findings if each.check.id not in verbose] == []
    assert "WHAT TO DO" in verbose
    assert f"ALL {len(verdict.findings)} CHECKS" in verbose
    assert verbose.splitlines()[-1] == _text(verdict).splitlines()[-1]


@pytest.mark.parametrize("path", _RECORDED, ids=lambda path: path.stem)
def test_no_report_advises_another_profile_or_uses_two_names_for_a_thing(path: Path) -> None:
    text = _text(_of_recording(path), is_verbose=True)
    assert "--profile shared" not in text
    assert [word for word in (" settles ", " keep  ", " by hand ", " about  ", "passes up to") if word in text] == []


def test_what_the_options_left_out_or_weigh_otherwise_is_stated() -> None:
    rules = Rules(
        ignored=frozenset({"load"}),
        severity_by_id={"noise-floor-above-budget": Severity.INFORMATION},
        value_by_limit={("busy-sibling", "fails"): 1.0, ("swapping", "fails"): 9.0},
    )
    text = " ".join(_text(verdict_of(None, rules=rules)).split())
    left_out = sum(check.area == "load" for check in CATALOGUE)
    assert f"{left_out} checks not asked · severity of 1 check changed · 2 limits changed" in text
    assert not re.search(r"not asked|checks? changed|limits? changed", _text(verdict_of()))
