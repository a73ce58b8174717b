"""CPU sets as the kernel writes them: lists (`0-3,8`) and hexadecimal masks (`ff,ffffffff`).

https://docs.kernel.org/admin-guide/kernel-parameters.html#cpu-lists
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import takewhile

from noisewatch.errors import Malformed
from noisewatch.kernel.numbers import bare
from noisewatch.patterns import regex

CpuSet = frozenset[int]

_MOST_CPUS = 1 << 13  # NR_CPUS is at most 8192 (x86, POWER); a larger number is an error
_MOST_RANGES = _MOST_CPUS // 3  # the smallest range has two CPUs, and one CPU is missing after it
_LONGEST = 1 << 16  # characters: 8192 numbers with commas are 40,000
_KEPT = 256  # cached parsed lists
_LEAST_ALIKE = 4  # the fewest equally spaced ranges worth a stride: with fewer, the list is as short
_WANTED = "a CPU list such as 0-3,8"
_WANTED_MASK = "a CPU mask such as ff,ffffffff"
_RANGE = regex(r"(?P<first>[0-9]+|N)(?:-(?P<last>[0-9]+|N)(?::(?P<used>[0-9]+)/(?P<group>[0-9]+))?)?")
_EMPTY = frozenset({"", "(null)"})


def parse_cpu_list(text: str, last_cpu: int | None = None) -> CpuSet:
    """Return the CPUs of a list such as `0-3,8` or `1-7:2/4` (the first 2 of each group of 4).

    With `last_cpu`, `all` and `N` (the last CPU) are valid too. An empty text and `(null)` (nohz_full in sysfs, if the
    option is not set) give the empty set. Raise Malformed for any other text.
    """
    stripped = bare(text)
    if len(stripped) > _LONGEST or stripped.count("-") > _MOST_RANGES:
        raise Malformed(_WANTED, stripped)
    return _parse(stripped, last_cpu)


@lru_cache(maxsize=_KEPT)
def _parse(stripped: str, last_cpu: int | None) -> CpuSet:
    """Parse a stripped list. The cache helps because many CPUs have the same list."""
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
    """Return the CPUs of a list that cannot be empty on a working machine.

    Raise Malformed if it is empty or invalid.
    """
    cpus = parse_cpu_list(text)
    if not cpus:
        raise Malformed(_WANTED, text.strip())
    return cpus


def parse_cpu_words(text: str) -> CpuSet:
    """Return the CPUs of a list separated by blanks, as in cpufreq's policies. Raise Malformed."""
    return parse_cpu_list(",".join(bare(text).split()))


def format_cpu_list(cpus: Iterable[int]) -> str:
    """Return a kernel list without strides, such as `0-3,8`, or the empty string if there is no CPU."""
    return ",".join(map(_range, _ranges(cpus)))


def format_cpu_strides(cpus: Iterable[int]) -> str:
    """Return a kernel list with strides, such as `0-30:1/2` (1 of every 2 CPUs); Linux 4.12 and later accept it."""
    return ",".join(
        f"{first}-{last}:{used}/{group}" if group else rest for first, last, used, group, rest in _strides(cpus)
    )


def format_taskset_list(cpus: Iterable[int]) -> str:
    """Return a list for `taskset -c`, which writes every second CPU as `0-30:2`."""
    return ",".join(
        f"{first}-{last}:{group}" if used == 1 else rest for first, last, used, group, rest in _strides(cpus)
    )


def cpu_list_argument(cpus: Iterable[int], write: Callable[[Iterable[int]], str] = format_cpu_list) -> str:
    """Return the CPUs as an argument of an option or a kernel file. Raise ValueError if there is no CPU.

    Options and files reject an empty list or take it for all CPUs (AllowedCPUs= of systemd).
    """
    listed = write(cpus)
    if not listed:
        raise ValueError("a command needs a CPU")
    return listed


def fitting_cpu_list(cpus: Iterable[int], width: int) -> str:
    """Return the CPUs in at most `width` columns if possible.

    Return a kernel list, or a list with strides if only that fits. If neither does, return the first CPU, the last and
    the count: `0…56 (6)`.
    """
    numbers = sorted(set(cpus))
    texts = (format(numbers) for format in (format_cpu_list, format_cpu_strides))
    return next(
        (text for text in texts if len(text) <= width),
        f"{numbers[0]}…{numbers[-1]} ({len(numbers)})" if numbers else "",
    )


def _ranges(cpus: Iterable[int]) -> list[list[int]]:
    """Return the ranges of consecutive CPUs, as pairs of first and last."""
    ranges: list[list[int]] = []
    for cpu in sorted(set(cpus)):
        if ranges and cpu == ranges[-1][1] + 1:
            ranges[-1][1] = cpu
        else:
            ranges.append([cpu, cpu])
    return ranges


def _range(ends: Sequence[int]) -> str:
    first, last = ends
    return str(first) if first == last else f"{first}-{last}"


def _strides(cpus: Iterable[int]) -> Iterator[tuple[int, int, int, int, str]]:
    """Yield the CPUs in parts: (first CPU, last CPU, used, group, list).

    A part is several equally long, equally spaced ranges: `used` of every `group` CPUs are in the set. A range that
    belongs to no such series is a part by itself, with 0 for `used` and `group`. The list has no strides.
    """
    ranges, at = _ranges(cpus), 0
    while at < len(ranges):
        count = _stride_length(ranges[at:])
        part = ranges[at : at + count]
        (first, end), (_, last) = part[0], part[-1]
        group = part[1][0] - first if count >= _LEAST_ALIKE else 0
        yield first, last, end - first + 1 if group else 0, group, ",".join(map(_range, part))
        at += count


def _stride_length(ranges: Sequence[Sequence[int]]) -> int:
    """Return how many ranges at the start are equally long and equally spaced; 1 if too few for a stride."""
    (first, end), *others = ranges
    step = others[0][0] - first if others else 0
    alike = takewhile(lambda at: ranges[at] == [first + at * step, end + at * step], range(len(ranges)))
    count = sum(1 for _ in alike)
    return count if count >= _LEAST_ALIKE else 1


def name_cpus(cpus: Iterable[int], write: Callable[[Iterable[int]], str] = format_cpu_list) -> str:
    """Return the CPUs for a sentence, formatted by `write`: `CPU 3`, `CPUs 2-3`, `no CPU`."""
    numbers = set(cpus)
    if not numbers:
        return "no CPU"
    return f"{'CPU' if len(numbers) == 1 else 'CPUs'} {write(numbers)}"


def name_cpu_sets(sets: Iterable[CpuSet]) -> str:
    """Return several CPU sets for a sentence, separated by `|`: `CPUs 0 | 1,5 | 2-3`."""
    return f"CPUs {' | '.join(map(format_cpu_list, sets))}"


def parse_cpu_mask(text: str) -> CpuSet:
    """Return the CPUs of a hexadecimal mask: groups of 32 bits, the highest group first. Raise Malformed."""
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
    """Return the CPUs of a mask that cannot be empty on a working machine.

    Raise Malformed if it is empty or invalid.
    """
    cpus = parse_cpu_mask(text)
    if not cpus:
        raise Malformed(_WANTED_MASK, text.strip())
    return cpus


def format_cpu_mask(cpus: Iterable[int]) -> str:
    """Return the CPUs as a mask that the kernel accepts: `3`, `ff,ffffffff`."""
    digits = f"{sum(1 << cpu for cpu in set(cpus)):x}"
    padded = digits.rjust(-(-len(digits) // 8) * 8, "0")
    groups = [padded[start : start + 8] for start in range(0, len(padded), 8)]
    return ",".join([groups[0].lstrip("0") or "0", *groups[1:]])
