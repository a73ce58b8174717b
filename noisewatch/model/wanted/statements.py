"""On which line of a TOML text a key is set: its parser in the standard library does not tell.

A statement ends with a line, so that it is the fewest lines that the parser takes by themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from noisewatch.patterns import regex

_CLOSES = regex(r"""[\]}]|"{3}|'{3}""")  # what a statement of several lines ends with


def line_of(text: str, *keys: str) -> int | None:
    """The number of the line, from 1 on, where the text, which is valid, sets the key in the table, or a part of it."""
    wanted = ".".join(keys)
    return next((line for line, path in _statements(text) if path == wanted or path.startswith(f"{wanted}.")), None)


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """The line where each begins, and the dotted path of what it sets."""
    table, pending, first = "", "", 0
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), start=1):
        first = first if pending else number
        pending = f"{pending}\n{line}" if pending else line
        said = _parsed(pending) if first == number or _CLOSES.search(line) else None
        if said is None:
            continue
        path, is_table, pending = _path(said), pending.lstrip().startswith("["), ""
        if not path:
            continue
        yield first, path if is_table or not table else f"{table}.{path}"
        table = path if is_table else table


def _parsed(text: str) -> dict[str, Any] | None:
    import tomllib

    try:
        return tomllib.loads(text)
    except ValueError:
        return None


def _path(said: Any) -> str:
    """Of the one thing that is set; an inline table of several ends it."""
    keys = []
    while isinstance(said, dict) and len(said) == 1:
        ((key, said),) = said.items()
        keys.append(key)
    return ".".join(keys)
