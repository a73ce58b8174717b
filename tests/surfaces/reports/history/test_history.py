"""`noisewatch history`, from a store that a host may have kept."""

from __future__ import annotations

import json
import os
from pathlib import Path
from xml.etree import ElementTree

import pytest

from noisewatch.machine.history_file import append_entry, machine_key
from noisewatch.surfaces.cli import main
from tests.surfaces.reports.history.store import (
    BEGIN_S,
    DAY_S,
    entry_line,
    facts_line,
    slowed,
    told_of,
    words_of,
    written,
)


def test_a_slower_machine_is_told_with_what_changed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = told_of(capsys, "--file", written(tmp_path, slowed()))
    assert "latency work: 4." in told
    assert "% slower since" in told
    assert "(6 of 26 entries)" in told
    assert "    governor: performance → powersave" in told.splitlines()
    assert "clock:" not in told, "an unchanged figure is listed"


def test_json_tells_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = json.loads(told_of(capsys, "--format", "json", "--file", written(tmp_path, slowed())))
    (move,) = told["moves"]
    assert (move["figure"], move["entries_since"]) == ("latency work", 6)
    assert move["change_share"] == pytest.approx(0.041, abs=0.004)
    assert move["changed"] == [{"class": "settings", "name": "governor", "before": "performance", "after": "powersave"}]
    assert len(told["entries"]) == 26
    assert told["entries"][0]["facts"]["settings"] == {"governor": "performance"}


def test_a_move_between_entries_without_facts_is_not_said_to_have_no_cause(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, [line for line in slowed() if line["kind"] != "facts"])
    told = words_of(told_of(capsys, "--file", path))
    assert "what changed then is unknown" in told
    assert "no recorded fact changed" not in told
    assert json.loads(told_of(capsys, "--format", "json", "--file", path))["moves"][0]["changed"] is None


def test_a_fact_that_one_side_does_not_know_may_have_changed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = slowed()
    lines[0]["facts"]["settings"] |= {"turbo": "on"}
    lines[21]["facts"]["settings"] = {"governor": "performance", "turbo": None}
    told = words_of(told_of(capsys, "--file", written(tmp_path, lines)))
    assert "may have changed, as only one side knows it: turbo" in told
    assert "no recorded fact changed" not in told


def test_where_nothing_recorded_changed_that_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [line | {"facts": "performance"} if line["kind"] == "calibration" else line for line in slowed()]
    assert "no recorded fact changed" in words_of(told_of(capsys, "--file", written(tmp_path, lines)))


def test_figures_that_few_entries_know_are_named_as_not_judged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, slowed())
    assert "not judged, as at most 5 entries have it: throughput work," in words_of(told_of(capsys, "--file", path))
    assert "memory walk" in json.loads(told_of(capsys, "--format", "json", "--file", path))["unjudged"]


def test_a_machine_without_an_identity_is_not_judged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "read_bytes", lambda path: b"uninitialized\n")
    told = told_of(capsys, "--file", written(tmp_path, slowed()))
    assert "unknown: this machine has no /etc/machine-id" in words_of(told)
    assert "slower" not in told


def test_few_entries_are_not_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, [entry_line(0, 1e6, ""), entry_line(1, 2e6, "")])
    assert "remembering: 2 of 5" in told_of(capsys, "--file", path)
    assert json.loads(told_of(capsys, "--format", "json", "--file", path))["moves"] is None


def test_once_accepted_only_what_comes_after_is_usual(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, slowed())
    assert "from here on" in told_of(capsys, "accept", "--why", "new BIOS", "--file", path)
    assert json.loads(Path(path).read_text().splitlines()[-1])["why"] == "new BIOS"
    told = words_of(told_of(capsys, "--file", path))
    assert "no entry since this machine was accepted 20" in told
    assert ": new BIOS (" in told
    with Path(path).open("a") as file:
        file.writelines(json.dumps(entry_line(40 + number, 1.041e6, "powersave")) + "\n" for number in range(12))
    told = told_of(capsys, "--file", path)
    assert "no move found" in told
    assert "26 from before the machine was accepted" in told
    assert "new BIOS" in told
    accepted = json.loads(told_of(capsys, "--format", "json", "--file", path))["accepted"]
    assert (accepted["why"], accepted["entries_before"]) == ("new BIOS", 26)


def test_stores_of_two_machines_in_one_file_stay_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    others = [entry_line(number, 5e6, "", machine="another") for number in range(12)]
    steady = [entry_line(number, 1e6, "") for number in range(12)]
    told = told_of(capsys, "--file", written(tmp_path, [*steady, *others]))
    assert "no move found" in told
    assert "12 entries" in words_of(told)
    assert "1 other machine" in words_of(told)


def test_clones_with_one_machine_id_are_not_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = slowed()
    boots = [line | {"boot": f"boot {number % 2}"} for number, line in enumerate(lines)]
    path = written(tmp_path, boots)
    told = told_of(capsys, "--file", path)
    assert "unknown: two machines have the same /etc/machine-id" in told
    assert "slower" not in told
    assert json.loads(told_of(capsys, "--format", "json", "--file", path))["moves"] is None


def test_stores_that_two_machines_wrote_may_be_concatenated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each judged as if the other were not there, whichever comes first, however many lines the other has."""
    own, others = tmp_path / "own", tmp_path / "others"
    for path, machine, count in ((own, machine_key(), 26), (others, "another", 300)):
        for number in range(count):
            latency = 1e6 * (1 + 0.001 * (number % 3)) * (1.05 if number >= count - 6 else 1.0)
            append_entry(path, entry_line(number, latency, "", machine=machine))
    for parts in ((own, others), (others, own)):
        both = tmp_path / "both"
        both.write_bytes(b"".join(part.read_bytes() for part in parts))
        told = words_of(told_of(capsys, "--file", str(both)))
        assert "(6 of 26 entries)" in told
        assert "those of 1 other machine" in told


def test_damaged_lines_are_named_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = slowed()
    del lines[5]["cv"]
    path = written(tmp_path, [*lines[:3], '{"kind": "calib', *lines[3:], "torn"])
    told = words_of(told_of(capsys, "--file", path))
    assert told.count("for nothing") == 1
    assert "damaged in lines 4, 7, 30: they count for nothing" in told
    assert json.loads(told_of(capsys, "--format", "json", "--file", path))["damaged_lines"] == [4, 7, 30]


@pytest.mark.parametrize(
    ("written_as", "changed"), [('"performance"', '"powersave"'), ('{"governor": "performance"}', "5")]
)
def test_facts_that_were_edited_are_believed_no_more(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], written_as: str, changed: str
) -> None:
    path = written(tmp_path, slowed())
    first, *rest = Path(path).read_text().splitlines(keepends=True)
    Path(path).write_text("".join([first.replace(written_as, changed), *rest]))
    told = words_of(told_of(capsys, "--file", path))
    assert "damaged in line 1: it counts for nothing" in told
    assert "what changed then is unknown" in told


def test_a_clock_that_was_set_back_is_told_and_entries_stay_in_their_order(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = slowed()
    for line in lines[-6:]:
        line["at"] = BEGIN_S - 1000 * DAY_S
    told = words_of(told_of(capsys, "--file", written(tmp_path, lines)))
    assert "% slower since" in told
    assert "(6 of 26 entries)" in told
    assert "the clock was set back between entries" in told
    assert "clock was set back" not in words_of(told_of(capsys, "--file", written(tmp_path, slowed())))


@pytest.mark.parametrize("kind", ["folder", "pipe", "binary", "unreadable"])
def test_what_is_no_history_gets_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str) -> None:
    path = tmp_path / "store"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "binary":
        path.write_bytes(bytes(range(256)) * 100)
    else:
        path.symlink_to(path)
    for words in (["history"], ["history", "accept"]):
        assert main([*words, "--file", str(path)]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert str(path) in line


def test_the_newest_entry_apart_is_told_as_the_check_does(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = words_of(told_of(capsys, "--file", written(tmp_path, slowed(after=1))))
    assert "% slower in the newest entry alone, so an outlier or a move: the next entries tell" in told
    assert "no move found" not in told


@pytest.mark.parametrize(
    "damage",
    ["{", '{"kind": "calibration"', "[1, 2]", "\0\0\0", '{"kind": "facts", "digest": "performance", "facts": 5}'],
)
def test_a_damaged_line_costs_nothing_else(tmp_path: Path, capsys: pytest.CaptureFixture[str], damage: str) -> None:
    lines = slowed()
    told = told_of(capsys, "--file", written(tmp_path, [damage, *lines[:9], damage, *lines[9:], damage]))
    assert "% slower since" in told


def test_a_hostile_fact_is_shown_harmless(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [facts_line(governor="performance"), *[entry_line(number, 1e6, "performance") for number in range(5)]]
    lines += [facts_line(governor="\x1b[31mred"), entry_line(6, 1e6, "\x1b[31mred")]
    assert "\x1b" not in told_of(capsys, "--file", written(tmp_path, lines))


@pytest.mark.parametrize("columns", ["20", "40", "200"])
def test_no_line_is_wider_than_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, columns: str
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    told = told_of(capsys, "--file", written(tmp_path, slowed()))
    assert max(map(len, told.splitlines())) <= int(columns)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--why", "x"), "--why: only with `noisewatch history accept`"),
        (("accept",), "none.jsonl: nothing to accept: no entry of this machine yet"),
        (("reject",), "wanted one of accept, found 'reject'"),
    ],
)
def test_what_makes_no_sense_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], told: str
) -> None:
    assert main(["history", *words, "--file", str(tmp_path / "none.jsonl")]) == 2
    assert told in capsys.readouterr().err


def test_no_history_yet(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = told_of(capsys, "--file", str(tmp_path / "none.jsonl"))
    assert "no entry of this machine yet" in words_of(told)


def test_as_markdown_and_as_a_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, slowed())
    told = told_of(capsys, "--format", "markdown", "--file", path)
    assert told.startswith("## noisewatch history · CPUs 2-3 · 26 entries")
    assert "governor: performance → powersave" in told
    for theme in ("dark", "light"):
        svg = told_of(capsys, "--format", "svg", "--theme", theme, "--file", path)
        root = ElementTree.fromstring(svg)
        assert root.tag.endswith("svg")
        assert "slower" in "".join(root.itertext())
