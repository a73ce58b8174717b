"""The schema that `explain --schema history` prints, held against what `history --format json` prints."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from noisewatch.machine.history_file import machine_key
from tests.surfaces.reports.history.store import History, entry_line, slowed
from tests.surfaces.running import Run

_JUDGED = ("moves", "departures", "drifts", "apart", "bimodal", "unjudged")


@pytest.fixture
def schema(run: Run) -> Any:
    printed = run("explain", "--schema", "history").json
    Draft202012Validator.check_schema(printed)
    return printed


def _closed(schema: Any) -> Any:
    """Return the schema changed so that it rejects keys that it does not name."""
    if isinstance(schema, list):
        return [_closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {key: _closed(value) for key, value in schema.items()}
    return {"additionalProperties": False, **inner} if isinstance(schema.get("properties"), dict) else inner


def _drifting() -> list[dict[str, Any]]:
    rng = random.Random(5)
    return [entry_line(number, 1e6 * (1 + number / 500) * rng.gauss(1, 0.001), "") for number in range(40)]


def _alternating() -> list[dict[str, Any]]:
    rng = random.Random(7)
    return [entry_line(at, rng.choice((1e6, 1.2e6)) * rng.gauss(1, 0.001), "") for at in range(60)]


@pytest.mark.parametrize(
    ("lines", "judged"),
    [
        (list, None),
        (lambda: slowed(count=2, after=0), None),
        (slowed, {"moves", "departures"}),
        (lambda: slowed(after=2), {"apart"}),
        (_drifting, {"drifts"}),
        (_alternating, {"bimodal"}),
        (lambda: [*slowed(), "{"], {"moves"}),
        (lambda: [line for line in slowed() if line["kind"] != "facts"], {"moves"}),
    ],
    ids=["empty", "few", "moved", "apart", "drifted", "bimodal", "damaged", "without facts"],
)
def test_what_is_printed_is_as_the_schema_says(
    history: History, schema: Any, lines: Callable[[], list[Any]], judged: Collection[str] | None
) -> None:
    told = history(lines(), "--format", "json").json
    assert [error.message for error in Draft202012Validator(_closed(schema)).iter_errors(told)] == []
    assert {key for key in _JUDGED if told[key] is None} == ({*_JUDGED} if judged is None else set())
    assert {key for key in _JUDGED if told[key]} >= set(judged or ())


def test_an_accepted_machine_is_as_the_schema_says_and_another_shape_is_not(history: History, schema: Any) -> None:
    accepted = {"kind": "accepted", "at": 1.8e9, "machine": machine_key(), "why": "new BIOS"}
    told = history([*slowed(), accepted, entry_line(40, 1e6, "powersave")], "--format", "json").json
    assert told["accepted"]["entries_before"] == 26
    assert [error.message for error in Draft202012Validator(_closed(schema)).iter_errors(told)] == []
    validator = Draft202012Validator(schema)
    assert not validator.is_valid({**told, "moves": "none"})
    assert not validator.is_valid({key: value for key, value in told.items() if key != "entries"})
