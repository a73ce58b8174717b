"""Jobs that run, and jobs that are due."""

from __future__ import annotations

from noisewatch.judgement.rules import Rules
from noisewatch.kernel.tasks.jobs import BOOTED, CLOCK_QUESTION, QUESTION
from tests.judgement.example import Example
from tests.written.quiet.tasks import MINUTE_US, NOW_US
from tests.written.quiet_machine import CPUS, process, stat_file

_IN_DOCKER = {"/.dockerenv": ""}
_OWN_CACHE = {f"{CPUS}/cpu{cpu}/cache/index3/shared_cpu_list": "0-1\n" for cpu in (0, 1)} | {
    f"{CPUS}/cpu{cpu}/cache/index3/shared_cpu_list": "2-3\n" for cpu in (2, 3)
}
_THREE_SECONDS_NS = 3_000_000_000
_CRON = process(710, "cron", 0, 5_000_000)


def _program(name: str, share: float, cpu: int = 1) -> dict[str, str]:
    return process(900, name, cpu, round(share * _THREE_SECONDS_NS), allowed="0-3")


def _job(name: str, share: float, status: str, named: str = "", cpu: int = 1, shares_cache: bool = False) -> Example:
    """Return an example with a process that uses a share of a CPU, by default of another cache than the target CPUs."""
    changed = ({} if shares_cache else _OWN_CACHE) | _program(name, 0, cpu)
    after = _program(name, share, cpu) | {"/proc/stat": stat_file({cpu: round(share * 300)}, 300)}
    return Example("background-job-runs", status, changed, named, after=after)


_RUNNING = [
    _job("apt", 0.5, "fail", "package manager (apt): 0.50 CPUs"),
    _job("apt", 0.21, "fail"),
    _job("apt", 0.19, "warn", "apt"),
    _job("apt", 0.011, "warn", "apt"),
    _job("apt", 0.009, "pass"),
    _job("tracker-miner-f", 0.5, "fail", "indexer"),
    _job("database", 0.5, "pass"),
    _job("apt", 0.5, "warn", "apt", shares_cache=True),
    _job("apt", 0.5, "pass", "on the other CPUs", cpu=2),
    Example(
        *("background-job-runs", "fail", _OWN_CACHE | _program("make", 0) | process(901, "cc1plus", 0, 0), "make"),
        after=_program("make", 0.05) | process(901, "cc1plus", 0, round(0.19 * _THREE_SECONDS_NS)),
    ),
    Example("background-job-runs", "unknown", {"/proc/950/stat": "garbage"}, "not all processes"),
    Example("background-job-runs", "unknown", {}, "no kernel thread", gone=("/proc/2", "/proc/30")),
]


def _timer(minutes: float, unit: str = "apt-daily.timer") -> dict[str, object]:
    return {QUESTION: [[unit, NOW_US + round(minutes * MINUTE_US)]]}


def _crontab(schedule: str, named: str = "", status: str = "warn", rules: Rules = Rules()) -> Example:  # noqa: B008 - frozen
    files = _CRON | {"/etc/cron.d/backup": f"{schedule} alice /opt/backup --password secret\n"}
    return Example("job-scheduled", status, files, named, rules=rules)


_SCHEDULED = [
    Example("job-scheduled", "warn", {}, "apt-daily.timer in 10 min", answers=_timer(10)),
    Example("job-scheduled", "pass", {}, "none within 10 min", answers=_timer(10.1)),
    Example("job-scheduled", "warn", {}, "in 0 s", answers=_timer(-1)),
    Example("job-scheduled", "warn", {}, "in 50 min", answers=_timer(50), rules=Rules(expected_s=3600)),
    Example("job-scheduled", "pass", {}, "within 60 s", answers=_timer(2), rules=Rules(expected_s=60)),
    Example(
        *("job-scheduled", "pass", {}, "within 60 s"),
        answers=_timer(2),
        rules=Rules(value_by_limit={("job-scheduled", "window"): 60}),
    ),
    Example("job-scheduled", "pass", {}, "users", gone=(BOOTED,), answers=_timer(1)),
    Example("job-scheduled", "unknown", {}, QUESTION, answers={QUESTION: None}),
    Example("job-scheduled", "unknown", {}, "expected the name", answers={QUESTION: [["$(reboot)", 5]]}),
    Example("job-scheduled", "unknown", {}, CLOCK_QUESTION, answers={CLOCK_QUESTION: None}),
    Example("job-scheduled", "unknown", {}, CLOCK_QUESTION, answers={CLOCK_QUESTION: [1 << 60, 0]}),
    _crontab("20 15 * * *", "backup (/etc/cron.d/backup) in 8 min"),
    _crontab("*/10 * * * *", "in 8 min"),
    _crontab("10~59 15 * * *", "in 60 s"),
    _crontab("20 14 * * *", status="pass"),
    _crontab("@reboot", status="pass"),
    _crontab("@hourly", status="pass"),
    _crontab("@hourly", "in 48 min", rules=Rules(expected_s=3600)),
    _crontab("61 * * * *", "61 * * * *", status="unknown"),
    _crontab("whenever it suits you and", "/etc/cron.d/backup", status="unknown"),
    Example("job-scheduled", "pass", {"/etc/cron.d/backup": "* * * * * root /opt/backup\n"}, "none"),
    Example("job-scheduled", "unknown", _CRON | {"/etc/cron.d/a": "CRON_TZ=Asia/Tokyo\n"}, "/etc/cron.d/a"),
    Example("job-scheduled", "unknown", _CRON, "/etc/crontab", gone=("/etc/crontab",), is_copy=True),
    Example("job-scheduled", "pass", _CRON, gone=("/etc/crontab", "/etc/cron.d")),
    Example("job-scheduled", "warn", process(720, "anacron", 0, 5), "jobs of the running anacron"),
    Example("job-scheduled", "unknown", {}, "whether a cron daemon runs", gone=("/proc/2", "/proc/30")),
]


EXAMPLES = [
    Example("job-scheduled", "unknown", _IN_DOCKER | process(2, "kthreadd", 1, 5, flags=0x0020_0000), "container"),
    #
    *_RUNNING,
    *_SCHEDULED,
]
