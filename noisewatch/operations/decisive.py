"""What decides the monitor's verdict, coarsely: while it is unchanged, the last verdict is shown for some seconds.

To judge is the dearest part of a second's work, and most seconds are like the one before.
"""

from __future__ import annotations

import math
from collections.abc import Hashable

from noisewatch.kernel.snapshot.snapshot import Snapshot
from noisewatch.model.interval.disturbance import disturbances_of
from noisewatch.model.interval.interval import Interval

_LEAST_TAKEN = 0.001  # of a target CPU: half of what warns at the default budget
_LEAST_BUSY = 0.05  # of another CPU: what fails of a sibling
_STEP = 4


def decisive_of(snapshot: Snapshot, interval: Interval) -> Hashable:
    """Return the settings, what is known, who takes how much of each target CPU, and how busy the others are.

    Amounts are powers of four. Equal values lead to the same verdict, but for what changes slowly, as heat or memory.
    """
    culprits = frozenset(
        (cpu, culprit.kind, culprit.name, culprit.tid, amount)
        for cpu in snapshot.target.cpus
        for culprit in disturbances_of(interval, cpu)
        if (amount := _power(culprit.share, _LEAST_TAKEN)) != 0
    )
    others = sorted(interval.load_by_cpu.keys() - snapshot.target.cpus)
    busy = tuple(_power(interval.busy_share(cpu), _LEAST_BUSY) for cpu in others)
    settings = (
        snapshot.settings.read_at_ns,
        snapshot.target.cpus,
        snapshot.online.online,
    )
    counted = tuple((counts.reason, frozenset(counts.cpus)) for counts in (interval.interrupts, interval.softirqs))
    known = (frozenset(snapshot.reason_by_path), snapshot.tasks is None, frozenset(interval.load_by_cpu), counted)
    return settings, known, culprits, busy


def _power(share: float | None, least: float) -> int | None:
    """Return the power of four of the share, counted from the least one, below which it is 0; None if unknown."""
    return None if share is None else max(math.ceil(math.log(share / least, _STEP)), 0) if share > 0 else 0
