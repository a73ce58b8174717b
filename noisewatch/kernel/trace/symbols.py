"""The kernel's functions by their addresses.

    /proc/kallsyms        ffffffff810013a0 T do_one_initcall

https://man7.org/linux/man-pages/man5/proc_kallsyms.5.html
"""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Mapping

from noisewatch.kernel.trace.events import chosen_function
from noisewatch.kernel.trace.timeline import Source
from noisewatch.text import clean

_PATH = "/proc/kallsyms"
_CODE = frozenset("tTwW")


class KernelFunctions:
    """The kernel's functions by address, which take 0.1 s to read.

    There are none without permission to read addresses: the kernel then shows each address as 0.
    """

    def __init__(self, path: str = _PATH) -> None:
        symbols: list[tuple[int, str]] = []
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                for line in file:
                    fields = line.split()
                    if len(fields) >= 3 and fields[1] in _CODE:
                        symbols.append((int(fields[0], 16), fields[2]))
        except (OSError, ValueError):
            symbols = []
        symbols.sort()
        has_addresses = bool(symbols) and symbols[-1][0] > 0
        self._starts = [address for address, _ in symbols] if has_addresses else []
        self._names = [name for _, name in symbols]

    def name_of(self, address: int) -> str | None:
        """Return the name of the function that contains the address, or None if it is unknown."""
        place = bisect.bisect_right(self._starts, address) - 1
        return clean(self._names[place]) if address and place >= 0 else None

    def names_of(self, addresses: Iterable[int]) -> Mapping[int, str]:
        """Return each address's function name; addresses that belong to no known function are missing."""
        names = ((address, self.name_of(address)) for address in addresses)
        return {address: name for address, name in names if name is not None}


def addresses_in(sources: Iterable[Source]) -> set[int]:
    """Return the addresses of all functions that the sources call or that their timers run."""
    return {address for source in sources for address in (source.function, *source.timers)} - {0}


def function_of(source: Source, names: Mapping[int, str]) -> str | None:
    """Return the function that the source calls, or the one that names a timer interrupt; None if unknown."""
    if source.timers:
        return chosen_function(tuple(names[address] for address in source.timers if address in names))
    return names.get(source.function)
