"""The machine that a user requires: the allowed values of each fact, and the scales by which they are compared.

A scale gives the meaning of "at least", and knows values with the same meaning. Values that cannot be compared are
unknown (None): a BIOS named F12 is neither older nor newer than 2.19.1.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from msgspec import Struct

from noisewatch.cpus import parse_cpu_list
from noisewatch.errors import Malformed
from noisewatch.kernel.snapshot.knobs import Knob
from noisewatch.model.history.facts import FactClass, knob_name
from noisewatch.patterns import regex
from noisewatch.units import describe_clock, describe_size, parse_frequency, parse_size

_Amount = tuple[float, ...]
_Measure = Callable[[str], _Amount | None]
# The share of installed memory that firmware and kernel keep for themselves, at most. Machines differ by more.
KEPT_BACK = 0.05
_ROUNDED = 0.01  # a size that is written with three digits
_GROUP = regex(r"(?P<value>[^,(]+?)(?: \((?:CPU|package) [\d,-]+\))?(?:, |$)")
_VERSION = regex(r"\d{1,9}(?:[.-]\d{1,9})*", re.ASCII)
_WHOLE_VERSION = regex(r"\d{1,9}(?:[.-]\d{1,9})*(?:(?:[-+_][a-z]|\.[a-z]{2})[\w.+~-]*)?", re.ASCII)
_CANDIDATE = regex(r"(?P<released>\d{1,9}(?:\.\d{1,9})*)-rc(?P<number>\d{1,4})\b", re.ASCII)
_HEXADECIMAL = regex(r"0x[0-9a-fA-F]{1,16}", re.ASCII)
_INTEGER = regex(r"-?\d{1,18}", re.ASCII)
_CACHE = regex(r"(?P<name>L\d[di]?) (?P<size>\S.*)", re.ASCII)
_MOST_PARTS = 8  # of a version


def _never(fact: str, value: str) -> bool:
    return False


class FactScale(Struct, frozen=True):
    """The comparison of a fact with a requirement, beyond equality of the texts."""

    example: str  # of a value for "at least"
    takes: Callable[[str], bool]  # whether "at least" accepts the value
    is_at_least: Callable[[str, str], bool | None]
    is_same: Callable[[str, str], bool] = _never
    shown: Callable[[str], str] = str  # the fact for people


def _scale(
    example: str,
    parse_required: _Measure,
    parse_fact: _Measure,
    kept_back: float = 0.0,
    is_same: Callable[[str, str], bool] = _never,
    shown: Callable[[str], str] = str,
) -> FactScale:
    """Build a scale of amounts; requirements and facts are parsed by separate functions."""

    def is_at_least(fact: str, least: str) -> bool | None:
        has, needed = parse_fact(fact), parse_required(least)
        if has is None or needed is None:
            return None
        return has >= tuple(part * (1 - kept_back) for part in needed)

    return FactScale(example, lambda text: parse_required(text) is not None, is_at_least, is_same, shown)


def scale_of(name: str) -> FactScale | None:
    """Return the scale of the fact, or None if it has no order."""
    return _SCALES.get(name)


def shown(name: str, value: str) -> str:
    """Return the fact for people: memory as 15.6 GiB, a clock as 3 GHz."""
    scale = scale_of(name)
    return scale.shown(value) if scale is not None else value


def _memory(text: str) -> _Amount | None:
    size = parse_size(text)
    return None if size is None else (size,)


def _shown_memory(text: str) -> str:
    size = parse_size(text)
    return text if size is None else describe_size(size)


def _is_same_memory(fact: str, value: str) -> bool:
    """Return whether the required memory is installed, less what is kept back and plus rounding."""
    has, required = parse_size(fact), parse_size(value)
    return has is not None and required is not None and 1 - KEPT_BACK <= has / (required or 1) <= 1 + _ROUNDED


def _lowest(measure: Callable[[str], float | None]) -> _Measure:
    """Return a function that parses the lowest value of all CPUs, from a fact that may be grouped by CPU."""

    def lowest(text: str) -> _Amount | None:
        groups = [measure(match["value"]) for match in _GROUP.finditer(text)]
        valid = [value for value in groups if value is not None]
        return (min(valid),) if valid and len(valid) == len(groups) else None

    return lowest


def _shown_clock(text: str) -> str:
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
    """Parse `6.14.0-36-generic` as 6.14.0.36; a release candidate comes before its release."""
    candidate, match = _CANDIDATE.match(text), _VERSION.match(text)
    if match is None:
        return None
    words = re.split(r"[.-]", candidate["released"] if candidate is not None else match[0])
    parts = [int(word) for word in words][:_MOST_PARTS]
    parts += [0] * (_MOST_PARTS - len(parts))
    return (*parts, -1 / (1 + int(candidate["number"])) if candidate is not None else 0)


def _sizes_of_caches(text: str) -> Mapping[str, float] | None:
    """Return the sizes (bytes) by level of a text such as `L1d 32K, L2 1 MiB`."""
    matches = [_CACHE.fullmatch(word.strip()) for word in text.split(",")]
    sizes = {match["name"]: parse_size(match["size"]) for match in matches if match is not None}
    valid_sizes = {level: size for level, size in sizes.items() if size is not None}
    return valid_sizes if valid_sizes and len(valid_sizes) == len(matches) else None


def _are_caches_at_least(fact: str, least: str) -> bool | None:
    """Return whether all cores have the required caches.

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
_CLOCK = _scale("2.4 GHz", _clock, _clock, is_same=_is_same_clock, shown=_shown_clock)
_SCALES: Mapping[str, FactScale] = {
    **{knob_name(knob): _NUMBER for knob in Knob},
    **dict.fromkeys(("packages", "nodes"), _NUMBER),
    **dict.fromkeys(("CPUs present", "CPUs online"), _scale("8", _integer, _count_of_cpus, is_same=_is_same_count)),
    **dict.fromkeys(
        ("isolated CPUs", "tickless CPUs", "CPUs without RCU callbacks"), _scale("4", _integer, _count_of_cpus)
    ),
    **dict.fromkeys(("lowest clock", "highest clock"), _CLOCK),
    "tick": _scale("250 Hz", _clock, _clock, is_same=_is_same_clock),
    "memory": _scale("64 GiB", _memory, _memory, KEPT_BACK, _is_same_memory, _shown_memory),
    "caches": FactScale("L3 32 MiB", lambda text: _sizes_of_caches(text) is not None, _are_caches_at_least),
    "kernel": _scale("6.8", _parse_whole_version, _version),
    "BIOS": _scale("2.19", _parse_whole_version, _version),
    "microcode": _scale("0x2b000590", _revision, _revision),
}


ANY_TEXT = "*"
_LONGEST = 160  # characters


class WantedFact(Struct, frozen=True):
    """A required fact: any of the values, in which `*` matches any text, or at least an amount; never both."""

    of_class: FactClass
    name: str
    any_of: tuple[str, ...] = ()
    at_least: str | None = None

    def __str__(self) -> str:
        """Return a text such as `at least "64 GiB"` or `"2" or "4"`."""
        if self.at_least is not None:
            return f"at least {in_quotes(self.at_least)}"
        return " or ".join(in_quotes(shown(self.name, value)) for value in self.any_of)

    def is_met_by(self, fact: str) -> bool | None:
        """Return whether a machine with this value meets the requirement, or None if it is not comparable."""
        scale = scale_of(self.name)
        if self.at_least is not None:
            return None if scale is None else scale.is_at_least(fact, self.at_least)
        return any(_matches(value, fact) or (scale is not None and scale.is_same(fact, value)) for value in self.any_of)


def in_quotes(value: str) -> str:
    """Return the value in quotes, shortened for people; the evidence contains all of it."""
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
    text: str  # the description as it was written
