"""What disturbed a repetition by its placement, and what the command caused itself."""

from __future__ import annotations

from collections.abc import Iterator

from noisewatch.judgement.run.reasons import ReasonKind, RunReason
from noisewatch.model.run.placement import Placement, ThreadPlacement
from noisewatch.units import describe_share

_COUNTS = 0.01  # of the run time: the place of a thread with less does not matter
_STACKED_SHARE = 0.1  # of the looks: a thread that wakes another one shares its CPU for a moment
_STACKED_LOOKS = 2
_WAITED_SHARE = 0.05  # of the repetition: the least wait that the shared CPU must have caused
_SEEN_SHARE = 0.8  # of the CPU time: threads observed for less may have been anywhere
_NOT_LOOKED = "no look at its threads: it was too short"
_UNCOUNTED = "whether its threads moved between two looks is not known: the kernel does not count it (/proc/PID/sched)"
_MOVED_UNSEEN = "its threads moved more often than the looks saw: where they ran is known for {} of their CPU time only"


def placement_reasons(placement: Placement, length_ns: int) -> tuple[list[RunReason], list[RunReason]]:
    """Return the reasons by placement: moves and debuggers of threads, and separately threads that shared a CPU.

    Moves are those to another memory node or kind of core. The command's own threads on one CPU are not noise of the
    machine, and repeating it helps little.
    """
    moved: list[RunReason] = []
    for thread in weighty_threads(placement):
        moves = {ReasonKind.NODE_CHANGED: thread.node_moves, ReasonKind.CORES_CHANGED: thread.kind_moves}
        moved += (RunReason(kind=kind, name=thread.name, pid=thread.tid) for kind, count in moves.items() if count)
    moved += (RunReason(kind=ReasonKind.DEBUGGED, name=each, pid=pid) for pid, each in sorted(placement.debuggers))
    return moved, list(_stacked(placement, length_ns))


def weighty_threads(placement: Placement) -> list[ThreadPlacement]:
    """Return the threads whose place matters."""
    return [thread for thread in placement.threads if thread.ran_ns >= _COUNTS * placement.ran_ns]


def is_stacked(placement: Placement, length_ns: int) -> bool:
    """Return whether threads shared a CPU for long while another target CPU was free."""
    stacking = placement.stacking
    if stacking is None or stacking.share < _STACKED_SHARE or stacking.looks < _STACKED_LOOKS:
        return False
    waited_ns = stacked_wait_ns(placement)
    return waited_ns is None or waited_ns >= _WAITED_SHARE * length_ns


def stacked_wait_ns(placement: Placement) -> int | None:
    """Return how long the threads that shared CPUs waited for one, as a sum; None is unknown."""
    tids = placement.stacking.tids if placement.stacking is not None else frozenset()
    waits = [thread.waited_ns for thread in placement.threads if thread.tid in tids]
    known = [ns for ns in waits if ns is not None]
    return sum(known) if len(known) == len(waits) else None


def _stacked(placement: Placement, length_ns: int) -> Iterator[RunReason]:
    stacking = placement.stacking
    if stacking is not None and is_stacked(placement, length_ns):
        yield RunReason(
            kind=ReasonKind.STACKED,
            name=f"{len(stacking.tids)} of its threads",
            cpu=min(stacking.stacked),
            ns=stacked_wait_ns(placement),
            share=stacking.share,
            is_estimate=True,
        )


def why_placement_unknown(placement: Placement) -> str | None:
    """Return why a thread may have moved to another memory node or kind of core, or None if none did.

    If no file contains the kind of any core, as in most virtual machines, cores count as alike: the microbenchmark
    shows their differences.
    """
    if len(placement.target) < 2:
        return None
    if None in placement.nodes:
        return "the memory node of a target CPU is not known"
    if None in placement.kinds and len(placement.kinds) > 1:
        return "the kind of a target core is not known"
    if len(placement.nodes) < 2 and len(placement.kinds) < 2:
        return None
    if not placement.looks and not placement.is_traced:
        return _NOT_LOOKED
    seen, sure = placement.seen_share, placement.sure_share
    if seen is None or sure is None:
        return "how much of its CPU time was seen is not known"
    if seen < _SEEN_SHARE:
        return f"where its threads ran is known for {describe_share(seen, 0)} of their CPU time only"
    if sure < _SEEN_SHARE:
        is_uncounted = placement.uncounted_ns > placement.hidden_ns
        return _UNCOUNTED if is_uncounted else _MOVED_UNSEEN.format(describe_share(sure, 0))
    return None
