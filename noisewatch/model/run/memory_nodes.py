"""The share of a command's memory from other nodes than those of its target CPUs."""

from __future__ import annotations

from collections.abc import Mapping

from noisewatch.kernel.memory.node_memory import NodePages
from noisewatch.records import dataclass


@dataclass(frozen=True, slots=True)
class MemoryElsewhere:
    """The `share` of memory that lies on, or came from, other nodes; None is unknown, with the `reason`.

    `is_bound`: an upper bound, from all memory that the machine allocated in the meantime, of which the command's is a
    part.
    """

    share: float | None
    size_bytes: int | None
    is_bound: bool = False
    reason: str | None = None


NOWHERE_ELSE = MemoryElsewhere(0.0, 0)


def elsewhere_by_pages(
    before: Mapping[int, NodePages], after: Mapping[int, NodePages], home: frozenset[int], page_bytes: int
) -> MemoryElsewhere:
    """Return the memory from other nodes by the counts of all nodes; `home` are the target CPUs' nodes.

    Pages that other nodes gave to CPUs of a different node may have gone to the target CPUs.
    """
    if any(after[node].to_others < pages.to_others for node, pages in before.items()):
        return MemoryElsewhere(None, None, reason="the kernel's count of pages by node ran backwards")
    away = sum(after[node].to_others - pages.to_others for node, pages in before.items() if node not in home)
    at_home = sum(after[node].to_own_cpus - pages.to_own_cpus for node, pages in before.items() if node in home)
    share = away / (away + at_home) if away else 0.0
    return MemoryElsewhere(share, away * page_bytes, is_bound=away > 0)
