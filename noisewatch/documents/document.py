"""The common base of all documents, with functions to fill, write and read them.

Each key is declared once, as a field of a Struct. Keys with a default may be missing from documents of other versions;
unknown keys are skipped. A line `key: text` in a Struct's docstring is the key's description in the published schema.
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
    """A JSON object in a document. Its values are validated only when it is read."""


_Part = TypeVar("_Part", bound=DocumentPart)


def fill_part(kind: type[_Part], source: object, /, **others: Any) -> _Part:
    """Return a part whose keys are set from `others`, else from the attributes of `source` with the same names.

    If a key's type is a part, its value is filled in the same way.
    """
    values = {name: others[name] if name in others else getattr(source, name) for name in kind.__struct_fields__}
    for name, part in _part_by_key(kind).items():
        if not isinstance(values[name], DocumentPart | UnsetType | str | None):
            values[name] = fill_part(part, values[name])
    return kind(**values)


@cache
def _part_by_key(kind: type[DocumentPart]) -> dict[str, type[DocumentPart]]:
    """Return the part type by key, for keys whose values are parts of a single type (or null)."""
    part_by_key = {}
    for field in msgspec.structs.fields(kind):
        members = [member for member in _union_members(field.type) if isinstance(member, type)]
        parts = [member for member in members if issubclass(member, DocumentPart)]
        if len(parts) == 1:
            part_by_key[field.name] = parts[0]
    return part_by_key


def to_builtins(document: object) -> Any:
    """Return the document, or a part of it, as dicts and lists."""
    return msgspec.to_builtins(document)


def to_json(document: object, indent: int | None = None) -> str:
    """Return the document as JSON. Infinity and NaN, which JSON lacks, become null."""
    described = to_builtins(document)
    try:
        return json.dumps(described, indent=indent, allow_nan=False) + "\n"
    except ValueError:
        return json.dumps(_null_if_infinite(described), indent=indent, allow_nan=False) + "\n"


def _null_if_infinite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _null_if_infinite(item) for key, item in value.items()}
    return [_null_if_infinite(item) for item in value] if isinstance(value, list | tuple) else value


def read_part(kind: type[_Any], value: object) -> _Any:
    """Return the parsed JSON as a value of the type. Malformed values become None, which means unknown, like null."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return next(
            (part for member in _union_members(kind) if (part := _valid_items(member, value)) is not None), None
        )  # type: ignore[return-value]


def view_of(kind: type[_Part], keys: Iterable[str]) -> type[_Part]:
    """Return a type that has only the given keys of the part, so decoding skips all other keys.

    `key.inner` is the key of an inner part. `key?` may be missing; its value is then None.
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
    """Return the type with each part in it replaced by its view."""
    if not keys:
        return kind
    if isinstance(kind, type) and issubclass(kind, DocumentPart):
        return view_of(kind, keys)
    if get_origin(kind) is Annotated:
        return Annotated[_view_of(kind.__origin__, keys), *kind.__metadata__]
    if get_origin(kind) is list:
        return list[_view_of(get_args(kind)[0], keys)]  # type: ignore[misc]
    if get_origin(kind) is dict:
        name, item = get_args(kind)
        return dict[name, _view_of(item, keys)]  # type: ignore[valid-type,misc]
    members = get_args(kind)
    return Union[tuple(_view_of(member, keys) for member in members)] if members else kind  # noqa: UP007


def _union_members(kind: Any) -> Iterator[Any]:
    """Yield the member types of a union, or the type itself if it is not a union; annotations are stripped."""
    if get_origin(kind) is Annotated:
        yield from _union_members(kind.__origin__)
    elif get_origin(kind) in (None, list, dict):
        yield kind
    else:
        for member in get_args(kind):
            yield from _union_members(member)


def _valid_items(kind: Any, value: object) -> Any:
    """Return the valid items of the object or list, or None if the value does not fit the type at all."""
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
