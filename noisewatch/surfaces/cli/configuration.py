"""Options from a file, `noisewatch.toml` or `[tool.noisewatch]` in `pyproject.toml`, and the table of all options.

    profile = "strict"
    cpus = "2-7"
    ignore = ["temporary-files-far-away"]
    severity = { turbo-enabled = "blocking" }
    limit = { target-cpu-busy = "2%" }
    machine = "machine.toml"

Each key is an option of `preflight`, and is parsed like the option. The command line is applied after the file: it
extends lists and tables, and replaces all other values. A path is relative to the folder of the file.
"""

from __future__ import annotations

import os
from argparse import SUPPRESS, Action, ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from noisewatch.errors import UsageError, UsageErrors
from noisewatch.model.wanted import decode_toml, line_of, parse_toml
from noisewatch.surfaces.cli.parser import did_you_mean
from noisewatch.surfaces.cli.parsers import PREFLIGHT, build_parsers
from noisewatch.surfaces.cli.rules import refuse_unknown_names
from noisewatch.surfaces.drawing.tables import align
from noisewatch.text import printable

_OPTIONS_FILE, _PROJECT_FILE = "noisewatch.toml", "pyproject.toml"
KEYS = (
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
    "select",
    "ignore",
    "severity",
    "limit",
    "strict",
    "history",
    "machine",
)
_TEXT, _LIST, _TABLE, _FLAG, _PATH = (
    "a string or a number",
    "a list of names",
    "a table",
    "true or false",
    "the name of a file",
)
_UNSET = "-"
_NOTE = f"{_UNSET}: no value; `noisewatch preflight --help` lists the defaults\n"
_NO_SETTINGS = ("help", "show_options")


class _OptionsFile(Struct, frozen=True):
    """An options file: its text, and its table of options. `above` contains the keys that lead to the table."""

    path: Path
    text: str
    table: dict[str, Any]
    above: tuple[str, ...] = ()

    def place(self, key: str, name: str, value: object) -> str:
        """Return `FILE:LINE` of the key, of `name` in the key's table, or of `value` if it is a list of one string."""
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

    Return None if there is no file. Without a `path` the file is searched in the current folder and above, up to the
    top of the repository; outside of a repository only in the current folder. Raise UsageError, or UsageErrors with all
    mistakes in the file.
    """
    file = _read_file(Path(path)) if path is not None else _find_nearest()
    if file is None:
        return None
    words: list[str] = []
    mistakes = []
    kind_by_key = {key: _kind_of(parser._option_string_actions[f"--{key}"]) for key in KEYS}
    for key, value in file.table.items():
        kind = kind_by_key.get(key)
        for name, setting in _settings_in(kind, value):
            try:
                words += _checked_words(parser, file.path.parent, key, kind, name, setting)
            except UsageError as error:
                mistakes.append(f"{file.place(key, name, setting)}: {error}")
    if mistakes:
        raise UsageErrors(mistakes)
    parsed = parser.parse_args(words)
    for option in {word.partition("=")[0] for word in words}:
        name = option.removeprefix("--").replace("-", "_")
        parser.set_defaults(**{name: getattr(parsed, name)})
    return str(file.path), words


def _kind_of(option: Action) -> str:
    """Return a description of the value that the option's key requires, such as "a list of names"."""
    if option.nargs in (0, "?"):  # an option that may have no value
        return _FLAG
    if isinstance(option.default, list):
        return _LIST if option.metavar == "LIST" else _TABLE
    return _PATH if option.metavar == "FILE" else _TEXT


def _settings_in(kind: str | None, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield (name, value) pairs: the items of a table, each item of a list as a list of one, or any other value.

    Names are empty unless the value is a table.
    """
    if kind == _TABLE and isinstance(value, dict):
        yield from _flatten(value)
    elif kind == _LIST and isinstance(value, list):
        yield from (("", [item]) for item in value)
    else:
        yield "", value


def _flatten(table: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Flatten a table: TOML parses `id.key = 1` as a table within a table."""
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _flatten(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def _checked_words(
    parser: ArgumentParser, folder: Path, key: str, kind: str | None, name: str, value: Any
) -> list[str]:
    """Return the equivalent words of a command line. Raise UsageError if the option does not accept them."""
    option = f"--{key}"
    words = [f"{option}{text}" for text in _value_texts(folder, key, kind, name, value)]
    try:
        parser.parse_args(words)
        for word in words:
            refuse_unknown_names(option, word.removeprefix(f"{option}="))
    except UsageError as error:
        message = str(error).removesuffix(f" (see {parser.prog} --help)").removeprefix("argument ")
        raise UsageError(message.replace(option, key, 1)) from error
    return words


def _value_texts(folder: Path, key: str, kind: str | None, name: str, value: Any) -> list[str]:
    """Return the words that would follow the option on a command line. Raise UsageError for a wrong key or type."""
    is_plain = isinstance(value, str | int | float) and not isinstance(value, bool)
    match value:
        case bool() if kind == _FLAG:
            return [""] if value else []
        case [str(item)] if kind == _LIST:
            return [f"={item}"]
        case str() if kind == _PATH:
            return [f"={folder / value}"]
        case _ if is_plain and name:
            return [f"={name}={value}"]
        case _ if is_plain and kind == _TEXT:
            return [f"={value}"]
    if kind is None:
        raise UsageError(f"unknown key {key!r}" + did_you_mean(key, KEYS, f"; keys: {', '.join(KEYS)}"))
    raise UsageError(f"{key}{f' {name}' * bool(name)}: expected {_TEXT if name else kind}, found {value!r}")


def _find_nearest() -> _OptionsFile | None:
    """Return the options file of the nearest folder that has one, or None; files that cannot be read are skipped."""
    for folder in _searched_folders():
        for name in (_OPTIONS_FILE, _PROJECT_FILE):
            if os.access(folder / name, os.R_OK) and (file := _read_file(folder / name)) is not None:
                return file
    return None


def _searched_folders() -> list[Path]:
    """Return the current folder and, inside a repository, its parents up to the top of the repository.

    Outside of a repository, parents may belong to other users.
    """
    try:
        current = Path.cwd()
    except OSError:  # the folder was removed
        return []
    folders = [current, *current.parents]
    tops = [index for index, folder in enumerate(folders) if os.path.exists(folder / ".git")]
    return folders[: tops[0] + 1] if tops else folders[:1]


def _read_file(path: Path) -> _OptionsFile | None:
    """Return the options file, or None for a pyproject.toml without a table for noisewatch.

    Raise UsageError if the file is unreadable or not TOML.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: {(error.strerror or os.strerror(error.errno or 0)).lower()}") from error
    if path.name == _PROJECT_FILE and b"noisewatch" not in content:
        return None
    text = decode_toml(content, str(path))
    whole = parse_toml(text, str(path))
    if path.name != _PROJECT_FILE:
        return _OptionsFile(path, text, whole)
    tools = whole.get("tool")
    own = tools.get("noisewatch") if isinstance(tools, dict) else None
    if own is not None and not isinstance(own, dict):
        raise UsageError(f"{path}: tool.noisewatch: expected a table, found {own!r}")
    return None if own is None else _OptionsFile(path, text, own, ("tool", "noisewatch"))


def options_text(arguments: Namespace) -> str:
    """Return a table of all preflight options with their values and origins (command line, options file, default)."""
    from_file, from_words = _values_set_by([PREFLIGHT, *arguments.configured_words]), _values_set_by(arguments.words)
    rows = [("OPTION", "VALUE", "FROM")]
    for action, default in _settings_of_preflight():
        values = [origin[action.dest] for origin in (from_file, from_words) if action.dest in origin]
        origins = [
            *([arguments.configured_by] if action.dest in from_file else []),
            *(["command line"] if action.dest in from_words else []),
        ]
        if isinstance(default, list):
            value: Any = [item for items in values for item in items]
        else:
            value, origins = (values or [default])[-1], origins[-1:]
        rows.append((action.option_strings[-1], _value_text(value), ", ".join(origins) or "default"))
    return f"{align([tuple(map(printable, row)) for row in rows])}\n{_NOTE}"


def _settings_of_preflight() -> list[tuple[Action, Any]]:
    """Return preflight's options with their defaults; of options that set the same value, only the first."""
    parser, commands = build_parsers()
    by_name: dict[str, Action] = {}
    for action in commands[PREFLIGHT]._actions:
        if action.dest not in _NO_SETTINGS:
            by_name.setdefault(action.dest, action)
    return [
        (action, parser.get_default(name) if action.default == SUPPRESS else action.default)
        for name, action in by_name.items()
    ]


def _values_set_by(words: Sequence[str]) -> dict[str, Any]:
    """Return the values on a valid command line, unparsed and without defaults."""
    parser, commands = build_parsers()
    for command_parser in (parser, commands[PREFLIGHT]):
        command_parser._defaults.clear()
        for action in command_parser._actions:
            action.default, action.type = SUPPRESS, None
    return vars(parser.parse_args(words))


def _value_text(value: Any) -> str:
    """Return the value as a user would write it."""
    if value in (None, []):
        return _UNSET
    if isinstance(value, bool) or value == "":  # "": an option without its optional value
        return "no" if value is False else "yes"
    if isinstance(value, list):
        return ", ".join(value)
    return f"{value:g}" if isinstance(value, float) else str(value)
