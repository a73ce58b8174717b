"""What no repetition on this machine can be said to have met or not, as nothing here tells it while a command runs."""

from __future__ import annotations

from collections.abc import Iterator

from noisewatch.cpus import name_cpus
from noisewatch.kernel.snapshot.snapshot import Snapshot
from noisewatch.kernel.system.hypervisor import NONE

_CALIBRATED = "the calibrations at both ends tell a change that lasts"
_NOT_CALIBRATED = "and nothing was calibrated before and after"


def not_watched(snapshot: Snapshot, is_calibrated: bool) -> Iterator[str]:
    """In clauses. It makes no verdict unknown: on such a machine all of them would be."""
    target = snapshot.target.cpus
    clocks = snapshot.frequency.cpus
    silent = [cpu for cpu in sorted(target) if cpu not in clocks or clocks[cpu].current_khz is None]
    if silent:
        yield (
            f"the clock of {name_cpus(silent)} while a command runs: the kernel does not tell it, "
            f"{_CALIBRATED if is_calibrated else _NOT_CALIBRATED}"
        )
    elif not is_calibrated:
        yield f"whether the clock of {name_cpus(target)} was lower than it can be: nothing was calibrated before"
    counted = snapshot.background.throttling.count_by_core_cpu.values()
    if all(count is None for count in counted):
        yield "slowing by heat or power limits: this processor does not count it"
    if snapshot.platform.virtual not in (None, NONE) and not any(_steal_ns(snapshot)):
        yield "steal: none was counted since boot, so this hypervisor may not tell it"


def _steal_ns(snapshot: Snapshot) -> Iterator[int]:
    yield from ((time.steal_ns or 0) for time in (snapshot.cpu_time or {}).values())
