"""`noisewatch compare` lists the differences only; the blocking ones decide the exit status."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests import MACHINES
from tests.surfaces.reports.compare.documents import (
    Compare,
    calibration,
    cpu,
    finding,
    receipt,
    times,
    verdict,
    with_facts,
    written,
)
from tests.surfaces.running import Run, record
from tests.written.quiet_machine import quiet_files

_HOST, _LAB = MACHINES / "host-kinds.nw", MACHINES / "lab-partition.nw"
_BUSY = "target-cpu-busy"


@pytest.mark.parametrize(
    "document", [calibration(), verdict(), receipt(times(0.1))], ids=["calibration", "verdict", "receipt"]
)
@pytest.mark.parametrize("form", ["text", "markdown", "json"])
def test_document_does_not_differ_from_itself(compare: Compare, document: object, form: str) -> None:
    ran = compare(document, document, "--format", form)
    assert ran.status == 0
    assert "no difference found" in ran.out
    assert "BLOCKS" not in ran.out
    assert "→" not in ran.out


_OPEN = "no difference found; blocking differences unknown, because one or both sides have no answer: "
_NOISY = "2 of 13 figures are too noisy to tell"


@pytest.mark.parametrize(
    ("recording", "status", "answer"),
    [
        (_HOST, 0, f"no difference found; {_NOISY}"),
        (_LAB, 3, f"{_OPEN}cpu-quota, hypervisor-steal, noise-floor-above-budget and 1 more"),
    ],
    ids=lambda value: value.stem if isinstance(value, Path) else None,
)
def test_recording_does_not_differ_from_itself(run: Run, recording: Path, status: int, answer: str) -> None:
    ran = run("compare", recording, recording)
    assert ran.status == status
    assert ran.words.startswith(f"{answer} before: ")


def test_different_machines_are_reported_first(run: Run) -> None:
    ran = run("compare", _HOST, _LAB)
    answer, *following = ran.out.splitlines()
    assert ran.status == 1
    assert "blocking differences: " in " ".join([answer, *following])
    assert ran.words.index("two different machines: CPU model: AMD EPYC → QEMU TCG") < ran.words.index("before:")
    assert "different target CPUs: CPU 1 → CPUs 2-7" in ran.out
    assert "kernel: 6.18.44-fc-v595 → 6.1.0-56-amd64" in ran.out
    assert "BLOCKS partition-invalid: not-applicable → fail" in ran.out
    assert "known only before: all figures" in ran.out


def test_verdict_does_not_differ_from_its_recording(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "verdict.json"
    run("preflight", "--replay", _HOST, "--format", "json", "--output", path)
    ran = run("compare", path, _HOST)
    assert (ran.status, ran.words.partition(" before: ")[0]) == (0, f"no difference found; {_NOISY}")
    assert "figures compared, each at" in ran.words
    run("preflight", "--replay", _HOST, "--format", "jsonl", "--output", path)
    assert run("compare", path, _HOST).words.startswith(f"no difference found; {_NOISY}")
    run("calibrate", "--replay", _HOST, "--format", "json", "--output", path)
    again = run("compare", path, _HOST)
    assert again.status == 3
    assert again.words.startswith(f"{_OPEN}checks; {_NOISY}; only one side has all checks before: ")
    assert "known only after: all checks" in again.out


def test_changed_facts_are_listed_by_class_and_do_not_block(compare: Compare) -> None:
    ran = compare(calibration(), calibration(facts=with_facts(microcode="0x11", turbo="on")))
    assert (ran.status, ran.out.splitlines()[0]) == (0, "2 facts differ; no blocking differences")
    assert "firmware:\n  microcode: 0x10 → 0x11\n\nsettings:\n  turbo: off → on\n" in ran.out


def test_fact_on_one_side_only_is_listed(compare: Compare) -> None:
    ran = compare(calibration(), calibration(facts=with_facts(BIOS=None)))
    assert (ran.status, ran.out.splitlines()[0]) == (0, "no difference found; only one side has 1 fact")
    assert "known only before: facts BIOS" in ran.out


def test_machine_of_a_document_without_facts_is_compared(compare: Compare) -> None:
    old = verdict(machine={"kernel": "6.1.0", "cpu_model": "Acme 3000", "virtual": None})
    del old["facts"]
    ran = compare(old, verdict())
    assert ran.out.splitlines()[0] == "1 fact differs; no blocking differences; only one side has 5 facts"
    assert "kernel: 6.1.0 → 6.8.0" in ran.out


_PASS, _FAIL, _WARN = (finding(_BUSY, status) for status in ("pass", "fail", "warn"))
_PASS_WARNING, _FAIL_WARNING = (finding(_BUSY, status, "warning") for status in ("pass", "fail"))
_UNREADABLE, _UNASKED = finding(_BUSY, "unknown", reason="no file"), finding(_BUSY, "ignored", reason="no sample")
_MEASURED, _BY_FLOOR = (finding(_BUSY, "unknown", answered_by=by) for by in ("steal", "noise-floor-above-budget"))
_ANSWERED = "unknown, not answered by any other check → unknown, answered by steal (no file)"


@pytest.mark.parametrize(
    ("before", "after", "status", "text"),
    [
        (_PASS, _FAIL, 1, f"BLOCKS {_BUSY}: pass → fail ({_BUSY} said)"),
        (_FAIL, _PASS, 1, f"BLOCKS {_BUSY}: fail → pass"),
        (_PASS, _UNREADABLE, 1, "pass → unknown (no file)"),
        (_FAIL, _UNREADABLE, 1, "fail → unknown"),
        (_PASS, _MEASURED, 0, "pass → unknown, answered by steal"),
        (_PASS, _UNASKED, 3, f"UNKNOWN {_BUSY}: pass → ignored (no sample)"),
        (_PASS, _WARN, 0, f"checks: {_BUSY}: pass → warn"),
        (_PASS_WARNING, _FAIL_WARNING, 0, f"checks: {_BUSY}: pass → fail"),
        (_FAIL_WARNING, _FAIL, 1, f"BLOCKS {_BUSY}: fail, warning → fail, blocking"),
        (_UNREADABLE, _MEASURED, 1, f"BLOCKS {_BUSY}: {_ANSWERED}"),
        (_MEASURED, _BY_FLOOR, 0, "no difference found"),
    ],
)
def test_changed_answers_of_a_check_are_listed(
    compare: Compare, before: dict[str, Any], after: dict[str, Any], status: int, text: str
) -> None:
    others = finding("other", "pass")
    ran = compare(verdict(before, others), verdict(after, others))
    assert ran.status == status
    assert text in ran.words


def test_blocking_check_unknown_on_both_sides_makes_the_result_unknown(compare: Compare) -> None:
    passed = finding("other", "pass")
    unknown = verdict(_UNREADABLE, passed)
    ran = compare(unknown, unknown)
    assert ran.status == 3
    assert ran.words.startswith(f"{_OPEN}{_BUSY} before: ")
    assert f"unknown on both sides, so not compared: {_BUSY}" in ran.out


@pytest.mark.parametrize(
    "answer", [_MEASURED, finding(_BUSY, "unknown", "warning"), finding(_BUSY, "ignored", reason="--ignore")]
)
def test_unknown_that_is_measured_otherwise_or_does_not_block_is_no_difference(
    compare: Compare, answer: dict[str, Any]
) -> None:
    document = verdict(answer, finding("other", "pass"))
    assert compare(document, document).status == 0


def test_result_is_unknown_if_no_blocking_check_was_asked(compare: Compare) -> None:
    unasked = verdict(finding(_BUSY, "ignored", reason="--ignore"))
    ran = compare(unasked, unasked)
    assert ran.status == 3
    assert "no check or figure that can block is known on both sides" in ran.words


@pytest.mark.parametrize(
    ("status", "severity", "exit_status"),
    [
        ("fail", "blocking", 3),
        ("unknown", "blocking", 3),
        ("pass", "blocking", 3),
        ("warn", "blocking", 3),
        ("ignored", "blocking", 0),
        ("not-applicable", "blocking", 0),
        ("fail", "warning", 0),
    ],
)
def test_blocking_check_on_one_side_only_makes_the_result_unknown(
    compare: Compare, status: str, severity: str, exit_status: int
) -> None:
    common = finding("other", "pass")
    whole, cut = verdict(common, finding(_BUSY, status, severity)), verdict(common)
    for ran in (compare(whole, cut), compare(cut, whole)):
        assert ran.status == exit_status
        assert (f"because one or both sides have no answer: {_BUSY}" in ran.words) == bool(exit_status)


def test_verdict_without_checks_makes_the_result_unknown(compare: Compare) -> None:
    document = {**calibration(), **verdict(), "calibration": calibration()["calibration"]}
    assert compare(document, {**document, "findings": []}).status == 3


def test_calibration_missing_on_one_side_makes_the_result_unknown(compare: Compare) -> None:
    document = {**calibration(), **verdict(), "calibration": calibration()["calibration"]}
    ran = compare(document, {**document, "calibration": None})
    assert ran.status == 3
    assert "because one or both sides have no answer: figures" in ran.words


_OPENING = calibration()["calibration"] | {"noise_floor": calibration()["noise_floor"]}


@pytest.mark.parametrize(
    "other", [calibration(), receipt(times(0.1), opening=_OPENING)], ids=["calibration", "receipt"]
)
@pytest.mark.parametrize(
    ("status", "severity", "exit_status"),
    [("fail", "blocking", 3), ("pass", "blocking", 3), ("ignored", "blocking", 0), ("fail", "warning", 0)],
)
def test_checks_on_one_side_only_make_the_result_unknown(
    compare: Compare, other: Any, status: str, severity: str, exit_status: int
) -> None:
    parts = {key: value for key, value in calibration().items() if key != "schema"}
    judged = verdict(finding(_BUSY, status, severity), **parts)
    for ran in (compare(judged, other), compare(other, judged)):
        assert ran.status == exit_status
        assert ("one or both sides have no answer: checks" in ran.words) == bool(exit_status)
        assert "only one side has all checks" in ran.words


_GUEST = {"unknown_because": "no file"}
_OF_GUEST = finding(_BUSY, "not-applicable", reason="unknown to this guest", evidence=_GUEST)


@pytest.mark.parametrize(
    ("before", "after", "status", "text"),
    [
        (_FAIL_WARNING, _FAIL, 1, f"BLOCKS fail, warning → fail, blocking: {_BUSY}"),
        (_UNREADABLE, _OF_GUEST, 1, f"BLOCKS unknown → not-applicable: {_BUSY}"),
        (finding(_BUSY, "unknown", "warning", reason="no file"), _OF_GUEST, 0, f"unknown → not-applicable: {_BUSY}"),
        (_WARN, _PASS, 0, f"warn → pass: {_BUSY}"),
    ],
)
def test_checks_that_only_the_profiles_judge_differently_are_summed_up(
    compare: Compare, before: dict[str, Any], after: dict[str, Any], status: int, text: str
) -> None:
    common = finding("common", "pass")
    others = [{**side, "id": "z-other"} for side in (before, after)]
    sides = verdict(common, before, others[0]), verdict(common, after, others[1], profile="shared")
    ran = compare(*sides)
    assert ran.status == status
    assert ran.words.startswith("2 checks differ (2 checks only because the profiles do); ")
    assert f"judged by micro and shared: {text}, z-other" in ran.words
    assert [item["by_profile"] for item in compare(*sides, "--format", "json").json["findings"]] == [True, True]
    alone = compare(sides[0], {**sides[1], "profile": "micro"})
    assert alone.status == status
    assert "only because" not in alone.words
    assert alone.words.count("→") == 2


@pytest.mark.parametrize(
    "after",
    [
        finding(_BUSY, "pass", said="another answer"),
        finding(_BUSY, "pass", measured=0.1),
        finding(_BUSY, "unknown", "warning", reason="no file"),
        {**_OF_GUEST, "evidence": {"unknown_because": "another reason"}},
    ],
)
def test_another_answer_is_no_difference_of_the_profiles(compare: Compare, after: dict[str, Any]) -> None:
    before = finding(_BUSY, "warn", measured=0.2)
    ran = compare(verdict(finding("other", "pass"), before), verdict(finding("other", "pass"), after, profile="shared"))
    assert "only because" not in ran.words
    assert f"{_BUSY}: warn → " in ran.words


def test_json_matches_its_schema(compare: Compare, run: Run) -> None:
    schema = run("explain", "--schema", "compare").json
    Draft202012Validator.check_schema(schema)
    after = calibration(cpu(speed=0.9), facts=with_facts(turbo="on"))
    for one, other in ((calibration(), after), (verdict(), verdict(finding(_BUSY, "fail")))):
        ran = compare(one, other, "--format", "json")
        assert [error.message for error in Draft202012Validator(schema).iter_errors(ran.json)] == []
        assert (ran.json["exit_status"], ran.json["outcome"]) == (1, "different")


def test_markdown_has_tables(compare: Compare) -> None:
    after = calibration(cpu(speed=0.9), facts=with_facts(turbo="on"))
    out = compare(calibration(), after, "--format", "markdown").out
    assert "### settings:\n\n| fact | before | after |\n| --- | --- | --- |\n| turbo | off | on |\n" in out
    assert "| figure | before | after | ratio |" in out


def test_calibration_missing_in_a_recording_is_reported(run: Run, tmp_path: Path) -> None:
    before = record(tmp_path / "a.nw", quiet_files(), quiet_files(3.0))
    after = record(tmp_path / "b.nw", quiet_files(), quiet_files(3.0), calibration=None)
    ran = run("compare", before, after)
    assert ran.status != 0
    assert "known only before: all figures" in ran.words


def test_files_are_compared_without_checks_and_screens(tmp_path: Path) -> None:
    path = written(tmp_path / "a.json", calibration())
    program = (
        "import sys\n"
        "from noisewatch.surfaces.cli import main\n"
        f"status = main(['compare', {str(path)!r}, {str(path)!r}])\n"
        "heavy = ('textual', 'rich.console', 'plotext', 'noisewatch.judgement.checks.', 'noisewatch.kernel.tasks')\n"
        "print(status, [name for name in sys.modules if name.startswith(heavy)], file=sys.stderr)\n"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stderr.splitlines()[-1] == "0 []"


def test_output_is_written_to_a_file(compare: Compare, tmp_path: Path) -> None:
    output = tmp_path / "out.json"
    assert compare(calibration(), calibration(), "--format", "json", "--output", str(output)).out == ""
    assert json.loads(output.read_text())["outcome"] == "same"
