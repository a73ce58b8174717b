"""Pins noisewatch itself to keep it off the CPUs that it observes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from noisewatch.cpus import CpuSet, format_cpu_list

if TYPE_CHECKING:
    from noisewatch.kernel.snapshot.snapshot import Snapshot
    from noisewatch.operations.progress import ProgressListener


def read_allowed_cpus() -> CpuSet:
    """Return the CPUs that this process may use: the user's choice until it pins itself."""
    return frozenset(os.sched_getaffinity(0))


def pin_to_housekeeping(snapshot: Snapshot) -> str | None:
    """Pin this thread and its future children to housekeeping CPUs; return a remark if target CPUs remain in use."""
    from noisewatch.judgement.case import Case  # not needed for the monitor's first picture

    if not snapshot.is_live:
        return None
    target = snapshot.target.cpus
    housekeeping = Case(snapshot).housekeeping
    if not housekeeping:
        return _stay_on_first(target)
    try:
        os.sched_setaffinity(0, housekeeping)
    except OSError as error:
        listed = format_cpu_list(housekeeping)
        return f"noisewatch cannot move to CPU {listed} ({error.strerror}): it may disturb the target CPUs itself"
    return None


def pin_with_remark(snapshot: Snapshot, listener: ProgressListener) -> None:
    """Pin this thread to housekeeping CPUs; the listener gets a remark if target CPUs remain in use."""
    remark = pin_to_housekeeping(snapshot)
    if remark is not None:
        listener.on_remark(remark)


@contextmanager
def affinity_restored() -> Iterator[None]:
    """Restore the allowed CPUs of this thread at the end: work in the context may pin it to housekeeping CPUs."""
    allowed = read_allowed_cpus()
    try:
        yield
    finally:
        with suppress(OSError):  # all these CPUs are now offline, or forbidden by the control group
            os.sched_setaffinity(0, allowed)


def pin_all_threads(cpus: CpuSet) -> None:
    """Pin all threads of this process to the CPUs. Raise OSError if one cannot be pinned."""
    for thread in os.listdir("/proc/self/task"):
        os.sched_setaffinity(int(thread), cpus)


def _stay_on_first(target: CpuSet) -> str | None:
    if not target:
        return None
    first = min(target)
    try:
        os.sched_setaffinity(0, {first})
    except OSError:
        return "all CPUs are target CPUs: noisewatch runs on them too"
    return f"all CPUs are target CPUs: noisewatch itself runs on CPU {first}"
