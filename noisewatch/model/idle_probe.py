"""Decides on which CPUs the idle probe may spin, and sums up its slices: pure functions."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from noisewatch.machine.spinning.idle_probe.buffer import Slice
    from noisewatch.model.interval.interval import Interval

# Above this, the check target-cpu-busy fails and the probe does not spin. Kernel threads and occasional tasks stay
# below, benchmarks do not.
BUSY_SHARE = 0.05
_DOUBT_NS = 30_000_000  # error of /proc/stat in steps of 10 ms: at both ends of the interval, and in our own time


class ProbeState(StrEnum):
    """The state of the idle probe on a CPU: measuring, or why not."""

    OFF = "off"
    MEASURES = "measures"
    STARTING = "starting"
    BUSY = "busy"
    WAS_BUSY = "was busy"
    SIBLING_BUSY = "sibling busy"
    OFFLINE = "offline"
    LOCKED = "locked"
    MOVED = "moved"
    NO_ANSWER = "no answer"
    UNKNOWN_LOAD = "load unknown"


class Measured(Struct, frozen=True):
    """The sums of the probe's slices over some seconds."""

    spun_ns: int
    stolen_ns: int
    gap_count: int
    longest_gap_ns: int

    @property
    def stolen_share(self) -> float:
        """The lost share of the spinning time: the noise that a loop on this CPU would have suffered."""
        return self.stolen_ns / self.spun_ns


def sum_of_slices(slices: Sequence[Slice]) -> Measured | None:
    """Return the sums of all slices, or None if the probe did not spin."""
    spin_ns = sum(probe_slice.spun_ns for probe_slice in slices)
    if spin_ns <= 0:
        return None
    return Measured(
        spin_ns,
        sum(probe_slice.stolen_ns for probe_slice in slices),
        sum(probe_slice.gap_count for probe_slice in slices),
        max(probe_slice.longest_gap_ns for probe_slice in slices),
    )


def spin_obstacle(interval: Interval, cpu: int) -> ProbeState | None:
    """Return why the probe may not spin on the CPU, or None if it may.

    A busy sibling is an obstacle too: it shares the core, so its work would be slowed down.
    """
    if cpu not in (interval.after.online.online or {cpu}):
        return ProbeState.OFFLINE
    lock = interval.after.machine_lock
    if lock is not None and lock.owner is not None and lock.is_alive is not False:
        return ProbeState.LOCKED  # taken by `preflight --lock`: a benchmark runs or is about to run
    is_busy = _is_busy(interval, cpu)
    if is_busy is None:
        return ProbeState.UNKNOWN_LOAD
    if is_busy:
        return ProbeState.BUSY
    place = interval.after.topology.get(cpu)
    if place is None or place.siblings is None:
        return ProbeState.UNKNOWN_LOAD
    busy = [_is_busy(interval, sibling) for sibling in place.siblings - {cpu}]
    if any(busy):
        return ProbeState.SIBLING_BUSY
    return ProbeState.UNKNOWN_LOAD if None in busy else None


def _is_busy(interval: Interval, cpu: int) -> bool | None:
    """Return whether tasks other than noisewatch's used more than 5% of the CPU, or None if unknown.

    In a short interval, their time must also exceed the counters' error. Interrupts and the hypervisor do not count:
    the probe measures their time.
    """
    load = interval.load_by_cpu.get(cpu)
    if load is None:
        return None
    others_ns = sum(run.ran_ns for run in (*interval.runs_on(cpu), *interval.commands_on(cpu)))
    used_ns = max(load.tasks_ns - interval.own_ns(cpu), others_ns)
    return used_ns > max(BUSY_SHARE * interval.length_ns, _DOUBT_NS)
