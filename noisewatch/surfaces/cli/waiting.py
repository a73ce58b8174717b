"""`preflight --wait`: looking again and again until the machine is fit, or the time is up."""

from __future__ import annotations

import sys
import time
from dataclasses import replace

from noisewatch.judgement.terms import Outcome
from noisewatch.judgement.verdict import Verdict, judge
from noisewatch.surfaces.cli.examination import Examination
from noisewatch.surfaces.cli.lock import Lock

_BETWEEN_LOOKS_S = 1.0  # where no sample takes its time
_NOT_CALIBRATED = "the machine was not quiet enough to calibrate before the time ran out"
_MOST_NAMED = 4


def verdict_in_time(examination: Examination, seconds: float, lock: Lock | None) -> tuple[Verdict, bool]:
    """The first stable verdict within so many seconds, or the last one; and whether the time ran out.

    With 0 it is the first one, whatever it is. Otherwise the microbenchmark runs only after a sample without a
    failure, so that it measures a settled moment. A machine whose `lock` cannot be had is not fit.
    """
    until_s = time.monotonic() + seconds
    told = ""
    while True:
        if lock is not None:
            lock.take()
        verdict = _look(examination, may_fail=seconds == 0)
        if verdict.verdict == Outcome.STABLE and lock is not None and not lock.take():
            verdict = _as_locked(verdict, lock)  # somebody had it, and it looked free
        left_s = until_s - time.monotonic()
        is_fit = verdict.verdict == Outcome.STABLE
        if is_fit or left_s <= 0:
            return verdict, seconds > 0 and not is_fit
        if not told:
            _tell_of_settings(verdict)
        told = _tell(examination, verdict, left_s, told)
        if examination.arguments.sample == 0:
            time.sleep(min(_BETWEEN_LOOKS_S, left_s))


def _as_locked(verdict: Verdict, lock: Lock) -> Verdict:
    case = replace(verdict.case, snapshot=lock.as_found(verdict.case.snapshot))
    return judge(case, strict=verdict.is_strict)


def _look(examination: Examination, may_fail: bool) -> Verdict:
    strict: bool = examination.arguments.strict
    case = examination.sampled()
    if may_fail or not judge(case, strict=strict).failures:
        return judge(examination.calibrated(case), strict=strict)
    if examination.arguments.calibration:
        case = replace(case, no_calibration_reason=_NOT_CALIBRATED)
    return judge(case, strict=strict)


def _tell_of_settings(verdict: Verdict) -> None:
    """What no waiting changes, so that nobody waits for it in vain."""
    names = [each.check.id for each in verdict.failures if each.answer.fix and not each.check.asks_rates]
    if names:
        said = f"{', '.join(names)}: a setting, which waiting alone does not change (noisewatch preflight --fix-script)"
        print(f"noisewatch: {said}", file=sys.stderr, flush=True)


def _tell(examination: Examination, verdict: Verdict, left_s: float, told: str) -> str:
    """What holds it back: in the progress line of a terminal; elsewhere a line whenever it is something else."""
    held_back = verdict.failures or [finding for finding in verdict.findings if finding.is_blocking_unknown]
    names = [finding.check.id for finding in held_back or verdict.warnings or verdict.unknowns]
    reasons = ", ".join(names[:_MOST_NAMED]) + (", …" if len(names) > _MOST_NAMED else "")
    examination.doing = f"waiting for {reasons} ({left_s:.0f} s left): sampling"
    if reasons != told and not sys.stderr.isatty():
        print(f"noisewatch: waiting for {reasons} ({left_s:.0f} s left)", file=sys.stderr, flush=True)
    return reasons
