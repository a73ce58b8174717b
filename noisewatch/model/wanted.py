"""The machine that a user requires: a description in TOML, and the scales for comparing facts with it.

    [identity]
    "CPU model" = ["AMD EPYC 7451 *", "AMD EPYC 7551 *"]     any of these; * matches any text
    [hardware]
    packages = 1                                             exactly
    memory = { at_least = "64 GiB" }
    [firmware]
    BIOS = "any"                                             not checked, as if missing

Each error names the file, the line if it is known, the expected value and the value found. A scale defines what "at
least" means for a fact, and when two differently written values count as the same. A comparison that makes no sense is
unknown (None): a BIOS named F12 is neither older nor newer than 2.19.1.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from math import isfinite
from typing import Any

from msgspec import Struct

from noisewatch.cpus import parse_cpu_list
from noisewatch.errors import Malformed, UsageError, quote
from noisewatch.kernel.snapshot.knobs import Knob
from noisewatch.model.history.fact_table import names_of, paths_of
from noisewatch.model.history.facts import FactClass, knob_name
from noisewatch.patterns import regex
from noisewatch.text import clean
from noisewatch.units import describe_clock, describe_size, parse_frequency, parse_size

_Amount = tuple[float, ...]
_Measure = Callable[[str], _Amount | None]
# The maximum share of installed memory that firmware and kernel reserve. Sizes of installed memory differ by more.
KEPT_BACK = 0.05
_ROUNDED = 0.01  # the rounding error of a size written with three digits
_GROUP = regex(r"(?P<value>[^,(]+?)(?: \((?:CPU|package) [\d,-]+\))?(?:, |$)")
_VERSION = regex(r"\d{1,9}(?:[.-]\d{1,9})*", re.ASCII)
_WHOLE_VERSION = regex(r"\d{1,9}(?:[.-]\d{1,9})*(?:(?:[-+_][a-z]|\.[a-z]{2})[\w.+~-]*)?", re.ASCII)
_CANDIDATE = regex(r"(?P<released>\d{1,9}(?:\.\d{1,9})*)-rc(?P<number>\d{1,4})\b", re.ASCII)
_HEXADECIMAL = regex(r"0x[0-9a-fA-F]{1,16}", re.ASCII)
_INTEGER = regex(r"-?\d{1,18}", re.ASCII)
_CACHE = regex(r"(?P<name>L\d[di]?) (?P<size>\S.*)", re.ASCII)
_MOST_PARTS = 8  # parts of a version that are compared


def _never(fact: str, value: str) -> bool:
    return False


class FactScale(Struct, frozen=True):
    """The rules for comparing a fact with a required value that is a different text."""

    example: str  # a value for "at least"
    takes: Callable[[str], bool]  # whether a text is valid for "at least"
    is_at_least: Callable[[str, str], bool | None]
    is_same: Callable[[str, str], bool] = _never
    describe: Callable[[str], str] = str  # returns the fact in readable form


def _scale(
    example: str,
    parse_required: _Measure,
    parse_fact: _Measure,
    kept_back: float = 0.0,
    is_same: Callable[[str, str], bool] = _never,
    describe: Callable[[str], str] = str,
) -> FactScale:
    """Build a scale of amounts from parsers for the required amount and the fact.

    A fact that is lower than the required amount by at most the share `kept_back` still counts as enough.
    """

    def is_at_least(fact: str, least: str) -> bool | None:
        has, needed = parse_fact(fact), parse_required(least)
        if has is None or needed is None:
            return None
        return has >= tuple(part * (1 - kept_back) for part in needed)

    return FactScale(example, lambda text: parse_required(text) is not None, is_at_least, is_same, describe)


def scale_of(name: str) -> FactScale | None:
    """Return the scale of the fact, or None if it has no order."""
    return _SCALES.get(name)


def describe_fact(name: str, value: str) -> str:
    """Return the fact in readable form: memory as 15.6 GiB, a clock as 3 GHz."""
    scale = scale_of(name)
    return scale.describe(value) if scale is not None else value


def _memory(text: str) -> _Amount | None:
    size = parse_size(text)
    return None if size is None else (size,)


def _describe_memory(text: str) -> str:
    size = parse_size(text)
    return text if size is None else describe_size(size)


def _is_same_memory(fact: str, value: str) -> bool:
    """Return whether the required memory is installed, allowing for reserved memory and rounding."""
    has, required = parse_size(fact), parse_size(value)
    return has is not None and required is not None and 1 - KEPT_BACK <= has / (required or 1) <= 1 + _ROUNDED


def _lowest(measure: Callable[[str], float | None]) -> _Measure:
    """Return a parser for the lowest value in a fact, which may have one value for each group of CPUs."""

    def lowest(text: str) -> _Amount | None:
        groups = [measure(match["value"]) for match in _GROUP.finditer(text)]
        valid = [value for value in groups if value is not None]
        return (min(valid),) if valid and len(valid) == len(groups) else None

    return lowest


def _describe_clock(text: str) -> str:
    khz = parse_frequency(text)
    return text if khz is None or khz < 1e3 else describe_clock(khz)


def _is_same_clock(fact: str, value: str) -> bool:
    has = parse_frequency(fact)
    return has is not None and has == parse_frequency(value)


def _integer(text: str) -> _Amount | None:
    return (int(text),) if _INTEGER.fullmatch(text) else None


def _count_of_cpus(text: str) -> _Amount | None:
    try:
        return (len(parse_cpu_list("" if text == "none" else text)),)
    except Malformed:
        return None


def _is_same_count(fact: str, value: str) -> bool:
    has = _count_of_cpus(fact)
    return has is not None and has == _integer(value)


def _parse_whole_version(text: str) -> _Amount | None:
    return _version(text) if _WHOLE_VERSION.fullmatch(text) else None


def _version(text: str) -> _Amount | None:
    """Parse `6.14.0-36-generic` as 6.14.0.36. A release candidate precedes its release. None: not a version."""
    candidate, match = _CANDIDATE.match(text), _VERSION.match(text)
    if match is None:
        return None
    words = re.split(r"[.-]", candidate["released"] if candidate is not None else match[0])
    parts = [int(word) for word in words][:_MOST_PARTS]
    parts += [0] * (_MOST_PARTS - len(parts))
    return (*parts, -1 / (1 + int(candidate["number"])) if candidate is not None else 0)


def _sizes_of_caches(text: str) -> Mapping[str, float] | None:
    """Parse a text such as `L1d 32K, L2 1 MiB` as sizes (bytes) by level; None if any part is not a size."""
    matches = [_CACHE.fullmatch(word.strip()) for word in text.split(",")]
    sizes = {match["name"]: parse_size(match["size"]) for match in matches if match is not None}
    valid_sizes = {level: size for level, size in sizes.items() if size is not None}
    return valid_sizes if valid_sizes and len(valid_sizes) == len(matches) else None


def _are_caches_at_least(fact: str, least: str) -> bool | None:
    """Return whether all cores have the required caches, or None if unknown.

    The fact is a text such as `performance cores: L2 2048K; efficiency cores, CPU 8-11: L2 4096K`.
    """
    needed = _sizes_of_caches(least)
    has = [_sizes_of_caches(of_cores.rpartition(": ")[2]) for of_cores in fact.split("; ")]
    if needed is None or None in has:
        return None
    return all(sizes is not None and sizes.get(level, 0) >= size for sizes in has for level, size in needed.items())


_NUMBER = _scale("2", _integer, _integer)
_clock, _revision = (
    _lowest(parse_frequency),
    _lowest(lambda text: int(text, 16) if _HEXADECIMAL.fullmatch(text) else None),
)
_CLOCK = _scale("2.4 GHz", _clock, _clock, is_same=_is_same_clock, describe=_describe_clock)
_SCALES: Mapping[str, FactScale] = {
    **{knob_name(knob): _NUMBER for knob in Knob},
    **dict.fromkeys(("packages", "nodes"), _NUMBER),
    **dict.fromkeys(("CPUs present", "CPUs online"), _scale("8", _integer, _count_of_cpus, is_same=_is_same_count)),
    **dict.fromkeys(
        ("isolated CPUs", "tickless CPUs", "CPUs without RCU callbacks"), _scale("4", _integer, _count_of_cpus)
    ),
    **dict.fromkeys(("lowest clock", "highest clock"), _CLOCK),
    "tick": _scale("250 Hz", _clock, _clock, is_same=_is_same_clock),
    "memory": _scale("64 GiB", _memory, _memory, KEPT_BACK, _is_same_memory, _describe_memory),
    "caches": FactScale("L3 32 MiB", lambda text: _sizes_of_caches(text) is not None, _are_caches_at_least),
    "kernel": _scale("6.8", _parse_whole_version, _version),
    "BIOS": _scale("2.19", _parse_whole_version, _version),
    "microcode": _scale("0x2b000590", _revision, _revision),
}


ANY_TEXT = "*"
_LONGEST = 160  # characters


class WantedFact(Struct, frozen=True):
    """A required fact: one of several values, where `*` matches any text, or a minimum, but never both."""

    of_class: FactClass
    name: str
    any_of: tuple[str, ...] = ()
    at_least: str | None = None

    def __str__(self) -> str:
        """Return a text such as `at least "64 GiB"` or `"2" or "4"`."""
        if self.at_least is not None:
            return f"at least {in_quotes(self.at_least)}"
        return " or ".join(in_quotes(describe_fact(self.name, value)) for value in self.any_of)

    def is_met_by(self, fact: str) -> bool | None:
        """Return whether the fact meets the requirement, or None if they cannot be compared."""
        scale = scale_of(self.name)
        if self.at_least is not None:
            return None if scale is None else scale.is_at_least(fact, self.at_least)
        return any(_matches(value, fact) or (scale is not None and scale.is_same(fact, value)) for value in self.any_of)


def in_quotes(value: str) -> str:
    """Return the value in quotes, shortened for display; the evidence contains the whole value."""
    return f'"{value if len(value) <= _LONGEST else value[:_LONGEST] + "…"}"'


def _matches(pattern: str, text: str) -> bool:
    """Return whether the text matches the pattern, in which `*` matches any text."""
    first, *others = pattern.split(ANY_TEXT)
    if not others:
        return text == pattern
    *middle, last = others
    at = len(first)
    for part in middle:
        position = text.find(part, at)
        if position < 0:
            return False
        at = position + len(part)
    return text.startswith(first) and text.endswith(last) and at + len(last) <= len(text)


class WantedMachine(Struct, frozen=True):
    """The requirements of a description: one fact or more."""

    file: str
    facts: tuple[WantedFact, ...]
    text: str  # the whole description


ANY, AT_LEAST = "any", "at_least"
WRITES_ONE = "noisewatch show --format machine"
_MOST_KEYS = 100  # parts of a dotted key: tomllib takes quadratic time
_PART = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')"""
_LONG_KEY = regex(rf"(?<![\w-]){_PART}(?:[ \t]*+\.[ \t]*+{_PART}){{{_MOST_KEYS}}}")
_TOO_DEEP = "expected facts in tables, found tables or lists nested too deeply"
_AT_LINE = regex(r" \(at line (\d+), column \d+\)$")
_AT_END = "(at end of document)"
_FORMS = f'a text, a whole number, a list of these, {{ {AT_LEAST} = … }} or "{ANY}"'
_CLOSES = regex(r"""[\]}]|"{3}|'{3}""")  # what may end a statement that spans several lines


def parse_description(content: bytes, file: str) -> WantedMachine:
    """Parse a description. Raise UsageError for an invalid one: `machine.toml:4: expected …, found …`."""
    text = decode_toml(content, file)
    if _LONG_KEY.search(text):
        raise UsageError(f"{file}: {_TOO_DEEP}")
    try:
        facts = tuple(_facts(parse_toml(text, file), text, file))
    except RecursionError:
        raise UsageError(f"{file}: {_TOO_DEEP}") from None
    if not facts:
        raise UsageError(f"{file}:1: expected at least one fact, found none (see `{WRITES_ONE}`)")
    return WantedMachine(file, facts, text)


def decode_toml(content: bytes, file: str) -> str:
    """Decode UTF-8. Raise UsageError with the line of the first invalid byte."""
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UsageError(f"{file}:{line}: expected UTF-8, found the byte 0x{content[error.start]:02x}") from error


def parse_toml(text: str, file: str) -> dict[str, Any]:
    """Parse TOML. Raise UsageError with the line of the first error."""
    import tomllib  # most commands need no description

    try:
        return tomllib.loads(text)
    except ValueError as error:
        message = clean(str(error))
        at = _AT_LINE.search(message)
        line = at[1] if at is not None else text.count("\n") + 1 if message.endswith(_AT_END) else None
        place = file if line is None else f"{file}:{line}"
        raise UsageError(f"{place}: expected TOML, found: {_AT_LINE.sub('', message)}") from error


def _facts(tables: dict[str, Any], text: str, file: str) -> Iterator[WantedFact]:
    for keys, value in _entries(tables):
        try:
            fact = _fact(*keys, value=value)
        except UsageError as fault:
            raise UsageError(f"{file}:{line_of(text, *keys) or 1}: {fault}") from None
        if fact is not None:
            yield fact


def _entries(tables: dict[str, Any]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield the class, name and value of each fact; for a value outside a fact table, only its key and value."""
    for name, table in tables.items():
        if not isinstance(table, dict) or name not in set(FactClass):
            yield (name,), table
        else:
            yield from (((name, fact), value) for fact, value in _flat(FactClass(name), table))


def _flat(of_class: FactClass, table: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the facts of a table. TOML parses `kernel.numa_balancing = 0` as nested tables: their keys are joined."""
    for key, value in table.items():
        name = prefix + key
        if isinstance(value, dict) and value and AT_LEAST not in value and paths_of(of_class, name) is None:
            yield from _flat(of_class, value, f"{name}.")
        else:
            yield name, value


def _fact(class_name: str, name: str | None = None, *, value: Any) -> WantedFact | None:
    """Return the required fact, or None for "any". Raise UsageError without the file and line."""
    if name is None or class_name not in set(FactClass):
        raise UsageError(_table_fault(class_name, value))
    of_class = FactClass(class_name)
    if paths_of(of_class, name) is None:
        hint = (
            _other_table_hint(name) or _spelling_hint(name, names_of(of_class)) or f"; `{WRITES_ONE}` lists all facts"
        )
        raise UsageError(f"[{of_class}] has no fact {quote(name)}{hint}")
    if value == ANY:
        return None
    if isinstance(value, dict):
        return WantedFact(of_class, name, at_least=_minimum(name, value))
    values = value if isinstance(value, list) and value else [value]
    if ANY in values:
        raise UsageError(f'expected "{ANY}" alone or a list of values, found both in one list')
    return WantedFact(of_class, name, tuple(map(_text, values)))


def _table_fault(name: str, value: Any) -> str:
    if name in set(FactClass):
        return f"expected facts below [{name}], found {name} = {_toml_text(value)}"
    fault = f"expected a table of {', '.join(f'[{fact_class}]' for fact_class in FactClass)}, found {quote(name)}"
    return fault + (_other_table_hint(name) or _spelling_hint(name, FactClass) or "")


def _other_table_hint(name: str) -> str | None:
    other = next((fact_class for fact_class in FactClass if paths_of(fact_class, name) is not None), None)
    return f"; it belongs below [{other}]" if other is not None else None


def _spelling_hint(name: str, valid_names: Iterable[str]) -> str | None:
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
    raise UsageError(f"expected {_FORMS}, found {_toml_text(value)}")


def _minimum(name: str, table: dict[str, Any]) -> str:
    if list(table) != [AT_LEAST]:
        raise UsageError(f"expected {_FORMS}, found {_toml_text(table)}")
    scale, value = scale_of(name), table[AT_LEAST]
    if scale is None:
        raise UsageError(f"expected a text or a list, because {name} has no order, found {_toml_text(table)}")
    text = value if isinstance(value, str) else str(value) if type(value) is int else ""
    if not scale.takes(text):
        raise UsageError(f'expected {AT_LEAST} = "{scale.example}" or similar, found {_toml_text(value)}')
    return text


def _toml_text(value: Any) -> str:
    """Return the value in a form similar to TOML, for an error message."""
    if isinstance(value, bool):
        return f'{str(value).lower()} (a switch is "on" or "off")'
    if isinstance(value, float):
        return f"{value} (put decimal numbers in quotes)" if isfinite(value) else str(value)
    if isinstance(value, dict):
        return clean(f"{{ {', '.join(f'{key} = …' for key in value)} }}")
    return quote(value) if isinstance(value, str) else clean(str(value))


def line_of(text: str, *keys: str) -> int | None:
    """Return the first line (from 1) of a valid TOML text that sets the key or a part of it, or None.

    `keys` are the table, if any, and the key. tomllib does not report lines. But each statement ends at the end of a
    line, so it is the shortest sequence of lines that tomllib accepts.
    """
    dotted = ".".join(keys)
    return next((line for line, path in _statements(text) if path == dotted or path.startswith(f"{dotted}.")), None)


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """Yield the first line of each statement, and the dotted path that it sets."""
    table, pending, first = "", "", 0
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), start=1):
        first = first if pending else number
        pending = f"{pending}\n{line}" if pending else line
        statement = _parse_statement(pending) if first == number or _CLOSES.search(line) else None
        if statement is None:
            continue
        path, is_table, pending = _path(statement), pending.lstrip().startswith("["), ""
        if not path:
            continue
        yield first, path if is_table or not table else f"{table}.{path}"
        table = path if is_table else table


def _parse_statement(text: str) -> dict[str, Any] | None:
    import tomllib

    try:
        return tomllib.loads(text)
    except ValueError:
        return None


def _path(value: Any) -> str:
    """Return the dotted path that a parsed statement sets. The path ends at an inline table of several keys."""
    keys = []
    while isinstance(value, dict) and len(value) == 1:
        ((key, value),) = value.items()
        keys.append(key)
    return ".".join(keys)
