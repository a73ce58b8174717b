"""`noisewatch history`, from a store that a host may have kept."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from noisewatch.machine.history_file import append_entry, machine_key
from tests.surfaces.reports.history.store import (
    BEGIN_S,
    DAY_S,
    History,
    entry_line,
    facts_line,
    slowed,
    written,
)
from tests.surfaces.running import Run


def test_a_slower_machine_is_told_with_what_changed(history: History) -> None:
    told = history(slowed()).out
    assert "latency work: 4." in told
    assert "% slower since" in told
    assert "(6 of 26 entries)" in told
    assert "    governor: performance → powersave" in told.splitlines()
    assert "clock:" not in told, "an unchanged figure is listed"


def test_json_tells_the_same(history: History) -> None:
    told = history(slowed(), "--format", "json").json
    (move,) = told["moves"]
    assert (move["figure"], move["entries_since"]) == ("latency work", 6)
    assert move["change_share"] == pytest.approx(0.041, abs=0.004)
    assert move["changed"] == [{"class": "settings", "name": "governor", "before": "performance", "after": "powersave"}]
    assert len(told["entries"]) == 26
    assert told["entries"][0]["facts"]["settings"] == {"governor": "performance"}


def test_a_move_between_entries_without_facts_is_not_said_to_have_no_cause(history: History) -> None:
    lines = [line for line in slowed() if line["kind"] != "facts"]
    told = history(lines).words
    assert "cannot tell what changed then" in told
    assert "no recorded fact changed" not in told
    assert history(lines, "--format", "json").json["moves"][0]["changed"] is None


def test_a_fact_that_one_side_does_not_know_may_have_changed(history: History) -> None:
    lines = slowed()
    lines[0]["facts"]["settings"] |= {"turbo": "on"}
    lines[21]["facts"]["settings"] = {"governor": "performance", "turbo": None}
    told = history(lines).words
    assert "may have changed, but only one side has it: turbo" in told
    assert "no recorded fact changed" not in told


def test_where_nothing_recorded_changed_that_is_told(history: History) -> None:
    lines = [line | {"facts": "performance"} if line["kind"] == "calibration" else line for line in slowed()]
    assert "no recorded fact changed" in history(lines).words


def test_figures_that_few_entries_know_are_named_as_not_judged(history: History) -> None:
    lines = slowed()
    assert "not judged, as at most 5 entries have it: throughput work," in history(lines).words
    assert "memory walk" in history(lines, "--format", "json").json["unjudged"]


def test_a_machine_without_an_identity_is_not_judged(history: History, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "read_bytes", lambda path: b"uninitialized\n")
    told = history(slowed()).words
    assert "unknown: this machine has no /etc/machine-id" in told
    assert "slower" not in told


def test_few_entries_are_not_judged(history: History) -> None:
    lines = [entry_line(0, 1e6, ""), entry_line(1, 2e6, "")]
    assert "remembering: 2 of 5" in history(lines).out
    assert history(lines, "--format", "json").json["moves"] is None


def test_once_accepted_only_what_comes_after_is_usual(history: History, tmp_path: Path) -> None:
    path = written(tmp_path, slowed())
    assert "from here on" in history(path, "accept", "--why", "new BIOS").out
    assert json.loads(Path(path).read_text().splitlines()[-1])["why"] == "new BIOS"
    told = history(path).words
    assert "no entry since this machine was accepted 20" in told
    assert ": new BIOS (" in told
    with Path(path).open("a") as file:
        file.writelines(json.dumps(entry_line(40 + number, 1.041e6, "powersave")) + "\n" for number in range(12))
    told = history(path).out
    assert "no move found" in told
    assert "26 from before the machine was accepted" in told
    assert "new BIOS" in told
    accepted = history(path, "--format", "json").json["accepted"]
    assert (accepted["why"], accepted["entries_before"]) == ("new BIOS", 26)


def test_clones_with_one_machine_id_are_not_judged(history: History) -> None:
    lines = [line | {"boot": f"boot {number % 2}"} for number, line in enumerate(slowed())]
    told = history(lines).out
    assert "unknown: two machines have the same /etc/machine-id" in told
    assert "slower" not in told
    assert history(lines, "--format", "json").json["moves"] is None


def test_stores_that_two_machines_wrote_may_be_concatenated(history: History, tmp_path: Path) -> None:
    """Each judged as if the other were not there, whichever comes first, however many lines the other has."""
    own, others = tmp_path / "own", tmp_path / "others"
    for path, machine, count in ((own, machine_key(), 26), (others, "another", 300)):
        for number in range(count):
            latency = 1e6 * (1 + 0.001 * (number % 3)) * (1.05 if number >= count - 6 else 1.0)
            append_entry(path, entry_line(number, latency, "", machine=machine))
    for parts in ((own, others), (others, own)):
        both = tmp_path / "both"
        both.write_bytes(b"".join(part.read_bytes() for part in parts))
        told = history(both).words
        assert "(6 of 26 entries)" in told
        assert "those of 1 other machine" in told


def test_damaged_lines_are_named_once(history: History) -> None:
    lines: list[Any] = slowed()
    del lines[5]["cv"]
    lines = [*lines[:3], '{"kind": "calib', *lines[3:], "torn"]
    told = history(lines).words
    assert told.count("for nothing") == 1
    assert "damaged in lines 4, 7, 30: they count for nothing" in told
    assert history(lines, "--format", "json").json["damaged_lines"] == [4, 7, 30]


@pytest.mark.parametrize(
    ("written_as", "changed"), [('"performance"', '"powersave"'), ('{"governor": "performance"}', "5")]
)
def test_facts_that_were_edited_are_believed_no_more(
    history: History, tmp_path: Path, written_as: str, changed: str
) -> None:
    path = written(tmp_path, slowed())
    first, *rest = Path(path).read_text().splitlines(keepends=True)
    Path(path).write_text("".join([first.replace(written_as, changed), *rest]))
    told = history(path).words
    assert "damaged in line 1: it counts for nothing" in told
    assert "cannot tell what changed then" in told


def test_a_clock_that_was_set_back_is_told_and_entries_stay_in_their_order(history: History) -> None:
    lines = slowed()
    for line in lines[-6:]:
        line["at"] = BEGIN_S - 1000 * DAY_S
    told = history(lines).words
    assert "% slower since" in told
    assert "(6 of 26 entries)" in told
    assert "the clock was set back between entries" in told
    assert "clock was set back" not in history(slowed()).words


@pytest.mark.parametrize("kind", ["folder", "pipe", "binary", "unreadable"])
def test_what_is_no_history_gets_one_line(run: Run, tmp_path: Path, kind: str) -> None:
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
        ran = run(*words, "--file", path)
        assert (ran.status, len(ran.err.splitlines())) == (2, 1)
        assert str(path) in ran.err


def test_the_newest_entry_apart_is_told_as_the_check_does(history: History) -> None:
    told = history(slowed(after=1)).words
    assert "% slower in the newest entry alone, an outlier or a move; the next entries decide" in told
    assert "no move found" not in told


@pytest.mark.parametrize(
    "damage",
    ["{", '{"kind": "calibration"', "[1, 2]", "\0\0\0", '{"kind": "facts", "digest": "performance", "facts": 5}'],
)
def test_a_damaged_line_costs_nothing_else(history: History, damage: str) -> None:
    lines = slowed()
    assert "% slower since" in history([damage, *lines[:9], damage, *lines[9:], damage]).out


def test_a_hostile_fact_is_shown_harmless(history: History) -> None:
    lines = [facts_line(governor="performance"), *[entry_line(number, 1e6, "performance") for number in range(5)]]
    lines += [facts_line(governor="\x1b[31mred"), entry_line(6, 1e6, "\x1b[31mred")]
    assert "\x1b" not in history(lines).out


@pytest.mark.parametrize("columns", ["20", "40", "200"])
def test_no_line_is_wider_than_the_terminal(history: History, monkeypatch: pytest.MonkeyPatch, columns: str) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    told = history(slowed()).out
    assert max(map(len, told.splitlines())) <= int(columns)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--why", "x"), "--why: only with `noisewatch history accept`"),
        (("accept",), "none.jsonl: nothing to accept: no entry of this machine yet"),
        (("reject",), "wanted one of accept, found 'reject'"),
    ],
)
def test_what_makes_no_sense_is_told(run: Run, tmp_path: Path, words: tuple[str, ...], told: str) -> None:
    ran = run("history", *words, "--file", tmp_path / "none.jsonl")
    assert ran.status == 2
    assert told in ran.err


def test_no_history_yet(history: History, tmp_path: Path) -> None:
    assert "no entry of this machine yet" in history(tmp_path / "none.jsonl").words


def test_as_markdown_and_as_a_picture(history: History) -> None:
    lines = slowed()
    told = history(lines, "--format", "markdown").out
    assert told.startswith("## noisewatch history · CPUs 2-3 · 26 entries")
    assert "governor: performance → powersave" in told
    for theme in ("dark", "light"):
        svg = history(lines, "--format", "svg", "--theme", theme).out
        root = ElementTree.fromstring(svg)
        assert root.tag.endswith("svg")
        assert "slower" in "".join(root.itertext())


_KEY = {"machine": machine_key()}


_OF_TWO_SETS = [
    *[entry_line(number, 1e6, "") for number in range(20)],
    entry_line(20, 2e6, "", cpus=[0, 1]),
    entry_line(21, 3e6, "", core="python"),
    entry_line(22, 2e6, "", cpus=[0, 1]),
]


def test_one_look_at_other_cpus_hides_no_history(history: History) -> None:
    told = history(_OF_TWO_SETS).words
    assert "CPUs 0-1 · 2 entries" in told
    assert "not compared: 20 of CPUs 2-3 (--cpus 2-3); 1 of CPUs 2-3 by the python core (--cpus 2-3)" in told


def test_the_history_of_named_cpus_is_shown(history: History) -> None:
    lines = [*[entry_line(number, 1e6, "") for number in range(9)], entry_line(9, 2e6, "", cpus=[1])]
    told = history(lines, "--cpus", "2,3").words
    assert "CPUs 2-3 · 9 entries" in told
    assert "not compared: 1 of CPU 1 (--cpus 1)" in told
    entries = history(lines, "--cpus", "2-3", "--format", "json").json["entries"]
    assert {tuple(entry["cpus"]) for entry in entries} == {(2, 3)}


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("--cpus", "5"), "no entry of CPU 5; there are entries of CPUs 0-1, CPUs 2-3"),
        (("--cpus", "x"), "--cpus x: wanted a CPU list"),
        (("--cpus", ""), "--cpus : wanted a CPU list"),
        (("accept", "--cpus", "2-3"), "--cpus: not with `noisewatch history accept`"),
    ],
)
def test_cpus_that_make_no_sense_are_refused(run: Run, tmp_path: Path, words: tuple[str, ...], line: str) -> None:
    ran = run("history", *words, "--file", written(tmp_path, _OF_TWO_SETS))
    assert (ran.status, len(ran.err.splitlines())) == (2, 1)
    assert line in ran.err


def test_of_an_acceptance_only_what_it_says_is_shown(history: History) -> None:
    accepted: list[dict[str, object]] = [
        {"kind": "accepted", "at": BEGIN_S, "why": "first"},
        {"kind": "accepted", "at": "yesterday", "why": "\x1b[31mnew\nBIOS"},
    ]
    lines = [*(each | _KEY for each in accepted), entry_line(1, 1e6, "")]
    told = history(lines).out
    assert "accepted: ·[31mnew BIOS" in told.splitlines()
    assert "first" not in told
    said = history(lines, "--format", "json").json["accepted"]
    assert said == {"at": None, "why": "·[31mnew BIOS", "entries_before": 0}


def test_a_machine_that_was_never_accepted_says_nothing_of_it(history: History) -> None:
    assert "accepted" not in history(_OF_TWO_SETS).out
    assert history(_OF_TWO_SETS, "--format", "json").json["accepted"] is None


def test_older_entries_that_are_thinned_out_are_counted(history: History) -> None:
    lines = [entry_line(number, 1e6, "") for number in range(1000)]
    said = history(lines, "--format", "json").json
    assert len(said["entries"]) <= 200
    assert len(said["entries"]) + said["thinned_out"] == 1000
    told = history(lines).words
    assert f"not compared: {said['thinned_out']} older entries, thinned out evenly over time" in told
