"""The pyperf hook (`pyperf timeit --hook noisewatch …`), which writes the noise of each value into the run's metadata.

It runs in pyperf's worker on the target CPU, so it only reads counters while values are measured; the modules that
judge are imported after the last value. Hooks are context managers; pyperf creates one for the warm-ups and one for the
values: https://pyperf.readthedocs.io/en/latest/api.html.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, MutableMapping
from typing import TYPE_CHECKING

from noisewatch.cpus import parse_nonempty_cpu_list
from noisewatch.errors import Malformed
from noisewatch.kernel.cpus.cpu_time import STEAL, TICK_NS, CpuTime, parse_cpu_time
from noisewatch.kernel.interrupts.table import Interrupts, parse_interrupts
from noisewatch.kernel.tasks.files import parse_schedstat
from noisewatch.kinds import INTERRUPT_KINDS, Kind
from noisewatch.machine.own_thread import CpuReading, OwnThread, ThreadReading, read_cpu_files, read_siblings
from noisewatch.model.interval.disturbance import TYPICAL_COST_NS, kind_of_row
from noisewatch.model.run.benchmark_run import MeasuredValue, ValuesAround
from noisewatch.model.run.books import accounts_for_time
from noisewatch.units import NS_PER_S

if TYPE_CHECKING:
    from noisewatch.judgement.run.measured_values import ValuesVerdict

_MOST_REASONS = 3
_TASKS = (0, 1, 2)  # the states of a row in which tasks run: user, nice and system
_SURELY_TICKED_NS = 5 * TICK_NS  # some CPU ticks in it, also with nohz_full; each state of a row lacks up to a tick
VERDICT, VALUES, REASONS = "noisewatch_verdict", "noisewatch_values", "noisewatch_reasons"
DISTURBED_VALUES, VERSION = "noisewatch_disturbed_values", "noisewatch_version"
BEGAN, ENDED = "noisewatch_began_ns", "noisewatch_ended_ns"  # on CLOCK_MONOTONIC
NOT_WATCHED, LOAD = "noisewatch_not_watched", "noisewatch_load"  # metadata of a file of `run --format pyperf`
_ALL = (VERDICT, VALUES, REASONS, DISTURBED_VALUES, VERSION, BEGAN, ENDED)


class PyperfHook:
    """A hook that reads the counters around each value; `teardown` judges them."""

    def __init__(self) -> None:
        self._thread = OwnThread()
        self._readings: list[tuple[ThreadReading, ThreadReading]] = []
        self._began: ThreadReading | None = None
        self._cpus = os.sched_getaffinity(0)
        self._siblings = read_siblings(min(self._cpus)) if len(self._cpus) == 1 else None
        self._cpu_files = read_cpu_files()

    def __enter__(self) -> None:
        self._began = self._thread.read_before()

    def __exit__(self, *_: object) -> None:
        ended = self._thread.read_after()
        if self._began is not None:
            self._readings.append((self._began, ended))

    def teardown(self, metadata: MutableMapping[str, object]) -> None:
        """Add the verdict on all values to the metadata; it replaces the warm-ups' verdict."""
        cpu_files = read_cpu_files()
        from noisewatch import __version__
        from noisewatch.judgement.run.measured_values import judge_values

        values = values_from(self._readings)
        verdict = judge_values(values, around_from(self._cpu_files, cpu_files, self._cpus, self._siblings))
        for name in _ALL:
            metadata.pop(name, None)
        metadata.update(_metadata_of(verdict))
        metadata[VERSION] = __version__
        if values:
            metadata[BEGAN] = values[0].began_ns
            metadata[ENDED] = values[-1].began_ns + values[-1].length_ns


def _metadata_of(verdict: ValuesVerdict) -> dict[str, object]:
    """Return the verdict as metadata that pyperf accepts: numbers, and non-empty texts without line ends."""
    from noisewatch.judgement.run.reasons import RunOutcome

    outcomes = [value.outcome for value in verdict.values]
    disturbed = [str(at) for at, outcome in enumerate(outcomes, 1) if outcome == RunOutcome.DISTURBED]
    undisturbed = outcomes.count(RunOutcome.UNDISTURBED)
    metadata: dict[str, object] = {
        VERDICT: verdict.outcome.value,
        VALUES: f"{undisturbed} of {len(outcomes)} undisturbed",
    }
    if disturbed:
        metadata[DISTURBED_VALUES] = ", ".join(disturbed)
    if verdict.reasons:
        metadata[REASONS] = "; ".join(verdict.reasons[:_MOST_REASONS])
    return metadata


def values_from(readings: Iterable[tuple[ThreadReading, ThreadReading]]) -> list[MeasuredValue]:
    """Return one value per pair of readings, before and after it."""
    return [_value(number, before, after) for number, (before, after) in enumerate(readings, start=1)]


def _value(number: int, before: ThreadReading, after: ThreadReading) -> MeasuredValue:
    waited = [_waited_ns(reading.schedstat) for reading in (before, after)]
    ran_ns = after.ran_ns - before.ran_ns
    children_ns = round((after.children_s - before.children_s) * NS_PER_S)
    return MeasuredValue(
        number=number,
        began_ns=before.at_ns,
        length_ns=after.at_ns - before.at_ns,
        ran_ns=ran_ns,
        waited_ns=None if waited[0] is None or waited[1] is None else waited[1] - waited[0],
        others_ns=max(after.process_ns - before.process_ns - ran_ns, 0) + children_ns,
        preemptions=after.usage.ru_nivcsw - before.usage.ru_nivcsw,
        sleeps=after.usage.ru_nvcsw - before.usage.ru_nvcsw,
    )


def _waited_ns(text: bytes | None) -> int | None:
    try:
        return None if text is None else parse_schedstat(text.decode("ascii", "replace"))[1]
    except Malformed:
        return None


def around_from(before: CpuReading, after: CpuReading, cpus: Collection[int], siblings: bytes | None) -> ValuesAround:
    """Return the CPU's noise from the first value to the last; unknown for a thread that may run on several CPUs."""
    length_ns = after.at_ns - before.at_ns
    if len(cpus) != 1:
        why = f"not pinned: the noise on the {len(cpus)} CPUs that it may use is unknown"
        return ValuesAround(
            length_ns=length_ns, interrupted_ns=None, steal_ns=None, busy_ns_by_sibling=None, unknowns=(why,)
        )
    cpu = min(cpus)
    unknowns = []
    interrupted_ns = _interrupted_ns(before.interrupts, after.interrupts, cpu, length_ns)
    if interrupted_ns is None:
        unknowns.append("the interrupts of its CPU could not be read, or were not counted")
    steal_ns, busy = _times(before.stat, after.stat, cpu, siblings, length_ns)
    if steal_ns is None:
        unknowns.append("the steal time of its CPU could not be read, or was not counted")
    if busy is None:
        unknowns.append("the other threads of its core could not be read, or were not counted")
    return ValuesAround(
        length_ns=length_ns,
        interrupted_ns=interrupted_ns,
        steal_ns=steal_ns,
        busy_ns_by_sibling=busy,
        unknowns=tuple(unknowns),
    )


def _interrupted_ns(before: bytes | None, after: bytes | None, cpu: int, length_ns: int) -> int | None:
    """Return the typical cost (ns) of the CPU's interrupts, or None if unknown, as in a table that does not advance."""
    if before == after and length_ns >= _SURELY_TICKED_NS:
        return None
    try:
        costs = [_cost_ns(parse_interrupts(text), cpu) for text in (before, after) if text is not None]
    except Malformed:
        return None
    if len(costs) < 2 or costs[0] is None or costs[1] is None or costs[1] < costs[0]:
        return None
    return costs[1] - costs[0]


def _cost_ns(table: Interrupts, cpu: int) -> int | None:
    """Return the typical cost (ns) of the CPU's interrupts since boot, ticks excepted, or None if unknown."""
    if cpu not in table.cpus or table.is_cut_off or table.uncounted:
        return None
    place = table.cpus.index(cpu)
    kinds = ((kind_of_row(row), row.counts[place]) for row in table.rows if row.counts is not None)
    return sum(count * TYPICAL_COST_NS[kind] for kind, count in kinds if kind in INTERRUPT_KINDS and kind != Kind.TICK)


def _times(
    before: bytes | None, after: bytes | None, cpu: int, siblings: bytes | None, length_ns: int
) -> tuple[int | None, dict[int, int] | None]:
    """Return the steal time (ns) of the CPU, and the busy time (ns) of the core's other threads; None means unknown.

    Counts that do not advance, or decrease, are unknown, and so is a core with a thread that has no counts.
    """
    try:
        first, last = (parse_cpu_time((text or b"").decode("ascii", "replace")) for text in (before, after))
    except Malformed:
        return None, None
    own = _rows_with_counts(first, last, cpu, length_ns)
    if own is None:
        return None, None
    steal_ns = _growth_ns(own, (STEAL,))
    try:
        core = parse_nonempty_cpu_list((siblings or b"").decode("ascii", "replace"))
    except Malformed:
        return steal_ns, None
    if cpu not in core:
        return steal_ns, None
    busy: dict[int, int] = {}
    for other in sorted(core - {cpu}):
        rows = _rows_with_counts(first, last, other, length_ns)
        ns = None if rows is None else _growth_ns(rows, _TASKS)
        if ns is None:
            return steal_ns, None
        busy[other] = ns
    return steal_ns, busy


def _rows_with_counts(
    first: Mapping[int, CpuTime], last: Mapping[int, CpuTime], cpu: int, length_ns: int
) -> tuple[CpuTime, CpuTime] | None:
    """Return the CPU's two rows, or None if one is missing or their counts do not advance with time."""
    rows = first.get(cpu), last.get(cpu)
    if rows[0] is None or rows[1] is None:
        return None
    has_advanced = length_ns < _SURELY_TICKED_NS or accounts_for_time(rows[0], rows[1], length_ns)
    return (rows[0], rows[1]) if has_advanced else None


def _growth_ns(rows: tuple[CpuTime, CpuTime], states: Collection[int]) -> int | None:
    """Return the growth (ns) of the states, or None if one decreased, or is missing on an old kernel."""
    if max(states) >= min(len(row.ticks) for row in rows):
        return None
    ticks = [rows[1].ticks[state] - rows[0].ticks[state] for state in states]
    return sum(ticks) * TICK_NS if min(ticks) >= 0 else None
