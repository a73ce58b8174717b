"""The nodes from which this process, and what it or its shell starts, may have memory, and which it prefers.

    /proc/self/status                     Mems_allowed_list:    0-1     of its cpuset: a cgroup, a container, a job
    /proc/self/numa_maps                  55705b28f000 default file=/usr/bin/python3 mapped=2 N0=2 …
    /sys/devices/system/node/has_memory   0-1

A mapping without a policy of its own shows that of the process, which it has inherited, for one from numactl: default,
local, bind:0, prefer:1, prefer (many):0-1, interleave:0-1, weighted interleave:0-1; with flags bind=static:0. Only its
begin is read, as each mapping costs time.

https://docs.kernel.org/admin-guide/mm/numa_memory_policy.html, https://man7.org/linux/man-pages/man7/numa.7.html,
mm/mempolicy.c (mpol_to_str)
"""

from __future__ import annotations

import os
import re

from noisewatch.cpus import CpuSet, parse_cpu_list, parse_nonempty_cpu_list
from noisewatch.errors import Malformed
from noisewatch.kernel.cpus.topology import NODES
from noisewatch.kernel.reader import Reader
from noisewatch.machine import Json
from noisewatch.patterns import regex
from noisewatch.records import dataclass

QUESTION = "memory policy of this process"
HAS_MEMORY = f"{NODES}/has_memory"
_MAPS = "/proc/self/numa_maps"
_FIRST_BYTES = 512
_LINE = regex(r"[0-9a-f]+ (.+?) (?:file=|heap|stack|huge|anon=|dirty=|mapped=|active=|N\d+=|kernelpagesize)")
_ALLOWED = regex(r"^Mems_allowed_list:\t([0-9,-]+)$", re.MULTILINE)
_POLICY = regex(
    r"(default|local|bind|prefer|prefer \(many\)|interleave|weighted interleave)(?:=[a-z|]+)?(?::([0-9,-]*))?"
)


@dataclass(frozen=True, slots=True)
class MemoryPolicy:
    """A memory policy: its name as the kernel writes it, and its nodes; default and local have none."""

    mode: str
    nodes: CpuSet


def read_memory_policy(reader: Reader) -> MemoryPolicy | None:
    """Return the policy, or None if it cannot be read, as on a kernel without NUMA."""
    answer = reader.ask(QUESTION, _ask)
    return parse_policy(answer) if isinstance(answer, str) else None


def _ask() -> Json:
    """Return the policy of the first mapping, as the kernel writes it."""
    descriptor = os.open(_MAPS, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return policy_in(os.read(descriptor, _FIRST_BYTES).decode("utf-8", "replace"))
    finally:
        os.close(descriptor)


def policy_in(maps: str) -> str | None:
    """Return the policy in the first line, or None if it is malformed."""
    match = _LINE.match(maps)
    return match[1] if match is not None else None


def parse_policy(text: str) -> MemoryPolicy | None:
    """Parse the policy; return None for a format that no kernel has so far."""
    match = _POLICY.fullmatch(text)
    try:
        return MemoryPolicy(match[1], parse_cpu_list(match[2] or "")) if match is not None else None
    except Malformed:
        return None


def parse_allowed_nodes(status: str) -> CpuSet:
    """Return the nodes from which the cpuset allows memory, in /proc/PID/status. Raise Malformed."""
    match = _ALLOWED.search(status)
    if match is None:
        raise Malformed("a line `Mems_allowed_list: 0`", status[-20:])
    return parse_nonempty_cpu_list(match[1])


def read_nodes_with_memory(reader: Reader) -> CpuSet | None:
    """Return the nodes that have memory, or None if the kernel does not list them."""
    return reader.parsed(HAS_MEMORY, parse_nonempty_cpu_list, expected=False)
