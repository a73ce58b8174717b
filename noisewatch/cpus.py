"""CPU sets as the kernel writes them: lists (`0-3,8`) and hexadecimal masks (`ff,ffffffff`).

https://docs.kernel.org/admin-guide/kernel-parameters.html#cpu-lists
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from noisewatch.errors import Malformed
from noisewatch.kernel.numbers import bare

CpuSet = frozenset[int]

_MOST_CPUS = 1 << 13  # NR_CPUS is at most 8192 (x86, POWER); a larger number is a fault, not a machine
_MOST_RANGES = _MOST_CPUS // 3  # with a CPU left out after each
_LONGEST = 1 << 16  # characters: 8192 numbers with commas are 40,000
_KEPT = 256  # lists that were parsed last
_WANTED = "a CPU list such as 0-3,8"
_WANTED_MASK = "a CPU mask such as ff,ffffffff"
_RANGE = re.compile(r"(?P<first>[0-9]+|N)(?:-(?P<last>[0-9]+|N)(?::(?P<used>[0-9]+)/(?P<group>[0-9]+))?)?")
_EMPTY = frozenset({"", "(null)"})


def parse_cpu_list(text: str, last_cpu: int | None = None) -> CpuSet:
    """The CPUs of a list; blanks, a NUL and `(null)` (nohz_full without the option) are the empty set.

    Accepts `1-7:2/4` (of each group of 4 the first 2), and with `last_cpu` also `all` and `N`.
    Raises Malformed.
    """
    stripped = bare(text)
    if len(stripped) > _LONGEST or stripped.count("-") > _MOST_RANGES:
        raise Malformed(_WANTED, stripped)
    return _parse(stripped, last_cpu)


@lru_cache(maxsize=_KEPT)
def _parse(stripped: str, last_cpu: int | None) -> CpuSet:
    """Many CPUs share one list, and then one set of them."""
    if stripped in _EMPTY:
        return frozenset()
    cpus: set[int] = set()
    for part in stripped.split(","):
        cpus.update(_parse_part(part.strip(), last_cpu, stripped))
    return frozenset(cpus)


def _parse_part(part: str, last_cpu: int | None, whole: str) -> Iterable[int]:
    if part == "all" and last_cpu is not None:
        return range(last_cpu + 1)
    match = _RANGE.fullmatch(part)
    if match is None:
        raise Malformed(_WANTED, whole)
    first = _number(match["first"], last_cpu, whole)
    last = first if match["last"] is None else _number(match["last"], last_cpu, whole)
    used, group = _number(match["used"] or "1", None, whole), _number(match["group"] or "1", None, whole)
    if last < first or not 0 < used <= group:
        raise Malformed(_WANTED, whole)
    return (cpu for cpu in range(first, last + 1) if (cpu - first) % group < used)


def _number(text: str, last_cpu: int | None, whole: str) -> int:
    if text == "N":
        if last_cpu is None:
            raise Malformed(_WANTED, whole)
        return last_cpu
    if len(text) > len(str(_MOST_CPUS)) or int(text) >= _MOST_CPUS:
        raise Malformed(f"CPU numbers below {_MOST_CPUS}", whole)
    return int(text)


def parse_nonempty_cpu_list(text: str) -> CpuSet:
    """As parse_cpu_list, for files that cannot be empty on a working machine. Raises Malformed."""
    cpus = parse_cpu_list(text)
    if not cpus:
        raise Malformed(_WANTED, text.strip())
    return cpus


def parse_cpu_words(text: str) -> CpuSet:
    """The CPUs of a file that separates them by blanks, as cpufreq's policies do. Raises Malformed."""
    return parse_cpu_list(",".join(bare(text).split()))


def format_cpu_list(cpus: Iterable[int]) -> str:
    """The shortest kernel list: `0-3,8`; the empty string for no CPU."""
    ranges: list[list[int]] = []
    for cpu in sorted(set(cpus)):
        if ranges and cpu == ranges[-1][1] + 1:
            ranges[-1][1] = cpu
        else:
            ranges.append([cpu, cpu])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)


def name_cpus(cpus: Iterable[int]) -> str:
    """The CPUs in a sentence: `CPU 3`, `CPUs 2-3`, `no CPU`."""
    numbers = set(cpus)
    if not numbers:
        return "no CPU"
    return f"{'CPU' if len(numbers) == 1 else 'CPUs'} {format_cpu_list(numbers)}"


def parse_cpu_mask(text: str) -> CpuSet:
    """The CPUs of a mask: hexadecimal, in groups of 32 bits, the highest first. Raises Malformed."""
    stripped = bare(text)
    if len(stripped) > _LONGEST:
        raise Malformed(_WANTED_MASK, stripped)
    return _parse_mask(stripped)


@lru_cache(maxsize=_KEPT)
def _parse_mask(stripped: str) -> CpuSet:
    groups = stripped.split(",")
    if not all(re.fullmatch(r"[0-9a-fA-F]{1,8}", group) for group in groups) or len(groups) * 32 > _MOST_CPUS:
        raise Malformed(_WANTED_MASK, stripped)
    bits = bin(int("".join(group.rjust(8, "0") for group in groups), 16))[:1:-1]
    return frozenset(cpu for cpu, bit in enumerate(bits) if bit == "1")


def parse_nonempty_cpu_mask(text: str) -> CpuSet:
    """As parse_cpu_mask, for files that cannot be empty on a working machine. Raises Malformed."""
    cpus = parse_cpu_mask(text)
    if not cpus:
        raise Malformed(_WANTED_MASK, text.strip())
    return cpus


def format_cpu_mask(cpus: Iterable[int]) -> str:
    """The mask as the kernel accepts it: `3`, `ff,ffffffff`."""
    digits = f"{sum(1 << cpu for cpu in set(cpus)):x}"
    padded = digits.rjust(-(-len(digits) // 8) * 8, "0")
    groups = [padded[start : start + 8] for start in range(0, len(padded), 8)]
    return ",".join([groups[0].lstrip("0") or "0", *groups[1:]])
