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
    slowdown_lines,
    write_history,
)
from tests.surfaces.running import Run


def test_slowdown_is_reported_with_the_changed_facts(history: History) -> None:
    text = history(slowdown_lines()).out
    assert "latency work: 4." in text
    assert "% slower since" in text
    assert "(6 of 26 entries)" in text
    assert "    governor: performance → powersave" in text.splitlines()
    assert "clock:" not in text, "an unchanged figure is listed"


def test_json_reports_the_slowdown_with_the_changed_facts(history: History) -> None:
    document = history(slowdown_lines(), "--format", "json").json
    (move,) = document["moves"]
    assert (move["figure"], move["entries_since"]) == ("latency work", 6)
    assert move["change_share"] == pytest.approx(0.041, abs=0.004)
    assert move["changed"] == [{"class": "settings", "name": "governor", "before": "performance", "after": "powersave"}]
    assert len(document["entries"]) == 26
    assert document["entries"][0]["facts"]["settings"] == {"governor": "performance"}


def test_cause_of_a_move_between_entries_without_facts_is_unknown(history: History) -> None:
    lines = [line for line in slowdown_lines() if line["kind"] != "facts"]
    text = history(lines).words
    assert "cannot tell what changed then" in text
    assert "no recorded fact changed" not in text
    assert history(lines, "--format", "json").json["moves"][0]["changed"] is None


def test_fact_that_is_missing_on_one_side_may_have_changed(history: History) -> None:
    lines = slowdown_lines()
    lines[0]["facts"]["settings"] |= {"turbo": "on"}
    lines[21]["facts"]["settings"] = {"governor": "performance", "turbo": None}
    text = history(lines).words
    assert "may also have changed (unknown before or after): turbo" in text
    assert "no recorded fact changed" not in text


def test_move_without_a_changed_fact_is_reported_as_such(history: History) -> None:
    lines = [line | {"facts": "performance"} if line["kind"] == "calibration" else line for line in slowdown_lines()]
    assert "no recorded fact changed" in history(lines).words


def test_figures_in_few_entries_are_listed_as_not_judged(history: History) -> None:
    lines = slowdown_lines()
    assert "not judged, because measured in at most 5 entries: throughput work," in history(lines).words
    assert "memory walk" in history(lines, "--format", "json").json["unjudged"]


def test_a_machine_without_an_identity_is_not_judged(history: History, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "read_bytes", lambda path: b"uninitialized\n")
    text = history(slowdown_lines()).words
    assert "unknown: this machine has no /etc/machine-id" in text
    assert "slower" not in text


def test_few_entries_are_not_judged(history: History) -> None:
    lines = [entry_line(0, 1e6, ""), entry_line(1, 2e6, "")]
    assert "learning what is usual: 2 of 5" in history(lines).out
    assert history(lines, "--format", "json").json["moves"] is None


def test_only_entries_after_the_acceptance_are_usual(history: History, tmp_path: Path) -> None:
    path = write_history(tmp_path, slowdown_lines())
    assert "this machine is the new baseline" in history(path, "accept", "--why", "new BIOS").out
    assert json.loads(Path(path).read_text().splitlines()[-1])["why"] == "new BIOS"
    text = history(path).words
    assert "no entry since this machine was accepted 20" in text
    assert ": new BIOS (" in text
    with Path(path).open("a") as file:
        file.writelines(json.dumps(entry_line(40 + number, 1.041e6, "powersave")) + "\n" for number in range(12))
    text = history(path).out
    assert "no move found" in text
    assert "26 from before the machine was accepted" in text
    assert "new BIOS" in text
    accepted = history(path, "--format", "json").json["accepted"]
    assert (accepted["why"], accepted["entries_before"]) == ("new BIOS", 26)


def test_clones_with_one_machine_id_are_not_judged(history: History) -> None:
    lines = [line | {"boot": f"boot {number % 2}"} for number, line in enumerate(slowdown_lines())]
    text = history(lines).out
    assert "unknown: two machines have the same /etc/machine-id" in text
    assert "slower" not in text
    assert history(lines, "--format", "json").json["moves"] is None


def test_concatenated_stores_of_two_machines_are_judged_separately(history: History, tmp_path: Path) -> None:
    """Each store is judged independently of the other's order and length."""
    own, others = tmp_path / "own", tmp_path / "others"
    for path, machine, count in ((own, machine_key(), 26), (others, "another", 300)):
        for number in range(count):
            latency = 1e6 * (1 + 0.001 * (number % 3)) * (1.05 if number >= count - 6 else 1.0)
            append_entry(path, entry_line(number, latency, "", machine=machine))
    for parts in ((own, others), (others, own)):
        both = tmp_path / "both"
        both.write_bytes(b"".join(part.read_bytes() for part in parts))
        text = history(both).words
        assert "(6 of 26 entries)" in text
        assert "entries of 1 other machine" in text


def test_damaged_lines_are_named_once(history: History) -> None:
    lines: list[Any] = slowdown_lines()
    del lines[5]["cv"]
    lines = [*lines[:3], '{"kind": "calib', *lines[3:], "torn"]
    text = history(lines).words
    assert text.count("ignored") == 1
    assert "damaged in lines 4, 7, 30: they are ignored" in text
    assert history(lines, "--format", "json").json["damaged_lines"] == [4, 7, 30]


@pytest.mark.parametrize(
    ("written_as", "changed"), [('"performance"', '"powersave"'), ('{"governor": "performance"}', "5")]
)
def test_edited_facts_are_rejected(history: History, tmp_path: Path, written_as: str, changed: str) -> None:
    path = write_history(tmp_path, slowdown_lines())
    first, *rest = Path(path).read_text().splitlines(keepends=True)
    Path(path).write_text("".join([first.replace(written_as, changed), *rest]))
    text = history(path).words
    assert "damaged in line 1: it is ignored" in text
    assert "cannot tell what changed then" in text


def test_entries_keep_their_order_if_the_clock_was_set_back(history: History) -> None:
    lines = slowdown_lines()
    for line in lines[-6:]:
        line["at"] = BEGIN_S - 1000 * DAY_S
    text = history(lines).words
    assert "% slower since" in text
    assert "(6 of 26 entries)" in text
    assert "the clock was set back between entries" in text
    assert "clock was set back" not in history(slowdown_lines()).words


@pytest.mark.parametrize("kind", ["folder", "pipe", "binary", "unreadable"])
def test_file_that_is_not_a_history_is_refused_with_one_line(run: Run, tmp_path: Path, kind: str) -> None:
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


def test_slowdown_of_the_newest_entry_alone_may_be_an_outlier(history: History) -> None:
    text = history(slowdown_lines(after=1)).words
    assert "% slower in the newest entry alone, an outlier or a change; the next entries decide" in text
    assert "no move found" not in text


@pytest.mark.parametrize(
    "damage",
    ["{", '{"kind": "calibration"', "[1, 2]", "\0\0\0", '{"kind": "facts", "digest": "performance", "facts": 5}'],
)
def test_damaged_lines_do_not_affect_other_lines(history: History, damage: str) -> None:
    lines = slowdown_lines()
    assert "% slower since" in history([damage, *lines[:9], damage, *lines[9:], damage]).out


def test_control_characters_of_a_fact_are_not_printed(history: History) -> None:
    lines = [facts_line(governor="performance"), *[entry_line(number, 1e6, "performance") for number in range(5)]]
    lines += [facts_line(governor="\x1b[31mred"), entry_line(6, 1e6, "\x1b[31mred")]
    assert "\x1b" not in history(lines).out


@pytest.mark.parametrize("columns", ["20", "40", "200"])
def test_no_line_is_wider_than_the_terminal(history: History, monkeypatch: pytest.MonkeyPatch, columns: str) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    text = history(slowdown_lines()).out
    assert max(map(len, text.splitlines())) <= int(columns)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--why", "x"), "--why: only with `noisewatch history accept`"),
        (("accept",), "none.jsonl: there is no entry of this machine to accept yet"),
        (("reject",), "expected one of accept, found 'reject'"),
    ],
)
def test_invalid_arguments_are_refused(run: Run, tmp_path: Path, words: tuple[str, ...], message: str) -> None:
    ran = run("history", *words, "--file", tmp_path / "none.jsonl")
    assert ran.status == 2
    assert message in ran.err


def test_missing_file_is_reported_as_no_entry_yet(history: History, tmp_path: Path) -> None:
    assert "no entry of this machine yet" in history(tmp_path / "none.jsonl").words


def test_markdown_and_svg_show_the_slowdown(history: History) -> None:
    lines = slowdown_lines()
    text = history(lines, "--format", "markdown").out
    assert text.startswith("## noisewatch history · CPUs 2-3 · 26 entries")
    assert "governor: performance → powersave" in text
    for theme in ("dark", "light"):
        svg = history(lines, "--format", "svg", "--theme", theme).out
        root = ElementTree.fromstring(svg)
        assert root.tag.endswith("svg")
        assert "slower" in "".join(root.itertext())


_KEY = {"machine": machine_key()}


_LINES_OF_TWO_SETS = [
    *[entry_line(number, 1e6, "") for number in range(20)],
    entry_line(20, 2e6, "", cpus=[0, 1]),
    entry_line(21, 3e6, "", core="python"),
    entry_line(22, 2e6, "", cpus=[0, 1]),
]


def test_other_sets_of_cpus_are_counted_as_not_compared(history: History) -> None:
    text = history(_LINES_OF_TWO_SETS).words
    assert "CPUs 0-1 · 2 entries" in text
    assert "not compared: 20 of CPUs 2-3 (--cpus 2-3); 1 of CPUs 2-3 by the python core (--cpus 2-3)" in text


def test_the_history_of_named_cpus_is_shown(history: History) -> None:
    lines = [*[entry_line(number, 1e6, "") for number in range(9)], entry_line(9, 2e6, "", cpus=[1])]
    text = history(lines, "--cpus", "2,3").words
    assert "CPUs 2-3 · 9 entries" in text
    assert "not compared: 1 of CPU 1 (--cpus 1)" in text
    entries = history(lines, "--cpus", "2-3", "--format", "json").json["entries"]
    assert {tuple(entry["cpus"]) for entry in entries} == {(2, 3)}


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("--cpus", "5"), "no entry of CPU 5; there are entries of CPUs 0-1, CPUs 2-3"),
        (("--cpus", "x"), "--cpus x: expected a CPU list"),
        (("--cpus", ""), "--cpus : expected a CPU list"),
        (("accept", "--cpus", "2-3"), "--cpus: not with `noisewatch history accept`"),
    ],
)
def test_invalid_cpus_are_refused(run: Run, tmp_path: Path, words: tuple[str, ...], line: str) -> None:
    ran = run("history", *words, "--file", write_history(tmp_path, _LINES_OF_TWO_SETS))
    assert (ran.status, len(ran.err.splitlines())) == (2, 1)
    assert line in ran.err


def test_last_acceptance_is_shown_without_an_unreadable_time(history: History) -> None:
    accepted: list[dict[str, object]] = [
        {"kind": "accepted", "at": BEGIN_S, "why": "first"},
        {"kind": "accepted", "at": "yesterday", "why": "\x1b[31mnew\nBIOS"},
    ]
    lines = [*(line | _KEY for line in accepted), entry_line(1, 1e6, "")]
    text = history(lines).out
    assert "accepted: ·[31mnew BIOS" in text.splitlines()
    assert "first" not in text
    acceptance = history(lines, "--format", "json").json["accepted"]
    assert acceptance == {"at": None, "why": "·[31mnew BIOS", "entries_before": 0}


def test_history_without_an_acceptance_does_not_mention_one(history: History) -> None:
    assert "accepted" not in history(_LINES_OF_TWO_SETS).out
    assert history(_LINES_OF_TWO_SETS, "--format", "json").json["accepted"] is None


def test_thinned_out_entries_are_counted(history: History) -> None:
    lines = [entry_line(number, 1e6, "") for number in range(1000)]
    document = history(lines, "--format", "json").json
    assert len(document["entries"]) <= 200
    assert len(document["entries"]) + document["thinned_out"] == 1000
    text = history(lines).words
    assert f"not compared: {document['thinned_out']} older entries, thinned out evenly over time" in text
