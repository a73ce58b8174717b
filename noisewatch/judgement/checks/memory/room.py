"""Area `memory`: how much memory is left, on the machine and within the limits of a container."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from noisewatch.judgement.case import Case
from noisewatch.judgement.check import MINIMUM, Answer, Limit, check
from noisewatch.judgement.fixes.actions import write
from noisewatch.judgement.fixes.fix import Fix
from noisewatch.judgement.fixes.lasting import ByHand
from noisewatch.judgement.rules import STRICT
from noisewatch.judgement.terms import Ground, Severity, Status
from noisewatch.kernel.cgroup.mounts import MEMBERSHIP
from noisewatch.kernel.memory.counters import MEMINFO
from noisewatch.kernel.memory.limits import MemoryLimit
from noisewatch.kernel.snapshot.snapshot import Snapshot
from noisewatch.model.interval.interval import Interval
from noisewatch.records import dataclass

_PASSES = Limit(
    key="passes",
    name="share of memory left that passes",
    is_least=True,
    value=0.10,
    unit="share",
    reason="what a benchmark allocates while it runs",
)
_FAILS = Limit(
    key="fails",
    name="share of memory left that fails",
    is_least=True,
    value=0.05,
    unit="share",
    reason="the next allocation may find no free page",
)
_ROOMY = Limit(
    key="roomy",
    name="memory left that passes, whatever its share",
    value=4_194_304,
    unit="kB",
    reason="a large machine does not need a tenth of its memory free",
)
_KB = 1024


@dataclass(frozen=True, slots=True)
class _Room:
    """Free memory of a machine or a limit: right now, and after the kernel has reclaimed its caches."""

    where: str
    of_bytes: int
    free_bytes: int
    available_bytes: int
    limit: MemoryLimit | None = None


@check(
    id="memory-short",
    area="memory",
    question="Is enough memory left for the benchmark?",
    severity=Severity.WARNING,
    ground=Ground.RISK,
    severity_in={STRICT: Severity.BLOCKING},
    reads=(
        f"{MEMINFO} (MemAvailable)",
        f"{MEMBERSHIP}; memory.max, .high, .current, .stat and .events.local (v2), from this cgroup up to the root",
        "memory.limit_in_bytes, .usage_in_bytes, .stat and .failcnt (v1)",
    ),
    limits=(_PASSES, _FAILS, _ROOMY),
    why=(
        "When no page is free, a program that asks for one has to reclaim one first, and waits. In a container this "
        "happens at its memory limit, long before the machine is full; cached files count towards that limit."
    ),
    remedy=(
        "Stop the programs that hold memory, or lift the container's limit; dropping caches gains nothing on the host."
    ),
    sources=(
        "https://docs.kernel.org/filesystems/proc.html#meminfo",
        "https://docs.kernel.org/admin-guide/cgroup-v2.html#memory",
    ),
    covers_calibration=True,
)
def memory_short(case: Case) -> Answer:
    limits = case.snapshot.background.memory_limits.limits
    hits = {limit.folder: _hits(case, limit.folder) for limit in limits}
    rooms = [*_room_of_machine(case.snapshot), *(room for limit in limits if (room := _room_within(limit)) is not None)]
    evidence = _evidence(case, hits)
    hit = [limit for limit in limits if hits[limit.folder]]
    if hit:
        count = hits[hit[0].folder]
        said = f"the limit of {hit[0].folder} was reached {count} times"
        return Answer(Status.FAIL, said, measured=count, limit=0, unit="times", evidence=evidence, fix=_lift(hit[0]))
    short = [room for room in rooms if _is_below(case, room.available_bytes, room.of_bytes, _FAILS)]
    if short:
        return _short_of(case, Status.FAIL, short[0], short[0].available_bytes, evidence)
    reason = _why_unknown(case, hits, rooms)
    if reason is not None:
        return Answer(Status.UNKNOWN, "unknown", reason=reason, evidence=evidence)
    tight = [room for room in rooms if _is_below(case, room.free_bytes, room.of_bytes, _PASSES)]
    if tight:
        return _short_of(case, Status.WARN, tight[0], tight[0].free_bytes, evidence)
    least = min(rooms, key=lambda room: room.free_bytes)
    share = least.free_bytes / least.of_bytes
    said = f"{_size(least.free_bytes)} are free{least.where}"
    limit = case.bound(_FAILS) if share >= case.bound(_FAILS) else None  # enough, whatever its share of the total
    return Answer(Status.PASS, said, measured=share, limit=limit, unit="share", evidence=evidence, limit_role=MINIMUM)


def _short_of(case: Case, status: Status, room: _Room, left_bytes: int, evidence: Mapping[str, Any]) -> Answer:
    said = f"{_size(left_bytes)} of {_size(room.of_bytes)} are free{room.where}"
    if status == Status.WARN and room.available_bytes > left_bytes:
        said += f", and {_size(room.available_bytes - left_bytes)} more if cached files are dropped"
    fix = _lift(room.limit) if room.limit is not None else None
    share = left_bytes / room.of_bytes if room.of_bytes else 0.0
    return Answer(
        status,
        said,
        measured=share,
        limit=case.bound(_FAILS),
        unit="share",
        evidence=evidence,
        fix=fix,
        limit_role=MINIMUM,
    )


def _is_below(case: Case, left_bytes: int, of_bytes: int, limit: Limit) -> bool:
    """Return whether the memory left is below the limit. A total of 0 bytes always is, whatever is cached."""
    return of_bytes <= 0 or (left_bytes < of_bytes * case.bound(limit) and left_bytes < case.bound(_ROOMY) * _KB)


def _size(count: int) -> str:
    return f"{count / _KB**3:.1f} GB" if count >= _KB**3 else f"{count / _KB**2:.0f} MB"


def _room_of_machine(snapshot: Snapshot) -> list[_Room]:
    sizes = snapshot.background.memory.kb_by_name or {}
    total, available = sizes.get("MemTotal"), sizes.get("MemAvailable")
    if not total or available is None or available > total:
        return []
    return [_Room("", total * _KB, available * _KB, available * _KB)]


def _room_within(limit: MemoryLimit) -> _Room | None:
    if limit.used_bytes is None or limit.cached_bytes is None:
        return None
    free = max(limit.limit_bytes - limit.used_bytes, 0)
    return _Room(
        where=f" within {limit.folder}",
        of_bytes=limit.limit_bytes,
        free_bytes=free,
        available_bytes=free + limit.cached_bytes,
        limit=limit,
    )


def _hits(case: Case, folder: str) -> int | None:
    """Return how often the limit was reached in the sample and under load, or None if unknown in either."""
    counts = [_hits_in(interval, folder) for interval in case.intervals]
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


def _hits_in(interval: Interval, folder: str) -> int | None:
    before, after = (
        next((limit.hits for limit in moment.background.memory_limits.limits if limit.folder == folder), None)
        for moment in (interval.before, interval.after)
    )
    return None if before is None or after is None or after < before else after - before


def _why_unknown(case: Case, hits: Mapping[str, int | None], rooms: list[_Room]) -> str | None:
    """Return why there may be less memory than reported, or None if all is known."""
    if not _room_of_machine(case.snapshot):
        sizes = case.snapshot.background.memory.kb_by_name or {}
        has_more = None not in (sizes.get("MemTotal"), sizes.get("MemAvailable"))
        return f"{MEMINFO}: more memory is available than there is" if has_more else case.why_unknown(MEMINFO)
    limits = case.snapshot.background.memory_limits
    if limits.unread is not None:
        return case.why_unknown(limits.unread)
    unread = [limit.folder for limit in limits.limits if hits[limit.folder] is None or _room_within(limit) is None]
    return case.why_unknown(unread[0]) if unread else None


def _evidence(case: Case, hits: Mapping[str, int | None]) -> dict[str, Any]:
    sizes = case.snapshot.background.memory.kb_by_name or {}
    return {
        "available_kb": sizes.get("MemAvailable"),
        "total_kb": sizes.get("MemTotal"),
        "limits": {
            limit.folder: {
                "limit_bytes": limit.limit_bytes,
                "used_bytes": limit.used_bytes,
                "cached_bytes": limit.cached_bytes,
                "reached_in_sample": hits[limit.folder],
            }
            for limit in case.snapshot.background.memory_limits.limits
        },
    }


def _lift(limit: MemoryLimit) -> Fix:
    """Return the fix that lifts the memory limit, by the files that hold it; the limit's owner should lift it.

    The limit including swap may not be lower than the one without: it is lifted first and restored last.
    """
    files = {f"{limit.folder}/{name}": text for name, text in limit.text_by_file.items()}
    lifted = [write(path, "-1" if path.endswith("_in_bytes") else "max", text) for path, text in files.items()]
    return Fix(tuple(lifted), (ByHand("start it without a memory limit"),))
