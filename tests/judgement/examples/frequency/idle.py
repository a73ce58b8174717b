"""Idle states."""

from __future__ import annotations

from noisewatch.judgement.rules import Rules
from noisewatch.kernel.frequency.idle import HOLDERS, LATENCY_REQUEST
from tests.judgement.example import VIRTUAL, Example
from tests.written.quiet_machine import CPUS, process

_C6 = f"{CPUS}/cpu3/cpuidle/state3"
_DEEP = {f"{_C6}/disable": "0\n"}
_LIMIT = f"{CPUS}/cpu3/power/pm_qos_resume_latency_us"
_NO_STATES = tuple(f"{CPUS}/cpu{cpu}/cpuidle" for cpu in range(4))
_POLL = {"/proc/cmdline": "root=/dev/sda1 isolcpus=managed_irq,domain,2-3 nohz_full=2-3 idle=poll\n"}
_SIBLINGS = {f"{CPUS}/cpu2/topology/thread_siblings_list": "1-2\n"}
_NAME, _C1 = f"{CPUS}/cpu3/cpuidle/state0/name", f"{CPUS}/cpu3/cpuidle/state1/latency"


EXAMPLES = [
    Example("deep-idle-states", "fail", _DEEP, "C6, which takes 133 µs", cpus={3}),
    Example("deep-idle-states", "fail", _DEEP, "C6, which takes 133 µs", rules=Rules("latency")),
    Example(
        "deep-idle-states", "fail", {f"{CPUS}/cpu3/cpuidle/state2/latency": "11\n"}, "C1E, which takes 11 µs", cpus={3}
    ),
    Example("deep-idle-states", "pass", {f"{CPUS}/cpu1/cpuidle/state3/disable": "0\n"}),
    Example("deep-idle-states", "pass", _DEEP | {_LIMIT: "n/a\n"}),
    Example("deep-idle-states", "pass", _DEEP | {_LIMIT: "132\n"}),
    Example("deep-idle-states", "fail", _DEEP | {_LIMIT: "133\n"}),
    Example("deep-idle-states", "pass", _DEEP, answers={LATENCY_REQUEST: 0}),
    Example("deep-idle-states", "warn", _DEEP, "cannot tell whether", answers={LATENCY_REQUEST: "rubbish"}),
    Example("deep-idle-states", "pass", answers={LATENCY_REQUEST: -7}),
    Example("deep-idle-states", "unknown", {f"{_C6}/disable": "rubbish\n"}, "state3/disable"),
    Example("deep-idle-states", "unknown", gone=(f"{_C6}/latency",)),
    Example("deep-idle-states", "unknown", {_LIMIT: "rubbish\n"}, "pm_qos"),
    Example("deep-idle-states", "pass", gone=(_LIMIT,)),
    Example("deep-idle-states", "unknown", gone=(_LIMIT,), is_copy=True),
    Example("deep-idle-states", "unknown", gone=_NO_STATES, is_copy=True),
    Example("deep-idle-states", "not-applicable", gone=_NO_STATES),
    Example("deep-idle-states", "unknown", VIRTUAL, "cannot see how deeply its host"),
    Example("idle-cpus-spin", "fail", _POLL, "idle=poll"),
    Example("idle-cpus-spin", "fail", _POLL | _SIBLINGS, "idle=poll"),
    Example("idle-cpus-spin", "fail", named="request of 0 µs", answers={LATENCY_REQUEST: 0}),
    Example("idle-cpus-spin", "fail", named="request of 1 µs", answers={LATENCY_REQUEST: 1}),
    Example(
        *("idle-cpus-spin", "fail", process(812, "tuned", 0, 0)),
        "request of 0 µs makes idle CPUs spin (/dev/cpu_dma_latency, held open by tuned (pid 812), pid 813)",
        answers={LATENCY_REQUEST: 0, HOLDERS: [813, 812]},
    ),
    Example("idle-cpus-spin", "fail", named="(/dev/cpu_dma_latency)", answers={LATENCY_REQUEST: 0, HOLDERS: "x"}),
    Example("idle-cpus-spin", "pass", answers={LATENCY_REQUEST: 2}),
    Example(
        "idle-cpus-spin",
        "pass",
        {f"{CPUS}/cpu{cpu}/cpuidle/state0/name": "WFI\n" for cpu in range(4)},
        answers={LATENCY_REQUEST: 0},
    ),
    Example("idle-cpus-spin", "unknown", answers={LATENCY_REQUEST: "rubbish"}),
    Example(
        "idle-cpus-spin",
        "unknown",
        {_NAME: "\n", _NAME.replace("cpu3", "cpu2"): "WFI\n"},
        "cpu3/cpuidle/state0/name",
        answers={LATENCY_REQUEST: 0},
    ),
    Example("idle-cpus-spin", "pass", {_NAME: "\n"}, answers={LATENCY_REQUEST: 2}),
    Example("idle-cpus-spin", "unknown", {_C1: "\n"}, "cpu3/cpuidle/state1/latency", answers={LATENCY_REQUEST: 5}),
    Example("idle-cpus-spin", "pass", {_C1: "\n"}, answers={LATENCY_REQUEST: 10}),
    Example("idle-cpus-spin", "fail", {_C1: "9\n"}, "request of 5 µs", answers={LATENCY_REQUEST: 5}),
    Example("idle-cpus-spin", "pass", gone=_NO_STATES, answers={LATENCY_REQUEST: 0}),
    Example("idle-cpus-spin", "unknown", gone=("/proc/cmdline",)),
]
