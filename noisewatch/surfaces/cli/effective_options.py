"""The table of `preflight --show-options`: each option, its value as it is written, and where that comes from."""

from __future__ import annotations

from argparse import SUPPRESS, Action, Namespace
from collections.abc import Sequence
from typing import Any

from noisewatch.surfaces.cli.arguments import PREFLIGHT, build_parsers
from noisewatch.surfaces.reports.parts.tables import align
from noisewatch.text import printable

_UNSET = "-"
_NOTE = f"{_UNSET} stands for no value: `noisewatch preflight --help` says what applies instead\n"
_NO_SETTINGS = ("help", "show_options")


def text_of_options(arguments: Namespace) -> str:
    """Return the table of the options that the command line and the options file set, and of the defaults."""
    configured, given = _set_by([PREFLIGHT, *arguments.configured_words]), _set_by(arguments.words)
    rows = [("OPTION", "VALUE", "FROM")]
    for action, default in _settings():
        values = [origin[action.dest] for origin in (configured, given) if action.dest in origin]
        origins = [
            *([arguments.configured_by] if action.dest in configured else []),
            *(["command line"] if action.dest in given else []),
        ]
        if isinstance(default, list):
            value: Any = [item for items in values for item in items]
        else:
            value, origins = (values or [default])[-1], origins[-1:]
        rows.append((action.option_strings[-1], _text(value), ", ".join(origins) or "default"))
    return f"{align([tuple(map(printable, row)) for row in rows])}\n{_NOTE}"


def _settings() -> list[tuple[Action, Any]]:
    """Return the options of preflight with their defaults; of options that set the same value the first one."""
    parser, commands = build_parsers()
    by_name: dict[str, Action] = {}
    for action in commands[PREFLIGHT]._actions:
        if action.dest not in _NO_SETTINGS:
            by_name.setdefault(action.dest, action)
    return [
        (action, parser.get_default(name) if action.default == SUPPRESS else action.default)
        for name, action in by_name.items()
    ]


def _set_by(words: Sequence[str]) -> dict[str, Any]:
    """Return the values that valid words of a command line set, as written, without any default."""
    parser, commands = build_parsers()
    for each_parser in (parser, commands[PREFLIGHT]):
        each_parser._defaults.clear()
        for action in each_parser._actions:
            action.default, action.type = SUPPRESS, None
    return vars(parser.parse_args(words))


def _text(value: Any) -> str:
    """Return the value as a user would write it."""
    if value in (None, []):
        return _UNSET
    if isinstance(value, bool) or value == "":  # "": an option whose own value was left out
        return "no" if value is False else "yes"
    if isinstance(value, list):
        return ", ".join(value)
    return f"{value:g}" if isinstance(value, float) else str(value)
