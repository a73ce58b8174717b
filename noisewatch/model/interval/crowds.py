"""Ended threads of one name and parent, which are one source: a script starts hundreds, and each has had next to
nothing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from noisewatch.kernel.trace.runs import Parent, TracedSource
from noisewatch.kinds import Kind


@dataclass(frozen=True, slots=True)
class Crowd:
    """Threads that had ended before anybody could ask whose they were. `pid` is who has started them, if known."""

    kind: Kind
    name: str
    pid: int | None


def crowds_of(sources: Sequence[TracedSource], name_of: Callable[[TracedSource], str]) -> Mapping[int, Crowd]:
    """The crowd that each of the sources belongs to, by its number; those that are alone belong to none."""
    alike: dict[tuple[Kind, str, Parent | None], dict[int, int]] = defaultdict(dict)
    for number, source in enumerate(sources):
        thread = source.thread
        if thread is not None and thread.pid is None:
            name = name_of(source) if source.kind == Kind.IPI else thread.name
            alike[source.kind, name, thread.parent][number] = thread.tid
    found: dict[int, Crowd] = {}
    for (kind, name, parent), tid_by_number in alike.items():
        count = len(set(tid_by_number.values()))
        if count > 1:
            crowd = Crowd(kind, _named(name, parent, count), parent.pid if parent is not None else None)
            found |= dict.fromkeys(tid_by_number, crowd)
    return found


def _named(name: str, parent: Parent | None, count: int) -> str:
    """`cc1 (523 ended children of make)`"""
    if parent is None:
        return f"{name} ({count} ended threads)"
    return f"{name} ({count} ended {'threads' if parent.is_process else 'children'} of {parent.name})"
