"""The CPUs of a machine as tables: what they are there for, how they lie, how they clock.

CPUs that are alike share a row; a CPU of which something is unknown is like those of which the same is unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from noisewatch.cpus import CpuSet
from noisewatch.grouping import grouped
from noisewatch.kernel.cpus.topology import CpuPlace, cache_names
from noisewatch.kernel.frequency.cpufreq import CpuFrequency
from noisewatch.kernel.snapshot.snapshot import Snapshot
from noisewatch.surfaces.reports.machine.words import (
    UNKNOWN,
    between,
    brief,
    count,
    cpus,
    ghz,
    number,
    or_dash,
    yes,
)
from noisewatch.surfaces.reports.parts.tables import align

_MOST_CACHES = 16
_NAMED_CORES = 2
_NOWHERE = CpuPlace(
    cpu=0, core=None, package=None, node=None, siblings=None, last_level_cache=None, kind=None, capacity=None
)
_ALL = (
    "CPU", "NODE", "PKG", "CORE", "SIBLINGS", "CACHE", "ONLINE", "TARGET", "ISOLATED", "NOHZ", "KIND", "GOVERNOR",
    "GHZ", "MIN", "MAX", "INTERRUPTS",
)  # fmt: skip


def all_cpus(snapshot: Snapshot) -> list[int]:
    """Those that are online, present, or wanted; where nobody tells, those that interrupts are counted of."""
    told = (snapshot.online.online or frozenset()) | (snapshot.online.present or frozenset())
    known = told | snapshot.topology.keys() | snapshot.target.cpus
    counted = snapshot.interrupts.cpus if snapshot.interrupts is not None and not known else ()
    return sorted({*known, *counted})


def each_cpu(snapshot: Snapshot) -> str:
    """All of each CPU, a row for each."""
    names = cache_names(snapshot.topology)
    totals = _totals(snapshot)
    rows = []
    for cpu in all_cpus(snapshot):
        place, clock = _place(snapshot, cpu), _clock(snapshot, cpu)
        rows.append(
            (
                str(cpu),
                number(place.node),
                number(place.package),
                number(place.core),
                cpus(place.siblings),
                names.get(cpu, UNKNOWN),
                *_purpose(snapshot, cpu),
                clock.governor or UNKNOWN,
                *map(ghz, (clock.current_khz, clock.min_khz, clock.max_khz)),
                number(totals.get(cpu)),
            )
        )
    return align([_ALL, *rows])


def cpu_table(snapshot: Snapshot) -> str:
    """What the CPUs are there for, and how often they were interrupted since boot."""
    totals = _totals(snapshot)
    rows = [
        (
            brief(group),
            str(len(group)),
            *_purpose(snapshot, group[0]),
            between((totals.get(cpu) for cpu in group), count),
        )
        for group in grouped(all_cpus(snapshot), lambda cpu: _purpose(snapshot, cpu))
    ]
    head = ("CPUS", "COUNT", "ONLINE", "TARGET", "ISOLATED", "NOHZ", "KIND", "INTERRUPTS OF EACH")
    return align([head, *rows])


def topology_table(snapshot: Snapshot, is_whole: bool) -> str:
    """Which CPUs share a last-level cache, a package and a node; on large machines only the latter.

    Where all of it is wanted, each core has its row.
    """
    names = cache_names(snapshot.topology)
    is_by_cache = is_whole or len(set(names.values())) <= _MOST_CACHES

    def key(cpu: int) -> tuple[object, ...]:
        place = _place(snapshot, cpu)
        own = names.get(cpu) if is_by_cache else None
        core = (place.siblings or cpu) if is_whole else None
        return place.node, place.package, own, cpu in names, place.kind, core

    rows = []
    for group in grouped(all_cpus(snapshot), key):
        place = _place(snapshot, group[0])
        cores = grouped(group, lambda cpu: _place(snapshot, cpu).siblings or cpu)
        is_known = all(_place(snapshot, cpu).siblings is not None for cpu in group)
        rows.append(
            (
                number(place.node),
                number(place.package),
                _caches(list(dict.fromkeys(names.get(cpu, UNKNOWN) for cpu in group))),
                brief(group),
                str(len(group)),
                str(len(cores)) if is_known else UNKNOWN,
                _siblings(cores) if is_known else UNKNOWN,
                or_dash(place.kind),
            )
        )
    return align([("NODE", "PKG", "CACHE", "CPUS", "COUNT", "CORES", "SIBLINGS", "KIND"), *rows])


def _caches(names: Sequence[str]) -> str:
    """`L3#0`, `L3#0-7`, or the first of those that are not numbered one after the other."""
    level, _, first = names[0].partition("#")
    if len(names) == 1 or not first:
        return names[0]
    wanted = [f"{level}#{int(first) + offset}" for offset in range(len(names))]
    return f"{names[0]}-{int(first) + len(names) - 1}" if list(names) == wanted else f"{names[0]} and {len(names) - 1}"


def _siblings(cores: Sequence[Sequence[int]]) -> str:
    """`0,48 1,49 …`; a core that has one CPU only has no sibling."""
    if all(len(core) == 1 for core in cores):
        return "-"
    return " ".join(map(brief, cores[:_NAMED_CORES])) + (" …" if len(cores) > _NAMED_CORES else "")


def clock_table(snapshot: Snapshot, is_whole: bool) -> str:
    """Who sets the clocks, and between which limits. The clock now is a range where CPUs share a row."""
    rows = [
        (
            brief(group),
            *_clock_words(snapshot, group[0]),
            _ghz(_clock(snapshot, cpu).current_khz for cpu in group),
        )
        for group in grouped(all_cpus(snapshot), lambda cpu: cpu if is_whole else _clock_words(snapshot, cpu))
    ]
    return align([("CPUS", "DRIVER", "GOVERNOR", "PREFERENCE", "LIMITS", "HARDWARE", "BASE", "NOW"), *rows])


def _clock_words(snapshot: Snapshot, cpu: int) -> tuple[str, ...]:
    clock = _clock(snapshot, cpu)
    return (
        clock.driver or snapshot.frequency.driver or UNKNOWN,
        clock.governor or UNKNOWN,
        or_dash(clock.energy_preference),
        _ghz((clock.min_khz, clock.max_khz)),
        _ghz((clock.hardware_min_khz, clock.hardware_max_khz)),
        _ghz((clock.base_khz,)),
    )


def _ghz(khz: Iterable[int | None]) -> str:
    """`2.893-2.894 GHz`."""
    words = between(khz, ghz)
    return words if words == UNKNOWN else f"{words} GHz"


def _purpose(snapshot: Snapshot, cpu: int) -> tuple[str, ...]:
    return (
        yes(_contains(snapshot.online.online, cpu)),
        yes(cpu in snapshot.target.cpus),
        yes(_contains(snapshot.isolation.isolated, cpu)),
        yes(_contains(snapshot.isolation.nohz_full, cpu)),
        or_dash(_place(snapshot, cpu).kind),
    )


def _contains(listed: CpuSet | None, cpu: int) -> bool | None:
    return None if listed is None else cpu in listed


def _place(snapshot: Snapshot, cpu: int) -> CpuPlace:
    return snapshot.topology.get(cpu, _NOWHERE)


def _clock(snapshot: Snapshot, cpu: int) -> CpuFrequency:
    return snapshot.frequency.cpus.get(cpu) or CpuFrequency(cpu)


def _totals(snapshot: Snapshot) -> dict[int, int]:
    return snapshot.interrupts.total_by_cpu() if snapshot.interrupts is not None else {}
