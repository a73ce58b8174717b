"""Tracers, profilers and monitoring agents."""

from __future__ import annotations

from noisewatch.judgement.rules import Rules
from noisewatch.kernel.snapshot.knobs import Knob
from tests.judgement.example import Example, device_table
from tests.written.quiet.system import TRACING
from tests.written.quiet_machine import process, quiet_files

_MOUNTS = quiet_files()["/proc/self/mounts"]
_HIDING = {"/proc/self/mounts": _MOUNTS + "proc /proc proc rw,nosuid,hidepid=invisible 0 0\n"}
_POWERLESS = {"/proc/self/status": quiet_files()["/proc/self/status"].replace("000001ffffffffff", "0000000000000000")}
_INTERRUPTS = quiet_files()["/proc/interrupts"]
_DOCKER = {"/.dockerenv": ""}
_KTHREADD = {
    "/proc/2/stat": quiet_files()["/proc/2/stat"].replace("2 (kthreadd)", "2 (sh)").replace(" 2097152 ", " 0 ")
}
_BOUND = {"/proc/30/stat": quiet_files()["/proc/30/stat"].replace(" 69206016 ", " 0 ")}
_STATISTICS = (Knob.SCHEDULER_STATISTICS, Knob.DELAY_ACCOUNTING, Knob.BPF_STATISTICS)


_NO_COLUMN_3 = device_table(" 24: 500 0 0 PCI-MSIX-0000:00:04.0 0-edge eth0-rx-0", columns=3)
_DEBUG_TRACING = "/sys/kernel/debug/tracing"
_OLD_KERNEL = {"/proc/sys/kernel/osrelease": "3.10.0\n", "/proc/version": "Linux version 3.10.0 (a@b) #1 SMP\n"}
_OLD_TRACER = {
    f"{_DEBUG_TRACING}/{name}": text
    for name, text in (("current_tracer", "function\n"), ("set_event", ""), ("function_profile_enabled", "0\n"))
}
_OTHER_NOISEWATCH = f"{TRACING}/instances/noisewatch-4026531836-812-912"
_NAMESPACE_ANSWER = {"pid namespace of this process": 4026531836}


def _noisewatch_instances(mask: str, folder: str = _OTHER_NOISEWATCH) -> dict[str, str]:
    """Return the two trace instances of a noisewatch (pid 812): the CPUs of the mask, and senders on all CPUs."""
    return {
        f"{folder}-{purpose}/{name}": text
        for purpose, traced in (("target", mask), ("senders", "f"))
        for name, text in (
            *(("current_tracer", "nop\n"), ("set_event", "sched:sched_switch\nsched:sched_wakeup\n")),
            ("tracing_cpumask", f"{traced}\n"),
        )
    }


def _overflows(*counts: int) -> dict[str, str]:
    row = "PMI: " + " ".join(map(str, counts)) + "   Performance monitoring interrupts\n"
    return {"/proc/interrupts": _INTERRUPTS.replace("RES:", f"{row}RES:")}


EXAMPLES = [
    Example("security-agent-runs", "unknown", _HIDING | _POWERLESS, "hidepid=invisible"),
    Example("profiler-runs", "unknown", gone=("/proc/interrupts",)),
    #
    Example("profiler-runs", "unknown", _NO_COLUMN_3, "no column for CPU 3"),
    #
    Example("profiler-runs", "fail", process(901, "perf", 0, 0), "perf (pid 901)"),
    Example("profiler-runs", "fail", process(901, "async-profiler", 0, 0), "async-profiler (pid 901)"),
    Example("profiler-runs", "pass", process(901, "perfect", 0, 0), "no profiler"),
    Example("profiler-runs", "pass", {Knob.PERF_SAMPLE_RATE: "100000\n"}, "no profiler"),
    Example(
        *("profiler-runs", "fail", _overflows(0, 0, 0, 0), "CPU 2 is sampled 100 times", {2}),
        after=_overflows(0, 0, 300, 0),
    ),
    Example(
        *("profiler-runs", "fail", _overflows(0, 0, 0, 0), "CPU 3 is sampled 1000 times", {3}),
        loaded=_overflows(0, 0, 0, 3000),
    ),
    Example("profiler-runs", "pass", _overflows(0, 0, 0, 0), "no profiler", after=_overflows(900, 900, 15, 0)),
    Example("profiler-runs", "unknown", _KTHREADD | _BOUND | _DOCKER, "only this container's"),
    Example("profiler-runs", "unknown", gone=("/proc/1", "/proc/2", "/proc/30", "/proc/700")),
    #
    Example("kernel-traced", "fail", {f"{TRACING}/current_tracer": "function\n"}, "tracer function"),
    Example("kernel-traced", "fail", {f"{TRACING}/set_event": "sched:sched_switch\n"}, "sched:sched_switch"),
    Example(
        *("kernel-traced", "fail", {f"{TRACING}/instances/rasdaemon/set_event": "ras:mc_event\nirq:softirq_entry\n"}),
        "instances/rasdaemon: irq:softirq_entry",
    ),
    Example("kernel-traced", "fail", {f"{TRACING}/set_event": "a:b\na:c\na:d\na:e\n"}, "a:d and 1 more"),
    Example("kernel-traced", "pass", {f"{TRACING}/set_event": "mce:mce_record\n"}, "more than rare events"),
    Example(
        *(
            "kernel-traced",
            "fail",
            {f"{TRACING}/other": "", f"{_DEBUG_TRACING}/current_tracer": "osnoise\n"},
        ),
        "debug/tracing: tracer osnoise",
        gone=(f"{TRACING}/current_tracer", f"{TRACING}/set_event", f"{TRACING}/instances"),
    ),
    Example("kernel-traced", "unknown", {f"{TRACING}/set_event": "two words\n"}, "two words"),
    Example("kernel-traced", "unknown", {f"{TRACING}/set_event": "\n\n"}, "set_event"),
    Example("kernel-traced", "unknown", gone=(f"{TRACING}/instances/rasdaemon/current_tracer",)),
    Example("kernel-traced", "unknown", gone=(TRACING,), is_copy=True),
    Example("kernel-traced", "not-applicable", gone=(TRACING,)),
    Example(
        *("kernel-traced", "fail", _OLD_KERNEL | _OLD_TRACER),
        named=f"{_DEBUG_TRACING}: tracer function",
        gone=(TRACING,),
    ),
    Example("kernel-traced", "unknown", _OLD_KERNEL, "tracefs is not mounted", gone=(TRACING,)),
    Example("kernel-traced", "fail", {Knob.STACK_TRACER: "1\n"}, "the stack tracer"),
    Example("kernel-traced", "fail", {Knob.STACK_TRACER: "1\n"}, "the stack tracer", gone=(TRACING,), is_copy=True),
    Example("kernel-traced", "unknown", {Knob.STACK_TRACER: "x\n"}, "'x'"),
    Example("kernel-traced", "pass", gone=(Knob.STACK_TRACER, f"{TRACING}/function_profile_enabled")),
    Example("kernel-traced", "fail", {f"{TRACING}/function_profile_enabled": "1\n"}, "the profile of all functions"),
    Example("kernel-traced", "unknown", {f"{TRACING}/function_profile_enabled": "x\n"}, "function_profile_enabled"),
    Example(
        *("kernel-traced", "fail", _noisewatch_instances("4") | process(812, "noisewatch", 0, 0)),
        "another noisewatch (pid 812) traces CPU 2: end it, or wait",
        answers=_NAMESPACE_ANSWER,
    ),
    Example(
        *("kernel-traced", "fail", _noisewatch_instances("4")),
        "a killed noisewatch (pid 812) still traces CPU 2",
        answers=_NAMESPACE_ANSWER | {"process 812 is gone": True},
    ),
    Example(
        *("kernel-traced", "fail", _noisewatch_instances("4", _OTHER_NOISEWATCH.replace("36-", "37-"))),
        "another noisewatch (pid 812 in a PID namespace of its own) traces CPU 2: end it, or wait",
        answers=_NAMESPACE_ANSWER,
    ),
    Example(
        *("kernel-traced", "fail", _noisewatch_instances("rubbish") | process(812, "noisewatch", 0, 0)),
        "another noisewatch (pid 812) traces: end it, or wait",
        answers=_NAMESPACE_ANSWER,
    ),
    Example(
        *("kernel-traced", "pass", _noisewatch_instances("4") | process(812, "noisewatch", 0, 0)),
        "more than rare events",
        answers=_NAMESPACE_ANSWER,
        own_pids=(812,),
    ),
    #
    Example("kernel-statistics-collected", "fail", {Knob.BPF_STATISTICS: "1\n"}, "bpf_stats_enabled is on"),
    Example("kernel-statistics-collected", "fail", {Knob.DELAY_ACCOUNTING: "1\n"}, "task_del", rules=Rules("latency")),
    Example("kernel-statistics-collected", "pass", {}, "all are off", gone=(Knob.SCHEDULER_STATISTICS,)),
    Example("kernel-statistics-collected", "unknown", {Knob.SCHEDULER_STATISTICS: "x\n"}, "'x'"),
    Example("kernel-statistics-collected", "not-applicable", gone=_STATISTICS),
    #
    Example("security-agent-runs", "fail", process(901, "auditd", 0, 0), "auditd (pid 901)"),
    Example("security-agent-runs", "fail", process(901, "auditd", 0, 0), "auditd", rules=Rules("io")),
    Example("security-agent-runs", "unknown", _KTHREADD | _BOUND | _DOCKER, "only this container's"),
    #
    Example(
        "system-calls-filtered", "fail", {"/proc/self/status": "Seccomp:\t2\nSeccomp_filters:\t1\n"}, "a seccomp filter"
    ),
    Example(
        "system-calls-filtered",
        "unknown",
        {"/proc/self/status": "TracerPid:\t0\nCapEff:\t0000000000000000\n"},
        "Seccomp",
    ),
    Example("system-calls-filtered", "unknown", gone=("/proc/self/status",)),
]
