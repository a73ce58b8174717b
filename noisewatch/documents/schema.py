"""The published JSON Schemas of all documents except calibrate's, generated from their types.

A line `key: text` in a type's docstring becomes the key's description.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import partial
from inspect import cleandoc
from typing import Any

import msgspec

from noisewatch.documents.comparison import CompareDocument
from noisewatch.documents.document import DocumentPart
from noisewatch.documents.history import HistoryDocument
from noisewatch.documents.plan import PlanDocument
from noisewatch.documents.run import RunDocument
from noisewatch.documents.verdict import VerdictDocument
from noisewatch.patterns import regex

_KEY = regex(r"^(\w+): (.+(?:\n +.+)*)\n?", re.MULTILINE)
_WORD = regex(r"(?<=[a-z])(?=[A-Z])")
_PREFIX = "#/$defs/"
_GIVES_REASON = {  # the schema of a finding without an answer: it has a reason
    "if": {"properties": {"status": {"enum": ["unknown", "not-applicable", "ignored"]}}, "required": ["status"]},
    "then": {"properties": {"reason": {"type": "string", "minLength": 1}}},
}


def schema_text(command: str) -> str:
    """Return the schema of the command's JSON document."""
    name = "verdict" if command == "preflight" else command
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": f"urn:noisewatch:{name}:1"}
    return json.dumps(head | _SCHEMAS[command](), indent=1, ensure_ascii=False) + "\n"


def _verdict_schema() -> dict[str, Any]:
    """Return the schema of the verdict. In JSON Lines, `head` is the first line and `finding` any later line."""
    schema = _schema_of(VerdictDocument)
    schema["$defs"]["finding"] |= _GIVES_REASON
    schema["$defs"]["head"] = {"$ref": schema["$ref"]}
    return {**schema, "required": ["findings"]}


def _run_schema() -> dict[str, Any]:
    """Return the schema of a line of the receipt (header, repetition or footer), or of the whole receipt (series)."""
    schema = _schema_of(RunDocument)
    parts, head = schema["$defs"], {"$ref": schema["$ref"]}
    parts["header"] = head | {"properties": {"kind": {"const": "header"}}}
    parts["series"] = head | {"properties": {"kind": {"const": "series"}}, "required": ["repetitions", "footer"]}
    return {
        "oneOf": [{"$ref": _PREFIX + name} for name in ("header", "repetition", "footer", "series")],
        "$defs": parts,
    }


def _whole_document_schema(kind: type[DocumentPart]) -> dict[str, Any]:
    """Return the schema of a document that is always written as a whole."""
    schema = _schema_of(kind)
    return {**schema["$defs"].pop(_name_of(kind.__name__)), "$defs": schema["$defs"]}


_SCHEMAS: Mapping[str, Callable[[], dict[str, Any]]] = {
    "preflight": _verdict_schema,
    "plan": partial(_whole_document_schema, PlanDocument),
    "compare": partial(_whole_document_schema, CompareDocument),
    "history": partial(_whole_document_schema, HistoryDocument),
    "run": _run_schema,
}


def _schema_of(kind: object) -> dict[str, Any]:
    (schema,), parts = msgspec.json.schema_components([kind], ref_template=f"{_PREFIX}{{name}}")
    described = {_name_of(name): _describe_keys(part) for name, part in parts.items()}
    return _shorten({**schema, "$defs": described})  # type: ignore[no-any-return]


def _name_of(kind: str) -> str:
    """Return `calibrated_cpu` for `CalibratedCpuPart`."""
    return _WORD.sub("_", kind.removesuffix("Part").removesuffix("Document")).lower()


def _describe_keys(part: dict[str, Any]) -> dict[str, Any]:
    """Return the part's schema with the keys' descriptions moved from its docstring to the keys."""
    text = cleandoc(part.get("description", ""))
    for key, words in _KEY.findall(text):
        part["properties"][key]["description"] = " ".join(words.split())
    whole = " ".join(_KEY.sub("", text).split())
    described = {"description": whole} if whole else {}
    return described | {key: value for key, value in part.items() if key not in ("title", "description")}


def _shorten(schema: Any) -> Any:
    """Return the schema with shorter references and nulls, and without defaults and discriminators.

    A default only explains a missing key. Discriminators are not part of JSON Schema, and each type has its
    tag as a constant anyway.
    """
    if isinstance(schema, list):
        return [_shorten(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    short = {key: _shorten(value) for key, value in schema.items() if key not in ("default", "discriminator")}
    if isinstance(short.get("$ref"), str):
        short["$ref"] = _PREFIX + _name_of(short["$ref"].removeprefix(_PREFIX))
    match short.get("anyOf"):
        case [{"type": str(kind), **rest}, {"type": "null"}]:
            del short["anyOf"]
            return {"type": [kind, "null"], **rest, **short}
    return short
