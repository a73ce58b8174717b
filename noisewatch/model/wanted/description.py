"""A description of the required machine, in TOML, as a user writes it:

    [identity]
    "CPU model" = ["AMD EPYC 7451 *", "AMD EPYC 7551 *"]     any of these; * stands for any text
    [hardware]
    packages = 1                                             exactly
    memory = { at_least = "64 GiB" }
    [firmware]
    BIOS = "any"                                             not asked, as if it were not there

Each error names the file and the line, what was wanted, and what was found.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import isfinite
from typing import Any

from noisewatch.errors import UsageError, quoted
from noisewatch.model.history.fact_table import names_of, paths_of
from noisewatch.model.history.facts import FactClass
from noisewatch.model.wanted.machine import WantedFact, WantedMachine, scale_of
from noisewatch.patterns import regex
from noisewatch.text import clean

ANY, AT_LEAST = "any", "at_least"
WRITES_ONE = "noisewatch show --format machine"
_MOST_PARTS = 100  # of a dotted key, for which the standard library's parser takes the square of its length
_PART = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')"""
_LONG_KEY = regex(rf"(?<![\w-]){_PART}(?:[ \t]*+\.[ \t]*+{_PART}){{{_MOST_PARTS}}}")
_TOO_DEEP = "wanted facts in tables, found tables or lists nested too deeply"
_AT_LINE = regex(r" \(at line (\d+), column \d+\)$")
_AT_END = "(at end of document)"
_FORMS = f'a text, a whole number, a list of these, {{ {AT_LEAST} = … }} or "{ANY}"'
_CLOSES = regex(r"""[\]}]|"{3}|'{3}""")  # what a statement of several lines ends with


def parse_description(content: bytes, file: str) -> WantedMachine:
    """Parse a description. Raise UsageError for an error in it: `machine.toml:4: wanted …, found …`."""
    text = decoded_toml(content, file)
    if _LONG_KEY.search(text):
        raise UsageError(f"{file}: {_TOO_DEEP}")
    try:
        facts = tuple(_facts(parsed_toml(text, file), text, file))
    except RecursionError:
        raise UsageError(f"{file}: {_TOO_DEEP}") from None
    if not facts:
        raise UsageError(f"{file}:1: wanted at least one fact, found none: any machine would do ({WRITES_ONE})")
    return WantedMachine(file, facts, text)


def decoded_toml(content: bytes, file: str) -> str:
    """Decode UTF-8. Raise UsageError that names the line of the first wrong byte."""
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UsageError(f"{file}:{line}: wanted UTF-8, found the byte 0x{content[error.start]:02x}") from error


def parsed_toml(text: str, file: str) -> dict[str, Any]:
    """Parse TOML. Raise UsageError that names the line of the first error."""
    import tomllib  # most commands need no description

    try:
        return tomllib.loads(text)
    except ValueError as error:
        message = clean(str(error))
        at = _AT_LINE.search(message)
        line = at[1] if at is not None else text.count("\n") + 1 if message.endswith(_AT_END) else None
        place = file if line is None else f"{file}:{line}"
        raise UsageError(f"{place}: wanted TOML, found: {_AT_LINE.sub('', message)}") from error


def _facts(tables: dict[str, Any], text: str, file: str) -> Iterator[WantedFact]:
    for keys, value in _entries(tables):
        try:
            fact = _fact(*keys, value=value)
        except UsageError as fault:
            raise UsageError(f"{file}:{line_of(text, *keys) or 1}: {fault}") from None
        if fact is not None:
            yield fact


def _entries(tables: dict[str, Any]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield the keys of each fact, its class and its name, with its value; the key alone for a value without table."""
    for name, table in tables.items():
        if not isinstance(table, dict) or name not in set(FactClass):
            yield (name,), table
        else:
            yield from (((name, fact), value) for fact, value in _flat(FactClass(name), table))


def _flat(of_class: FactClass, table: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the facts of a table with dotted names: TOML parses `kernel.numa_balancing = 0` as a table in a table."""
    for key, value in table.items():
        name = prefix + key
        if isinstance(value, dict) and value and AT_LEAST not in value and paths_of(of_class, name) is None:
            yield from _flat(of_class, value, f"{name}.")
        else:
            yield name, value


def _fact(class_name: str, name: str | None = None, *, value: Any) -> WantedFact | None:
    """Return the required fact, or None if it is "any". Raise UsageError, without file and line."""
    if name is None or class_name not in set(FactClass):
        raise UsageError(_no_table(class_name, value))
    of_class = FactClass(class_name)
    if paths_of(of_class, name) is None:
        hint = _belongs(name) or _near(name, names_of(of_class)) or f" ({WRITES_ONE} writes all that there are)"
        raise UsageError(f"wanted a fact of [{of_class}], found {quoted(name)}{hint}")
    if value == ANY:
        return None
    if isinstance(value, dict):
        return WantedFact(of_class, name, at_least=_least(name, value))
    values = value if isinstance(value, list) and value else [value]
    if ANY in values:
        raise UsageError(f'wanted "{ANY}" alone, or the values that will do, found both in a list')
    return WantedFact(of_class, name, tuple(map(_text, values)))


def _no_table(name: str, value: Any) -> str:
    if name in set(FactClass):
        return f"wanted facts below [{name}], found {name} = {_shown(value)}"
    fault = f"wanted a table of {', '.join(f'[{fact_class}]' for fact_class in FactClass)}, found {quoted(name)}"
    return fault + (_belongs(name) or _near(name, FactClass) or "")


def _belongs(name: str) -> str | None:
    other = next((fact_class for fact_class in FactClass if paths_of(fact_class, name) is not None), None)
    return f", which belongs below [{other}]" if other is not None else None


def _near(name: str, valid_names: Iterable[str]) -> str | None:
    from difflib import get_close_matches  # for misspelt names

    by_word = {valid_name.lower(): str(valid_name) for valid_name in valid_names}
    near = get_close_matches(name.lower(), by_word, n=1)
    return f"; did you mean {by_word[near[0]]!r}?" if near else None


def _text(value: Any) -> str:
    """Return the text of an exact value. Raise UsageError for another type."""
    if isinstance(value, str) and value:
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise UsageError(f"wanted {_FORMS}, found {_shown(value)}")


def _least(name: str, table: dict[str, Any]) -> str:
    if list(table) != [AT_LEAST]:
        raise UsageError(f"wanted {_FORMS}, found {_shown(table)}")
    scale, value = scale_of(name), table[AT_LEAST]
    if scale is None:
        raise UsageError(f"wanted a text or a list, as no {name} is more than another, found {_shown(table)}")
    text = value if isinstance(value, str) else str(value) if type(value) is int else ""
    if not scale.takes(text):
        raise UsageError(f'wanted at least something such as "{scale.example}", found {_shown(value)}')
    return text


def _shown(value: Any) -> str:
    """Return the value nearly as in TOML, for an error message."""
    if isinstance(value, bool):
        return f'{str(value).lower()} (a switch is "on" or "off")'
    if isinstance(value, float):
        return f"{value} (a number with a point needs quotes)" if isfinite(value) else str(value)
    if isinstance(value, dict):
        return clean(f"{{ {', '.join(f'{key} = …' for key in value)} }}")
    return quoted(value) if isinstance(value, str) else clean(str(value))


def line_of(text: str, *keys: str) -> int | None:
    """Return the line of a valid TOML text, from 1 on, that sets the key in the table, or a part of it.

    The parser of the standard library does not report lines. A statement ends with a line, so that it is the fewest
    lines that the parser accepts by themselves.
    """
    dotted = ".".join(keys)
    return next((line for line, path in _statements(text) if path == dotted or path.startswith(f"{dotted}.")), None)


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """Yield the first line of each statement, and the dotted path that it sets."""
    table, pending, first = "", "", 0
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), start=1):
        first = first if pending else number
        pending = f"{pending}\n{line}" if pending else line
        statement = _parsed_statement(pending) if first == number or _CLOSES.search(line) else None
        if statement is None:
            continue
        path, is_table, pending = _path(statement), pending.lstrip().startswith("["), ""
        if not path:
            continue
        yield first, path if is_table or not table else f"{table}.{path}"
        table = path if is_table else table


def _parsed_statement(text: str) -> dict[str, Any] | None:
    import tomllib

    try:
        return tomllib.loads(text)
    except ValueError:
        return None


def _path(value: Any) -> str:
    """Return the dotted path of the single key that is set; it ends at an inline table of several keys."""
    keys = []
    while isinstance(value, dict) and len(value) == 1:
        ((key, value),) = value.items()
        keys.append(key)
    return ".".join(keys)
