"""A frame as a line of JSON, without the values that the line before contains."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType

from noisewatch.operations.frame.frame import Frame

StableFields = Mapping[str, object]  # fields of a frame that seldom change, by name
_STABLE = (
    *("machine", "target", "target_chosen_by", "housekeeping", "online_count", "turbo", "origin", "remark"),
    *("causes", "gravities", "answers", "has_idle_probe", "no_idle_probe_reason", "no_irqs_reason", "irq_balancer"),
)
NO_FIELDS: StableFields = {}


def stable_fields(frame: Frame) -> StableFields:
    """Return the fields that the next line does not have to repeat."""
    return {name: getattr(frame, name) for name in _STABLE}


_ENCODER = msgspec.json.Encoder()
_FIELDS = msgspec.structs.fields(Frame)
_DECODER = msgspec.json.Decoder(
    msgspec.defstruct("_Part", [(field.name, field.type | UnsetType, UNSET) for field in _FIELDS], frozen=True)
)


def encode_frame(frame: Frame, omitted: StableFields = NO_FIELDS) -> bytes:
    """Encode the frame as one line, without the fields that are as in `omitted`."""
    fields = {name: value for name, value in _named(frame).items() if name not in omitted or omitted[name] != value}
    try:
        return _ENCODER.encode(fields) + b"\n"
    except UnicodeEncodeError:  # a lone surrogate, in whatever name
        text = json.dumps(msgspec.to_builtins(fields), ensure_ascii=False)
        return text.encode("utf-8", "replace") + b"\n"


def decode_frame(line: bytes, omitted: StableFields = NO_FIELDS) -> Frame:
    """Decode a line that encode_frame made with the same `omitted`. Raise ValueError for any other line."""
    try:
        part = _named(_DECODER.decode(line))
        return Frame(**{**omitted, **{name: value for name, value in part.items() if value is not UNSET}})
    except (TypeError, msgspec.DecodeError) as error:
        raise ValueError(f"no frame: {error}") from error


def _named(record: Struct) -> dict[str, Any]:
    return {name: getattr(record, name) for name in record.__struct_fields__}


def described_frame(frame: Frame) -> dict[str, Any]:
    """Return all fields by name, as in documents."""
    described: dict[str, Any] = json.loads(json.dumps(frame, default=_described))
    return described


def _described(record: Any) -> dict[str, Any]:
    if not isinstance(record, Struct):
        return asdict(record)
    fields = _named(record)
    is_sparse = record.__struct_config__.omit_defaults
    return {name: value for name, value in fields.items() if value is not None} if is_sparse else fields
