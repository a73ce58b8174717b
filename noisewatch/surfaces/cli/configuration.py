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

from noisewatch.errors import UsageError, UsageErrors
from noisewatch.model.wanted.description import decoded_toml, line_of, parsed_toml
from noisewatch.records import dataclass
from noisewatch.surfaces.cli.parser import did_you_mean
from noisewatch.surfaces.cli.rules import refuse_unknown_names

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
_TEXT = "a text or a number"
_KIND_BY_KEY = {
    **dict.fromkeys(_VALUES, _TEXT),
    **dict.fromkeys(_LISTS, "a list of names"),
    **dict.fromkeys(_TABLES, "a table"),
    **dict.fromkeys(_FLAGS, "true or false"),
    **dict.fromkeys(_PATHS, "the name of a file"),
}
KEYS = tuple(_KIND_BY_KEY)


@dataclass(frozen=True, slots=True)
class _OptionsFile:
    """An options file: its text, and noisewatch's table in it, which is below the keys `above`."""

    path: Path
    text: str
    table: dict[str, Any]
    above: tuple[str, ...] = ()

    def place(self, key: str, name: str, value: object) -> str:
        """Return `FILE:LINE` of a key, of a name in its table, or of the only text in a list `value`."""
        keys = (*self.above, key)
        line = (line_of(self.text, *keys, name) if name else None) or line_of(self.text, *keys) or 1
        match value:
            case [str(item)]:
                below = enumerate(self.text.splitlines()[line - 1 :], start=line)
                quotes = (f'"{item}"', f"'{item}'")
                line = next((number for number, text in below if any(quote in text for quote in quotes)), line)
        return f"{self.path}:{line}"


def configure(parser: ArgumentParser, path: str | None) -> tuple[str, list[str]] | None:
    """Set the parser's defaults from the file; return its path and the equivalent words of a command line.

    Return None if there is no file.

    Without a `path` the file is searched in the current folder and above, up to the top of the repository; outside of a
    repository only in the current folder. Raise UsageError, or UsageErrors with all mistakes in the file.
    """
    file = _read(Path(path)) if path is not None else _nearest()
    if file is None:
        return None
    words: list[str] = []
    mistakes = []
    for key, value in file.table.items():
        for name, setting in _settings(key, value):
            try:
                words += _checked_words(parser, file.path.parent, key, name, setting)
            except UsageError as error:
                mistakes.append(f"{file.place(key, name, setting)}: {error}")
    if mistakes:
        raise UsageErrors(mistakes)
    parsed = parser.parse_args(words)
    for option in {word.partition("=")[0] for word in words}:
        name = option.removeprefix("--").replace("-", "_")
        parser.set_defaults(**{name: getattr(parsed, name)})
    return str(file.path), words


def _settings(key: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the names and values in a table, the items of a list, each in a list, and any other value as it is."""
    if key in _TABLES and isinstance(value, dict):
        yield from _flat(value)
    elif key in _LISTS and isinstance(value, list):
        yield from (("", [item]) for item in value)
    else:
        yield "", value


def _flat(table: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Flatten a table: TOML parses `id.key = 1` as a table within a table."""
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def _checked_words(parser: ArgumentParser, folder: Path, key: str, name: str, value: Any) -> list[str]:
    """Return the equivalent words of a command line. Raise UsageError if the option would not accept them."""
    option = f"--{key}"
    words = [f"{option}{text}" for text in _texts(folder, key, name, value)]
    try:
        parser.parse_args(words)
        for word in words:
            refuse_unknown_names(option, word.removeprefix(f"{option}="))
    except UsageError as error:
        message = str(error).removesuffix(f" (see {parser.prog} --help)").removeprefix("argument ")
        raise UsageError(message.replace(option, key, 1)) from error
    return words


def _texts(folder: Path, key: str, name: str, value: Any) -> list[str]:
    """Return what follows the option's name on a command line. Raise UsageError for a wrong key or type."""
    is_plain = isinstance(value, str | int | float) and not isinstance(value, bool)
    match value:
        case bool() if key in _FLAGS:
            return [""] if value else []
        case [str(item)] if key in _LISTS:
            return [f"={item}"]
        case str() if key in _PATHS:
            return [f"={folder / value}"]
        case _ if is_plain and name:
            return [f"={name}={value}"]
        case _ if is_plain and key in _VALUES:
            return [f"={value}"]
    if key not in KEYS:
        raise UsageError(f"there is no key {key!r}" + did_you_mean(key, KEYS, f"; there is {', '.join(KEYS)}"))
    kind = _TEXT if name else _KIND_BY_KEY[key]
    raise UsageError(f"{key}{f' {name}' * bool(name)}: wanted {kind}, found {value!r}")


def _nearest() -> _OptionsFile | None:
    """Return the file of the nearest folder that has one; a folder without access counts as one without a file."""
    for place in _places():
        for name in (_OWN, _PROJECT):
            if os.access(place / name, os.R_OK) and (file := _read(place / name)) is not None:
                return file
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


def _read(path: Path) -> _OptionsFile | None:
    """Return noisewatch's table, or None if the file of another tool has none. Raise UsageError."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: {(error.strerror or os.strerror(error.errno or 0)).lower()}") from error
    if path.name == _PROJECT and b"noisewatch" not in content:
        return None
    text = decoded_toml(content, str(path))
    whole = parsed_toml(text, str(path))
    if path.name != _PROJECT:
        return _OptionsFile(path, text, whole)
    tools = whole.get("tool")
    own = tools.get("noisewatch") if isinstance(tools, dict) else None
    if own is not None and not isinstance(own, dict):
        raise UsageError(f"{path}: tool.noisewatch: wanted a table, found {own!r}")
    return None if own is None else _OptionsFile(path, text, own, ("tool", "noisewatch"))
