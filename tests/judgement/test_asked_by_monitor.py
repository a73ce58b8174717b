"""Properties that noisewatch inherits count where it starts the benchmark, and not in the monitor."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from noisewatch.judgement.terms import Status
from noisewatch.judgement.verdict import Verdict, judge
from noisewatch.kernel.cpus.target import OWN_AFFINITY
from noisewatch.kernel.snapshot.knobs import Knob
from noisewatch.kernel.tasks.own_process import ENVIRONMENT, LIMITS, PERSONALITY, STAT, STATUS
from tests.judgement.example import Example
from tests.judgement.judging import finding
from tests.written.quiet.tasks import own_limits, own_stat, own_status

_ALTERED = {  # all properties that this process inherits and passes on
    STAT: own_stat(nice=10),
    PERSONALITY: "00040000\n",
    STATUS: own_status(tracer=700).replace("Seccomp:\t0", "Seccomp:\t2"),
    LIMITS: own_limits(cpu_time="10"),
}
_ANSWERS = {ENVIRONMENT: {"names": ["LD_PRELOAD"], "bytes": 100}, OWN_AFFINITY: [1, 2]}
_OWN_CHECKS = {"privileges-limited"}


def _in_monitor(verdict: Verdict) -> Verdict:
    return judge(replace(verdict.case, starts_benchmark=False))


def _statuses(verdict: Verdict) -> dict[str, str]:
    return {result.check.id: result.status for result in verdict.findings if result.check.id not in _OWN_CHECKS}


def test_inherited_properties_change_no_answer_in_the_monitor() -> None:
    usual = Example("", "").judged()
    altered = Example("", "", _ALTERED, answers=_ANSWERS).judged()
    changed = {name for name, status in _statuses(altered).items() if status != _statuses(usual)[name]}
    assert {"priority-lowered", "process-traced", "layout-not-random", "environment-alters-programs"} <= changed
    assert _statuses(_in_monitor(altered)) == _statuses(_in_monitor(usual))


def test_a_nice_value_counts_in_preflight_and_not_in_the_monitor() -> None:
    verdict = Example("", "", {STAT: own_stat(nice=10)}).judged()
    assert finding(verdict, "priority-lowered").status == Status.WARN
    in_monitor = finding(_in_monitor(verdict), "priority-lowered")
    assert in_monitor.status == Status.NOT_APPLICABLE
    assert in_monitor.answer.reason is not None
    assert "noisewatch preflight" in in_monitor.answer.reason


@pytest.mark.parametrize(
    ("check_id", "changed", "status"),
    [
        ("layout-not-random", {Knob.ADDRESS_RANDOMISATION: "0\n"}, Status.WARN),
        ("hardware-counters-unusable", {Knob.PERF_PARANOID: "2\n"}, Status.PASS),
        ("nice-value-confined-to-session", {Knob.AUTOGROUP: "0\n"}, Status.PASS),
    ],
)
def test_settings_of_the_machine_count_in_the_monitor_too(check_id: str, changed: dict[str, str], status: str) -> None:
    assert finding(_in_monitor(Example("", "", changed).judged()), check_id).status == status
