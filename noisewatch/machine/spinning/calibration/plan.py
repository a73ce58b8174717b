"""Who does what when: the slots of each CPU, so that the calibration does not measure itself.

Gaps are measured on all CPUs at once, but never on a CPU and its sibling together: what shares a core takes turns.
Work and memory are measured on one CPU of a last-level cache at a time. All CPUs know their slots beforehand, as
times since a common start, and so need not talk to each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

START, GAPS, WORK, NATIVE_WORK = "start", "gaps", "work", "native_work"
MEMORY, COMMAND, REST = "memory", "command", "rest"
Slot = tuple[str, int, int]  # what, from when, until when: ns since the common start
Slots = dict[int, list[Slot]]
Shares = tuple[tuple[str, float], ...]

# A CPU's turn begins as a benchmark's process does: after a rest, and while others are busy starting it.
_TURN: Shares = ((REST, 0.22), (START, 0.27), (WORK, 0.28), (NATIVE_WORK, 0.13), (MEMORY, 0.10))
_TURN_WITHOUT_NATIVE: Shares = ((REST, 0.22), (START, 0.27), (WORK, 0.41), (MEMORY, 0.10))
_TURN_OF_COMMAND: Shares = ((COMMAND, 1.0),)
_GAPS_SHARE, _GAPS_SHARE_OF_COMMAND = 0.25, 0.20
_ROUND_NS = 400_000_000  # all kinds come up this often, so that each sees what comes and goes
_SHORTEST_TURN_NS = 120_000_000  # a CPU's turn in a round; below it, warming up takes too much of it


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
    turn = _TURN if has_native else _TURN_WITHOUT_NATIVE
    gaps_share, round_ns = _GAPS_SHARE, max(_ROUND_NS, round(_SHORTEST_TURN_NS * turn_count / (1 - _GAPS_SHARE)))
    if has_command:
        turn, gaps_share, round_ns = _TURN_OF_COMMAND, _GAPS_SHARE_OF_COMMAND, duration_ns
    round_count = max(duration_ns // round_ns, 1)
    slots: Slots = {cpu: [] for cpu in chosen}
    for number in range(round_count):
        begin, end = (duration_ns * at // round_count for at in (number, number + 1))
        gaps_end = begin + round((end - begin) * gaps_share)
        for cpu in chosen:
            slots[cpu].append((GAPS, *_part(begin, gaps_end, pass_of[cpu], pass_count)))
            slots[cpu].extend(_turn_slots(*_part(gaps_end, end, turn_of[cpu], turn_count), turn))
    return slots


def _turn_slots(begin: int, end: int, turn: Shares) -> list[Slot]:
    """One CPU's turn; resting is doing nothing, and so needs no slot."""
    slots: list[Slot] = []
    at, passed = begin, 0.0
    for kind, share in turn:
        passed += share
        until = min(begin + round((end - begin) * passed), end)
        if kind != REST:
            slots.append((kind, at, until))
        at = until
    return slots


def _part(begin: int, end: int, number: int, count: int) -> tuple[int, int]:
    """One of so many equal parts."""
    return begin + (end - begin) * number // count, begin + (end - begin) * (number + 1) // count


def _places(cpus: Sequence[int], groups: Mapping[int, frozenset[int]]) -> dict[int, int]:
    """Each CPU's number among the chosen ones of its group, from 0."""
    return {
        cpu: sum(other < cpu and (other in groups.get(cpu, ()) or cpu in groups.get(other, ())) for other in cpus)
        for cpu in cpus
    }
