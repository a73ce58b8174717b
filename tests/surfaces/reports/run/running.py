"""Start `noisewatch run` from the command line, and read the receipt that it writes."""

from __future__ import annotations

import json
import os
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

from noisewatch.documents.schema import schema_text
from tests.surfaces.running import NOISEWATCH, parse_json

CPU = str(max(os.sched_getaffinity(0)))


def words(*arguments: str | Path) -> list[str]:
    """Return a command line that runs on one CPU, and only calibrates if the arguments request it."""
    return [*NOISEWATCH, "run", "--cpus", CPU, "--calibration", "0", *map(str, arguments)]


def ran(*arguments: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run `noisewatch run` and return the finished process."""
    settings = {"capture_output": True, "text": True, "timeout": 60} | options
    finished: subprocess.CompletedProcess[str] = subprocess.run(words(*arguments), check=False, **settings)
    return finished


def lines_of(receipt: Path) -> list[dict[str, Any]]:
    """Return the lines of a receipt, each of which the schema accepts."""
    text = receipt.read_text("utf-8")
    assert text.endswith("\n")
    lines = [read(line) for line in text.splitlines()]
    assert [line["kind"] for line in lines[:1]] == ["header"]
    return lines


def read(text: str) -> dict[str, Any]:
    """Parse a document that the schema accepts."""
    document: dict[str, Any] = parse_json(text)
    complaints = [f"{error.json_path}: {error.message}" for error in _validator(document["kind"]).iter_errors(document)]
    assert complaints == []
    assert _whole().is_valid(document)
    return document


@cache
def schema() -> dict[str, Any]:
    """Return the published schema of runs."""
    published: dict[str, Any] = json.loads(schema_text("run"))
    return published


@cache
def _whole() -> Draft202012Validator:
    return Draft202012Validator(schema())


@cache
def _validator(kind: str) -> Draft202012Validator:
    """Return the validator for one kind of line; a choice of several kinds would not explain a mismatch."""
    whole, kind = schema(), "repetition" if kind == "warm-up" else kind
    return Draft202012Validator({"$schema": whole["$schema"], "$ref": f"#/$defs/{kind}", "$defs": whole["$defs"]})
