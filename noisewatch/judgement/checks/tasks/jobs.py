"""Areas `load` and `jobs`: another benchmark's lock, jobs that run now, and jobs that systemd and cron will start."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from msgspec import Struct

from noisewatch.cpus import CpuSet
from noisewatch.errors import Malformed
from noisewatch.judgement.answer import LOOKED_AHEAD, Answer, Limit, not_applicable, passing_and_failing, unknown
from noisewatch.judgement.case import Case
from noisewatch.judgement.check import check
from noisewatch.judgement.fixes.actions import Run, run_command
from noisewatch.judgement.fixes.fix import Fix
from noisewatch.judgement.programs import (
    BENCHMARK,
    SCANNER,
    ancestors,
    kind_of_program,
    other_noisewatches,
    running,
    unseen_reason,
)
from noisewatch.judgement.shared_caches import cache_neighbourhoods, cpus_without_cache
from noisewatch.judgement.terms import Area, Ground, Severity, Status
from noisewatch.kernel.system.platform import NONE
from noisewatch.kernel.tasks.jobs import CLOCK_QUESTION, Jobs, WallClock
from noisewatch.kernel.tasks.jobs import QUESTION as TIMERS
from noisewatch.kernel.tasks.machine_lock import PATH as LOCK
from noisewatch.kinds import Kind
from noisewatch.machine.recording.privacy import UNNAMED
from noisewatch.model.interval.disturbance import Disturbance, name_of_run
from noisewatch.model.interval.interval import Interval
from noisewatch.model.interval.task_runs import TaskRun
from noisewatch.patterns import regex


@check(
    id="machine-locked",
    area=Area.LOAD,
    question="Is the machine free of another benchmark's lock?",
    severity=Severity.BLOCKING,
    ground=Ground.INVALIDATES,
    reads=(LOCK, "/proc/PID/stat of the lock's owner"),
    why=(
        "Two benchmarks that check at the same time both find the machine quiet, then disturb each other. `preflight "
        "--lock` locks the machine for the script that calls it, and everything it starts, until that script ends."
    ),
    remedy="Wait for the other benchmark (--wait), or end it; a lock whose process is gone is ignored.",
    sources=("https://man7.org/linux/man-pages/man2/flock.2.html",),
)
def machine_locked(case: Case) -> Answer:
    lock = case.snapshot.machine_lock
    if lock is None and not case.snapshot.is_live and LOCK not in case.snapshot.reason_by_path:
        return not_applicable("no benchmark starts on a copied or recorded machine")
    if lock is None:
        return case.unread(LOCK)
    if lock.owner is None:
        return case.graded().passes("the machine is not locked")
    who = f"{lock.owner.name} (pid {lock.owner.pid})"
    graded = case.graded(evidence={"pid": lock.owner.pid, "name": lock.owner.name, "is_alive": lock.is_alive})
    if lock.is_alive is None:
        return unknown(f"{LOCK} names {who}; cannot tell from here whether it still runs")
    if lock.is_ours:
        return graded.passes(f"locked for this run by {who}")
    if not lock.is_alive:
        return graded.passes(f"a stale lock: {who} has ended")
    if lock.is_ours is None:
        return unknown(f"{who} has locked the machine; cannot tell whether it started this run")
    return graded.fails(f"{who} has locked the machine")


_VISIBLE, _WORKS = passing_and_failing(
    "CPU time of background programs",
    "CPUs",
    passes=(0.01, "less is typical while such programs wait"),
    fails=(0.2, "such programs are then working, often for minutes or hours"),
)
_MAX_CULPRITS = 5
_NEVER_STOPPED = (SCANNER, BENCHMARK)  # files cannot be opened without the scanner; a pause spoils a benchmark


@check(
    id="background-job-runs",
    area=Area.JOBS,
    question="Are package managers, indexers, compilers, backups and similar programs idle?",
    severity=Severity.WARNING,
    reads=("/proc/PID/task/TID/schedstat over the sample", "/proc/PID/stat"),
    limits=(_VISIBLE, _WORKS),
    why=(
        "Such programs use memory, disks and the power budget wherever they run, and it is unpredictable where they "
        "run next. This check leaves out the target CPUs and their siblings, and only warns about CPUs that share a "
        "cache with them, because other checks judge these CPUs."
    ),
    remedy="Let the programs finish, stop their services, or pause them during the benchmark.",
    sources=("https://llvm.org/docs/Benchmarking.html", "https://docs.kernel.org/scheduler/sched-stats.html"),
    asks_rates=True,
)
def background_job_runs(case: Case) -> Answer:
    interval = case.sample
    runs_by_kind = _known_runs(case, interval)
    share_by_kind = {kind: _share(interval, runs) for kind, runs in runs_by_kind.items()}
    near = _cpus_judged_elsewhere(case)
    far = max(
        (_share(interval, (run for run in runs if run.cpu not in near)) for runs in runs_by_kind.values()), default=0.0
    )
    visible = {kind: share for kind, share in share_by_kind.items() if share > case.bound(_VISIBLE)}
    graded = case.graded(evidence={"cpus_by_kind": share_by_kind})
    if visible:
        culprits = _culprits(interval, [run for kind in visible for run in runs_by_kind[kind]])
        text = "; ".join(
            f"{kind} ({_names(interval, runs_by_kind[kind])}): {share:.2f} CPUs" for kind, share in visible.items()
        )
        status = Status.FAIL if far > case.bound(_WORKS) else Status.WARN
        stoppable = [kind for kind in visible if kind not in _NEVER_STOPPED]
        fix = _halt(case, interval, [run for kind in stoppable for run in runs_by_kind[kind]])
        reason = _unseen_jobs_reason(case, interval) if status == Status.WARN else None
        graded = graded.by(_WORKS, max(visible.values()))
        return graded.answer(status, text, reason=reason, culprits=culprits, fix=fix)
    reason = _unseen_jobs_reason(case, interval)
    if reason is not None:
        return graded.unknown(reason)
    largest = max(share_by_kind.values(), default=0.0)
    return graded.by(_WORKS, largest).passes("no such program is at work on the other CPUs")


def _known_runs(case: Case, interval: Interval) -> dict[str, list[TaskRun]]:
    """Return the runs of known programs by kind, except on target CPUs and siblings, which other checks judge."""
    left_out = case.target | case.siblings
    runs_by_name: dict[str, list[TaskRun]] = defaultdict(list)
    for run in interval.runs:
        kind = kind_of_program(_program(interval, run))
        if kind is not None and not run.is_kernel and not run.is_own and run.cpu not in left_out:
            runs_by_name[kind].append(run)
    return dict(runs_by_name)


def _program(interval: Interval, run: TaskRun) -> str:
    """Return the name of the run's process: threads may have other names."""
    for tasks in (interval.after.tasks, interval.before.tasks):
        leader = tasks.by_tid.get(run.pid) if tasks is not None else None
        if leader is not None:
            return leader.name
    return run.name


def _cpus_judged_elsewhere(case: Case) -> CpuSet:
    """Return the CPUs whose load another check judges."""
    if cpus_without_cache(case):
        return case.target | case.siblings
    caches = {cache or frozenset() for cache in cache_neighbourhoods(case).values()}
    return (case.target | case.siblings).union(*caches)


def _share(interval: Interval, runs: Iterable[TaskRun]) -> float:
    return sum(run.ran_ns for run in runs) / interval.length_ns


def _names(interval: Interval, runs: list[TaskRun]) -> str:
    names = list(dict.fromkeys(_program(interval, run) for run in runs))
    return ", ".join(names[:_MAX_CULPRITS]) + (", …" if len(names) > _MAX_CULPRITS else "")


def _culprits(interval: Interval, runs: list[TaskRun]) -> tuple[Disturbance, ...]:
    longest = sorted(runs, key=lambda run: -run.ran_ns)[:_MAX_CULPRITS]
    return tuple(
        Disturbance(
            *(Kind.THREAD, name_of_run(run), run.cpu, run.ran_ns, run.ran_ns / interval.length_ns, None),
            pid=run.pid,
            tid=None if run.are_children else run.tid,
            is_inferred=run.is_inferred,
        )
        for run in longest
    )


def _halt(case: Case, interval: Interval, runs: list[TaskRun]) -> Fix | None:
    """Return the fix that suspends the processes, or None if none may be suspended. Undo resumes them.

    Ancestors of this process, other noisewatch processes and their commands are never suspended.
    """
    alive = interval.after.tasks.pids if interval.after.tasks is not None else frozenset()
    stoppable = ({run.pid for run in runs} & alive) - ancestors(case) - other_noisewatches(case).keys()
    pids = " ".join(map(str, sorted(stoppable)))
    return Fix((run_command(f"kill -STOP {pids}", f"kill -CONT {pids}"),)) if pids else None


def _unseen_jobs_reason(case: Case, interval: Interval) -> str | None:
    before = interval.before.tasks
    if before is None or not before.is_complete:
        return "not all processes were read at the start of the sample"
    return unseen_reason(case)


_AHEAD = Limit(
    *("window", "time ahead that is checked", 600, "s", "most benchmarks have finished by then"),
    set_by="--expect",
)
_CRONS = frozenset({"cron", "crond", "fcron", "dcron", "bcron-start"})
_ANACRON = frozenset({"anacron"})
_MAX_NAMED = 4
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
_RANDOM = regex(r"(\d)~(\d)")  # a random value from the range, in crontabs of cronie


class _Due(Struct, frozen=True):
    name: str
    in_s: float
    unit: str | None = None


@check(
    id="job-scheduled",
    area=Area.JOBS,
    question="Are the next minutes free of scheduled system jobs?",
    severity=Severity.INFORMATION,
    reads=("systemctl list-timers", "/etc/crontab", "/etc/cron.d/*", "/proc/PID/stat"),
    limits=(_AHEAD,),
    why=(
        "A quiet sample of three seconds does not show that the seventh minute will be quiet: a job may then check for "
        "updates, rotate logs or trim disks. Such jobs start at scheduled times, and take minutes."
    ),
    remedy=(
        "Start the benchmark after the jobs, or stop their timers during the benchmark. Give the benchmark's duration "
        "with --expect."
    ),
    sources=(
        "https://www.freedesktop.org/software/systemd/man/latest/systemd.timer.html",
        "https://man7.org/linux/man-pages/man5/crontab.5.html",
    ),
)
def job_scheduled(case: Case) -> Answer:
    jobs = case.snapshot.jobs
    severity = Severity.WARNING if case.rules.expected_s is not None else None
    if jobs is None:
        return case.graded(severity=Severity.INFORMATION).unknown("only `preflight` reads scheduled jobs")
    ahead_s = case.rules.expected_s if case.rules.expected_s is not None else case.bound(_AHEAD)
    if jobs.clock is None:
        return case.graded(severity=severity).unknown(case.unread_reason(CLOCK_QUESTION))
    crons = running(case, _CRONS)
    from_cron, doubt = _cron_jobs(jobs, jobs.clock) if crons else ([], None)
    from_anacron = [_Due("the jobs of the running anacron", 0.0)] if running(case, _ANACRON) else []
    now_us = jobs.clock.now_us
    from_timers = [_Due(timer.unit, (timer.next_us - now_us) / _US_PER_S, timer.unit) for timer in jobs.timers or ()]
    scheduled = [*from_timers, *from_cron, *from_anacron]
    due = sorted((job for job in scheduled if job.in_s <= ahead_s), key=lambda job: job.in_s)
    evidence = {"due": [{"name": job.name, "in_s": round(job.in_s)} for job in due], "window_s": ahead_s}
    graded = case.graded(limit=ahead_s, unit="s", evidence=evidence, limit_role=LOOKED_AHEAD)
    if due:
        fix = _stop(due, [task.pid for task in crons] if any(job in due for job in from_cron) else [])
        return graded.warns(_describe_due(due), measured=round(max(due[0].in_s, 0.0)), fix=fix, severity=severity)
    hidden = doubt or _unseen_cron_reason(case, bool(crons))
    reason = case.unread_reason(TIMERS) if jobs.timers is None else hidden
    if reason is None and case.snapshot.platform.container != NONE:
        reason = f"{case.container_words} sees only its own jobs"
    if reason is not None:
        return case.graded(evidence=evidence, severity=severity).unknown(reason)
    return graded.passes(f"none within {_length(ahead_s)} ({_USERS})")


def _cron_jobs(jobs: Jobs, clock: WallClock) -> tuple[list[_Due], str | None]:
    """Return when each cron job starts next, and why there may be others."""
    scheduled: list[_Due] = []
    doubt = f"{jobs.crontabs.unread[0]} could not be read" if jobs.crontabs.unread else None
    for job in jobs.crontabs.jobs:
        try:
            in_s = seconds_until(job.schedule, clock)
        except Malformed as error:
            doubt = f"{job.path}: {error.reason}"
            continue
        if in_s is not None:
            scheduled.append(_Due(job.path if job.name == UNNAMED else f"{job.name} ({job.path})", in_s))
    return scheduled, doubt


def _unseen_cron_reason(case: Case, is_running: bool) -> str | None:
    hidden = unseen_reason(case)
    return None if is_running or hidden is None else f"cannot tell whether a cron daemon runs: {hidden}"


def _describe_due(due: list[_Due]) -> str:
    named = ", ".join(f"{job.name} in {_length(max(job.in_s, 0.0))}" for job in due[:_MAX_NAMED])
    return named + (f", and {len(due) - _MAX_NAMED} more" if len(due) > _MAX_NAMED else "")


def _length(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def _stop(due: list[_Due], cron_pids: list[int]) -> Fix:
    """Return the fix that stops the timers and suspends cron itself, which catches up when it is resumed."""
    units = tuple(job.unit for job in due if job.unit is not None)
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
