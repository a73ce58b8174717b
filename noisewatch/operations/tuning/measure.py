"""Measures which settings are worth it on this host: each candidate of a schedule is switched on and off, interleaved.

The settings are changed in a session of `tune`: each change is in the journal before it is made, every `off` restores
the session's changes, and a guardian restores them if noisewatch is killed. The loops of `calibrate` measure.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from noisewatch.errors import CannotMeasure
from noisewatch.judgement.noise.tuning_effect import Period, StatePair, TuningEffect, effect_of, pair_periods, period_of
from noisewatch.kernel.calibration import CalibrationOptions, read_calibration
from noisewatch.kernel.snapshot.snapshot import Snapshot
from noisewatch.kernel.system.tuning import Session
from noisewatch.kinds import Work
from noisewatch.machine import Machine
from noisewatch.machine.tuning import Settings
from noisewatch.model.calibration.figures import calibration_of
from noisewatch.operations.pinning import pin_with_remark
from noisewatch.operations.progress import ProgressListener
from noisewatch.operations.tuning.guardian import start_guardian
from noisewatch.operations.tuning.schedule import Candidate, Schedule, order_of
from noisewatch.operations.tuning.states import are_equal, change_key, is_side_effect
from noisewatch.operations.tuning.tune import JOURNAL, Restoring, require_untuned, restore_host, tune_host
from noisewatch.operations.tuning.tuner import Changed, Outcome, is_refused_partition
from noisewatch.units import describe_count

_SETTLING_S = 0.2  # pause before each period, even if the state is unchanged
TOO_LATE = "no time was left"
INTERRUPTED = "interrupted"


class CandidateResult(Struct, frozen=True):
    """The effect of a candidate, or the reason why there is none.

    If failed changes ended the measurement, `outcome` is their outcome, such as REFUSED or FOREIGN. `made` is the
    number of settings that were changed. `troubles` are changes that were refused, or that were not restored because
    another program has changed the setting too.
    """

    candidate: Candidate
    effect: TuningEffect | None
    reason: str = ""
    outcome: Outcome | None = None
    made: int = 0
    troubles: tuple[Changed, ...] = ()


class TuningMeasurement(Struct):
    """The results so far, one for each candidate, and the outcome of restoring all settings.

    `interrupt` is the interrupt that ended the measurement early.
    """

    results: list[CandidateResult] = field(default_factory=list)
    restoring: Restoring = Restoring(())
    interrupt: KeyboardInterrupt | None = None


Measure = Callable[[float, Candidate], Period]
_Key = tuple[str, ...]  # key of a change


def measure_tuning(
    schedule: Schedule,
    session: Session,
    measure: Measure,
    settings: Settings | None = None,
    path: Path = JOURNAL,
    clock: Callable[[], float] = time.monotonic,
) -> TuningMeasurement:
    """Measure the candidates of the schedule, and restore all settings.

    After an interrupt, the measurement has the results so far. Raise UsageError if the machine is already tuned, or the
    journal cannot be written.
    """
    require_untuned(settings, path)
    start_guardian(session, settings, path)
    done = TuningMeasurement()
    end_s = clock() + schedule.total_s
    try:
        for number, candidate in enumerate(schedule.measured):
            switch = Switch(candidate, session, settings, path)
            deadline_s = clock() + schedule.share_of(number, end_s - clock())
            run = _CandidateRun(switch, schedule, measure, clock, deadline_s)
            done.interrupt = run.measure(seed=number)
            done.results.append(run.result())
            if done.interrupt is not None:
                break
    finally:
        done.restoring = restore_host(settings=settings, path=path, only=session)
    done.results += [CandidateResult(item, None, INTERRUPTED) for item in schedule.measured[len(done.results) :]]
    done.results += [CandidateResult(item, None, TOO_LATE) for item in schedule.rest]
    return done


class Switch:
    """Switches a candidate's changes on and off."""

    def __init__(self, candidate: Candidate, session: Session, settings: Settings | None, path: Path) -> None:
        self.candidate = candidate
        self.is_on = False
        self.made = 0  # number of settings that were changed when the candidate was first switched on
        self.troubles: list[Changed] = []
        self.reason = ""
        self.outcome: Outcome | None = None
        self._in_effect: dict[_Key, Changed] = {}
        self._before: dict[_Key, str | None] = {}
        self._session = session
        self._settings = settings
        self._path = path

    def turn(self, is_on: bool) -> bool:
        """Make the changes (`is_on`) or restore them, if necessary; return whether the measurement can go on.

        Raise UsageError if the journal cannot be written.
        """
        if is_on != self.is_on:
            if is_on:
                self._turn_on()
            else:
                self._turn_off()
        return self.outcome is None and not self.reason

    def _turn_on(self) -> None:
        self.is_on, self._in_effect = True, {}  # on even if some of the changes cannot be made
        outcomes = tune_host(self.candidate.plan, self._session, self._settings, self._path, waits=True)
        refused = [changed for changed in outcomes if changed.outcome == Outcome.REFUSED]
        done = {
            change_key(changed.change): changed
            for changed in outcomes
            if changed.outcome == Outcome.DONE and not is_side_effect(changed.change)
        }
        self._in_effect = done
        if self.made:
            self._end_if(Outcome.FOREIGN, [changed for changed in outcomes if self._is_foreign(changed)])
            self._end_if(
                Outcome.REFUSED, [changed for changed in refused if change_key(changed.change) in self._before]
            )
            return
        self.made, self._before = len(done), {key: changed.before for key, changed in done.items()}
        if not done or any(map(is_refused_partition, refused)):
            self._end_if(Outcome.REFUSED, refused)
            self.reason = "" if refused else "nothing to change: the value is set already, or the setting has vanished"
        else:
            self.troubles += refused

    def _turn_off(self) -> None:
        restoring = restore_host(settings=self._settings, path=self._path, only=self._session)
        self.is_on = False
        by_key = {change_key(changed.change): changed for changed in restoring.outcomes}
        for key, changed in self._in_effect.items():
            restored = by_key.get(key)
            if restored is None or restored.outcome == Outcome.UNCHANGED:
                self._end_if(Outcome.FOREIGN, [replace(changed, outcome=Outcome.FOREIGN, now=changed.before)])
            elif restored.outcome.is_failure:
                self._end_if(restored.outcome, [restored])

    def _is_foreign(self, changed: Changed) -> bool:
        """Return whether another program has changed the setting while it was off."""
        before = self._before.get(change_key(changed.change))
        return before is not None and changed.before is not None and not are_equal(before, changed.before)

    def _end_if(self, outcome: Outcome, changes: Sequence[Changed]) -> None:
        if changes and self.outcome in (None, outcome):
            self.outcome = outcome
            self.troubles += changes


class _CandidateRun:
    """The measurement of one candidate, until its deadline."""

    def __init__(
        self, switch: Switch, schedule: Schedule, measure: Measure, clock: Callable[[], float], deadline_s: float
    ) -> None:
        self._switch = switch
        self._schedule = schedule
        self._measure = measure
        self._clock = clock
        self._deadline_s = deadline_s
        self._order: list[bool] = []
        self._periods: list[Period] = []
        self._interrupt: KeyboardInterrupt | None = None

    def measure(self, seed: int) -> KeyboardInterrupt | None:
        """Measure until the last block or the deadline, then switch the candidate off; return an interrupt, if any."""
        switch = self._switch
        self._order = list(order_of(self._schedule.blocks, seed))
        try:
            self._measure_periods()
        except KeyboardInterrupt as error:
            self._interrupt = error
        except CannotMeasure as error:
            switch.reason = str(error)
        switch.turn(False)
        return self._interrupt

    def _measure_periods(self) -> None:
        longest_s = self._schedule.period_s
        for is_on in self._order:
            began_s = self._clock()
            if began_s + longest_s > self._deadline_s or not self._switch.turn(is_on):
                return
            self._periods.append(self._measure(self._schedule.period_s, self._switch.candidate))
            longest_s = max(longest_s, self._clock() - began_s)

    @property
    def _pairs(self) -> list[StatePair]:
        return pair_periods(self._order, self._periods)

    def result(self) -> CandidateResult:
        """Return the effect, or why there is none."""
        switch = self._switch
        is_ended = switch.outcome is not None or bool(switch.reason)
        effect = None if is_ended else effect_of(self._pairs, len(self._schedule.measured))
        few = f"only {describe_count(len(self._periods), 'period')} measured, too few for an interval"
        few = few if self._interrupt is None else INTERRUPTED
        reason = switch.reason or ("" if effect is not None or switch.outcome is not None else few)
        return CandidateResult(switch.candidate, effect, reason, switch.outcome, switch.made, tuple(switch.troubles))


def measure_on_host(
    machine: Machine, snapshot: Snapshot, work: Work, schedule: Schedule, listener: ProgressListener
) -> Measure:
    """Return the function that measures a period on the snapshot's target CPUs; move this process off them.

    Raise CannotMeasure if there is no target CPU.
    """
    target = snapshot.target.cpus
    if not target:
        raise CannotMeasure("there is no target CPU to measure")
    pin_with_remark(snapshot, listener)
    began_s = time.monotonic()

    def measure(seconds: float, candidate: Candidate) -> Period:
        time.sleep(_SETTLING_S)
        done_s = time.monotonic() - began_s
        listener.on_sampling("measuring settings off and on:", min(done_s, schedule.total_s), schedule.total_s)
        samples = read_calibration(machine, target, snapshot.topology, CalibrationOptions(seconds))
        if isinstance(samples, str):
            raise CannotMeasure(samples)
        cpus = calibration_of(samples).cpus
        troubles = [f"CPU {figures.cpu}: {figures.trouble}" for figures in cpus if figures.trouble is not None]
        period = None if troubles else period_of(cpus, work)
        if period is None:
            raise CannotMeasure(troubles[0] if troubles else "too little was measured")
        return period

    return measure
