"""What cannot be observed on this machine while a command runs, for any repetition."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from noisewatch.cpus import CpuSet, name_cpus
from noisewatch.judgement.run.reasons import Unwatched
from noisewatch.kernel.snapshot.snapshot import Snapshot
from noisewatch.kernel.system.hypervisor import NONE

_UNREPORTED = "the kernel does not report it while a command runs"
_TICKLESS = "without a tick (nohz_full) the kernel does not measure it while a command runs"
_CALIBRATED = "the calibrations at both ends show a change that lasts"
_NOT_CALIBRATED = "there was no calibration before and after the run"
_NO_OPENING = "there was no calibration before the run for comparison"
_NO_CLOCK = "the opening calibration did not measure it"


def not_watched(snapshot: Snapshot, khz_by_cpu: Mapping[int, float] | None) -> Iterator[Unwatched]:
    """Yield what cannot be observed in any repetition on this machine.

    Verdicts do not depend on it, because all of them would be unknown. `khz_by_cpu` contains the clocks of the opening
    calibration; None without such a calibration.
    """
    yield from _clocks(snapshot, khz_by_cpu)
    counts = snapshot.background.throttling.count_by_core_cpu.values()
    if all(count is None for count in counts):
        yield Unwatched("slowing by heat or power limits", "this processor does not count it")
    if snapshot.platform.virtual not in (None, NONE) and not any(_steal_ns(snapshot)):
        yield Unwatched("steal", "no steal time was counted since boot, so this hypervisor may not report it")


def _clocks(snapshot: Snapshot, khz_by_cpu: Mapping[int, float] | None) -> Iterator[Unwatched]:
    target, clocks = snapshot.target.cpus, snapshot.frequency.cpus
    unreported = frozenset(cpu for cpu in target if cpu not in clocks or clocks[cpu].current_khz is None)
    tickless = (snapshot.isolation.nohz_full or frozenset()) & target - unreported
    at_ends = _NOT_CALIBRATED if khz_by_cpu is None else _CALIBRATED
    for cpus, reason in ((unreported, _UNREPORTED), (tickless, _TICKLESS)):
        if cpus:
            yield Unwatched(_clock_of(cpus), f"{reason}; {at_ends}")
    uncalibrated = target - unreported - tickless - (khz_by_cpu or {}).keys()
    if uncalibrated:
        yield Unwatched(_clock_of(uncalibrated), _NO_OPENING if khz_by_cpu is None else _NO_CLOCK)


def _clock_of(cpus: CpuSet) -> str:
    return f"the clock of {name_cpus(cpus)}"


def _steal_ns(snapshot: Snapshot) -> Iterator[int]:
    yield from ((time.steal_ns or 0) for time in (snapshot.cpu_time or {}).values())
