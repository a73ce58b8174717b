"""Looking at a machine as often as it takes: the sample, the microbenchmark, and the case that they make."""

from __future__ import annotations

import time
from argparse import Namespace
from dataclasses import dataclass, field, replace

from noisewatch.judgement.case import Case, calibrated_with
from noisewatch.judgement.rules import Rules
from noisewatch.kernel.snapshot.snapshot import Snapshot, SnapshotOptions, read_snapshot
from noisewatch.kernel.tasks.threads import TaskReader
from noisewatch.machine import Machine
from noisewatch.machine.recording.format import SAMPLE
from noisewatch.machine.recording.replay import Recording
from noisewatch.machine.tracefs.watcher import remove_stale_where_mounted
from noisewatch.model.interval.interval import interval_between
from noisewatch.operations.calibrate import calibrate_cpus
from noisewatch.operations.pinning import move_aside
from noisewatch.operations.progress import ProgressListener
from noisewatch.surfaces.cli.calibration import budget_of, calibration_wish
from noisewatch.surfaces.cli.live import TerminalListener
from noisewatch.surfaces.cli.values import SHORTEST_SAMPLE_S

_PROGRESS_EVERY_S = 0.5
_STANDS_STILL = "a copied tree stands still: nothing can be sampled (--sample 0 judges its settings alone)"
_TOO_SHORT = f"the recording is shorter than {SHORTEST_SAMPLE_S:g} s"


@dataclass(slots=True)
class Examination:
    """A machine, what is to be looked at, and what the options say of how."""

    machine: Machine
    wish: SnapshotOptions
    rules: Rules
    arguments: Namespace
    audience: ProgressListener = field(default_factory=TerminalListener)
    own_cpu_share: float | None = None  # noisewatch's own during the last sample, of one CPU
    doing: str = "sampling"  # for the line of progress
    _task_reader: TaskReader = field(default_factory=lambda: TaskReader(asks_all_affinities=True))
    _remark: str | None = None

    def sampled(self) -> Case:
        """The machine as it was during the next seconds; settings alone where no sample is wanted."""
        return replace(self._sample(), rules=self.rules)

    def calibrated(self, case: Case) -> Case:
        """With the microbenchmark, which runs when the sample has been taken: it would be the noise in it."""
        if self.arguments.calibration == 0:
            return case
        wish = calibration_wish(self.arguments, self.arguments.calibration)
        cpus, watch = case.target & case.online, self.audience.calibrates
        try:
            measured = calibrate_cpus(self.machine, case.snapshot, cpus, wish, watch, lambda: self._look(case.snapshot))
        finally:
            self.audience.rests()
        if isinstance(measured, str):
            return replace(case, no_calibration_reason=measured)
        budget = budget_of(self.arguments)
        calibrated = calibrated_with(measured.samples, budget, case.target, measured.meanwhile)
        return replace(case, calibrated=calibrated, under_load=measured.meanwhile.interval)

    def _sample(self) -> Case:
        machine, seconds = self.machine, self.arguments.sample
        if isinstance(machine, Recording):
            return self._settings_at_end(machine) if seconds == 0 else self._replayed(machine)
        if machine.is_live:
            remove_stale_where_mounted()
        if seconds == 0:
            return Case(self._look())
        if not machine.is_live:
            return Case(self._look(), no_sample_reason=_STANDS_STILL)
        before = self._settled()
        used_before_s = time.process_time()
        self._wait(seconds)
        self.own_cpu_share = (time.process_time() - used_before_s) / seconds
        after = self._look(before)
        return Case(after, interval_between(before, after))

    def _look(self, previous: Snapshot | None = None) -> Snapshot:
        snapshot = read_snapshot(self.machine, self.wish, self._task_reader, previous)
        if previous is None:
            self._move_aside(snapshot)
        return snapshot

    def _settled(self) -> Snapshot:
        """What is slow to read comes first, and from the right CPUs, so that it does not show in the sample.

        All of it is read anew each time: what is asked once a run may be another after an hour of waiting.
        """
        previous = self._look()
        self.machine.ask(SAMPLE, lambda: True)
        return self._look(previous)

    def _move_aside(self, snapshot: Snapshot) -> None:
        remark = move_aside(snapshot)
        if remark is not None and remark != self._remark:
            self.audience.remarks(remark)
        self._remark = remark

    def _wait(self, seconds: float) -> None:
        started = time.monotonic()
        try:
            while (done := time.monotonic() - started) < seconds:
                self.audience.samples(self.doing, done, seconds)
                time.sleep(min(_PROGRESS_EVERY_S, seconds - done))
        finally:
            self.audience.rests()

    def _settings_at_end(self, recording: Recording) -> Case:
        recording.go_to_aside()
        return Case(self._look())

    def _replayed(self, recording: Recording) -> Case:
        """The recording up to its calibration is the sample, from where it began on if that is told."""
        recording.go_to_sample()
        before = self._look()
        moved = recording.go_to_aside()
        after = read_snapshot(recording, self.wish, self._task_reader)
        if not moved or (after.taken_at_ns - before.taken_at_ns) / 1e9 < SHORTEST_SAMPLE_S:
            return Case(before, no_sample_reason=_TOO_SHORT)
        return Case(after, interval_between(before, after))
