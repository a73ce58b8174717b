"""The commands of the areas `virtual`, `process` and `jobs`, and what brings things back."""

from __future__ import annotations

import pytest

from noisewatch.judgement.fixes.fix import Fix
from noisewatch.judgement.verdict import Finding
from noisewatch.kernel.cpus.target import OWN_AFFINITY
from noisewatch.kernel.snapshot.knobs import Knob
from noisewatch.kernel.tasks.jobs import QUESTION
from noisewatch.kernel.tasks.own_process import ENVIRONMENT, PARENT, STAT, STATUS
from tests.judgement.example import Example, all_examples
from tests.written.quiet.tasks import MINUTE_US, NOW_US, own_stat, own_status
from tests.written.quiet_machine import process


def _fix(example: Example) -> Fix:
    fix = example.found().answer.fix
    assert fix is not None
    return fix


def _found(check_id: str, status: str, named: str) -> Finding:
    (example,) = [each for each in all_examples() if (each.id, each.status, each.named) == (check_id, status, named)]
    return example.found()


def test_the_shell_is_raised_and_lowered_again() -> None:
    lowered = {STAT: own_stat(nice=12, policy=3)}
    fix = _fix(Example("priority-lowered", "fail", lowered, answers={PARENT: [700, 10, 3]}))
    assert fix.now == "sudo chrt --other -p 0 700 && sudo renice -n 0 -p 700"
    assert fix.undo == "sudo renice -n 10 -p 700; sudo chrt --batch -p 0 700"


def test_a_shell_that_was_not_lowered_is_left_alone() -> None:
    assert _fix(Example("priority-lowered", "warn", {STAT: own_stat(nice=12)})).now is None


def test_the_first_process_is_never_raised() -> None:
    lowered = {STAT: own_stat(nice=5)}
    assert _fix(Example("priority-lowered", "warn", lowered, answers={PARENT: [1, 5, 0]})).now is None


@pytest.mark.parametrize(
    ("named", "status", "file", "value", "read"),
    [
        ("/ci has 99 of 100 cpu.weight", "warn", "ci/cpu.weight", "100", "99"),
        ("clamped to 45%", "warn", "ci/cpu.uclamp.max", "max", "45.00"),
        ("/ci is idle", "fail", "ci/cpu.idle", "0", "1"),
        ("512 of 1024 cpu.shares", "warn", "cpu/ci/cpu.shares", "1024", "512"),
    ],
)
def test_a_group_gets_what_all_have_and_then_what_it_had(
    named: str, status: str, file: str, value: str, read: str
) -> None:
    fix = _found("priority-lowered", status, named).answer.fix
    assert fix is not None
    path = f"/sys/fs/cgroup/{file}"
    assert (fix.now, fix.undo) == (f"echo {value} | sudo tee {path}", f"echo {read} | sudo tee {path}")


def test_randomisation_is_switched_on_and_back() -> None:
    fix = _fix(Example("layout-not-random", "warn", {Knob.ADDRESS_RANDOMISATION: "1\n"}))
    assert fix.now == "echo 2 | sudo tee /proc/sys/kernel/randomize_va_space"
    assert fix.undo == "echo 1 | sudo tee /proc/sys/kernel/randomize_va_space"


def test_counters_are_opened_to_everybody_and_closed_again() -> None:
    closed = {Knob.PERF_PARANOID: "4\n", STATUS: own_status(capabilities="0" * 16)}
    fix = _fix(Example("hardware-counters-unusable", "warn", closed))
    assert fix.now == "echo 2 | sudo tee /proc/sys/kernel/perf_event_paranoid"
    assert fix.undo == "echo 4 | sudo tee /proc/sys/kernel/perf_event_paranoid"
    assert "kernel.perf_event_paranoid = 2" in (fix.persist or "")


def test_a_benchmark_is_pinned_to_the_target_by_whoever_starts_it() -> None:
    fix = _fix(Example("started-off-target", "warn", answers={OWN_AFFINITY: [0, 1]}))
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
    fix = _found("background-job-runs", "fail", "package manager (apt): 0.50 CPUs").answer.fix
    assert fix is not None
    assert (fix.now, fix.undo) == ("sudo kill -STOP 900", "sudo kill -CONT 900")


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
    fix = _fix(example)
    assert fix.now == "sudo systemctl stop a.timer b@x.timer && sudo kill -STOP 710"
    assert fix.undo == "sudo kill -CONT 710; sudo systemctl start a.timer b@x.timer"
    assert fix.persist == "sudo systemctl disable --now a.timer b@x.timer"
    assert "a.timer in 60 s, x (/etc/cron.d/x) in 2 min, b@x.timer in 5 min" in example.found().answer.said


def test_a_job_that_is_due_weighs_more_once_it_is_known_how_long_the_benchmark_takes() -> None:
    found = _found("job-scheduled", "warn", "in 50 min")
    assert found.severity == "warning"
    assert _found("job-scheduled", "warn", "apt-daily.timer in 10 min").severity == "information"
