"""Runs preflight: a sample, the microbenchmark and the verdict on both, repeated within the time to wait.

From before the sample until after the calibration, CLOCK_MONOTONIC is compared with another clock.
"""

from __future__ import annotations

import time
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from noisewatch.cpus import CpuSet, format_cpu_list
from noisewatch.errors import CannotMeasure, UsageError
from noisewatch.judgement.case import Case, calibrated_with, rules_for
from noisewatch.judgement.checks.system.clock import WRONG
from noisewatch.judgement.checks.system.machine_wanted import not_the_machine_wanted
from noisewatch.judgement.rules import Rules
from noisewatch.judgement.terms import Outcome
from noisewatch.judgement.verdict import Verdict, judge
from noisewatch.kernel.calibration import CalibrationOptions
from noisewatch.kernel.snapshot.snapshot import Snapshot, SnapshotOptions, read_snapshot
from noisewatch.kernel.system.reference_clock import (
    ClockComparison,
    ClockReading,
    ReferenceClock,
    describe_comparison,
    describe_failure,
    read_clock_comparison,
    reference_clock,
)
from noisewatch.kernel.tasks.threads import TaskReader
from noisewatch.machine import Json, Machine
from noisewatch.machine.recording.format import SAMPLE
from noisewatch.machine.recording.replay import Recording
from noisewatch.machine.tracefs.watcher import remove_stale_where_mounted
from noisewatch.model.interval.disturbance import main_culprit_names
from noisewatch.model.interval.interval import interval_between
from noisewatch.operations.history import NO_PAST, CalibrationHistory, drift_in, until_accurate
from noisewatch.operations.lock import Lock
from noisewatch.operations.machines import MachineOptions, snapshot_options
from noisewatch.operations.pinning import pin_to_housekeeping
from noisewatch.operations.progress import ProgressListener
from noisewatch.operations.replaying import culprits_at_each_snapshot
from noisewatch.operations.wanted import read_wanted

_LEAST_S = 2.5  # long enough to detect a rate that is 0.5% off, as seconds are read to some milliseconds
_AGAIN_S = 3.0  # the length of another measurement, if the first rate is wrong


class ClockRateWatch(Struct):
    """A comparison of CLOCK_MONOTONIC with another clock; reading a real-time clock may take a second."""

    machine: Machine
    _reference: ReferenceClock | None = None
    _readings: list[ClockReading] = []
    _error: OSError | None = None

    def begin(self, seconds: float) -> None:
        """Read the other clock unless the comparison has begun; `seconds` is the minimum time until `end` is called."""
        if not self.machine.is_live or self._readings or self._error is not None:
            return
        try:
            self._reference = reference_clock(is_long=seconds >= _LEAST_S)
            self._readings.append(self._reference.read())
        except OSError as error:
            self._error = error

    def end(self) -> ClockComparison | str:
        """End the comparison and return it (for a recording, the recorded one), or the reason why there is none."""
        if isinstance(self.machine, Recording):
            self.machine.go_to_aside()
        try:
            return read_clock_comparison(self.machine, self._answer)
        finally:
            if self._reference is not None:
                self._reference.close()
            self._reference, self._readings, self._error = None, [], None

    def _answer(self) -> Json:
        try:
            return describe_comparison(self._compare())
        except OSError as error:
            return describe_failure(error)

    def _compare(self) -> ClockComparison:
        """Read the clock again and compare; if the rate is wrong, read it once more after some time.

        Raise OSError if there is no other clock.
        """
        if self._reference is None or self._error is not None:
            raise self._error or OSError(None, "not begun")
        self._readings.append(self._reference.read())
        comparison = ClockComparison(self._reference.name, tuple(self._readings))
        if any(abs(ratio.deviation) > WRONG.value / 2 for ratio in comparison.ratios):
            time.sleep(_AGAIN_S)
            self._readings.append(self._reference.read())
        return ClockComparison(self._reference.name, tuple(self._readings))


SHORTEST_SAMPLE_S = 0.5
_PROGRESS_EVERY_S = 0.5
_BETWEEN_LOOKS_S = 1.0  # pause between two looks if there is no sample
_MOST_NAMED = 4
_IS_A_COPY = (
    "a copied tree of /proc and /sys is a single snapshot, so nothing can be sampled; --sample 0 judges its settings "
    "alone"
)
_TOO_SHORT = f"the recording is shorter than {SHORTEST_SAMPLE_S:g} s"
_NOT_CALIBRATED = "the machine did not become quiet enough to calibrate within --wait"


class PreflightOptions(Struct, frozen=True, kw_only=True):
    """The options of preflight: the machine, the measuring times, and the rules."""

    machine: MachineOptions = field(default_factory=MachineOptions)
    allowed: CpuSet | None = None  # the CPUs that the user's process may use; None: this process's CPUs
    sample_s: float = 3.0  # 0: settings only
    # A length of 0 s means no calibration.
    calibration: CalibrationOptions = field(default_factory=lambda: CalibrationOptions(3.0))
    rules: Rules = field(default_factory=lambda: Rules(is_profile_given=False))
    is_strict: bool = False
    wait_s: float = 0.0  # how long to retry until the machine is stable; 0: no retry
    starts_benchmark: bool = True  # whether the calling process starts the benchmark, as a script's shell does
    history: Path | None = None  # the history file; None: no history
    announced: CpuSet | None = None  # the target CPUs announced to the user: no others are measured


class PreflightResult(Struct, frozen=True):
    """The verdict, and whether `--wait` ran out before the machine was stable."""

    verdict: Verdict
    has_run_out: bool
    own_cpu_share: float | None  # share of one CPU that noisewatch itself used during the last sample


def preflight(
    machine: Machine, options: PreflightOptions, listener: ProgressListener, lock: Lock | None = None
) -> PreflightResult:
    """Return the first stable verdict within the time to wait, otherwise the last one; without a wait, the first one.

    While waiting, the microbenchmark runs only after a sample without a failure, so it measures a settled machine. A
    machine is not stable while another process holds the `lock`. Raise UsageError for invalid options, and
    CannotMeasure if the target CPUs are not the announced ones, or if too many files do not answer.
    """
    if options.wait_s and not machine.is_live:
        raise UsageError("--wait works only on this host: a copy or recording never becomes quieter")
    history = CalibrationHistory(machine, options.history)
    wanted = read_wanted(machine, options.rules.wanted)
    options = replace(options, rules=replace(options.rules, wanted=wanted))
    read_options = replace(
        snapshot_options(options.machine, machine, options.allowed), asks_jobs=True, asks_inventory=True
    )
    history.remark_damage(listener)
    run = _Run(machine, read_options, options, listener, history, ClockRateWatch(machine))
    until_s = time.monotonic() + options.wait_s
    is_first = True
    while True:
        verdict = _locked_verdict(run, lock)
        left_s = until_s - time.monotonic()
        is_stable = verdict.verdict == Outcome.STABLE
        if is_stable or left_s <= 0:
            return PreflightResult(verdict, options.wait_s > 0 and not is_stable, run.own_cpu_share)
        if is_first:
            _remark_settings(verdict, listener)
        is_first = False
        run.wait_for(verdict, left_s)


def name_reasons(verdict: Verdict) -> str:
    """Name what keeps the machine from being stable: each finding's culprits, or its id if it has none."""
    held_back = verdict.failures or [finding for finding in verdict.findings if finding.is_blocking_unknown]
    findings = held_back or verdict.warnings or verdict.unknowns
    by_finding = [main_culprit_names(finding.answer.culprits) or [finding.check.id] for finding in findings]
    names = list(dict.fromkeys(name for names in by_finding for name in names))
    return ", ".join(names[:_MOST_NAMED]) + (", …" if len(names) > _MOST_NAMED else "")


def _locked_verdict(run: _Run, lock: Lock | None) -> Verdict:
    """Take the lock, if any, and return the verdict.

    If another process has taken the lock during the judgement, a stable verdict is judged again with that lock.
    """
    if lock is not None:
        lock.take()
    verdict = run.verdict()
    if verdict.verdict != Outcome.STABLE or lock is None or lock.take():
        return verdict
    case = replace(verdict.case, snapshot=lock.with_current_lock(verdict.case.snapshot))
    return judge(case, strict=verdict.is_strict)


def _remark_settings(verdict: Verdict, listener: ProgressListener) -> None:
    """Report the failures that waiting does not change, so that users do not wait in vain."""
    names = [finding.check.id for finding in verdict.failures if finding.answer.fix and not finding.check.asks_rates]
    if names:
        listener.on_remark(
            f"{', '.join(names)}: waiting does not change a setting (see noisewatch preflight --fix-script)"
        )
    if any(finding.check.id == not_the_machine_wanted.id for finding in verdict.failures):
        listener.on_remark(f"{not_the_machine_wanted.id}: waiting does not change the machine")


class _Run(Struct):
    """Repeated verdicts on one machine."""

    machine: Machine
    read_options: SnapshotOptions
    options: PreflightOptions
    listener: ProgressListener
    history: CalibrationHistory
    clock_rate: ClockRateWatch
    own_cpu_share: float | None = None
    _doing: str = "sampling"
    _task_reader: TaskReader = field(default_factory=lambda: TaskReader(asks_all_affinities=True))
    _remark: str | None = None

    def verdict(self) -> Verdict:
        """Sample, calibrate and judge the machine."""
        options = self.options
        sample = self._sample()
        case = replace(
            sample,
            rules=rules_for(options.rules, sample.snapshot),
            starts_benchmark=options.starts_benchmark,
            past=self.history.known,
        )
        if options.announced is not None and case.target != options.announced:
            now, announced = format_cpu_list(case.target) or "none", format_cpu_list(options.announced)
            raise CannotMeasure(f"the target CPUs have changed from {announced} to {now}")
        if options.wait_s == 0 or not judge(case, strict=options.is_strict).failures:
            remembered = replace(case, past=self.history.recall())
            return judge(self._with_calibration(remembered), strict=options.is_strict)
        if options.calibration.seconds:
            case = replace(case, no_calibration_reason=_NOT_CALIBRATED)
        return judge(case, strict=options.is_strict)

    def wait_for(self, verdict: Verdict, left_s: float) -> None:
        """Report what keeps the machine from being stable; sleep a while if no sample takes time."""
        reasons = name_reasons(verdict)
        self._doing = f"waiting for {reasons} ({left_s:.0f} s left): sampling"
        self.listener.on_waiting(reasons, left_s)
        if self.options.sample_s == 0:
            time.sleep(min(_BETWEEN_LOOKS_S, left_s))

    def _with_calibration(self, case: Case) -> Case:
        """Return the case with a calibration. It runs after the sample, in which it would be noise."""
        options = self.options
        if options.calibration.seconds == 0:
            return case
        from noisewatch.operations.calibrate import calibrate_cpus  # imports the tracer and the spinning code

        past = case.past or NO_PAST
        self._compare_clocks()
        try:
            measured = calibrate_cpus(
                self.machine,
                case.snapshot,
                case.target & case.online,
                until_accurate(past, options.calibration, case.rules.budget),
                self.listener.on_calibrating,
                lambda: self._take_snapshot(case.snapshot),
            )
        finally:
            self.listener.on_done()
        case = replace(case, clock_comparison=self.clock_rate.end())
        if isinstance(measured, str):
            return replace(case, no_calibration_reason=measured)
        drift = drift_in(past, measured.samples)
        calibrated = calibrated_with(measured.samples, case.rules.budget, case.target, measured.observations, drift)
        self.history.remember(calibrated, case.snapshot, self.listener)
        return replace(case, calibrated=calibrated, under_load=measured.observations.interval)

    def _sample(self) -> Case:
        machine, seconds = self.machine, self.options.sample_s
        if isinstance(machine, Recording):
            if seconds:
                return self._replay(machine)
            machine.go_to_aside()
        if machine.is_live:
            remove_stale_where_mounted()
        if seconds == 0:
            return Case(self._take_snapshot())
        if not machine.is_live:
            return Case(self._take_snapshot(), no_sample_reason=_IS_A_COPY)
        before = self._take_first_snapshot()
        used_before_s = time.process_time()
        self._wait(seconds)
        self.own_cpu_share = (time.process_time() - used_before_s) / seconds
        after = self._take_snapshot(before)
        return Case(after, interval_between(before, after))

    def _take_snapshot(self, previous: Snapshot | None = None) -> Snapshot:
        snapshot = read_snapshot(self.machine, self.read_options, self._task_reader, previous)
        if previous is None:
            self._pin(snapshot)
        return snapshot

    def _take_first_snapshot(self) -> Snapshot:
        """Take the snapshot with which the sample begins.

        Slow data is read before the sample, so that reading it does not disturb the sample. The data is read again for
        each sample, because it may have changed after an hour of waiting.
        """
        previous = self._take_snapshot()
        self._compare_clocks()
        self.machine.ask(SAMPLE, lambda: True)
        return self._take_snapshot(previous)

    def _compare_clocks(self) -> None:
        """Begin the comparison of clocks. Call it before the sample, on housekeeping CPUs: it may take a second."""
        if self.options.calibration.seconds:
            self.clock_rate.begin(self.options.sample_s + self.options.calibration.seconds)

    def _pin(self, snapshot: Snapshot) -> None:
        remark = pin_to_housekeeping(snapshot)
        if remark is not None and remark != self._remark:
            self.listener.on_remark(remark)
        self._remark = remark

    def _wait(self, seconds: float) -> None:
        started = time.monotonic()
        try:
            while (done_s := time.monotonic() - started) < seconds:
                self.listener.on_sampling(self._doing, done_s, seconds)
                time.sleep(min(_PROGRESS_EVERY_S, seconds - done_s))
        finally:
            self.listener.on_done()

    def _replay(self, recording: Recording) -> Case:
        """Return the case of the recording's last marked sample; if none is marked, of the whole recording.

        The snapshots within the sample name threads that ended, and devices that left, before its last snapshot.
        """
        recording.go_to_sample()
        before = self._take_snapshot()
        between = list(culprits_at_each_snapshot(recording, before))
        after = read_snapshot(recording, self.read_options, self._task_reader)
        if not between or (after.taken_at_ns - before.taken_at_ns) / 1e9 < SHORTEST_SAMPLE_S:
            return Case(before, no_sample_reason=_TOO_SHORT)
        return Case(after, interval_between(before, after, between))
