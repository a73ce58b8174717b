"""Which sources of noise are to be shown: `kworker cpu:2-5 kind:irq >100us !rcu`, all of it at once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from noisewatch.errors import Malformed
from noisewatch.sources.cpulist import parse_cpu_list
from noisewatch.surfaces.frame import KINDS, CulpritLine

_LEAST = re.compile(r"(?P<sign>[<>])(?P<figure>\d+(?:\.\d+)?)(?P<unit>ns|us|µs|ms|s)?")
_NS = {"ns": 1.0, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9}

Test = Callable[[CulpritLine], bool]


def matching(lines: Iterable[CulpritLine], text: str) -> list[CulpritLine]:
    """The sources that all words of the filter hold for; `!` before a word turns it round.

    A word is a kind, or part of a name; `cpu:LIST` and `kind:WORD` are what they say; `>100us` and `<1ms` are what is
    lost in a second. A word that makes no sense as such is part of a name; of a kind that there is not nothing is.
    """
    tests = [_test(word) for word in text.split()]
    return [line for line in lines if all(test(line) for test in tests)]


def unknown_kinds(text: str) -> list[str]:
    """What `kind:WORD` asks for in vain: no kind is called so, nor is it how just one of them begins."""
    asked = [word.removeprefix("!").partition(":") for word in text.split()]
    return [value for key, colon, value in asked if colon and key == "kind" and _kind(value) is None]


def _kind(word: str) -> str | None:
    """The kind of that name, or the only one that begins so."""
    if word in KINDS:
        return word
    begun = [kind for kind in KINDS if word and kind.startswith(word)]
    return begun[0] if len(begun) == 1 else None


def _test(word: str) -> Test:
    if word.startswith("!") and len(word) > 1:
        other = _test(word[1:])
        return lambda line: not other(line)
    key, colon, value = word.partition(":")
    if colon and key == "kind":
        wanted_kind = _kind(value)
        return lambda line: line.kind == wanted_kind
    if colon and key == "cpu":
        try:
            cpus = parse_cpu_list(value)
            return lambda line: line.cpu in cpus
        except Malformed:
            pass
    bound = _LEAST.fullmatch(word)
    if bound is not None:
        ns, is_least = float(bound["figure"]) * _NS[bound["unit"] or "us"], bound["sign"] == ">"
        return lambda line: (line.stolen_ns_per_s > ns) == is_least
    wanted = word.casefold()
    return lambda line: wanted in line.name.casefold() or wanted == line.kind or wanted == str(line.pid)
