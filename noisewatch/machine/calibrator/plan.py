"""Who does what when: the slots of each CPU, so that the calibration does not measure itself.

Gaps are measured on all CPUs at once, but never on a CPU and its sibling together: what shares a core takes turns.
Work and memory are measured on one CPU of a last-level cache at a time. All CPUs know their slots beforehand, as
times since a common start, and so need not talk to each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

GAPS, WORK, NATIVE_WORK, MEMORY, COMMAND = "gaps", "work", "native_work", "memory", "command"
Slot = tuple[str, int, int]  # what, from when, until when: ns since the common start
Slots = dict[int, list[Slot]]

_SHARES = ((GAPS, 0.30), (WORK, 0.45), (NATIVE_WORK, 0.15), (MEMORY, 0.10))
_SHARES_OF_COMMAND = ((GAPS, 0.20), (COMMAND, 0.80))
_ROUND_NS = 500_000_000  # all kinds come up this often, so that each sees what comes and goes
_SHORTEST_TURN_NS = 40_000_000  # a CPU's turn in a round; below it, warming up takes too much of it


def plan_slots(
    cpus: Iterable[int],
    siblings: Mapping[int, frozenset[int]],
    caches: Mapping[int, frozenset[int]],
    duration_ns: int,
    has_native: bool,
    has_command: bool = False,
) -> Slots:
    """The slots of each CPU over `duration_ns`; what is not known to share a cache, or a core, is taken to be alone.

    `siblings` and `caches` give the CPUs that share a core and a last-level cache with each CPU.
    """
    chosen = sorted(set(cpus))
    pass_of = _places(chosen, siblings)
    turn_of = _places(chosen, caches)
    pass_count = max(pass_of.values(), default=0) + 1
    turn_count = max(turn_of.values(), default=0) + 1
    shares = _SHARES_OF_COMMAND if has_command else _shares(has_native)
    round_ns = max(_ROUND_NS, _SHORTEST_TURN_NS * 2 * turn_count) if not has_command else duration_ns
    round_count = max(duration_ns // round_ns, 1)
    slots: Slots = {cpu: [] for cpu in chosen}
    for number in range(round_count):
        begin, end = (duration_ns * at // round_count for at in (number, number + 1))
        _plan_round(slots, begin, end, shares, (pass_of, pass_count), (turn_of, turn_count))
    return slots


def _shares(has_native: bool) -> Sequence[tuple[str, float]]:
    if has_native:
        return _SHARES
    spare = dict(_SHARES)[NATIVE_WORK]
    return [(kind, share + (spare if kind == WORK else 0)) for kind, share in _SHARES if kind != NATIVE_WORK]


def _plan_round(
    slots: Slots,
    begin: int,
    end: int,
    shares: Sequence[tuple[str, float]],
    passes: tuple[Mapping[int, int], int],
    turns: tuple[Mapping[int, int], int],
) -> None:
    """Gaps first, pass by pass; then CPU after CPU all else."""
    length = end - begin
    gaps_end = begin + round(length * shares[0][1])
    for cpu, mine in slots.items():
        mine.append((GAPS, *_part(begin, gaps_end, passes[0][cpu], passes[1])))
        at, turn_end = _part(gaps_end, end, turns[0][cpu], turns[1])
        left = 1 - shares[0][1]
        turn_ns = turn_end - at
        for kind, share in shares[1:]:
            until = min(at + round(turn_ns * share / left), turn_end)
            mine.append((kind, at, until))
            at = until


def _part(begin: int, end: int, number: int, count: int) -> tuple[int, int]:
    return begin + (end - begin) * number // count, begin + (end - begin) * (number + 1) // count


def _places(cpus: Sequence[int], groups: Mapping[int, frozenset[int]]) -> dict[int, int]:
    """Each CPU's number among the chosen ones of its group, from 0."""
    return {
        cpu: sum(other < cpu and (other in groups.get(cpu, ()) or cpu in groups.get(other, ())) for other in cpus)
        for cpu in cpus
    }
