"""Where the kernel prints its messages: /proc/consoles.

    ttyS0                -W- (EC  p a)    4:64
    tty0                 -WU (EC p  )    4:1

E is enabled. https://docs.kernel.org/admin-guide/serial-console.html
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from noisewatch.errors import Malformed
from noisewatch.kernel.numbers import lines_of
from noisewatch.kernel.reader import Reader
from noisewatch.text import clean

PATH = "/proc/consoles"
_CONSOLE = re.compile(r"(?P<name>\S+)\s+[-RWU]{3} \((?P<flags>[ECBpbaN ]*)\).*")
_SHOWS_OR_STORES = re.compile(r"tty\d+|ttynull-?\d*|pstore-?\d*|ramoops-?\d*")


@dataclass(frozen=True, slots=True)
class Console:
    """A console. A slow one sends each character over a line, to a hypervisor or to the network."""

    name: str
    is_enabled: bool

    @property
    def is_slow(self) -> bool:
        return _SHOWS_OR_STORES.fullmatch(self.name) is None


def parse_consoles(text: str) -> tuple[Console, ...]:
    """The consoles; there may be none. Raises Malformed."""
    consoles = []
    for number, line in enumerate(lines_of(text), start=1):
        match = _CONSOLE.fullmatch(line.strip())
        if match is None:
            raise Malformed("a line such as `ttyS0 -W- (EC p a) 4:64`", line, number)
        consoles.append(Console(clean(match["name"]), "E" in match["flags"]))
    return tuple(consoles)


def read_consoles(reader: Reader) -> tuple[Console, ...] | None:
    """The consoles now; None is unknown."""
    return reader.parsed(PATH, parse_consoles)
