"""Threads of one program that had next to nothing each, and together more than one task may have."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from noisewatch.kernel.tasks.threads import Tasks
from noisewatch.model.interval.disturbance import Disturbance

Members = tuple[Disturbance, ...]


def many_threads(found: Iterable[Disturbance], tasks: Tasks | None, most: float) -> dict[Disturbance, Members]:
    """Those of one process name on one CPU, as one, that had more than `most` of it; none that had so much alone."""
    names = {} if tasks is None else {pid: tasks.by_tid[pid].name for pid in tasks.pids & tasks.by_tid.keys()}
    alike: dict[tuple[int, str, str], list[Disturbance]] = defaultdict(list)
    for each in found:
        if each.pid is not None and each.tid is not None and (each.share or 0.0) <= most:
            alike[each.cpu, each.kind, names.get(each.pid, each.name)].append(each)
    together = {_as_one(name, members): tuple(members) for (_, _, name), members in alike.items() if len(members) > 1}
    return {one: members for one, members in together.items() if (one.share or 0.0) > most}


def with_many_as_one(found: Iterable[Disturbance], tasks: Tasks | None, most: float) -> list[Disturbance]:
    """All of them, `many_threads` in the place of their members; the costliest first."""
    all_found = tuple(found)
    many = many_threads(all_found, tasks, most)
    members = {each for together in many.values() for each in together}
    return sorted((*many, *(each for each in all_found if each not in members)), key=lambda each: -(each.share or 0.0))


def _as_one(name: str, members: list[Disturbance]) -> Disturbance:
    """`java (50 threads)`; the pid is that of the one process, if it is one."""
    pids = {each.pid for each in members}
    return Disturbance(
        kind=members[0].kind,
        name=f"{name} ({len(members)} threads)",
        cpu=members[0].cpu,
        stolen_ns=sum(each.stolen_ns or 0 for each in members),
        share=sum(each.share or 0.0 for each in members),
        rate_per_s=None,
        pid=pids.pop() if len(pids) == 1 else None,
        is_inferred=any(each.is_inferred for each in members),
    )
