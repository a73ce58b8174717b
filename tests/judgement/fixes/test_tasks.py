"""What the checks of the process and of other jobs propose, how it is undone, and how much they weigh."""

from __future__ import annotations

import pytest

from noisewatch.kernel.cpus.target import OWN_AFFINITY
from noisewatch.kernel.tasks.jobs import QUESTION
from noisewatch.kernel.tasks.own_process import ENVIRONMENT
from tests.judgement.example import Example
from tests.judgement.fixes.proposed import example_named, fix_of_example
from tests.written.quiet.tasks import MINUTE_US, NOW_US
from tests.written.quiet_machine import process


def test_a_benchmark_is_pinned_to_the_target_by_whoever_starts_it() -> None:
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


def test_a_job_is_halted_where_it_is_and_goes_on() -> None:
    fix = fix_of_example(example_named("background-job-runs", "fail", "package manager (apt): 0.50 CPUs"))
    assert (fix.now, fix.undo) == ("sudo kill -STOP 900", "sudo kill -CONT 900")


def test_what_another_noisewatch_runs_is_not_halted() -> None:
    files = process(899, "noisewatch", 0, 0)
    example = Example(
        *("background-job-runs", "warn", files | process(900, "make", 1, 0, parent=899)),
        after=files | process(900, "make", 1, 1_500_000_000, parent=899),
    )
    assert (example.found().status, example.found().answer.fix) == ("warn", None)


@pytest.mark.parametrize("name", ["clamd", "stress-ng"])
def test_a_scanner_and_somebody_elses_benchmark_are_not_halted(name: str) -> None:
    example = Example(
        "background-job-runs", "warn", process(900, name, 1, 0), after=process(900, name, 1, 1_500_000_000)
    )
    answer = example.found().answer
    assert (answer.status, answer.fix) == ("warn", None)
    assert [(culprit.name, culprit.pid) for culprit in answer.culprits] == [(name, 900)]


def test_timers_are_stopped_and_started_and_cron_is_halted() -> None:
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


def test_a_job_that_is_due_weighs_more_once_it_is_known_how_long_the_benchmark_takes() -> None:
    assert example_named("job-scheduled", "warn", "in 50 min").found().severity == "warning"
    unasked = example_named("job-scheduled", "warn", "apt-daily.timer in 10 min")
    assert unasked.found().severity == "information"
