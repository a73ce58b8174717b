"""The sizes of a CPU's caches.

    /sys/devices/system/cpu/cpu0/cache/index2/{level,type,size}           2          Unified    1024K

https://docs.kernel.org/admin-guide/abi-testing.html
"""

from __future__ import annotations

from noisewatch.errors import Absent, Malformed, Unreadable
from noisewatch.kernel.cpus.online import CPUS
from noisewatch.kernel.numbers import integer_from, parse_word
from noisewatch.kernel.reader import Reader
from noisewatch.patterns import regex

NO_CACHES = "none"
_INDEX, _SIZE = regex(r"index\d{1,2}"), regex(r"(\d{1,9})K")
_LETTERS = {"Data": "d", "Instruction": "i", "Unified": ""}


def read_cache_sizes(reader: Reader, cpu: int) -> str | None:
    """Return `L1d 32K, L1i 32K, L2 1024K, L3 28160K`, NO_CACHES where the kernel has none, None if one is unknown."""
    folder = f"{CPUS}/cpu{cpu}/cache"
    try:
        indexes = sorted(name for name in reader.names(folder, expected=False) if _INDEX.fullmatch(name))
    except Absent:
        return NO_CACHES
    except Unreadable:
        return None
    words = [_read_size(reader, f"{folder}/{index}") for index in indexes]
    return ", ".join(word for word in words if word) if None not in words else None


def _parse_size(text: str) -> str:
    """Return a size as the kernel writes it, `1024K`. Raise Malformed."""
    size = text.strip()
    if _SIZE.fullmatch(size) is None:
        raise Malformed("a size such as 1024K", size)
    return size


def _read_size(reader: Reader, folder: str) -> str | None:
    level = reader.parsed(f"{folder}/level", integer_from(1, 8), expected=False)
    kind = reader.parsed(f"{folder}/type", parse_word, expected=False)
    size = reader.parsed(f"{folder}/size", _parse_size, expected=False)
    return None if level is None or kind not in _LETTERS or size is None else f"L{level}{_LETTERS[kind]} {size}"
