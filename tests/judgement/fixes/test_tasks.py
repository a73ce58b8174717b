"""Fixes of the checks of noisewatch's process and of other jobs, their undo, and the severity of these checks."""

from __future__ import annotations

import pytest

from noisewatch.kernel.cpus.target import OWN_AFFINITY
from noisewatch.kernel.tasks.jobs import QUESTION
from noisewatch.kernel.tasks.own_process import ENVIRONMENT
from tests.judgement.example import Example
from tests.judgement.fixes.proposed import example_named, fix_of_example
from tests.written.quiet.tasks import MINUTE_US, NOW_US
from tests.written.quiet_machine import process


def test_the_user_is_advised_to_start_the_benchmark_on_the_target() -> None:
    fix = fix_of_example(Example("started-off-target", "warn", answers={OWN_AFFINITY: [0, 1]}))
    assert (fix.now, fix.needs_root) == (None, False)
    assert fix.persist == "start the benchmark with: taskset -c 2-3 COMMAND"


def test_a_preloaded_library_warns_and_a_tuned_allocator_is_only_noted() -> None:
    severities = [
        Example("environment-alters-programs", "warn", answers={ENVIRONMENT: {"names": [name], "bytes": 9}})
        .found()
        .severity
        for name in ("LD_PRELOAD", "MALLOC_CONF")
    ]
    assert severities == ["warning", "information"]


def test_a_job_is_stopped_and_continued() -> None:
    fix = fix_of_example(example_named("background-job-runs", "fail", "package manager (apt): 0.50 CPUs"))
    assert (fix.now, fix.undo) == ("sudo kill -STOP 900", "sudo kill -CONT 900")


def test_a_job_of_another_noisewatch_is_not_stopped() -> None:
    files = process(899, "noisewatch", 0, 0)
    example = Example(
        *("background-job-runs", "warn", files | process(900, "make", 1, 0, parent=899)),
        after=files | process(900, "make", 1, 1_500_000_000, parent=899),
    )
    assert (example.found().status, example.found().answer.fix) == ("warn", None)


@pytest.mark.parametrize("name", ["clamd", "stress-ng"])
def test_a_scanner_and_another_benchmark_are_not_stopped(name: str) -> None:
    example = Example(
        "background-job-runs", "warn", process(900, name, 1, 0), after=process(900, name, 1, 1_500_000_000)
    )
    answer = example.found().answer
    assert (answer.status, answer.fix) == ("warn", None)
    assert [(culprit.name, culprit.pid) for culprit in answer.culprits] == [(name, 900)]


def test_timers_are_stopped_and_started_and_cron_is_paused() -> None:
    due = [
        ["b@x.timer", NOW_US + 5 * MINUTE_US],
        ["a.timer", NOW_US + MINUTE_US],
        ["late.timer", NOW_US + 600 * MINUTE_US],
    ]
    files = process(710, "crond", 0, 5) | {"/etc/cron.d/x": "14 15 * * * root /bin/x\n"}
    example = Example("job-scheduled", "warn", files, answers={QUESTION: due})
    fix = fix_of_example(example)
    assert fix.now == "sudo systemctl stop a.timer b@x.timer && sudo kill -STOP 710"
    assert fix.undo == "sudo kill -CONT 710; sudo systemctl start a.timer b@x.timer"
    assert fix.persist == "sudo systemctl disable --now a.timer b@x.timer"
    assert "a.timer in 60 s, x (/etc/cron.d/x) in 2 min, b@x.timer in 5 min" in example.found().answer.said


def test_a_job_due_within_a_known_duration_of_the_benchmark_is_a_warning() -> None:
    assert example_named("job-scheduled", "warn", "in 50 min").found().severity == "warning"
    without_duration = example_named("job-scheduled", "warn", "apt-daily.timer in 10 min")
    assert without_duration.found().severity == "information"
