"""Properties that the benchmark inherits from the process that starts it."""

from __future__ import annotations

from noisewatch.kernel.cpus.target import OWN_AFFINITY
from noisewatch.kernel.snapshot.knobs import Knob
from noisewatch.kernel.tasks.own_process import ENVIRONMENT, LIMITS, NAMESPACE, PERSONALITY, STATUS
from noisewatch.kernel.trace.active import EVENT_SOURCES
from tests.judgement.example import Example
from tests.written.quiet.tasks import own_limits, own_status

_NO_RIGHTS = own_status(capabilities="0" * 16)
_PROFILER = own_status(capabilities="0000004000000000")


def _set(*names: str) -> dict[str, object]:
    return {ENVIRONMENT: {"names": list(names), "bytes": 2000}}


EXAMPLES = [
    Example("layout-not-random", "warn", {Knob.ADDRESS_RANDOMISATION: "0\n"}, "fixed"),
    Example("layout-not-random", "warn", {Knob.ADDRESS_RANDOMISATION: "1\n"}, "heap"),
    Example("layout-not-random", "warn", {PERSONALITY: "00040000\n"}, "setarch"),
    Example("layout-not-random", "pass", {PERSONALITY: "00020000\n"}),
    Example("layout-not-random", "unknown", {PERSONALITY: "rubbish\n"}),
    Example("layout-not-random", "unknown", {PERSONALITY: "0004"}, "cut off"),
    Example("layout-not-random", "unknown", gone=(PERSONALITY,)),
    Example("layout-not-random", "unknown", {Knob.ADDRESS_RANDOMISATION: "rubbish\n"}),
    Example("layout-not-random", "not-applicable", gone=(Knob.ADDRESS_RANDOMISATION,)),
    Example("environment-alters-programs", "warn", named="LD_PRELOAD", answers=_set("LD_PRELOAD")),
    Example("environment-alters-programs", "warn", named="MALLOC_CONF", answers=_set("MALLOC_CONF")),
    Example("environment-alters-programs", "warn", named="LD_DEBUG", answers=_set("LD_DEBUG")),
    Example("environment-alters-programs", "warn", named="OMP_NUM_THREADS", answers=_set("OMP_NUM_THREADS")),
    Example("environment-alters-programs", "pass", named="PYTHONHASHSEED", answers=_set("PYTHONHASHSEED")),
    Example("environment-alters-programs", "pass", named="2000 bytes", answers=_set("SECRET")),
    Example("environment-alters-programs", "unknown", answers={ENVIRONMENT: None}),
    Example("environment-alters-programs", "unknown", answers={ENVIRONMENT: {"names": "LD_PRELOAD", "bytes": 5}}),
    Example("process-traced", "fail", {STATUS: own_status(tracer=700)}, "traced by sshd (pid 700)"),
    Example("process-traced", "fail", {STATUS: own_status(tracer=9999)}, "pid 9999"),
    Example("process-traced", "unknown", {STATUS: own_status().replace("TracerPid", "Tracer")}),
    Example("process-traced", "unknown", gone=(STATUS,)),
    Example("resources-limited", "warn", {LIMITS: own_limits(cpu_time="600")}, "Max cpu time: 600"),
    Example("resources-limited", "warn", {LIMITS: own_limits(address_space="1000000")}, "Max address space"),
    Example("resources-limited", "warn", {LIMITS: own_limits(data_size="1000000")}, "Max data size"),
    Example("resources-limited", "warn", {LIMITS: own_limits(stack_size="unlimited")}, "Max stack size: unlimited"),
    Example("resources-limited", "pass", {LIMITS: own_limits(stack_size="16777216")}),
    Example("resources-limited", "unknown", {LIMITS: own_limits().replace("Max data size", "Max date size")}, "data"),
    Example("resources-limited", "unknown", {LIMITS: own_limits(cpu_time="rubbish")}),
    Example("resources-limited", "unknown", gone=(LIMITS,)),
    Example("hardware-counters-unusable", "warn", {Knob.PERF_PARANOID: "3\n", STATUS: _NO_RIGHTS}, "only root"),
    Example("hardware-counters-unusable", "pass", {Knob.PERF_PARANOID: "2\n", STATUS: _NO_RIGHTS}, "cpu may be used"),
    Example("hardware-counters-unusable", "pass", {Knob.PERF_PARANOID: "-1\n"}),
    Example("hardware-counters-unusable", "pass", {Knob.PERF_PARANOID: "4\n", STATUS: _PROFILER}),
    Example("hardware-counters-unusable", "warn", {Knob.PERF_PARANOID: "4\n"}, "only root", answers={NAMESPACE: False}),
    Example("hardware-counters-unusable", "unknown", {Knob.PERF_PARANOID: "4\n"}, answers={NAMESPACE: None}),
    Example("hardware-counters-unusable", "unknown", {Knob.PERF_PARANOID: "3\n"}, gone=(STATUS,)),
    Example("hardware-counters-unusable", "warn", {}, "not available", gone=(f"{EVENT_SOURCES}/cpu",)),
    Example(
        *("hardware-counters-unusable", "pass", {f"{EVENT_SOURCES}/armv8_pmuv3_0/type": "8\n"}, "armv8_pmuv3_0"),
        gone=(f"{EVENT_SOURCES}/cpu",),
    ),
    Example("hardware-counters-unusable", "unknown", gone=(EVENT_SOURCES,)),
    Example("hardware-counters-unusable", "unknown", {Knob.PERF_PARANOID: "rubbish\n"}),
    Example("hardware-counters-unusable", "not-applicable", gone=(Knob.PERF_PARANOID,)),
    Example("started-off-target", "warn", {}, "on CPUs 0-1", {0, 1}, answers={OWN_AFFINITY: [0, 1]}),
    Example("started-off-target", "warn", {}, "also run on CPU 1", {1}, answers={OWN_AFFINITY: [1, 2, 3]}),
    Example("started-off-target", "pass", {}, "CPU 3", answers={OWN_AFFINITY: [3]}),
    Example("started-off-target", "unknown", answers={OWN_AFFINITY: None}),
    Example("started-off-target", "unknown", answers={OWN_AFFINITY: []}),
]
