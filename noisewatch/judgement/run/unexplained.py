"""Time in which a command did not run and nothing that is known of explains why.

The wall time of a repetition is what the command had of CPUs, what others had while it was ready, its sleep, and the
time for which a signal, a frozen group or a quota kept it from running. The rest is unknown.
"""

from __future__ import annotations

from noisewatch.judgement.run.allowance import Allowance
from noisewatch.judgement.run.foreign_time import waited_for_none_ns
from noisewatch.judgement.run.hard_events import unused_ns
from noisewatch.judgement.run.traced_time import WAKE_NS
from noisewatch.kernel.cpus.cpu_time import TICK_NS
from noisewatch.kernel.system.disks import DISKSTATS
from noisewatch.model.run.repetition import Repetition
from noisewatch.units import describe_ns

_NS_PER_MS = 1_000_000
_HELD = (
    "the command was ready to run for {} in which its CPU was idle: a CPU quota of a control group, or the scheduler, "
    "held it back"
)
_BLOCKED = (
    "the command waited in the kernel for {}, and {}: whether its control group was frozen, or a debugger held it, is "
    "not known"
)
_NO_DISKS = f"how long disks were busy is not known ({DISKSTATS})"
_WAITED = (
    "the command waited for its CPU for {} longer than others can have had it: a CPU quota of a control group, or the "
    "scheduler, held it back"
)
_BLIND = (
    "for up to {} the command was, or may have been, in a control group that no look had found it in: whether that was "
    "frozen meanwhile is not known"
)


def why_time_unexplained(repetition: Repetition, allowance: Allowance) -> str | None:
    """Return why part of the time in which the command did not run is unknown; None where all of it is explained.

    A stop, a freeze or a quota that is known explains as much as it lasted.
    """
    window, use = repetition.trace, repetition.use
    known_ns = use.stopped_ns + repetition.freezing.ns + repetition.quota.ns
    allowed_ns = allowance.ns(repetition.length_ns) + known_ns
    blind_ns = min(repetition.freezing.blind_ns, unused_ns(repetition)) - use.switches * WAKE_NS
    blind = _BLIND.format(describe_ns(repetition.freezing.blind_ns)) if blind_ns > allowed_ns else None
    if isinstance(window, str):
        waited_ns = waited_for_none_ns(repetition)
        return _WAITED.format(describe_ns(waited_ns)) if waited_ns > allowed_ns else blind
    held_ns = window.states.held_ns - use.preemptions * WAKE_NS
    if held_ns > allowed_ns:
        return _HELD.format(describe_ns(window.states.held_ns))
    disks_ns = _disks_busy_ns(repetition) if use.did_disk_io or use.major_faults > 0 else 0
    allowed_ns += _waited_for_disks_ns(repetition) + (disks_ns or 0)
    if window.states.blocked_ns - use.switches * WAKE_NS > allowed_ns:
        disks = f"for disks for {describe_ns(disks_ns)} at most" if disks_ns else "for no disk"
        return _BLOCKED.format(describe_ns(window.states.blocked_ns), disks if disks_ns is not None else _NO_DISKS)
    return blind  # in a group of version 2 threads sleep while it is frozen


def _disks_busy_ns(repetition: Repetition) -> int | None:
    """Return for how long requests to disks were in flight, at the most: who waits for a disk waits for one of them.

    None is unknown. The kernel counts in jiffies from the one in which a request begins (update_io_ticks in
    block/blk-core.c).
    """
    windows = repetition.windows
    before = windows[0].before.background.disks if windows else None
    after = windows[-1].after.background.disks if windows else None
    if before is None or after is None:
        return None
    ms = sum(max(after[name].busy_ms - before[name].busy_ms, 0) for name in after.keys() & before.keys())
    return ms * _NS_PER_MS + TICK_NS if ms else 0


def _waited_for_disks_ns(repetition: Repetition) -> int:
    """Return for how long the target CPUs were idle as tasks waited for disks, file servers among them."""
    before, after = repetition.span.before.cpu_time or {}, repetition.span.after.cpu_time or {}
    cpus = repetition.target & before.keys() & after.keys()
    ns = sum((after[cpu].iowait_ns or 0) - (before[cpu].iowait_ns or 0) for cpu in cpus)
    return ns + TICK_NS if ns > 0 else 0
