"""The common base of all documents: how they are filled, written and read.

A Struct declares each key once. Keys with a default may be missing in documents of other versions; unknown keys are
skipped. A line `key: text` in the docstring of a Struct describes the key in the published schema.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Annotated, Any, Final, Literal, TypeVar, Union, cast, get_args, get_origin

import msgspec
from msgspec import Meta, Struct, UnsetType

SCHEMA: Final = 1
SchemaNumber = Literal[1]
Amount = Annotated[float, Meta(ge=0)]
Count = Annotated[int, Meta(ge=0)]
Chance = Annotated[float, Meta(ge=0, le=1)]
Cpus = Annotated[list[Count], Meta(extra_json_schema={"uniqueItems": True})]
_Any = TypeVar("_Any")


class DocumentPart(Struct, frozen=True):
    """An object in a document. Values are checked when it is read, not when it is created."""


_Part = TypeVar("_Part", bound=DocumentPart)


def filled(kind: type[_Part], source: object, /, **others: Any) -> _Part:
    """Return the part filled from the attributes of `source` with the names of its keys; `others` are set directly.

    A record among the values is converted to its key's type of part in the same way.
    """
    values = {name: others[name] if name in others else getattr(source, name) for name in kind.__struct_fields__}
    for name, part in _part_by_key(kind).items():
        if not isinstance(values[name], DocumentPart | UnsetType | str | None):
            values[name] = filled(part, values[name])
    return kind(**values)


@cache
def _part_by_key(kind: type[DocumentPart]) -> dict[str, type[DocumentPart]]:
    """Return the keys whose value is always another part, with its type."""
    part_by_key = {}
    for field in msgspec.structs.fields(kind):
        members = [member for member in _members(field.type) if isinstance(member, type)]
        parts = [member for member in members if issubclass(member, DocumentPart)]
        if len(parts) == 1:
            part_by_key[field.name] = parts[0]
    return part_by_key


def plain(document: object) -> Any:
    """Return the document, or a part of it, as dictionaries and lists."""
    return msgspec.to_builtins(document)


def written(document: object, indent: int | None = None) -> str:
    """Return the document as JSON; infinity and NaN, which JSON does not have, become null."""
    described = plain(document)
    try:
        return json.dumps(described, indent=indent, allow_nan=False) + "\n"
    except ValueError:
        return json.dumps(_without_unknowns(described), indent=indent, allow_nan=False) + "\n"


def _without_unknowns(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _without_unknowns(item) for key, item in value.items()}
    return [_without_unknowns(item) for item in value] if isinstance(value, list | tuple) else value


def read_part(kind: type[_Any], value: object) -> _Any:
    """Return the parsed JSON as a part. Each malformed value becomes None, unknown like null in a document."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return next((part for member in _members(kind) if (part := _well_formed(member, value)) is not None), None)  # type: ignore[return-value]


def view_of(kind: type[_Part], keys: Iterable[str]) -> type[_Part]:
    """Return a type with only these keys of the part, those of inner parts after a dot: decoding skips all others.

    A key with `?` may be missing; it is None then.
    """
    inner_keys: dict[str, list[str]] = {}
    for key in keys:
        name, _, inner = key.partition(".")
        inner_keys.setdefault(name, []).extend([inner] * bool(inner))
    types = {field.name: field for field in msgspec.structs.fields(kind)}
    declared: list[tuple[str, Any] | tuple[str, Any, Any]] = []
    for key, below in inner_keys.items():
        field = types[key.removesuffix("?")]
        read_type = _view_of(field.type, below)
        declared.append((field.name, read_type, None) if key.endswith("?") else (field.name, read_type))
    return cast(type[_Part], msgspec.defstruct(kind.__name__, declared, frozen=True, kw_only=True))


def _view_of(kind: Any, keys: Sequence[str]) -> Any:
    """Return the type with each contained part replaced by its view."""
    if not keys:
        return kind
    if isinstance(kind, type) and issubclass(kind, DocumentPart):
        return view_of(kind, keys)
    if get_origin(kind) is list:
        return list[_view_of(get_args(kind)[0], keys)]  # type: ignore[misc]
    if get_origin(kind) is dict:
        name, item = get_args(kind)
        return dict[name, _view_of(item, keys)]  # type: ignore[valid-type,misc]
    members = get_args(kind)
    return Union[tuple(_view_of(member, keys) for member in members)] if members else kind  # noqa: UP007


def _members(kind: Any) -> Iterator[Any]:
    """Yield the types of a union, without annotations."""
    if get_origin(kind) is Annotated:
        yield from _members(kind.__origin__)
    elif get_origin(kind) in (None, list, dict):
        yield kind
    else:
        for member in get_args(kind):
            yield from _members(member)


def _well_formed(kind: Any, value: object) -> Any:
    """Return the well-formed content of the object or list; None for any other value."""
    if isinstance(value, dict) and isinstance(kind, type) and issubclass(kind, Struct):
        keys = {field.name: field for field in msgspec.structs.fields(kind)}
        return kind(
            **{
                name: read_part(field.type, value[field.encode_name]) if field.encode_name in value else None
                for name, field in keys.items()
                if field.encode_name in value or field.required
            }
        )
    if isinstance(value, dict) and get_origin(kind) is dict:
        return {key: read_part(get_args(kind)[1], item) for key, item in value.items()}
    if isinstance(value, list) and get_origin(kind) is list:
        parts = [read_part(get_args(kind)[0], item) for item in value]
        is_of_objects = any(isinstance(item, dict) for item in value)
        return [part for part in parts if part is not None] if is_of_objects else None
    return None
