"""The plan of a calibration, and its shared memory: 64-bit words that a spinner writes and its parent reads.

The shared buffer is a header, then room for each kind of sample. A sample is written before the count that includes it.

The slots of each CPU define what it does when, so that the calibration does not measure itself. Gaps are measured on
all CPUs at once, but never on a CPU and its sibling together: CPUs of one core take turns. Work is measured on one CPU
per last-level cache at a time: first the kinds that need only the cores, alternating every few milliseconds, then those
that need caches and memory. All slots are planned as times since a common start, so the CPUs need not communicate.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from noisewatch.machine.spinning.loops.python_loops import GAP_WORDS, SPIN_WORDS, WORK_WORDS, Words

CHAIN_LENGTH = 25_600  # dependent multiplications: 20 µs, of which a clock step of 20 ns is a thousandth
GAPS, COMMAND = "gaps", "command"
# Series of work; the values are their names in recordings.
INTERPRETER, THROUGHPUT, LATENCY, CACHE, MEMORY = "work", "native_work", "latency_work", "memory", "main_memory"
BANDWIDTH = "bandwidth"
STARTED = {"start": INTERPRETER, "start_throughput": THROUGHPUT, "start_latency": LATENCY}  # work just after a pause
# Slots that fill the caches before work on memory, whose first samples would otherwise depend on earlier work.
FETCH = {"fetch": CACHE, "fetch_memory": MEMORY, "fetch_bandwidth": BANDWIDTH}
OF_WORK = (INTERPRETER, THROUGHPUT, LATENCY, CACHE, MEMORY, BANDWIDTH)
WORKING = frozenset({*OF_WORK, *STARTED})
Slot = tuple[str, int, int]  # series, begin and end (ns since the common start)
Slots = dict[int, list[Slot]]
Shares = tuple[tuple[tuple[str, ...], float], ...]

_CORE_KINDS = (INTERPRETER, THROUGHPUT, LATENCY)
# The cache and memory take turns: a cache needs several passes until it holds the data, and translations of memory
# addresses are cached too.
_TURN: Shares = ((_CORE_KINDS, 0.55), ((CACHE,), 0.25), ((BANDWIDTH,), 0.20))
# Every other turn begins like a benchmark's process: after a pause, while other tasks are busy starting it. The other
# turns have no pause: tasks that share the CPU would catch up in it, and it would split periodic noise.
_TURN_WITH_START: Shares = (
    ((), 0.20),
    (tuple(STARTED), 0.30),
    (_CORE_KINDS, 0.25),
    ((MEMORY,), 0.25),
)
_SLICE_NS = 5_000_000  # 25 samples: enough to measure a kind's speed, and short compared with passing noise
# Time for three or more passes through the cache, even if address translation is slow, as in a virtual machine.
_FETCH_NS = {CACHE: 30_000_000, MEMORY: 15_000_000, BANDWIDTH: 10_000_000}
_TURN_OF_COMMAND: Shares = (((COMMAND,), 1.0),)
_GAPS_SHARE, _GAPS_SHARE_OF_COMMAND = 0.25, 0.20
_ROUND_NS = 375_000_000  # two rounds measure all kinds, so 3 s measure each at least 4 times: passing noise affects all
_SHORTEST_TURN_NS = 120_000_000  # a CPU's turn in a round: warming up would take too much of a shorter turn


def plan_slots(
    cpus: Iterable[int],
    siblings: Mapping[int, frozenset[int]],
    caches: Mapping[int, frozenset[int]],
    duration_ns: int,
    has_command: bool = False,
) -> Slots:
    """Return each CPU's slots over `duration_ns`.

    `siblings` and `caches` map a CPU to the CPUs that share its core and its last-level cache. A CPU that is not in a
    map shares with no other.
    """
    chosen = sorted(set(cpus))
    pass_of = _places_in_group(chosen, siblings)
    turn_of = _places_in_group(chosen, caches)
    pass_count = max(pass_of.values(), default=0) + 1
    turn_count = max(turn_of.values(), default=0) + 1
    turns: tuple[Shares, ...] = (_TURN_WITH_START, _TURN)
    gaps_share = _GAPS_SHARE
    round_ns = max(_ROUND_NS, round(_SHORTEST_TURN_NS * turn_count / (1 - _GAPS_SHARE)))
    if has_command:
        turns, gaps_share, round_ns = (_TURN_OF_COMMAND,), _GAPS_SHARE_OF_COMMAND, duration_ns
    round_count = max(duration_ns // round_ns, len(turns))
    slots: Slots = {cpu: [] for cpu in chosen}
    for number in range(round_count):
        begin, end = (duration_ns * at // round_count for at in (number, number + 1))
        gaps_end = begin + round((end - begin) * gaps_share)
        for cpu in chosen:
            slots[cpu].append((GAPS, *_part(begin, gaps_end, pass_of[cpu], pass_count)))
            slots[cpu].extend(_turn_slots(*_part(gaps_end, end, turn_of[cpu], turn_count), turns[number % len(turns)]))
    return slots


def _turn_slots(begin: int, end: int, turn: Shares) -> list[Slot]:
    """Return the slots of one CPU's turn. Kinds of work in the same part alternate in slices; a pause has no slot."""
    slots: list[Slot] = []
    at, passed = begin, 0.0
    for kinds, share in turn:
        passed += share
        until = min(begin + round((end - begin) * passed), end)
        for fetch, kind in FETCH.items():
            if kinds == (kind,):
                fetched = min(at + _FETCH_NS[kind], (at + until) // 2)
                slots.append((fetch, at, fetched))
                at = fetched
        rounds = max(round((until - at) / _SLICE_NS / len(kinds)), 1) if len(kinds) > 1 else 1
        count = rounds * len(kinds)
        slots += [(kind, *_part(at, until, number, count)) for number, kind in enumerate(kinds * rounds)]
        at = until
    return slots


def round_ends_of(slots: Slots) -> list[int]:
    """Return when each round except for the last ends on all CPUs.

    A calibration may stop there, because all CPUs have had the same number of turns.
    """
    begins = ([begin for kind, begin, _ in cpu_slots if kind == GAPS] for cpu_slots in slots.values())
    return [min(together) for together in zip(*begins, strict=True)][1:]


def starts_of(slots: Iterable[Slot]) -> list[tuple[int, int]]:
    """Return the times (begin, end) of a CPU's work right after a pause."""
    starts: list[tuple[int, int]] = []
    for kind, begin, end in slots:
        if kind in STARTED:
            is_next = bool(starts) and starts[-1][1] == begin
            starts[-1:] = [(starts[-1][0], end)] if is_next else [*starts[-1:], (begin, end)]
    return starts


def _part(begin: int, end: int, number: int, count: int) -> tuple[int, int]:
    """Return begin and end of part `number` of `count` equal parts."""
    return begin + (end - begin) * number // count, begin + (end - begin) * (number + 1) // count


def _places_in_group(cpus: Sequence[int], groups: Mapping[int, frozenset[int]]) -> dict[int, int]:
    """Return each CPU's position in its group among the chosen CPUs, from 0."""
    return {
        cpu: sum(other < cpu and (other in groups.get(cpu, ()) or cpu in groups.get(other, ())) for other in cpus)
        for cpu in cpus
    }


STATE, ERROR, START_NS, STOP_NS, LOCKED_KB, RESIDENT_KB, MULTIPLY_NS, ADD_NS, TID, TOTALS = range(10)
_COUNTS = TOTALS + SPIN_WORDS
CYCLES = "cycles"  # start and length of each chain of dependent multiplications
SPINS = "spins"  # start and length of each uninterrupted search for gaps
SERIES = (*OF_WORK, COMMAND, CYCLES, SPINS)
HEADER_WORDS = _COUNTS + len(SERIES)

STARTING, READY, RUNNING, DONE, REFUSED, NO_PRIORITY, MOVED, FAILED = range(8)
STATE_NAMES = ("starting", "ready", "running", "done", "refused", "no-priority", "moved", "failed")

GAPS_PER_S = 15_000  # the noisiest known machine had 12,000 per second
_MOST_GAPS = 60_000
_SAMPLES_PER_S = {**dict.fromkeys(SERIES, 12_000), CACHE: 40_000, COMMAND: 2_000, CYCLES: 400, SPINS: 100}
_GRAINED = frozenset(OF_WORK)  # kinds whose samples can be lengthened
_MOST_SAMPLES = 150_000
Capacities = dict[str, int]


def grain_for(ns_by_kind: dict[str, int]) -> int:
    """Return the factor by which samples are lengthened so that a long calibration's samples fit into the buffer."""
    count_by_kind = _most_samples(ns_by_kind)
    return max(count_by_kind[kind] // _MOST_SAMPLES + 1 for kind in _GRAINED)


def capacities_for(ns_by_kind: dict[str, int]) -> Capacities:
    """Return the capacity for samples of each kind; `ns_by_kind` is how long each kind is measured on a CPU."""
    count_by_kind, grain = _most_samples(ns_by_kind), grain_for(ns_by_kind)
    room = {
        kind: min(count // (grain if kind in _GRAINED else 1) + 64, _MOST_SAMPLES)
        for kind, count in count_by_kind.items()
    }
    return {GAPS: min(GAPS_PER_S * ns_by_kind.get(GAPS, 0) // 10**9 + 64, _MOST_GAPS), **room}


def _most_samples(ns_by_kind: dict[str, int]) -> dict[str, int]:
    """Return the maximum number of samples of each kind."""
    most = dict(ns_by_kind)
    for started, kind in STARTED.items():
        most[kind] = most.get(kind, 0) + most.get(started, 0)
    most[CYCLES], most[SPINS] = most.get(INTERPRETER, 0), most.get(GAPS, 0)
    return {kind: _SAMPLES_PER_S[kind] * most.get(kind, 0) // 10**9 for kind in SERIES}


def buffer_words(capacities: Capacities) -> int:
    """Return the size of a buffer in words."""
    return HEADER_WORDS + capacities[GAPS] * GAP_WORDS + sum(capacities[kind] for kind in SERIES) * WORK_WORDS


class CalibrationBuffer:
    """One CPU's buffer, in its part of the shared memory."""

    def __init__(self, words: Words, capacities: Capacities) -> None:
        self.words = words
        self.header = words[:HEADER_WORDS]
        self.totals = words[TOTALS:_COUNTS]
        at = HEADER_WORDS + capacities[GAPS] * GAP_WORDS
        self.gaps = words[HEADER_WORDS:at]
        self.samples: dict[str, Words] = {}
        self.counts: dict[str, Words] = {}
        for number, kind in enumerate(SERIES):
            end = at + capacities[kind] * WORK_WORDS
            self.samples[kind] = words[at:end]
            self.counts[kind] = words[_COUNTS + number : _COUNTS + number + 1]
            at = end

    def gap_words(self) -> list[int]:
        """Return all gaps so far, four words per gap."""
        return self.gaps[: self.totals[0] * GAP_WORDS].tolist()

    def sample_words(self, kind: str) -> list[int]:
        """Return all samples of the kind so far, two words per sample."""
        return self.samples[kind][: self.counts[kind][0] * WORK_WORDS].tolist()

    def add(self, kind: str, start_ns: int, length_ns: int) -> None:
        """Append a sample; drop it if the buffer is full."""
        at = self.counts[kind][0] * WORK_WORDS
        if at < len(self.samples[kind]):
            self.samples[kind][at] = start_ns
            self.samples[kind][at + 1] = length_ns
            self.counts[kind][0] += 1
