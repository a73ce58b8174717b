"""What noisewatch was started with, and what a benchmark that is started the same way inherits.

    /proc/self/status     Seccomp:\t2           0: none, 1: strict, 2: filters
    /proc/self/stat       4711 (python3) R … 20 0 …     the second of these is the nice value

https://man7.org/linux/man-pages/man5/proc_pid_status.5.html
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from noisewatch.errors import Malformed
from noisewatch.sources.reader import Reader

STATUS, STAT = "/proc/self/status", "/proc/self/stat"
_SECCOMP = re.compile(r"^Seccomp:\s*([012])$", re.MULTILINE)
_NICE_FIELD = 16  # behind the name
_NICEST = 20


@dataclass(frozen=True, slots=True)
class OwnProcess:
    """None is unknown."""

    seccomp_mode: int | None
    nice: int | None


def parse_seccomp_mode(text: str) -> int:
    """The mode. Raises Malformed, also where the line is missing: a kernel without seccomp is rare."""
    match = _SECCOMP.search(text)
    if match is None:
        raise Malformed("a line `Seccomp: 0`", text[-20:])
    return int(match[1])


def parse_nice(text: str) -> int:
    """The nice value in a line of stat. Raises Malformed."""
    fields = text.rpartition(")")[2].split()
    word = fields[_NICE_FIELD] if len(fields) > _NICE_FIELD else ""
    if re.fullmatch(r"-?\d{1,2}", word, re.ASCII) is None or abs(int(word)) > _NICEST:
        raise Malformed("a nice value in the 19th field", text[:40])
    return int(word)


def read_own_process(reader: Reader) -> OwnProcess:
    """What holds for this process."""
    return OwnProcess(reader.parsed(STATUS, parse_seccomp_mode), reader.parsed(STAT, parse_nice))
