"""Files without a usable report: each has a reason, and none is skipped silently."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisewatch.errors import Unreadable, UsageError
from noisewatch.judgement.fleet import Standing
from noisewatch.judgement.terms import Outcome
from noisewatch.operations.fleet import FleetOptions, gather, parse_report
from tests.operations.fleet.reporting import gather_fleet, only_host, verdict, write

_STABLE = json.dumps(verdict())
_BROKEN: list[tuple[Callable[[Path], object], str]] = [
    (lambda path: path.write_text("hello"), "not a verdict of noisewatch"),
    (lambda path: path.write_text(""), "not a verdict of noisewatch"),
    (lambda path: path.write_text(_STABLE[:-20]), "damaged: "),
    (lambda path: path.write_text(_STABLE.replace('"schema": 1', '"schema": 1, "x": NaN')), "damaged: "),
    (lambda path: path.write_text(_STABLE.replace('"at": ', '"at": 1e999, "x": ')), "not"),
    (lambda path: path.write_text(_STABLE + _STABLE), "damaged: "),
    (lambda path: path.write_bytes(b"\xff\xfe" + _STABLE.encode("utf-16le")), "not a verdict of noisewatch"),
    (lambda path: path.write_bytes(_STABLE.encode().replace(b'"micro"', b'"\xff"')), "damaged: "),
    (lambda path: path.write_text(_STABLE[:-1] + ', "x": ' + "[" * 100_000), "damaged: too deeply nested"),
    (lambda path: path.write_text(_STABLE.replace('"verdict": "stable"', '"verdict": "fine"')), "not a verdict"),
    (lambda path: path.write_text(json.dumps({"schema": 2, "verdict": {}})), "schema 2"),
    (lambda path: path.write_text(json.dumps(verdict(schema=2))), "schema 2"),
    (lambda path: path.write_text(json.dumps(verdict(host="x" * 300))), "300 characters"),
    (lambda path: path.write_text(json.dumps(verdict(host=" "))), "1 characters"),
    (lambda path: os.truncate(path, 1 << 30) if path.write_text("{") else None, "larger than 64 MB"),
    (os.mkfifo, "not a regular file"),
    (lambda path: path.symlink_to("nowhere"), "no such file"),
    (lambda path: path.symlink_to(path), "too many levels"),
    (lambda path: path.symlink_to("/dev/zero"), "not a regular file"),
    (lambda path: path.symlink_to("/proc/self/mem"), ""),
]


@pytest.mark.parametrize(("make", "words"), _BROKEN)
def test_a_broken_report_is_unknown_with_a_reason_and_the_others_count(
    tmp_path: Path, make: Callable[[Path], object], words: str
) -> None:
    make(tmp_path / "web1.json")
    write(tmp_path / "web2.json")
    broken, sound = gather_fleet(tmp_path).hosts
    assert (broken.name, broken.standing, broken.outcome) == ("web1", Standing.BROKEN, Outcome.UNKNOWN)
    assert f"{tmp_path}/web1.json: " in (broken.why or "")
    assert words in (broken.why or "")
    assert (sound.name, sound.outcome) == ("web2", Outcome.STABLE)


_OTHER = [
    ('{"schema": 1}', "not a verdict of noisewatch"),
    (
        '{"schema": 1, "target": [3], "against": null, "calibration": {}}',
        "a calibration; fleet reads verdicts (noisewatch preflight --format json)",
    ),
    (
        '{"schema": 1, "kind": "header", "commands": []}\n{"kind": "repetition", "verdict": "disturbed"}\n',
        "not a verdict",
    ),
    ("[]", "not a verdict of noisewatch"),
    ('"stable"', "not a verdict of noisewatch"),
]


@pytest.mark.parametrize(("text", "words"), _OTHER)
def test_other_json_in_a_folder_is_no_host_but_named(tmp_path: Path, text: str, words: str) -> None:
    other = tmp_path / "web1.json"
    other.write_text(text)
    write(tmp_path / "web2.json")
    fleet = gather_fleet(tmp_path)
    assert ([host.name for host in fleet.hosts], fleet.ignored) == (["web2"], (str(other),))
    named = gather_fleet(tmp_path, other)
    assert named.ignored == ()
    assert [host.standing for host in named.hosts if words in (host.why or "")] == [Standing.BROKEN]


@pytest.mark.parametrize("known_by", ["report", "expect", "baseline"])
def test_other_json_that_is_named_like_a_host_is_its_broken_report(tmp_path: Path, known_by: str) -> None:
    now = tmp_path / "now"
    write(now / "web2.json")
    (now / "web1.json").write_text('{"failed": true, "msg": "unreachable"}')
    old = str(write(tmp_path / "old/web1.json", at=time.time() - 3600).parent)
    options = {
        "report": FleetOptions(places=[str(now), old]),
        "expect": FleetOptions(places=[str(now)], expected=("web1", "web2")),
        "baseline": FleetOptions(places=[str(now)], baseline=old),
    }
    fleet = gather(options[known_by])
    standing_by_host = {host.name: host.standing for host in fleet.hosts}
    assert (standing_by_host, fleet.ignored) == ({"web1": Standing.BROKEN, "web2": Standing.REPORTED}, ())


def test_a_folder_with_other_json_only_is_refused(tmp_path: Path) -> None:
    (tmp_path / "results.json").write_text("{}")
    with pytest.raises(UsageError, match=r"no verdict, only other JSON \(.*/results\.json\)"):
        gather_fleet(tmp_path)


def test_a_file_that_has_vanished_is_broken(tmp_path: Path) -> None:
    assert only_host(tmp_path / "web1.json").standing is Standing.BROKEN


def test_a_broken_file_that_may_be_newer_outweighs_a_stable_report(tmp_path: Path) -> None:
    write(tmp_path / "1/web1.json", at=time.time() - 60)
    broken = tmp_path / "2/web1.json"
    broken.parent.mkdir()
    broken.write_text("{")
    assert only_host(tmp_path).standing is Standing.BROKEN
    os.utime(broken, (0, time.time() - 3600))
    assert only_host(tmp_path).outcome is Outcome.STABLE


_UNREADABLE: list[Callable[[Path], object]] = [
    lambda path: path.symlink_to("nowhere"),
    lambda path: path.symlink_to(path),
    lambda path: os.truncate(path, 1 << 30) if path.write_text("{") else None,
    os.mkfifo,
]


@pytest.mark.parametrize("make", _UNREADABLE)
def test_an_unreadable_file_outweighs_an_older_report(tmp_path: Path, make: Callable[[Path], object]) -> None:
    write(tmp_path / "1/web1.json", at=time.time() - 3 * 86400)
    unreadable = tmp_path / "2/web1.json"
    unreadable.parent.mkdir()
    make(unreadable)
    assert only_host(tmp_path).standing is Standing.BROKEN
    os.utime(unreadable, (0, time.time() - 4 * 86400), follow_symlinks=False)
    assert only_host(tmp_path).outcome is Outcome.STABLE


def test_a_missing_file_outweighs_any_report(tmp_path: Path) -> None:
    old = write(tmp_path / "1/web1.json", at=time.time() - 60)
    assert only_host(old, tmp_path / "2/web1.json").standing is Standing.BROKEN


@given(st.binary(max_size=300) | st.text(max_size=300).map(lambda text: text.encode("utf-8", "replace")))
def test_bytes_that_are_not_a_verdict_are_refused(text: bytes) -> None:
    with pytest.raises(Unreadable, match=r"^x\.json: (not |damaged: )"):
        parse_report("x.json", "x", text, 0.0)


@given(st.data())
def test_a_verdict_with_a_value_of_another_type_is_a_report_or_refused(data: st.DataObject) -> None:
    fields = verdict("unstable")
    key = data.draw(st.sampled_from(sorted(fields)))
    value: object = data.draw(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.just([]) | st.just({})
    )
    text = json.dumps({**fields, key: value}).encode()
    outcome = None
    with suppress(Unreadable):
        outcome = parse_report("x.json", "x", text, 0.0).outcome
    assert outcome in (None, Outcome.UNSTABLE)
