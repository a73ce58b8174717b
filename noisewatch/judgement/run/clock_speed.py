"""Whether the target CPUs ran at the clock of the opening calibration during a repetition.

    /sys/devices/system/cpu/cpuN/cpufreq/scaling_cur_freq    kHz

On x86 since Linux 5.19, this is the mean clock of the CPU up to its last tick (APERF and MPERF, at most 20 ms old); no
CPU is interrupted to read it. For a CPU that is idle, or has no tick (nohz_full), and on other architectures, it is
the clock that the driver requested (arch/x86/kernel/cpu/aperfmperf.c). So only looks within the repetition count, and
only CPUs that have a tick and on which tasks ran throughout. Sources that would interrupt the CPU (the registers
themselves, perf's counters) are not read. In most virtual machines there is no such file: `not_watched` reports that,
and the calibrations at both ends show a change that lasts.
"""

from __future__ import annotations

from collections.abc import Mapping

from noisewatch.cpus import CpuSet
from noisewatch.judgement.case import Calibrated
from noisewatch.judgement.run.reasons import ReasonKind, RunReason, Unwatched
from noisewatch.kernel.snapshot.snapshot import Snapshot
from noisewatch.model.interval.interval import Interval
from noisewatch.model.run.repetition import Repetition

_NAME = "a clock lower than in the opening calibration"
LEAST_SHARE = 0.95  # share of the calibrated clock; steps of 100 MHz are 2 to 5% of it, and a calibration is off by 1%
_BUSY_SHARE = 0.9  # share of the window; the clock of a CPU that was idle for longer is not the command's
_MOSTLY = 0.5  # the smallest share of the repetition that looks with a clock have to cover
_WHAT = "the clock"
_OWN = "a command of several threads or processes may lower the clock by itself"
_NO_LOOK = "the machine was not read while the command ran"
_IDLE = "no target CPU was busy for the whole time between two looks"


def calibrated_khz(opening: Calibrated | None) -> dict[int, float] | None:
    """Return the clocks of the CPUs that the opening calibration measured to the end, or None without one."""
    if opening is None:
        return None
    return {figures.cpu: figures.effective_khz for figures in opening.complete if figures.effective_khz is not None}


def clock_reasons(repetition: Repetition, khz_by_cpu: Mapping[int, float]) -> tuple[list[RunReason], list[RunReason]]:
    """Return the reasons for clocks lower than calibrated, and separately those that the command caused itself.

    Cores are calibrated one after the other: a command that keeps several of them busy lowers their clock by itself.
    """
    slow: dict[int, list[Interval]] = {}
    for window in _looked_at(repetition):
        for cpu, khz in _clocks(repetition, window, khz_by_cpu).items():
            if khz < LEAST_SHARE * khz_by_cpu[cpu]:
                slow.setdefault(cpu, []).append(window)
    reasons = [
        RunReason(
            kind=ReasonKind.CLOCK_LOWERED,
            name=_NAME,
            cpu=cpu,
            begin_ns=max(windows[0].before.taken_at_ns - repetition.began_ns, 0),
            end_ns=windows[-1].after.taken_at_ns - repetition.began_ns,
        )
        for cpu, windows in sorted(slow.items())
    ]
    return ([], reasons) if _may_lower_it(repetition) else (reasons, [])


def unwatched_clock(repetition: Repetition, khz_by_cpu: Mapping[int, float]) -> Unwatched | None:
    """Return why no clock was compared for most of the repetition; None if one was, or if the kernel reports none."""
    if not _reported_khz(repetition.span.after, repetition.target & khz_by_cpu.keys()):
        return None  # not_watched reports this once for the whole machine
    if _may_lower_it(repetition):
        return Unwatched(_WHAT, _OWN)
    looked_at = _looked_at(repetition)
    compared_ns = sum(repetition.within(window) for window in looked_at if _clocks(repetition, window, khz_by_cpu))
    if compared_ns >= _MOSTLY * repetition.length_ns:
        return None
    return Unwatched(_WHAT, _IDLE if looked_at else _NO_LOOK)


def _may_lower_it(repetition: Repetition) -> bool:
    return len(repetition.target) > 1 and not repetition.use.ran_alone


def _looked_at(repetition: Repetition) -> list[Interval]:
    """Return the windows that end with a look within the repetition."""
    ends = repetition.began_ns, repetition.ended_ns
    return [window for window in repetition.windows if ends[0] < window.after.taken_at_ns <= ends[1]]


def _clocks(repetition: Repetition, window: Interval, khz_by_cpu: Mapping[int, float]) -> dict[int, int]:
    """Return the clocks (kHz) of the CPUs on which tasks ran throughout the window; idle CPUs have other clocks."""
    clocks = _reported_khz(window.after, repetition.target & khz_by_cpu.keys())
    loads = {cpu: window.load_by_cpu.get(cpu) for cpu in clocks}
    busy = {cpu for cpu, load in loads.items() if load is not None and load.ran_ns >= _BUSY_SHARE * window.length_ns}
    return {cpu: khz for cpu, khz in clocks.items() if cpu in busy}


def _reported_khz(snapshot: Snapshot, cpus: CpuSet) -> dict[int, int]:
    """Return the clocks that the kernel measures: those of CPUs with a tick."""
    clocks = snapshot.frequency.cpus
    ticking = cpus - (snapshot.isolation.nohz_full or frozenset()) & clocks.keys()
    khz_by_cpu = {cpu: clocks[cpu].current_khz for cpu in ticking}
    return {cpu: khz for cpu, khz in khz_by_cpu.items() if khz is not None}
