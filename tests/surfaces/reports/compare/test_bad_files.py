"""Damaged, hostile or unrelated files: refused with one line and exit status 2, never reported as equal."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any, NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisewatch.errors import UsageError
from noisewatch.operations.records.reader import compare_files
from noisewatch.surfaces.reports.compare.json import json_of_comparison
from tests import MACHINES
from tests.surfaces.reports.compare.documents import (
    against,
    calibration,
    cpu,
    finding,
    header,
    receipt,
    under_load,
    verdict,
    with_facts,
    written,
)
from tests.surfaces.running import Ran, Run


def _refusal(ran: Ran, path: Path | str) -> str:
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.count("\n") == 1
    assert str(path) in ran.err
    return ran.err


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "nothing to compare"),
        (b"\n\n", "nothing to compare"),
        (json.dumps(verdict(schema=2)).encode(), "contains schema 2, but this noisewatch compares schema 1"),
        (json.dumps(header(schema="\x1b[31m")).encode(), "this noisewatch compares schema 1"),
        (b"hello\n", "nothing to compare"),
        (b"[1, 2]\n", "nothing to compare"),
        (b'{"schema": 1}\n', "nothing to compare"),
        (b'{"version": "1.0", "benchmarks": []}', "nothing to compare"),
        (b"\x7fELF\0\0", "nothing to compare"),
        (b'{"schema": 1, "calibration": {"cpus": [', "damaged: "),
        (b'{"calibration": {"cpus": [], "clock_ns": NaN}}\n{"a": 1}\n', "damaged: "),
        (b'{\n"calibration": {"cpus": [], "clock_ns": Infinity}}', "damaged: Infinity is not a number in JSON"),
        (b'{\n"a":' + b"[" * 100_000, "damaged: too deeply nested"),
        (b'{\n"calibration": ' + b"9" * 5000 + b"}", "damaged: "),
        (gzip.compress(b"nothing", mtime=0), "nothing to compare"),
        (b"\x1f\x8b\0\0\0", "nothing to compare"),
    ],
)
def test_file_of_another_program_is_refused(run: Run, tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    assert message in _refusal(run("compare", path, written(tmp_path / "good", calibration())), path)


@pytest.mark.parametrize(("name", "message"), [("none", "no such file"), (".", "not a regular file")])
def test_path_without_a_regular_file_is_refused(run: Run, tmp_path: Path, name: str, message: str) -> None:
    ran = run("compare", written(tmp_path / "good", calibration()), tmp_path / name)
    assert message in _refusal(ran, tmp_path / name) or "is a directory" in ran.err


def test_pipes_and_devices_are_refused(run: Run, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    good = written(tmp_path / "good", calibration())
    for path in (tmp_path / "pipe", Path("/dev/null"), Path("/dev/zero")):
        assert "not a regular file" in _refusal(run("compare", path, good), path)


def test_damaged_line_is_named_and_a_torn_last_line_is_ignored(run: Run, tmp_path: Path) -> None:
    good = written(tmp_path / "good.jsonl", receipt([0.1, 0.1001, 0.1002, 0.0999]))
    lines = good.read_text().splitlines(keepends=True)
    torn, damaged = tmp_path / "torn.jsonl", tmp_path / "damaged.jsonl"
    torn.write_text("".join(lines[:-1]) + '{"kind": "foo')
    damaged.write_text(lines[0] + "rubbish\n" + "".join(lines[1:]))
    ran = run("compare", good, torn)
    assert (ran.status, ran.out.splitlines()[0]) == (0, "no difference found")
    assert "cut short, the receipt has no end" in ran.words
    assert "damaged in line 2: no JSON object" in _refusal(run("compare", good, damaged), damaged)


def test_damaged_recording_is_compared_up_to_the_damage(run: Run, tmp_path: Path) -> None:
    whole = MACHINES / "lab-throttled.nw"
    cut = tmp_path / "cut.nw"
    cut.write_bytes(whole.read_bytes()[: whole.stat().st_size * 9 // 10])
    ran = run("compare", whole, cut)
    assert ran.err == ""
    assert "damaged after" in ran.words


_HOSTILE = "\x1b[31mred\u202e|`<b>"


def test_hostile_names_are_printed_as_plain_text(run: Run, tmp_path: Path) -> None:
    facts = with_facts(turbo=_HOSTILE) | {"kernel": {_HOSTILE: "a"}}
    before = verdict(finding(_HOSTILE, "pass"), profile=_HOSTILE)
    after = verdict(finding(_HOSTILE, "fail", said=_HOSTILE), facts=facts, profile="\x07")
    files = [written(tmp_path / "a\x1b[0m", before), written(tmp_path / "b", after)]
    for form in ("text", "markdown", "json"):
        ran = run("compare", *files, "--format", form)
        assert ran.status == 1
        assert all(line.isprintable() for line in ran.out.splitlines())
    assert "<b>" not in run("compare", *files, "--format", "markdown").out.replace("`<b>", "").replace("``", "")


def test_comparison_fits_twenty_columns(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    after = calibration(cpu(speed=0.5), facts=with_facts(microcode="x" * 100))
    ran = run("compare", written(tmp_path / "a", calibration()), written(tmp_path / "b", after))
    assert ran.status == 1
    assert max(map(len, ran.out.splitlines())) <= 20


@pytest.mark.parametrize("number", [1e400, -1.0, True, "1", [], {}, None, 10**400, 1e308, 0])
def test_implausible_number_is_unknown(run: Run, tmp_path: Path, number: Any) -> None:
    work = {"count": 200, "median_ns": number, "mad_share": 0.001, "width_share": 0.01, "pieces": 5}
    text = json.dumps(calibration(cpu(latency_work=work))).replace("Infinity", "1e400")
    path = tmp_path / "strange"
    path.write_text(text)
    ran = run("compare", written(tmp_path / "good", calibration()), path)
    assert ran.status == 3
    assert "latency work" in ran.words


_ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
_DOCUMENTS = [calibration(), under_load(), against(cpu(), cpu()), verdict(), receipt([0.1, 0.2, 0.3])[0]]


@given(st.sampled_from(_DOCUMENTS), st.data())
def test_any_value_in_any_place_is_compared_or_refused(
    tmp_path_factory: pytest.TempPathFactory, document: dict[str, Any], data: st.DataObject
) -> None:
    changed: Any = json.loads(json.dumps(document))
    place = changed
    while isinstance(place, dict | list) and place:
        key = data.draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
        if not isinstance(place[key], dict | list) or data.draw(st.booleans()):
            place[key] = data.draw(_ANY)
            break
        place = place[key]
    folder = tmp_path_factory.mktemp("any")
    one, other = str(written(folder / "a", changed)), str(written(folder / "b", document))
    try:
        text = json_of_comparison(compare_files(one, other, _no_recording))
    except UsageError as error:
        text = json.dumps({"answer": str(error), "exit_status": 2})
    comparison = json.loads(text)
    assert comparison["exit_status"] in (0, 1, 2, 3)
    assert comparison["answer"].isprintable()


def _no_recording(path: str) -> NoReturn:
    raise AssertionError(path)
