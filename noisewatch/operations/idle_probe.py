"""The idle probe, which measures the noise of idle target CPUs, and rests while other tasks need them."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Protocol

from msgspec.structs import replace

from noisewatch.cpus import CpuSet
from noisewatch.errors import CannotMeasure
from noisewatch.kernel.snapshot.snapshot import Snapshot
from noisewatch.machine.spinning.idle_probe.buffer import MOVED, REFUSED, SPINNING, YIELDED
from noisewatch.machine.spinning.idle_probe.run import SpinnerReport, Spinners
from noisewatch.model.idle_probe import Measured, ProbeState, spin_obstacle, sum_of_slices
from noisewatch.model.interval.interval import Interval
from noisewatch.operations.frame.frame import CpuLine, Frame

WINDOW_NS = 10_000_000_000  # contains 0.2 s of spinning, with some 50 ticks at 250 Hz
_QUIET_NS = 5_000_000_000  # longer than the pauses between two runs of most benchmarks
_LEASE_SPARE_S = 1.0  # a lease is two intervals and this time; it ends the spinning if the sampler stops or hangs
_SILENT_NS = 1_000_000_000  # a spinner without a slice for this time is delayed: slices begin ten times a second
_FORGOTTEN_NS = 10_000_000_000  # rest before the processes end: the verdict covers 5 s, and has to attribute their time


class Spinning(Protocol):
    """The spinning processes, with the interface of `Spinners`."""

    cpus: CpuSet

    @property
    def pids(self) -> frozenset[int]: ...

    @property
    def failure(self) -> str | None: ...

    def renew_lease(self, cpu: int, for_ns: int) -> None: ...

    def let_rest(self, cpu: int) -> None: ...

    def report(self, cpu: int, since_ns: int) -> SpinnerReport: ...

    def end(self) -> None: ...


class IdleProbe:
    """The idle probe, controlled by the sampler's snapshots. It is off at first."""

    def __init__(self, interval_s: float, start: Callable[[CpuSet], Spinning] = Spinners) -> None:
        self._lease_ns = round((2 * interval_s + _LEASE_SPARE_S) * 1e9)
        self._start = start
        self._is_enabled = False
        self._spinners: Spinning | None = None
        self._refusal: str | None = None
        self._rests_since_ns: int | None = None
        self._spinning_cpus: set[int] = set()
        self._quiet_from_ns: dict[int, int] = {}
        self._allowed_since_ns: dict[int, int] = {}  # when spinning became allowed, by CPU
        self._status_by_cpu: dict[int, tuple[str, Measured | None]] = {}

    def set_enabled(self, is_enabled: object) -> None:
        """Switch the probe off at once, or on with the next snapshot; only True means on."""
        self._is_enabled, self._refusal = is_enabled is True, None
        if not self._is_enabled:
            for cpu in set(self._spinning_cpus):
                self._rest(cpu)

    @property
    def own_pids(self) -> frozenset[int]:
        """The probe's processes, which are not noise."""
        return self._spinners.pids if self._spinners is not None else frozenset()

    def follow(self, snapshot: Snapshot, interval: Interval | None) -> None:
        """Decide by the last interval where to spin in the next one; never block."""
        self._status_by_cpu = {}
        self._start_or_end(snapshot)
        if self._spinners is None or not self._is_enabled:
            return
        for cpu in sorted(self._spinners.cpus):
            self._status_by_cpu[cpu] = self._decide(self._spinners, cpu, interval)

    def annotate(self, frame: Frame) -> Frame:
        """Return the frame with the probe's results, or the reasons why there are none; unchanged while it is off."""
        if not self._is_enabled:
            return frame
        lines = tuple(
            _annotated_line(line, *self._status_by_cpu[line.cpu]) if line.cpu in self._status_by_cpu else line
            for line in frame.cpus
        )
        return replace(frame, cpus=lines, has_idle_probe=self._refusal is None, no_idle_probe_reason=self._refusal)

    def end(self) -> None:
        """End the probe's processes."""
        if self._spinners is not None:
            self._spinners.end()
        self._spinners, self._rests_since_ns = None, None
        self._spinning_cpus, self._quiet_from_ns = set(), {}

    def _start_or_end(self, snapshot: Snapshot) -> None:
        """Start the probe's processes, or end them if they failed or the target CPUs changed.

        When the probe is switched off, they rest for some time before they end, so that their CPU time can still be
        read.
        """
        now_ns, cpus = snapshot.taken_at_ns, snapshot.target.cpus
        if self._is_enabled:
            self._rests_since_ns = None
        elif self._rests_since_ns is None:
            self._rests_since_ns = now_ns
        has_rested = self._rests_since_ns is not None and now_ns - self._rests_since_ns >= _FORGOTTEN_NS
        if self._spinners is not None:
            self._refusal = self._spinners.failure if self._is_enabled else None
            if has_rested or self._refusal is not None or self._spinners.cpus != cpus:
                self.end()
        if self._spinners is None and self._is_enabled and self._refusal is None and cpus:
            try:
                self._spinners = self._start(cpus)
            except CannotMeasure as error:
                self._refusal = str(error)

    def _decide(self, spinners: Spinning, cpu: int, interval: Interval | None) -> tuple[str, Measured | None]:
        """Return the probe's state on this CPU, and its recent results or None; renew its lease, or let it rest."""
        if interval is None:
            return ProbeState.STARTING, None
        now_ns = interval.after.taken_at_ns
        allowed_since_ns = self._allowed_since_ns.get(
            cpu, interval.before.taken_at_ns
        )  # results from before a rest are dropped
        report = spinners.report(cpu, max(min(now_ns - WINDOW_NS, interval.before.taken_at_ns), allowed_since_ns))
        reason = self._rest_reason(report, cpu, interval)
        if reason is not None:
            self._rest(cpu)
            return reason, None
        was_allowed = cpu in self._spinning_cpus
        if not was_allowed:
            self._allowed_since_ns[cpu] = now_ns
        self._spinning_cpus.add(cpu)
        spinners.renew_lease(cpu, self._lease_ns)
        return (
            _state_and_results(report, now_ns, self._allowed_since_ns[cpu])
            if was_allowed
            else (ProbeState.STARTING, None)
        )

    def _rest_reason(self, report: SpinnerReport, cpu: int, interval: Interval) -> str | None:
        """Return why the probe has to rest on the CPU, or None if it may spin."""
        now_ns = interval.after.taken_at_ns
        reason = spin_obstacle(interval, cpu)
        if reason is None and cpu in self._spinning_cpus and report.state == YIELDED:
            reason = ProbeState.BUSY
        if reason is not None:
            self._quiet_from_ns[cpu] = now_ns + _QUIET_NS
        return ProbeState.WAS_BUSY if reason is None and now_ns < self._quiet_from_ns.get(cpu, now_ns) else reason

    def _rest(self, cpu: int) -> None:
        self._spinning_cpus.discard(cpu)
        if self._spinners is not None:
            self._spinners.let_rest(cpu)


def _state_and_results(report: SpinnerReport, now_ns: int, allowed_since_ns: int) -> tuple[str, Measured | None]:
    """Return the state of a spinner that may spin, and its results, or None if there are none yet."""
    if report.state == REFUSED:
        return f"cannot start: {os.strerror(report.error).lower()}", None
    if report.state == MOVED:
        return ProbeState.MOVED, None
    measured = sum_of_slices(report.slices)
    last_ns = report.slices[0].start_ns if report.slices else allowed_since_ns
    if report.state == SPINNING and now_ns - last_ns > _SILENT_NS:
        return ProbeState.NO_ANSWER, None
    if report.state != SPINNING or measured is None:
        return ProbeState.STARTING, None
    return ProbeState.MEASURES, measured


def _annotated_line(line: CpuLine, state: str, measured: Measured | None) -> CpuLine:
    if measured is None:
        return replace(line, idle_probe=state)
    return replace(
        line,
        idle_probe=state,
        measured_ns=measured.spun_ns,
        measured_stolen_share=measured.stolen_share,
        gap_count=measured.gap_count,
        longest_gap_ns=measured.longest_gap_ns,
    )
