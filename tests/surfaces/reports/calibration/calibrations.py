"""Calibrations to draw: quiet, noisy, of many CPUs, with and without a trace, and incomplete ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import pairwise
from random import Random

from msgspec.structs import replace

from noisewatch.judgement.case import Calibrated, calibrated_with
from noisewatch.judgement.noise.budget import Budget
from noisewatch.kernel.calibration import parse_calibration
from noisewatch.kinds import Kind
from noisewatch.machine.recording.replay import Recording
from noisewatch.model.calibration.gap_causes import GapCause
from noisewatch.operations.calibrate import CalibrateOptions, calibrate
from tests import MACHINES
from tests.operations.listening import SilentListener
from tests.written.calibration import written_calibration

_MADE_UP = (
    (Kind.TICK, "timer tick", 0.004, (4_000, 9_000)),
    (Kind.SOFTIRQ, "TIMER", 0.011, (1_500, 4_000)),
    (Kind.IRQ, "nvme0q1 (IRQ 103)", 0.03, (6_000, 14_000)),
    (Kind.THREAD, "prometheus", 0.09, (30_000, 90_000)),
    (Kind.KERNEL_THREAD, "kworker/2:1", 0.21, (20_000, 60_000)),
    (Kind.OUTSIDE, "outside the kernel: hypervisor or firmware", 0.9, (300_000, 340_000)),
)
Gap = tuple[int, int, int, int]


@cache
def recorded() -> Calibrated:
    """Return the calibration of a host that has gaps of many lengths, recorded without a trace."""
    machine = Recording(str(MACHINES / "host-calibration.nw"))
    return calibrate(machine, CalibrateOptions(), SilentListener()).calibrated


@cache
def traced(cpus: tuple[int, ...] = (2, 3)) -> Calibrated:
    """Return a made-up calibration whose gaps all have known causes."""
    causes = _made_up_causes()
    gaps = tuple((cause.start_ns, cause.length_ns, 0, 0) for cause in causes)
    calibrated = _calibrated(cpus, gaps)
    by_cpu = {cpu: _recorded_causes(calibrated, cpu, causes) for cpu in cpus}
    return replace(calibrated, attribution=replace(calibrated.attribution, causes_by_cpu=by_cpu, reason=None))


def _made_up_causes() -> list[GapCause]:
    choose, causes = Random(7), []
    for kind, name, every_s, lengths in _MADE_UP:
        for at in range(int(10 / every_s)):
            start_ns = round((at + choose.random() * 0.5) * every_s * 1e9)
            causes.append(GapCause(kind, name, start_ns, choose.randint(*lengths), kernel_ns=1))
    ordered = sorted(causes, key=lambda cause: cause.start_ns)
    return [cause for cause, following in pairwise(ordered) if cause.start_ns + cause.length_ns < following.start_ns]


def _recorded_causes(calibrated: Calibrated, cpu: int, causes: Sequence[GapCause]) -> list[GapCause]:
    """Return the causes of gaps that the calibration of this CPU recorded."""
    (samples,) = [samples for samples in calibrated.calibration.samples.cpus if samples.cpu == cpu]
    starts = set(samples.gaps.start_ns)
    return [cause for cause in causes if cause.start_ns in starts]


@cache
def noisy() -> Calibrated:
    """Return a calibration of CPUs that other tasks take for milliseconds; one gap is 35 ms long."""
    gaps = [(at, 2_000_000 + at // 3_000, 1, 0) for at in range(0, 10 * 10**9, 40_000_000)]
    gaps[3] = (gaps[3][0], 35_000_000, 1, 0)
    return _calibrated((0, 1), tuple(gaps))


def quiet(gaps: tuple[Gap, ...] = ()) -> Calibrated:
    """Return a calibration with these gaps, by default none."""
    return _calibrated((2, 3), gaps)


@cache
def short() -> Calibrated:
    """Return a calibration of half a second, which predicts little."""
    return calibrated_with(parse_calibration(written_calibration(seconds=0.5)), Budget())


@cache
def broken() -> Calibrated:
    """Return a calibration during which one CPU went offline."""
    written = written_calibration(seconds=5.0, changes={3: {"state": "moved"}})
    return calibrated_with(parse_calibration(written), Budget())


def many() -> Calibrated:
    """Return a calibration of more CPUs than have a row."""
    return _calibrated(
        tuple(range(64)), tuple((at, 3_000 + at % 7_000, 0, 0) for at in range(0, 10**9, 4_000_000)), 1.0
    )


@cache
def _calibrated(cpus: tuple[int, ...], gaps: tuple[Gap, ...], seconds: float = 10.0) -> Calibrated:
    return calibrated_with(parse_calibration(written_calibration(cpus, seconds=seconds, gaps=gaps)), Budget())


ALL: Mapping[str, Callable[[], Calibrated]] = {
    "recorded": recorded,
    "traced": traced,
    "noisy": noisy,
    "quiet": quiet,
    "short": short,
    "broken": broken,
    "many": many,
}
