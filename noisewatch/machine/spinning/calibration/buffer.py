"""What one spinner writes and its parent reads meanwhile: 64-bit words in shared memory.

A sheet is a header, then room for the samples of each kind. A count is written after what it counts.
"""

from __future__ import annotations

from noisewatch.machine.spinning.calibration.plan import COMMAND, GAPS, MEMORY, NATIVE_WORK, START, WORK
from noisewatch.machine.spinning.loops.python_loops import GAP_WORDS, SPIN_WORDS, WORK_WORDS, Words

STATE, ERROR, START_NS, LOCKED_KB, RESIDENT_KB, MULTIPLY_NS, ADD_NS, TID, TOTALS = range(9)
_COUNTS = TOTALS + SPIN_WORDS
CYCLES = "cycles"  # pairs of when, and how long a chain of dependent multiplications took
SPINS = "spins"  # and of when, and how long, gaps were looked for without a break
SERIES = (WORK, NATIVE_WORK, MEMORY, COMMAND, CYCLES, SPINS)
HEADER_WORDS = _COUNTS + len(SERIES)

STARTING, READY, RUNNING, DONE, REFUSED, NO_PRIORITY, MOVED, FAILED = range(8)
STATE_NAMES = ("starting", "ready", "running", "done", "refused", "no-priority", "moved", "failed")

_GAPS_PER_S = 15_000  # the noisiest machine met had 12,000 a second
_MOST_GAPS = 60_000
_SAMPLES_PER_S = {WORK: 12_000, NATIVE_WORK: 12_000, MEMORY: 12_000, COMMAND: 2_000, CYCLES: 100, SPINS: 100}
_MOST_SAMPLES = 150_000
Capacities = dict[str, int]


def grain_for(ns_by_kind: dict[str, int]) -> int:
    """How many times as much work goes into a sample, so that those of a long calibration find room."""
    return max((capacity // _MOST_SAMPLES + 1 for capacity in _wanted(ns_by_kind).values()), default=1)


def capacities_for(ns_by_kind: dict[str, int]) -> Capacities:
    """Room for the samples of each kind, given how long each is measured on a CPU."""
    wanted, grain = _wanted(ns_by_kind), grain_for(ns_by_kind)
    room = {kind: min(count // grain + 64, _MOST_SAMPLES) for kind, count in wanted.items()}
    return {GAPS: min(_GAPS_PER_S * ns_by_kind.get(GAPS, 0) // 10**9 + 64, _MOST_GAPS), **room}


def _wanted(ns_by_kind: dict[str, int]) -> dict[str, int]:
    """How many samples of each kind there will be at the most."""
    ns_by_kind = {**ns_by_kind, WORK: ns_by_kind.get(WORK, 0) + ns_by_kind.get(START, 0)}
    working_ns = ns_by_kind[WORK] + ns_by_kind.get(NATIVE_WORK, 0)
    wanted = {kind: _SAMPLES_PER_S[kind] * ns_by_kind.get(kind, 0) // 10**9 for kind in SERIES}
    wanted[CYCLES] = _SAMPLES_PER_S[CYCLES] * working_ns // 10**9
    wanted[SPINS] = _SAMPLES_PER_S[SPINS] * ns_by_kind.get(GAPS, 0) // 10**9
    return wanted


def sheet_words(capacities: Capacities) -> int:
    """The size of a sheet."""
    return HEADER_WORDS + capacities[GAPS] * GAP_WORDS + sum(capacities[kind] for kind in SERIES) * WORK_WORDS


class SharedBuffer:
    """One CPU's sheet, over its part of the shared memory."""

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
        """All gaps so far, four words each."""
        return self.gaps[: self.totals[0] * GAP_WORDS].tolist()

    def sample_words(self, kind: str) -> list[int]:
        """All samples of that kind so far, two words each."""
        return self.samples[kind][: self.counts[kind][0] * WORK_WORDS].tolist()

    def add(self, kind: str, start_ns: int, length_ns: int) -> None:
        """Writes down one sample; what finds no room is left out."""
        at = self.counts[kind][0] * WORK_WORDS
        if at < len(self.samples[kind]):
            self.samples[kind][at] = start_ns
            self.samples[kind][at + 1] = length_ns
            self.counts[kind][0] += 1
