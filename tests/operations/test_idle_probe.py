"""When the idle probe spins and yields, and the frames with its measurements, with fake spinners."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from noisewatch.cpus import CpuSet
from noisewatch.errors import CannotMeasure
from noisewatch.kernel.snapshot.snapshot import SnapshotOptions
from noisewatch.machine.copied import CopiedTree
from noisewatch.machine.spinning.idle_probe.buffer import MOVED, REFUSED, RESTING, SPINNING, YIELDED, Slice
from noisewatch.machine.spinning.idle_probe.run import SpinnerReport
from noisewatch.model.idle_probe import ProbeState
from noisewatch.model.interval.interval import Interval
from noisewatch.operations.frame.frame import CpuLine, Frame
from noisewatch.operations.frame.making import frame_of
from noisewatch.operations.idle_probe import IdleProbe
from noisewatch.operations.sampling import sample_frames
from tests.model.interval.sampling import interval_of
from tests.surfaces.running import quiet_tree
from tests.written.quiet_machine import process

_SECOND_NS = 1_000_000_000
_HOG = process(900, "hog", 2, 0), process(900, "hog", 2, 2_000_000_000)


class _Spinners:
    """Spinners whose state a test sets, and which record the CPUs that they were asked to spin on."""

    def __init__(self, cpus: CpuSet) -> None:
        self.cpus = cpus
        self.pids = frozenset({77, 78})
        self.failure: str | None = None
        self.state, self.error = SPINNING, 0
        self.age_ns = 100_000_000  # of the latest slice
        self.spins: set[int] = set()
        self.is_ended = False
        self.now_ns = 0

    def renew_lease(self, cpu: int, for_ns: int) -> None:
        assert for_ns > 0
        self.spins.add(cpu)

    def let_rest(self, cpu: int) -> None:
        self.spins.discard(cpu)

    def report(self, cpu: int, since_ns: int) -> SpinnerReport:
        slices = tuple(
            Slice(
                start_ns=self.now_ns - self.age_ns - place,
                spun_ns=1_700_000,
                stolen_ns=17_000,
                gap_count=2,
                longest_gap_ns=15_000,
            )
            for place in range(100)
        )
        return SpinnerReport(self.state, self.error, slices)

    def end(self) -> None:
        self.is_ended = True


class _ProbeRun:
    """An idle probe of the quiet machine's two target CPUs, a second at a time."""

    def __init__(self) -> None:
        self.started: list[_Spinners] = []
        self.idle_probe = IdleProbe(1.0, self._start)
        self.quiet, self.busy = interval_of({}, {}), interval_of(*_HOG)
        self._now_ns = 0

    def _start(self, cpus: CpuSet) -> _Spinners:
        self.started.append(_Spinners(cpus))
        return self.started[-1]

    @property
    def spinners(self) -> _Spinners:
        return self.started[-1]

    def follow(self, interval: Interval, seconds: int = 1) -> CpuLine:
        """Return the line of CPU 2 after `seconds` seconds that are all like `interval`."""
        for _ in range(seconds):
            frame = self.frame(interval)
        return next(line for line in frame.cpus if line.cpu == 2)

    def frame(self, interval: Interval) -> Frame:
        self._now_ns += _SECOND_NS
        after = replace(interval.after, taken_at_ns=self._now_ns)
        if self.started:
            self.spinners.now_ns = self._now_ns
        moved = replace(interval, after=after, before=replace(interval.before, taken_at_ns=self._now_ns - _SECOND_NS))
        self.idle_probe.follow(after, moved)
        return self.idle_probe.annotate(frame_of(after, moved, None, sampler_cpu_s=None))


def _start_probe() -> _ProbeRun:
    run = _ProbeRun()
    run.idle_probe.set_enabled(True)
    return run


def test_the_probe_is_off_until_it_is_requested() -> None:
    run = _ProbeRun()
    frame = run.frame(run.quiet)
    assert (run.started, frame.has_idle_probe) == ([], False)
    assert {line.idle_probe for line in frame.cpus} == {"off"}


def test_the_probe_measures_idle_target_cpus() -> None:
    run = _start_probe()
    line = run.follow(run.quiet, 3)
    assert run.spinners.spins == run.spinners.cpus == {2, 3}
    assert (line.idle_probe, line.measured_ns, line.measured_stolen_share) == (ProbeState.MEASURES, 170_000_000, 0.01)
    assert (line.gap_count, line.longest_gap_ns) == (200, 15_000)


def test_the_probe_does_not_measure_other_cpus() -> None:
    run = _start_probe()
    lines = [line for line in run.frame(run.quiet).cpus if line.cpu not in (2, 3)]
    assert {(line.idle_probe, line.measured_stolen_share) for line in lines} == {("off", None)}


def test_the_probe_yields_a_busy_cpu() -> None:
    run = _start_probe()
    run.follow(run.quiet, 3)
    line = run.follow(run.busy)
    assert (line.idle_probe, line.measured_stolen_share, run.spinners.spins) == (ProbeState.BUSY, None, {3})


def test_the_probe_returns_after_some_quiet_seconds() -> None:
    run = _start_probe()
    run.follow(run.busy, 2)
    assert (run.follow(run.quiet, 4).idle_probe, run.spinners.spins) == (ProbeState.WAS_BUSY, {3})
    assert (run.follow(run.quiet).idle_probe, run.spinners.spins) == (ProbeState.STARTING, {2, 3})
    assert run.follow(run.quiet).idle_probe == ProbeState.MEASURES


def test_a_spinner_that_yielded_by_itself_rests_as_long() -> None:
    run = _start_probe()
    run.follow(run.quiet, 2)
    run.spinners.state = YIELDED
    assert (run.follow(run.quiet).idle_probe, run.spinners.spins) == (ProbeState.BUSY, set())
    assert run.follow(run.quiet, 4).idle_probe == ProbeState.WAS_BUSY
    run.follow(run.quiet)
    assert run.spinners.spins == {2, 3}


@pytest.mark.parametrize(
    ("state", "error", "age_ns", "expected"),
    [
        (REFUSED, 22, 0, "cannot start: invalid argument"),
        (MOVED, 0, 0, "moved"),
        (RESTING, 0, 0, "starting"),
        (SPINNING, 0, 1_500_000_000, "no answer"),
    ],
)
def test_a_spinner_that_does_not_measure_has_no_share(state: int, error: int, age_ns: int, expected: str) -> None:
    run = _start_probe()
    run.follow(run.quiet, 2)
    run.spinners.state, run.spinners.error, run.spinners.age_ns = state, error, age_ns
    line = run.follow(run.quiet)
    assert (line.idle_probe, line.measured_stolen_share) == (expected, None)


def test_spinners_stay_own_pids_for_a_while_after_the_probe_is_off() -> None:
    run = _start_probe()
    run.follow(run.quiet, 2)
    run.idle_probe.set_enabled(False)
    assert run.spinners.spins == set()
    run.follow(run.quiet, 10)
    assert (run.idle_probe.own_pids, run.spinners.is_ended) == (frozenset({77, 78}), False)
    run.follow(run.quiet)
    assert (run.idle_probe.own_pids, run.spinners.is_ended) == (frozenset(), True)


def test_a_probe_requested_again_keeps_its_processes() -> None:
    run = _start_probe()
    run.follow(run.quiet, 2)
    run.idle_probe.set_enabled(False)
    run.follow(run.quiet, 5)
    run.idle_probe.set_enabled(True)
    assert run.follow(run.quiet, 15).idle_probe == ProbeState.MEASURES
    assert len(run.started) == 1


def test_ended_spinners_are_reported_and_not_restarted() -> None:
    run = _start_probe()
    run.follow(run.quiet, 2)
    run.spinners.failure = "it ended with status -9"
    frame = run.frame(run.quiet)
    assert (frame.has_idle_probe, frame.no_idle_probe_reason) == (False, "it ended with status -9")
    assert run.frame(run.quiet).no_idle_probe_reason == "it ended with status -9"
    assert len(run.started) == 1


def test_a_probe_that_cannot_start_has_the_reason() -> None:
    def refuse(cpus: CpuSet) -> _Spinners:
        raise CannotMeasure("too many open files")

    interval = interval_of({}, {})
    idle_probe = IdleProbe(1.0, refuse)
    idle_probe.set_enabled(True)
    idle_probe.follow(interval.after, interval)
    frame = idle_probe.annotate(frame_of(interval.after, interval, None, sampler_cpu_s=None))
    assert frame.no_idle_probe_reason == "too many open files"


def test_the_probe_follows_a_changed_target() -> None:
    run = _start_probe()
    run.follow(run.quiet, 2)
    first = run.spinners
    target = replace(run.quiet.after.target, cpus=frozenset({1}))
    after = replace(run.quiet.after, target=target, taken_at_ns=9 * _SECOND_NS)
    run.idle_probe.follow(after, replace(run.quiet, after=after))
    assert (first.is_ended, run.spinners.cpus) == (True, frozenset({1}))


def test_a_copied_tree_has_no_probe(tmp_path: Path) -> None:
    run = _start_probe()
    tree = CopiedTree(str(quiet_tree(tmp_path, {})))
    (frame,) = sample_frames(tree, SnapshotOptions(), 1.0, idle_probe=run.idle_probe)
    assert (run.started, frame.has_idle_probe) == ([], False)
