"""The kernel's osnoise tracer gives the same result as events, and rtla counts the same noise.

The real-time kernel has the tracer: tests/lab/set_up --realtime.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import pytest

from tests.lab.lab import Lab
from tests.lab.test_disturbances import background_shell

_CPU = 2
_TASK = "while :; do sleep 0.02; done"
_CLASS = {  # classes of the kernel's tracer, for which softirqs run in threads
    **dict.fromkeys(("tick", "irq", "ipi"), "irq"),
    **dict.fromkeys(("thread", "kernel-thread", "softirq"), "thread"),
}
_SECOND_INSTANCE = "/sys/kernel/tracing/instances/beside"  # records the noise that rtla counts
_BEGIN = (
    f"echo mono >trace_clock; echo {1 << _CPU:x} >tracing_cpumask; echo 16384 >buffer_size_kb; "
    "for kind in irq thread; do echo 1 >events/osnoise/${kind}_noise/enable; done"
)
_NOISE = re.compile(r" (?P<at>\d+\.\d+): (?P<kind>irq|thread)_noise: .* duration (?P<ns>\d+) ns")

Totals = dict[str, tuple[int, int]]  # by class: how often, and for how many ns


def _trace(lab: Lab, seconds: int, tracer: str) -> dict[str, Any]:
    command = f"noisewatch trace --cpus {_CPU} --duration {seconds} --tracer {tracer} --format json"
    answer: dict[str, Any] = json.loads(lab.do(command))
    return answer


def _totals(answer: Mapping[str, Any]) -> Totals:
    """Return the noise in noisewatch's answer by class, without osnoise's threads (the followed one, rtla's load)."""
    totals: Totals = defaultdict(lambda: (0, 0))
    for culprit in answer["cpus"][0]["culprits"]:
        if not culprit["name"].startswith("osnoise/"):
            count, ns = totals[_CLASS[culprit["kind"]]]
            spells = culprit["count"] if culprit["kind"] != "softirq" else 0
            totals[_CLASS[culprit["kind"]]] = (count + spells, ns + culprit["stolen_ns"])
    return totals


def _noises(text: str, begin_s: float, seconds: float) -> Totals:
    """Return the noise by class from the osnoise events of a trace, for `seconds` seconds from `begin_s`."""
    totals: Totals = defaultdict(lambda: (0, 0))
    for event in _NOISE.finditer(text):
        if begin_s <= float(event["at"]) <= begin_s + seconds:
            count, ns = totals[event["kind"]]
            totals[event["kind"]] = (count + 1, ns + int(event["ns"]))
    return totals


def test_the_osnoise_tracer_and_events_give_the_same_result(realtime: Lab) -> None:
    before = realtime.read("/sys/kernel/tracing/osnoise/options")
    with background_shell(realtime, "while :; do :; done", _CPU) as pid:
        by_osnoise, by_events = _trace(realtime, 8, "osnoise"), _trace(realtime, 8, "events")
    assert (by_osnoise["tracer"], by_events["tracer"]) == ("osnoise", "events")
    assert [answer["cpus"][0]["works"]["pid"] for answer in (by_osnoise, by_events)] == [pid, pid]
    assert by_osnoise["cpus"][0]["lost_events"] == 0
    per_s = [_totals(answer)["irq"][0] / answer["seconds"] for answer in (by_osnoise, by_events)]
    assert per_s[0] == pytest.approx(per_s[1], rel=0.1)
    assert realtime.read("/sys/kernel/tracing/osnoise/options") == before
    assert realtime.do("ls /sys/kernel/tracing/instances") == ""


def test_rtla_and_noisewatch_count_the_same_noise(realtime: Lab) -> None:
    """rtla and noisewatch count in the same seconds, because the noise varies."""
    with background_shell(realtime, _TASK, _CPU):
        rtla = realtime.start(f"rtla osnoise top -q -c {_CPU} -d 150s")
        realtime.do(f"until pgrep -x osnoise/{_CPU} >/dev/null; do sleep 0.2; done; sleep 2")
        refused = _trace(realtime, 1, "osnoise")
        realtime.do(f"mkdir {_SECOND_INSTANCE}; cd {_SECOND_INSTANCE}; {_BEGIN}")
        answer = _trace(realtime, 10, "events")
        text = realtime.do(f"cd {_SECOND_INSTANCE}; echo 0 >tracing_on; cat trace; cd; rmdir {_SECOND_INSTANCE}")
        realtime.stop(rtla, "INT")
    assert (refused["tracer"], refused["reason"]) == ("none", "another program uses the osnoise tracer")
    ours, theirs = _totals(answer), _noises(text, answer["begin_monotonic_ns"] / 1e9, answer["seconds"])
    assert theirs["irq"][0] > 1_000
    for kind, totals in theirs.items():
        assert list(ours[kind]) == pytest.approx(list(totals), rel=0.1), (ours, theirs)
