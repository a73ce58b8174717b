"""Which sources of noise are to be shown: `kworker cpu:2-5 kind:irq >100us !rcu`, all of it at once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from noisewatch.errors import Malformed
from noisewatch.sources.cpulist import parse_cpu_list
from noisewatch.surfaces.frame import CulpritLine

_LEAST = re.compile(r"(?P<sign>[<>])(?P<figure>\d+(?:\.\d+)?)(?P<unit>ns|us|µs|ms|s)?")
_NS = {"ns": 1.0, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9}

Test = Callable[[CulpritLine], bool]


def matching(lines: Iterable[CulpritLine], text: str) -> list[CulpritLine]:
    """The sources that all words of the filter hold for; `!` before a word turns it round.

    A word is part of the name, or of the kind; `cpu:LIST` and `kind:WORD` are what they say; `>100us` and `<1ms` are
    what is lost in a second. A word that makes no sense as such is part of a name.
    """
    tests = [_test(word) for word in text.split()]
    return [line for line in lines if all(test(line) for test in tests)]


def _test(word: str) -> Test:
    if word.startswith("!") and len(word) > 1:
        other = _test(word[1:])
        return lambda line: not other(line)
    key, colon, value = word.partition(":")
    if colon and key == "kind":
        return lambda line: value in line.kind
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
    return lambda line: wanted in line.name.casefold() or wanted in line.kind or wanted == str(line.pid)
