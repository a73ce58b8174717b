"""Whether the target CPUs ran at the clock of the opening calibration while a repetition did.

    /sys/devices/system/cpu/cpuN/cpufreq/scaling_cur_freq    kHz

Since Linux 5.19 that is, on x86, the mean clock of the CPU up to its last tick (APERF and MPERF, at most 20 ms old),
which nobody interrupts it for; where it is idle, or has no tick, it is what the driver asked for
(arch/x86/kernel/cpu/aperfmperf.c). So a CPU counts only at a look within the repetition, and where tasks had it all
along. Elsewhere it is what the driver asked for. What would interrupt the CPU (the registers themselves, perf's
counters) is not asked. In most virtual machines there is no such file: `not_watched` says so, and the calibrations at
both ends tell a change that lasts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from noisewatch.judgement.run.reasons import ReasonKind, RunReason
from noisewatch.model.interval.interval import Interval
from noisewatch.model.run.repetition import Repetition

_NAME = "a clock below that of the opening calibration"
LEAST_SHARE = 0.95  # of the calibrated clock: the steps of 100 MHz are 2 to 5 % of it, and a calibration is off by 1 %
_BUSY_SHARE = 0.9  # of the window: the clock of an idle CPU is nobody's


def clock_reasons(repetition: Repetition, khz_by_cpu: Mapping[int, float]) -> tuple[list[RunReason], list[RunReason]]:
    """A CPU's clock that was lower than calibrated; apart, as its own, that of a command of several threads.

    Cores are calibrated one after the other: a command that keeps several of them busy lowers their clock by itself.
    """
    slow: dict[int, list[Interval]] = {}
    for window in repetition.windows:
        if repetition.began_ns < window.after.taken_at_ns <= repetition.ended_ns:
            for cpu in _slow_cpus(repetition, window, khz_by_cpu):
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
    is_own = len(repetition.target) > 1 and not repetition.use.ran_alone
    return ([], reasons) if is_own else (reasons, [])


def _slow_cpus(repetition: Repetition, window: Interval, khz_by_cpu: Mapping[int, float]) -> Iterator[int]:
    for cpu in repetition.target & khz_by_cpu.keys():
        clock, load = window.after.frequency.cpus.get(cpu), window.load_by_cpu.get(cpu)
        if clock is None or clock.current_khz is None or load is None:
            continue
        is_busy = load.ran_ns >= _BUSY_SHARE * window.length_ns
        if is_busy and clock.current_khz < LEAST_SHARE * khz_by_cpu[cpu]:
            yield cpu
