"""The live patches of the kernel, and whether each has reached all tasks.

    /sys/kernel/livepatch/NAME/transition     0     (1: some tasks still run the old code)

https://docs.kernel.org/livepatch/livepatch.html
"""

from __future__ import annotations

from collections.abc import Mapping

from noisewatch.errors import Absent, Unreadable
from noisewatch.kernel.numbers import parse_flag
from noisewatch.kernel.reader import Reader
from noisewatch.text import clean

FOLDER = "/sys/kernel/livepatch"

NOT_SUPPORTED = "none"


def read_livepatches(reader: Reader) -> Mapping[str, bool | None] | str | None:
    """Whether each patch is in transition, by its name; `none` for a kernel that cannot be patched, None is unknown."""
    try:
        names = reader.names(FOLDER, expected=False)
    except Absent:
        return NOT_SUPPORTED
    except Unreadable:
        return None
    return {clean(name): reader.parsed(f"{FOLDER}/{name}/transition", parse_flag) for name in names}
