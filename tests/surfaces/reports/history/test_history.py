"""`noisewatch history`, from a store that a host may have kept."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from noisewatch.machine.history_file import machine_key
from noisewatch.surfaces.cli import main

_DAY_S = 86_400
_BEGIN_S = 1_790_000_000


def _facts(**settings: str) -> dict[str, Any]:
    digest = "-".join(settings.values()) or "none"
    facts = {"kernel": {"kernel": "6.14.0"}, "settings": settings}
    return {"kind": "facts", "digest": digest, "facts": facts, "machine": machine_key()}


def _line(number: int, latency: float, facts: str, **others: Any) -> dict[str, Any]:
    return {
        "kind": "calibration",
        "machine": machine_key(),
        "at": _BEGIN_S + number * _DAY_S,
        "core": "native",
        "cpus": [2, 3],
        "cv": {"latency": {"1000000": 0.01}},
        "figures": {"latency work": latency, "clock": 3.1e6, "noise floor at 10 ms": 0.002},
        "facts": facts,
        "boot": f"boot {number}",
        **others,
    }


def _slowed(count: int = 20, after: int = 6) -> list[dict[str, Any]]:
    rng = random.Random(3)
    old = [_line(number, 1e6 * rng.gauss(1, 0.002), "performance") for number in range(count)]
    new = [_line(count + number, 1.041e6 * rng.gauss(1, 0.002), "powersave") for number in range(after)]
    return [_facts(governor="performance"), *old, _facts(governor="powersave"), *new]


def _written(tmp_path: Path, lines: list[Any]) -> str:
    path = tmp_path / "history.jsonl"
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
    return str(path)


def _told(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["history", *words]) == 0
    return capsys.readouterr().out


def _words_of(told: str) -> str:
    """Without the line breaks, which depend on how long the file's name is."""
    return " ".join(told.split())


def test_a_slower_machine_is_told_with_what_changed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = _told(capsys, "--file", _written(tmp_path, _slowed()))
    assert "latency work: 4." in told
    assert "% slower since" in told
    assert "(6 of 26 entries)" in told
    assert "    governor: performance → powersave" in told.splitlines()
    assert "clock:" not in told, "what did not move is not told"


def test_json_tells_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = json.loads(_told(capsys, "--format", "json", "--file", _written(tmp_path, _slowed())))
    (move,) = told["moves"]
    assert (move["figure"], move["entries_since"]) == ("latency work", 6)
    assert move["change_share"] == pytest.approx(0.041, abs=0.004)
    assert move["changed"] == [{"class": "settings", "name": "governor", "before": "performance", "after": "powersave"}]
    assert len(told["entries"]) == 26
    assert told["entries"][0]["facts"]["settings"] == {"governor": "performance"}


def test_a_move_between_entries_without_facts_is_not_said_to_have_no_cause(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = _written(tmp_path, [line for line in _slowed() if line["kind"] != "facts"])
    told = _words_of(_told(capsys, "--file", path))
    assert "what changed then is unknown" in told
    assert "nothing that is recorded changed" not in told
    assert json.loads(_told(capsys, "--format", "json", "--file", path))["moves"][0]["changed"] is None


def test_a_fact_that_one_side_does_not_know_may_have_changed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = _slowed()
    lines[0]["facts"]["settings"] |= {"turbo": "on"}
    lines[21]["facts"]["settings"] = {"governor": "performance", "turbo": None}
    told = _words_of(_told(capsys, "--file", _written(tmp_path, lines)))
    assert "may have changed, as only one side knows it: turbo" in told
    assert "nothing that is recorded changed" not in told


def test_where_nothing_recorded_changed_that_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [line | {"facts": "performance"} if line["kind"] == "calibration" else line for line in _slowed()]
    assert "nothing that is recorded changed" in _words_of(_told(capsys, "--file", _written(tmp_path, lines)))


def test_figures_that_few_entries_know_are_named_as_not_judged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = _written(tmp_path, _slowed())
    assert "not judged, as fewer than 12 entries have it: throughput work," in _words_of(_told(capsys, "--file", path))
    assert "memory walk" in json.loads(_told(capsys, "--format", "json", "--file", path))["unjudged"]


def test_a_machine_without_an_identity_is_not_judged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "read_bytes", lambda path: b"uninitialized\n")
    told = _told(capsys, "--file", _written(tmp_path, _slowed()))
    assert "unknown: this machine has no /etc/machine-id" in _words_of(told)
    assert "slower" not in told


def test_few_entries_are_not_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = _written(tmp_path, [_line(0, 1e6, ""), _line(1, 2e6, "")])
    assert "remembering: 2 of 12" in _told(capsys, "--file", path)
    assert json.loads(_told(capsys, "--format", "json", "--file", path))["moves"] is None


def test_once_accepted_only_what_comes_after_is_usual(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = _written(tmp_path, _slowed())
    assert "from here on" in _told(capsys, "accept", "--why", "new BIOS", "--file", path)
    assert json.loads(Path(path).read_text().splitlines()[-1])["why"] == "new BIOS"
    assert "no entry since this machine was accepted" in _words_of(_told(capsys, "--file", path))
    with Path(path).open("a") as file:
        file.writelines(json.dumps(_line(40 + number, 1.041e6, "powersave")) + "\n" for number in range(12))
    told = _told(capsys, "--file", path)
    assert "no move found" in told
    assert "26 from before the machine was accepted" in told


def test_stores_of_two_machines_in_one_file_stay_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    others = [_line(number, 5e6, "", machine="another") for number in range(12)]
    steady = [_line(number, 1e6, "") for number in range(12)]
    told = _told(capsys, "--file", _written(tmp_path, [*steady, *others]))
    assert "no move found" in told
    assert "12 entries" in _words_of(told)
    assert "1 other machine" in _words_of(told)


def test_clones_with_one_machine_id_are_not_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = _slowed()
    boots = [line | {"boot": f"boot {number % 2}"} for number, line in enumerate(lines)]
    path = _written(tmp_path, boots)
    told = _told(capsys, "--file", path)
    assert "unknown: two machines have the same /etc/machine-id" in told
    assert "slower" not in told
    assert json.loads(_told(capsys, "--format", "json", "--file", path))["moves"] is None


@pytest.mark.parametrize(
    "damage",
    ["{", '{"kind": "calibration"', "[1, 2]", "\0\0\0", '{"kind": "facts", "digest": "performance", "facts": 5}'],
)
def test_a_damaged_line_costs_nothing_else(tmp_path: Path, capsys: pytest.CaptureFixture[str], damage: str) -> None:
    lines = _slowed()
    told = _told(capsys, "--file", _written(tmp_path, [damage, *lines[:9], damage, *lines[9:], damage]))
    assert "% slower since" in told


def test_a_hostile_fact_is_shown_harmless(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [_facts(governor="performance"), *[_line(number, 1e6, "performance") for number in range(5)]]
    lines += [_facts(governor="\x1b[31mred"), _line(6, 1e6, "\x1b[31mred")]
    assert "\x1b" not in _told(capsys, "--file", _written(tmp_path, lines))


@pytest.mark.parametrize("columns", ["20", "40", "200"])
def test_no_line_is_wider_than_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, columns: str
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    told = _told(capsys, "--file", _written(tmp_path, _slowed()))
    assert max(map(len, told.splitlines())) <= int(columns)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--why", "x"), "--why: only with `noisewatch history accept`"),
        (("accept",), "no entry of this machine yet"),
        (("reject",), "invalid choice"),
    ],
)
def test_what_makes_no_sense_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], told: str
) -> None:
    assert main(["history", *words, "--file", str(tmp_path / "none.jsonl")]) == 2
    assert told in capsys.readouterr().err


def test_no_history_yet(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = _told(capsys, "--file", str(tmp_path / "none.jsonl"))
    assert "no entry of this machine yet" in _words_of(told)
