"""What the screen asks of the sampler: a line of JSON on its standard input, such as {"sentinel": true}."""

from __future__ import annotations

import json
import os
import select
import stat
import time
from collections.abc import Callable, Mapping
from contextlib import suppress

_LONGEST = 1 << 16  # bytes of what was not finished by a line's end


class Inbox:
    """Reads requests while the sampler waits for its next interval; what it does not know it leaves alone."""

    def __init__(self, descriptor: int, take_by_name: Mapping[str, Callable[[object], None]]) -> None:
        self._descriptor: int | None = descriptor
        self._take_by_name = take_by_name
        self._unfinished = b""
        self.is_abandoned = False  # whether the screen, which held the other end, is gone

    def wait(self, seconds: float) -> None:
        """So long, or until nobody asks any more."""
        until_s = time.monotonic() + seconds
        while not self.is_abandoned and (left_s := until_s - time.monotonic()) > 0:
            if self._descriptor is None:
                time.sleep(left_s)
            elif select.select([self._descriptor], [], [], left_s)[0]:
                self._read(self._descriptor)

    def _read(self, descriptor: int) -> None:
        found = os.read(descriptor, _LONGEST)
        if not found:
            kind = os.fstat(descriptor).st_mode
            self.is_abandoned = stat.S_ISFIFO(kind) or stat.S_ISSOCK(kind)  # and not /dev/null, or a file
            self._descriptor = None
        *lines, rest = (self._unfinished + found).split(b"\n")
        self._unfinished = rest[-_LONGEST:]
        for line in lines:
            self._take(line)

    def _take(self, line: bytes) -> None:
        asked: object = None
        with suppress(ValueError):
            asked = json.loads(line)
        for name, wanted in asked.items() if isinstance(asked, dict) else ():
            if name in self._take_by_name:
                self._take_by_name[name](wanted)
