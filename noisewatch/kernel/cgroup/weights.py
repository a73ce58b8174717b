"""The CPU weights of this process's cgroups, from its own up to the root: their part of a contended CPU.

    v2  cpu.weight       100           (1 to 10000; 100 is the default)
        cpu.idle         0             (1: only what others leave, Linux 5.15)
        cpu.uclamp.max   max           (or a percentage of the CPU's capacity: 45.00, Linux 5.4)
    v1  cpu.shares       1024          (the default); the other two are the same

https://docs.kernel.org/admin-guide/cgroup-v2.html#cpu-interface-files
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

from noisewatch.errors import Malformed, Unreadable
from noisewatch.kernel.cgroup.bandwidth import Cgroup
from noisewatch.kernel.numbers import integer_from, parse_flag
from noisewatch.kernel.reader import Reader
from noisewatch.records import dataclass

T = TypeVar("T")

DEFAULT_WEIGHT = 100
DEFAULT_SHARES = 1024
_MOST_WEIGHT, _MOST_SHARES = 10_000, 1 << 18
UNCLAMPED = 100.0


@dataclass(frozen=True, slots=True)
class CpuWeight:
    """One level. None is unknown; a file that this kernel does not have leaves the default."""

    folder: str
    weight: int | None  # as the kernel counts: 100 in v2 and 1024 in v1 is what everybody has
    is_idle: bool | None
    clamp_percent: float | None

    @property
    def is_known(self) -> bool:
        return None not in (self.weight, self.is_idle, self.clamp_percent)


@dataclass(frozen=True, slots=True)
class CpuWeights:
    """The visible levels, innermost first."""

    version: int
    levels: tuple[CpuWeight, ...]
    reaches_root: bool  # or ends at the border of a container

    @property
    def default(self) -> int:
        return DEFAULT_SHARES if self.version == 1 else DEFAULT_WEIGHT

    @property
    def file(self) -> str:
        return "cpu.shares" if self.version == 1 else "cpu.weight"


def parse_uclamp(text: str) -> float:
    """Return the percentage; 100 for `max`. Raise Malformed."""
    word = text.strip()
    if word == "max":
        return UNCLAMPED
    if re.fullmatch(r"\d{1,3}(\.\d{1,2})?", word, re.ASCII) is None:
        raise Malformed("`max` or a percentage such as 45.00", word)
    return float(word)


def read_cpu_weights(reader: Reader, cgroup: Cgroup) -> CpuWeights | None:
    """Return the weights of the levels in `cgroup`, or None if it has none."""
    if cgroup.version is None or not cgroup.folders:
        return None
    *inner, root = cgroup.folders
    if cgroup.version == 1:
        levels = tuple(_read_v1(reader, folder) for folder in cgroup.folders)
        is_true_root = "release_agent" in (reader.names_or_none(root) or ())  # which only that one has
        return CpuWeights(1, levels, cgroup.reaches_root and is_true_root)
    is_true_root = _is_true_root(reader, root)
    folders = inner if is_true_root else cgroup.folders  # the true root shares with no group
    levels = tuple(_read_v2(reader, folder) for folder in folders)
    return CpuWeights(2, levels, cgroup.reaches_root and is_true_root)


def _is_true_root(reader: Reader, root: str) -> bool:
    """Return whether cgroup.events is missing, in the list of names and when read, as only in the true root."""
    names = reader.names_or_none(root) or []
    try:
        reader.bytes(f"{root}/cgroup.events", expected=False)
    except Unreadable as error:
        return error.is_missing and "cgroup.controllers" in names and "cgroup.events" not in names
    return False


def _read_v1(reader: Reader, folder: str) -> CpuWeight:
    """Return one level; cpu.shares always exists."""
    weight = reader.parsed(f"{folder}/cpu.shares", integer_from(0, _MOST_SHARES))
    return CpuWeight(folder, weight, *_read_rest(reader, folder))


def _read_v2(reader: Reader, folder: str) -> CpuWeight:
    """Return one level; a level without the cpu controller has no file, and the default weight."""
    weight = _read_or(reader, folder, "cpu.weight", integer_from(0, _MOST_WEIGHT), DEFAULT_WEIGHT)
    return CpuWeight(folder, weight, *_read_rest(reader, folder))


def _read_rest(reader: Reader, folder: str) -> tuple[bool | None, float | None]:
    return (
        _read_or(reader, folder, "cpu.idle", parse_flag, False),
        _read_or(reader, folder, "cpu.uclamp.max", parse_uclamp, UNCLAMPED),
    )


def _read_or(reader: Reader, folder: str, name: str, parse: Callable[[str], T], default: T) -> T | None:
    """Return the default if the folder exists and the kernel has no such file in it."""
    if reader.names_or_none(folder) is None:
        return None
    path = f"{folder}/{name}"
    return default if reader.is_absent(path) else reader.parsed(path, parse)
