"""Options from a file: `noisewatch.toml`, or `[tool.noisewatch]` in `pyproject.toml`.

    profile = "strict"
    cpus = "2-7"
    ignore = ["temporary-files-far-away"]
    severity = { turbo-enabled = "blocking" }
    limit = { target-cpu-busy = "2%" }
    machine = "machine.toml"

Each key is an option of `preflight`, and is read as the option is. What the command line says comes after it: it adds
to lists, and outranks everything else. A path is relative to the folder of the file.
"""

from __future__ import annotations

import os
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from noisewatch.errors import UsageError
from noisewatch.surfaces.cli.spelling import did_you_mean

_OWN, _PROJECT = "noisewatch.toml", "pyproject.toml"
_VALUES = (
    "profile",
    "expect",
    "cpus",
    "sample",
    "calibration",
    "at",
    "samples",
    "max-cv",
    "max-inflation",
    "work",
    "on-unknown",
)
_LISTS = ("select", "ignore")
_TABLES = ("severity", "limit")
_FLAGS = ("strict", "history")
_PATHS = ("machine",)
_KINDS = {
    **dict.fromkeys(_FLAGS, "true or false"),
    **dict.fromkeys(_LISTS, "a list of names"),
    **dict.fromkeys(_PATHS, "the name of a file"),
}
KEYS = (*_VALUES, *_LISTS, *_TABLES, *_FLAGS, *_PATHS)


def configure(parser: ArgumentParser, path: str | None) -> str | None:
    """Set the parser's defaults from the file, and return the file's path, or None if there is no file.

    Without a `path` the file is searched in the current folder and above, up to the top of the repository; outside of a
    repository only in the current folder. Raise UsageError.
    """
    file_and_table = _read(Path(path)) if path is not None else _nearest()
    if file_and_table is None:
        return None
    file, table = file_and_table
    for key, value in table.items():
        if key not in KEYS:
            hint = did_you_mean(key, KEYS, f"; there is {', '.join(KEYS)}")
            raise UsageError(f"{file}: there is no key {key!r}{hint}")
        _take_over(parser, file, key, value)
    return str(file)


def _take_over(parser: ArgumentParser, file: Path, key: str, value: Any) -> None:
    words = list(_words(file, key, value))
    try:
        parsed = parser.parse_args(words)
    except UsageError as error:
        raise UsageError(f"{file}: {key}: {str(error).removesuffix(f' (see {parser.prog} --help)')}") from error
    name = key.replace("-", "_")
    if words:
        parser.set_defaults(**{name: getattr(parsed, name)})


def _words(file: Path, key: str, value: Any) -> Iterator[str]:
    """Yield the equivalent words of a command line."""
    if key in _FLAGS and isinstance(value, bool):
        yield from [f"--{key}"] if value else []
    elif key in _LISTS and isinstance(value, list) and all(isinstance(name, str) for name in value):
        yield from (f"--{key}={name}" for name in value)
    elif key in _TABLES and isinstance(value, dict):
        yield from (f"--{key}={name}={_text(file, key, setting)}" for name, setting in _flat(value))
    elif key in _VALUES:
        yield f"--{key}={_text(file, key, value)}"
    elif key in _PATHS and isinstance(value, str):
        yield f"--{key}={file.parent / value}"
    else:
        raise UsageError(f"{file}: {key}: wanted {_KINDS.get(key, 'a table')}, found {value!r}")


def _flat(table: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Flatten a table: TOML parses `id.key = 1` as a table within a table."""
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def _text(file: Path, key: str, value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise UsageError(f"{file}: {key}: wanted a text or a number, found {value!r}")
    return str(value)


def _nearest() -> tuple[Path, dict[str, Any]] | None:
    """Return the file of the nearest folder that has one; a folder without access counts as one without a file."""
    for place in _places():
        for name in (_OWN, _PROJECT):
            if os.access(place / name, os.R_OK) and (file_and_table := _read(place / name)) is not None:
                return file_and_table
    return None


def _places() -> list[Path]:
    """Return the current folder and those above up to the top of the repository; outside of one only the current one.

    Outside of a repository, folders above may belong to other users.
    """
    try:
        folder = Path.cwd()
    except OSError:  # the folder was removed
        return []
    places = [folder, *folder.parents]
    tops = [number for number, place in enumerate(places) if os.path.exists(place / ".git")]
    return places[: tops[0] + 1] if tops else places[:1]


def _read(file: Path) -> tuple[Path, dict[str, Any]] | None:
    """Return noisewatch's table, or None if the file of another tool has none. Raise UsageError."""
    try:
        text = file.read_bytes()
    except OSError as error:
        raise UsageError(f"{file}: {(error.strerror or os.strerror(error.errno or 0)).lower()}") from error
    if file.name == _PROJECT and b"noisewatch" not in text:
        return None
    import tomllib  # most folders have no such file

    try:
        whole = tomllib.loads(text.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{file}: {error}") from error
    if file.name != _PROJECT:
        return file, whole
    tools = whole.get("tool")
    own = tools.get("noisewatch") if isinstance(tools, dict) else None
    if own is not None and not isinstance(own, dict):
        raise UsageError(f"{file}: tool.noisewatch: wanted a table, found {own!r}")
    return None if own is None else (file, own)
