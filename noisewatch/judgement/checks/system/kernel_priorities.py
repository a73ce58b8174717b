"""Area `kernel`: what a benchmark's own priority is worth."""

from __future__ import annotations

from noisewatch.judgement.case import Case
from noisewatch.judgement.check import Answer, check, unknown
from noisewatch.judgement.grading import turned, unread
from noisewatch.judgement.terms import Severity, Status
from noisewatch.kernel.snapshot.knobs import Knob
from noisewatch.kernel.system.release import release_number
from noisewatch.kernel.tasks.own_process import STAT

_ONLY_FOR_STARVING_SINCE = (6, 12)


@check(
    id="real-time-work-throttled",
    area="kernel",
    question="May work with real-time priority run without a break?",
    severity=Severity.INFORMATION,
    reads=(Knob.REALTIME_RUNTIME, Knob.REALTIME_PERIOD, "/proc/config.gz (CONFIG_RT_GROUP_SCHED)"),
    why=(
        "A benchmark that spins with real-time priority is stopped for the rest of each period, by default 50 ms in "
        "a second. Since Linux 6.12 this happens only where other tasks starve, or in groups with a limit."
    ),
    remedy="Lift the limit while a real-time benchmark runs; a thread that never sleeps can then lock its CPU up.",
    sources=("https://docs.kernel.org/scheduler/sched-rt-group.html",),
)
def real_time_work_throttled(case: Case) -> Answer:
    knobs = case.snapshot.settings.knobs
    runtime_us, period_us = knobs.integer(Knob.REALTIME_RUNTIME), knobs.integer(Knob.REALTIME_PERIOD)
    if runtime_us is None:
        return unread(case, Knob.REALTIME_RUNTIME)
    evidence = {Knob.REALTIME_RUNTIME.value: runtime_us, Knob.REALTIME_PERIOD.value: period_us}
    if period_us is None:
        return unread(case, Knob.REALTIME_PERIOD)
    if runtime_us > period_us:
        return unknown(f"{Knob.REALTIME_RUNTIME}: {runtime_us} is more than the period, {period_us}")
    if runtime_us < 0 or runtime_us == period_us:
        return Answer(Status.PASS, "real-time work is never stopped", measured=runtime_us, evidence=evidence)
    config, number = case.snapshot.platform.config, release_number(case.snapshot.platform.kernel)
    has_groups = None if config is None else config.is_set("RT_GROUP_SCHED")
    if number is not None and number >= _ONLY_FOR_STARVING_SINCE and has_groups is False:
        return Answer(
            Status.PASS, "real-time work is stopped only for tasks that starve", measured=runtime_us, evidence=evidence
        )
    said = f"real-time work is stopped after {runtime_us / 1000:g} of {period_us / 1000:g} ms"
    is_meant = case.calibrated is not None and case.calibrated.calibration.samples.is_realtime
    fix = turned(case, Knob.REALTIME_RUNTIME, -1)
    severity = Severity.WARNING if is_meant else None
    return Answer(Status.FAIL, said, measured=runtime_us, evidence=evidence, fix=fix, severity=severity)


@check(
    id="nice-value-confined-to-session",
    area="kernel",
    question="Does a nice value count against the whole machine?",
    severity=Severity.INFORMATION,
    reads=(Knob.AUTOGROUP, STAT),
    why=(
        "With automatic groups every session gets an equal share, and a nice value ranks a task only among those of "
        "its own session: a benchmark started with nice -n -20 gains nothing over other sessions."
    ),
    remedy="Switch the automatic groups off, or do without nice values.",
    sources=("https://man7.org/linux/man-pages/man7/sched.7.html",),
    asks_starter=True,
)
def nice_value_confined_to_session(case: Case) -> Answer:
    groups, scheduling = case.snapshot.settings.knobs.integer(Knob.AUTOGROUP), case.snapshot.settings.own.scheduling
    nice = None if scheduling is None else scheduling.nice
    if groups is None:
        return unread(case, Knob.AUTOGROUP)
    evidence = {Knob.AUTOGROUP.value: groups, "nice": nice}
    if groups == 0:
        return Answer(Status.PASS, "there are no automatic groups", evidence=evidence)
    if nice is None:
        return unknown(case.why_unknown(STAT))
    if nice == 0:
        return Answer(Status.PASS, "no nice value is set", measured=nice, evidence=evidence)
    said = f"nice value {nice} counts only within this session"
    return Answer(Status.FAIL, said, measured=nice, evidence=evidence, fix=turned(case, Knob.AUTOGROUP, 0))
