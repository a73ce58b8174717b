"""The kernel's own osnoise tracer: by it and by the events we tell the same, and rtla tells it of the same noise.

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
from tests.lab.test_disturbances import running

_CPU = 2
_TASK = "while :; do sleep 0.02; done"
_CLASS = {  # of the kernel's tracer; softirqs run in threads there, and are none of their own
    **dict.fromkeys(("tick", "irq", "ipi"), "irq"),
    **dict.fromkeys(("thread", "kernel-thread", "softirq"), "thread"),
}
_BESIDE = "/sys/kernel/tracing/instances/beside"  # what the kernel itself tells of the noise that rtla looks at
_BEGIN = (
    f"echo mono >trace_clock; echo {1 << _CPU:x} >tracing_cpumask; echo 16384 >buffer_size_kb; "
    "for each in irq thread; do echo 1 >events/osnoise/${each}_noise/enable; done"
)
_NOISE = re.compile(r" (?P<at>\d+\.\d+): (?P<kind>irq|thread)_noise: .* duration (?P<ns>\d+) ns")

Totals = dict[str, tuple[int, int]]  # by class: how often, and for how many ns


def _traced(lab: Lab, seconds: int, tracer: str) -> dict[str, Any]:
    command = f"noisewatch trace --cpus {_CPU} --duration {seconds} --tracer {tracer} --format json"
    answer: dict[str, Any] = json.loads(lab.do(command))
    return answer


def _totals(answer: Mapping[str, Any]) -> Totals:
    """Return the noise in noisewatch's answer by class, without osnoise threads: the followed thread or rtla's load."""
    found: Totals = defaultdict(lambda: (0, 0))
    for each in answer["cpus"][0]["culprits"]:
        if not each["name"].startswith("osnoise/"):
            count, ns = found[_CLASS[each["kind"]]]
            spells = each["count"] if each["kind"] != "softirq" else 0
            found[_CLASS[each["kind"]]] = (count + spells, ns + each["stolen_ns"])
    return found


def _noises(text: str, begin_s: float, seconds: float) -> Totals:
    """Return the noise by class from the osnoise events of a trace, for `seconds` seconds from `begin_s`."""
    found: Totals = defaultdict(lambda: (0, 0))
    for each in _NOISE.finditer(text):
        if begin_s <= float(each["at"]) <= begin_s + seconds:
            count, ns = found[each["kind"]]
            found[each["kind"]] = (count + 1, ns + int(each["ns"]))
    return found


def test_by_the_tracer_and_by_the_events_the_same_is_told(realtime: Lab) -> None:
    before = realtime.read("/sys/kernel/tracing/osnoise/options")
    with running(realtime, "while :; do :; done", _CPU) as pid:
        by_osnoise, by_events = _traced(realtime, 8, "osnoise"), _traced(realtime, 8, "events")
    assert (by_osnoise["tracer"], by_events["tracer"]) == ("osnoise", "events")
    assert [answer["cpus"][0]["works"]["pid"] for answer in (by_osnoise, by_events)] == [pid, pid]
    assert by_osnoise["cpus"][0]["lost_events"] == 0
    per_s = [_totals(answer)["irq"][0] / answer["seconds"] for answer in (by_osnoise, by_events)]
    assert per_s[0] == pytest.approx(per_s[1], rel=0.1)
    assert realtime.read("/sys/kernel/tracing/osnoise/options") == before
    assert realtime.do("ls /sys/kernel/tracing/instances") == ""


def test_what_rtla_makes_the_kernel_count_is_what_we_count(realtime: Lab) -> None:
    """rtla and noisewatch count over the same stretch of time, as the noise differs from second to second."""
    with running(realtime, _TASK, _CPU):
        rtla = realtime.start(f"rtla osnoise top -q -c {_CPU} -d 150s")
        realtime.do(f"until pgrep -x osnoise/{_CPU} >/dev/null; do sleep 0.2; done; sleep 2")
        refused = _traced(realtime, 1, "osnoise")
        realtime.do(f"mkdir {_BESIDE}; cd {_BESIDE}; {_BEGIN}")
        answer = _traced(realtime, 10, "events")
        told = realtime.do(f"cd {_BESIDE}; echo 0 >tracing_on; cat trace; cd; rmdir {_BESIDE}")
        realtime.stop(rtla, "INT")
    assert (refused["tracer"], refused["reason"]) == ("none", "another program uses the osnoise tracer")
    ours, theirs = _totals(answer), _noises(told, answer["begin_monotonic_ns"] / 1e9, answer["seconds"])
    assert theirs["irq"][0] > 1_000
    for kind, totals in theirs.items():
        assert list(ours[kind]) == pytest.approx(list(totals), rel=0.1), (ours, theirs)
