"""Where a command's threads ran and where its memory came from, in the receipt of `noisewatch run`."""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, UnsetType

from noisewatch.documents.document import Chance, Count, Cpus, DocumentPart

Residency = list[tuple[int | str | None, Chance]]


class ThreadPart(DocumentPart, frozen=True, kw_only=True):
    """The placement of one thread.

    migrations: The kernel's count of moves between CPUs; null if it is unknown, or if a trace contains the moves.
    moves: The number of moves between CPUs: exact from a trace, a lower bound from looks.
    """

    tid: Count
    name: str
    ran_ns: Count
    waited_ns: Count | None
    cpus: Residency | None
    cores: Residency | None
    nodes: Residency | None
    kinds: Residency | UnsetType | None = UNSET
    migrations: Count | None
    moves: Count
    node_moves: Count
    kind_moves: Count


class StackingPart(DocumentPart, frozen=True, kw_only=True):
    """Threads of the command that shared a target CPU while another target CPU had none of them.

    share: The share of looks in which this was observed.
    most_threads: The largest number of threads that shared one CPU.
    """

    share: Chance
    most_threads: Count
    cpus: Cpus
    free_cpus: Cpus


class LeftThreadsPart(DocumentPart, frozen=True, kw_only=True):
    """The number of threads that --spread did not pin, and why."""

    reason: str
    threads: Count


class SpreadThreadsPart(DocumentPart, frozen=True, kw_only=True):
    """The result of --spread.

    pinned: The number of times a thread was pinned to its own CPU.
    """

    pinned: Count
    left: list[LeftThreadsPart]


class MemoryElsewherePart(DocumentPart, frozen=True, kw_only=True):
    """The part of the command's memory that came from nodes other than those of the target CPUs.

    reason: Why this part is unknown.
    is_bound: Whether this is only an upper bound, because other processes allocated memory too.
    """

    share: Chance | None
    bytes: Count | None
    reason: str | UnsetType = UNSET
    is_bound: bool | UnsetType = UNSET


class PlacementPart(DocumentPart, frozen=True, kw_only=True):
    """The placement of the command's threads, from the trace of thread switches or from about ten looks per second.

    `cpus`, `cores`, `nodes` and `kinds` are lists of pairs: a place (null if unknown) and its share of the observed run
    time, the largest share first. A value of null means not observed; `reason` explains why.

    source: A trace is exact; shares from looks are estimates.
    looks: The number of looks.
    seen_share: The observed share of the command's CPU time.
    cores: A core is identified by its first CPU.
    kinds: Only on machines with several kinds of core.
    threads: The threads with the most run time, without negligible ones.
    threads_left_out: The number of other observed threads.
    spread: "none" if not requested.
    reason: Why a value is null, or why threads or moves may be missing.
    """

    source: Literal["trace", "looks"] | UnsetType = UNSET
    looks: Count
    seen_share: Chance | None
    cpus: Residency | None
    cores: Residency | None
    nodes: Residency | None
    kinds: Residency | UnsetType | None = UNSET
    threads: list[ThreadPart] | None
    threads_left_out: Count | UnsetType = UNSET
    stacking: StackingPart | Literal["none"] | None
    spread: SpreadThreadsPart | UnsetType | Literal["none"] = UNSET
    memory_elsewhere: MemoryElsewherePart
    reason: str | None
