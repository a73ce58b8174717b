"""Area `jobs`: what systemd and cron will start while the benchmark runs."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from noisewatch.errors import Malformed
from noisewatch.judgement.case import Case
from noisewatch.judgement.check import LOOKED_AHEAD, Answer, Limit, check
from noisewatch.judgement.fixes.actions import Run, run_command
from noisewatch.judgement.fixes.fix import Fix
from noisewatch.judgement.programs import running, why_unseen
from noisewatch.judgement.terms import Severity, Status
from noisewatch.kernel.system.platform import NONE
from noisewatch.kernel.tasks.jobs import CLOCK_QUESTION, CronJob, Jobs, Timer, WallClock
from noisewatch.kernel.tasks.jobs import QUESTION as TIMERS
from noisewatch.machine.recording.privacy import UNNAMED
from noisewatch.patterns import regex
from noisewatch.records import dataclass

_AHEAD = Limit(
    *("window", "time ahead that is checked", 600, "s", "most benchmarks have finished by then"),
    set_by="--expect",
)
_CRONS = frozenset({"cron", "crond", "fcron", "dcron", "bcron-start"})
_ANACRON = frozenset({"anacron"})
_MOST_NAMED = 4
_US_PER_S = 1_000_000
_USERS = "timers and crontabs of users were not read"
_FIELDS_BY_NICKNAME = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_AT_BOOT = "@reboot"
_RANDOM = regex(r"(\d)~(\d)")  # cronie: any one of the range, so that it may be each of it


@dataclass(frozen=True, slots=True)
class _Due:
    name: str
    in_s: float
    unit: str | None = None


@check(
    id="job-scheduled",
    area="jobs",
    question="Is no system job scheduled during the benchmark?",
    severity=Severity.INFORMATION,
    reads=("systemctl list-timers", "/etc/crontab", "/etc/cron.d/*", "/proc/PID/stat"),
    limits=(_AHEAD,),
    why=(
        "Three quiet seconds say nothing about minute seven, when a job may check for updates, rotate logs or trim "
        "disks: such jobs take minutes and start by the clock."
    ),
    remedy="Start after them, or stop their timers during the benchmark; give its expected duration with --expect.",
    sources=(
        "https://www.freedesktop.org/software/systemd/man/latest/systemd.timer.html",
        "https://man7.org/linux/man-pages/man5/crontab.5.html",
    ),
)
def job_scheduled(case: Case) -> Answer:
    jobs = case.snapshot.jobs
    severity = Severity.WARNING if case.rules.expected_s is not None else None
    if jobs is None:
        reason = "only `preflight` reads scheduled jobs"
        return Answer(Status.UNKNOWN, "unknown", reason=reason, severity=Severity.INFORMATION)
    ahead_s = case.rules.expected_s if case.rules.expected_s is not None else case.bound(_AHEAD)
    if jobs.clock is None:
        return Answer(Status.UNKNOWN, "unknown", reason=case.why_unknown(CLOCK_QUESTION), severity=severity)
    crons = running(case, _CRONS)
    from_cron, doubt = _cron_jobs(jobs, jobs.clock) if crons else ([], None)
    from_anacron = [_Due("the jobs of the running anacron", 0.0)] if running(case, _ANACRON) else []
    all_of_them = [*_timers(jobs.timers or (), jobs.clock), *from_cron, *from_anacron]
    due = sorted((each for each in all_of_them if each.in_s <= ahead_s), key=lambda each: each.in_s)
    evidence = {"due": [{"name": each.name, "in_s": round(each.in_s)} for each in due], "window_s": ahead_s}
    if due:
        fix = _stop(due, [task.pid for task in crons] if any(each in due for each in from_cron) else [])
        soonest = max(due[0].in_s, 0.0)
        return Answer(
            Status.WARN,
            _said(due),
            measured=round(soonest),
            limit=ahead_s,
            unit="s",
            evidence=evidence,
            fix=fix,
            severity=severity,
            limit_role=LOOKED_AHEAD,
        )
    unseen = doubt or _why_cron_unseen(case, bool(crons))
    why_not = case.why_unknown(TIMERS) if jobs.timers is None else unseen
    if why_not is None and case.snapshot.platform.container != NONE:
        why_not = f"{case.container_words} sees only its own jobs"
    if why_not is not None:
        return Answer(Status.UNKNOWN, "unknown", reason=why_not, evidence=evidence, severity=severity)
    said = f"none within {_length(ahead_s)} ({_USERS})"
    return Answer(Status.PASS, said, limit=ahead_s, unit="s", evidence=evidence, limit_role=LOOKED_AHEAD)


def _timers(timers: Iterable[Timer], clock: WallClock) -> list[_Due]:
    return [_Due(each.unit, (each.next_us - clock.now_us) / _US_PER_S, each.unit) for each in timers]


def _cron_jobs(jobs: Jobs, clock: WallClock) -> tuple[list[_Due], str | None]:
    """Return when each cron job starts next, and why there may be others."""
    found: list[_Due] = []
    doubt = f"{jobs.crontabs.unread[0]} could not be read" if jobs.crontabs.unread else None
    for job in jobs.crontabs.jobs:
        try:
            in_s = seconds_until(job.schedule, clock)
        except Malformed as error:
            doubt = f"{job.path}: {error.reason}"
            continue
        if in_s is not None:
            found.append(_Due(_name(job), in_s))
    return found, doubt


def _name(job: CronJob) -> str:
    return job.path if job.name == UNNAMED else f"{job.name} ({job.path})"


def _why_cron_unseen(case: Case, is_seen: bool) -> str | None:
    unseen = why_unseen(case)
    return None if is_seen or unseen is None else f"whether a cron daemon runs is unknown: {unseen}"


def _said(due: list[_Due]) -> str:
    named = ", ".join(f"{each.name} in {_length(max(each.in_s, 0.0))}" for each in due[:_MOST_NAMED])
    return named + (f", and {len(due) - _MOST_NAMED} more" if len(due) > _MOST_NAMED else "")


def _length(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def _stop(due: list[_Due], cron_pids: list[int]) -> Fix:
    """Return the fix that stops the timers and suspends cron itself, which catches up when it is resumed."""
    units = tuple(each.unit for each in due if each.unit is not None)
    pids = " ".join(map(str, sorted(cron_pids)))
    actions, lasting = [], []
    if units:
        actions.append(Run((("systemctl", "stop", *units),), (("systemctl", "start", *units),)))
        lasting.append(Run((("systemctl", "disable", "--now", *units),), (("systemctl", "enable", "--now", *units),)))
    if pids:
        actions.append(run_command(f"kill -STOP {pids}", f"kill -CONT {pids}"))
    return Fix(tuple(actions), tuple(lasting))


def seconds_until(schedule: str, clock: WallClock) -> float | None:
    """Return the seconds until the job's next start, or None if it will not start again. Raise Malformed if invalid.

    The current UTC offset is used throughout: in the night of a daylight saving change the result is off by an hour.
    """
    from cronsim import CronSim, CronSimError  # 9 ms to import, and only needed with cron

    if schedule == _AT_BOOT:
        return None
    now = datetime.fromtimestamp(clock.now_us / 1e6, UTC) + timedelta(seconds=clock.ahead_s)
    fields = _RANDOM.sub(r"\1-\2", _FIELDS_BY_NICKNAME.get(schedule, schedule))
    try:
        return (next(CronSim(fields, now)) - now).total_seconds()
    except StopIteration:
        return None  # no start within fifty years
    except (CronSimError, ValueError, OverflowError) as error:
        raise Malformed("a schedule such as `17 * * * *`", schedule) from error
