"""The hardware events of a command, and the factors of its time, in the receipt of `noisewatch run`."""

from __future__ import annotations

from noisewatch.documents.document import Amount, Chance, Count, DocumentPart
from noisewatch.model.run.decomposition import Factor


class CountersPart(DocumentPart, frozen=True, kw_only=True):
    """Events of the command and its descendants, scaled to the whole time.

    cycles: CPU cycles; with is_user_only, only those of user code.
    user_instructions: Instructions of user code.
    cpu_time_ns: CPU time since the command's execve.
    migrations: Moves between CPUs; null with is_user_only.
    counted_share: The smallest share of the time in which an event was counted; below 1, counters were shared, or the
        command also ran on cores of a kind that does not count.
    is_user_only: Whether the kernel's code is not counted.
    """

    cycles: Count | None
    instructions: Count | None
    user_instructions: Count | None
    cache_misses: Count | None
    branch_misses: Count | None
    cpu_time_ns: Count | None
    migrations: Count | None
    counted_share: Chance
    is_user_only: bool


class FactorRatioPart(DocumentPart, frozen=True, kw_only=True):
    """A factor of a run's time, divided by the geometric mean of the same factor of other runs."""

    factor: Factor
    ratio: Amount


class FactorSharePart(DocumentPart, frozen=True, kw_only=True):
    """A factor of the time, and its part of a spread or of a difference, as a share of the mean time."""

    factor: Factor
    share: float


class DecompositionPart(DocumentPart, frozen=True, kw_only=True):
    """The factors of a spread or of a difference. Their shares add up to the total.

    main: The factor that causes more than half of the total; null if there is none.
    instruction_spread: The relative standard deviation of the instructions of user code; null if unknown, and always
        for a difference.
    is_same_work: Whether `instruction_spread` is at most 0.1%; null if `instruction_spread` is null.
    no_counters_reason: Why hardware events are left out; "none" if they are not.
    """

    total: float
    parts: list[FactorSharePart]
    main: Factor | None
    instruction_spread: Amount | None
    is_same_work: bool | None
    no_counters_reason: str
