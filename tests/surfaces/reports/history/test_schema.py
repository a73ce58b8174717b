"""`history --format json` matches the schema that `explain --schema history` prints."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from noisewatch.machine.history_file import machine_key
from tests.surfaces.reports.history.store import History, entry_line, slowdown_lines
from tests.surfaces.running import Run

_JUDGED = ("moves", "departures", "drifts", "apart", "bimodal", "unjudged")


@pytest.fixture
def schema(run: Run) -> Any:
    document = run("explain", "--schema", "history").json
    Draft202012Validator.check_schema(document)
    return document


def _close_schema(schema: Any) -> Any:
    """Return a copy of the schema that rejects keys it does not name."""
    if isinstance(schema, list):
        return [_close_schema(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {key: _close_schema(value) for key, value in schema.items()}
    return {"additionalProperties": False, **inner} if isinstance(schema.get("properties"), dict) else inner


def _drifting_lines() -> list[dict[str, Any]]:
    rng = random.Random(5)
    return [entry_line(number, 1e6 * (1 + number / 500) * rng.gauss(1, 0.001), "") for number in range(40)]


def _alternating_lines() -> list[dict[str, Any]]:
    rng = random.Random(7)
    return [entry_line(at, rng.choice((1e6, 1.2e6)) * rng.gauss(1, 0.001), "") for at in range(60)]


@pytest.mark.parametrize(
    ("lines", "judged"),
    [
        (list, None),
        (lambda: slowdown_lines(count=2, after=0), None),
        (slowdown_lines, {"moves", "departures"}),
        (lambda: slowdown_lines(after=2), {"apart"}),
        (_drifting_lines, {"drifts"}),
        (_alternating_lines, {"bimodal"}),
        (lambda: [*slowdown_lines(), "{"], {"moves"}),
        (lambda: [line for line in slowdown_lines() if line["kind"] != "facts"], {"moves"}),
    ],
    ids=["empty", "few", "moved", "apart", "drifted", "bimodal", "damaged", "without facts"],
)
def test_json_matches_the_schema(
    history: History, schema: Any, lines: Callable[[], list[Any]], judged: Collection[str] | None
) -> None:
    document = history(lines(), "--format", "json").json
    assert [error.message for error in Draft202012Validator(_close_schema(schema)).iter_errors(document)] == []
    assert {key for key in _JUDGED if document[key] is None} == ({*_JUDGED} if judged is None else set())
    assert {key for key in _JUDGED if document[key]} >= set(judged or ())


def test_schema_accepts_an_accepted_machine_and_rejects_other_shapes(history: History, schema: Any) -> None:
    accepted = {"kind": "accepted", "at": 1.8e9, "machine": machine_key(), "why": "new BIOS"}
    document = history([*slowdown_lines(), accepted, entry_line(40, 1e6, "powersave")], "--format", "json").json
    assert document["accepted"]["entries_before"] == 26
    assert [error.message for error in Draft202012Validator(_close_schema(schema)).iter_errors(document)] == []
    validator = Draft202012Validator(schema)
    assert not validator.is_valid({**document, "moves": "none"})
    assert not validator.is_valid({key: value for key, value in document.items() if key != "entries"})
