"""Area `kernel`: what observes the machine while the benchmark runs, and what the kernel inspects on the way."""

from __future__ import annotations

from noisewatch.cpus import CpuSet
from noisewatch.judgement.case import Case
from noisewatch.judgement.check import Answer, Limit, check, unknown
from noisewatch.judgement.counted import why_uncounted
from noisewatch.judgement.programs import running, why_unseen
from noisewatch.judgement.rules import IO, LATENCY, STRICT
from noisewatch.judgement.terms import Severity, Status
from noisewatch.kernel.interrupts.table import counts_overflows
from noisewatch.kernel.snapshot.knobs import Knob
from noisewatch.kernel.tasks.own_process import STATUS
from noisewatch.kernel.tasks.task import Task
from noisewatch.kinds import Kind
from noisewatch.model.interval.disturbance import Disturbance

_MOST_NAMED = 3

PROFILERS = frozenset(
    {
        *("perf", "perf_5.10", "perf_6.1", "asprof", "async-profiler", "samply", "py-spy", "rbspy", "parca-agent"),
        *("pyroscope", "ebpf-profiler", "pf-host-agent", "gprofiler", "bpftrace", "vtune", "amplxe-runss", "emon"),
        *("AMDuProfCLI", "AMDuProfPcm", "nsys", "operf", "oprofiled", "turbostat", "powertop", "trace-cmd", "sysdig"),
    }
)
_SAMPLES = Limit(
    key="fails",
    name="overflows of hardware counters on one target CPU",
    value=5.0,
    unit="per second",
    reason="the hard lockup watchdog causes one in about ten seconds, a profiler a hundred or more a second",
)


def _named(tasks: list[Task]) -> str:
    return ", ".join(f"{task.name} (pid {task.pid})" for task in tasks[:_MOST_NAMED]) + (
        f" and {len(tasks) - _MOST_NAMED} more" if len(tasks) > _MOST_NAMED else ""
    )


def _blamed(tasks: list[Task]) -> tuple[Disturbance, ...]:
    return tuple(
        Disturbance(
            kind=Kind.THREAD, name=task.name, cpu=task.cpu, stolen_ns=None, share=None, rate_per_s=None, pid=task.pid
        )
        for task in tasks
    )


@check(
    id="profiler-runs",
    area="kernel",
    question="Is the machine free of running profilers?",
    severity=Severity.WARNING,
    reads=("/proc/PID/stat", "/proc/interrupts (PMI) over the sample and the calibration", Knob.PERF_SAMPLE_RATE),
    limits=(_SAMPLES,),
    why=("A profiler interrupts the CPUs that it samples a hundred to several thousand times a second."),
    remedy="Stop the profiler, or exclude the target CPUs from it.",
    sources=("https://docs.kernel.org/admin-guide/perf-security.html", "https://perfwiki.github.io/main/tutorial/"),
    covers_calibration=True,
)
def profiler_runs(case: Case) -> Answer:
    found, rate_by_cpu = running(case, PROFILERS), _sampling_rates(case)
    worst = max(rate_by_cpu.values(), default=None)
    evidence = {
        "samples_per_s_by_cpu": {str(cpu): rate for cpu, rate in rate_by_cpu.items()},
        Knob.PERF_SAMPLE_RATE.value: case.snapshot.settings.knobs.integer(Knob.PERF_SAMPLE_RATE),
    }
    limit = case.bound(_SAMPLES)
    sampled: CpuSet = frozenset(cpu for cpu, rate in rate_by_cpu.items() if rate > limit)
    if sampled or found:
        rates = [f"CPU {cpu} is sampled {rate_by_cpu[cpu]:.0f} times a second" for cpu in sorted(sampled)]
        said = "; ".join([*rates, *([f"{_named(found)} runs"] if found else [])])
        return Answer(
            Status.FAIL,
            said,
            measured=worst,
            limit=limit,
            unit="per second",
            cpus=sampled,
            evidence=evidence,
            culprits=_blamed(found),
        )
    reason = why_unseen(case)
    if reason is not None:
        return unknown(reason)
    reasons = [why for interval in case.intervals if (why := why_uncounted(case, interval, case.target))]
    if reasons:
        return unknown(reasons[0])
    return Answer(
        Status.PASS,
        "no profiler with a known name runs, and none samples",
        measured=worst,
        limit=limit,
        unit="per second",
        evidence=evidence,
    )


def _sampling_rates(case: Case) -> dict[int, float]:
    """Return the worst rate of performance counter overflows by target CPU; empty if no such interrupts are counted."""
    rates: dict[int, float] = {}
    for interval in case.intervals:
        for row in interval.interrupts.rows or ():
            for cpu in case.target & row.count_by_cpu.keys() if counts_overflows(row.label, row.description) else ():
                rates[cpu] = max(rates.get(cpu, 0.0), row.count_by_cpu[cpu] / interval.seconds)
    return dict(sorted(rates.items()))


_AGENTS = frozenset(
    {
        *("auditd", "auditbeat", "falco", "falcon-sensor", "falcon-sensor-b", "osqueryd", "tetragon", "tracee"),
        *("wazuh-agentd", "wazuh-syscheckd", "ossec-syscheckd", "wdavdaemon", "mdatp", "ds_agent", "ds_am", "cbagentd"),
        *(
            "s1-agent",
            "sentinelone-agent",
            "sysmon",
            "clamonacc",
            "fapolicyd",
            "xagt",
            "elastic-endpoint",
            "sisidsdaemon",
        ),
    }
)


@check(
    id="security-agent-runs",
    area="kernel",
    question="Is the machine free of security agents?",
    severity=Severity.INFORMATION,
    severity_in={IO: Severity.WARNING, LATENCY: Severity.WARNING, STRICT: Severity.WARNING},
    reads=("/proc/PID/stat",),
    why=(
        "Audit and similar hooks run at every system call, or whenever a file is opened or a program starts. The "
        "agent processes their events, and scans, at times of its own."
    ),
    remedy="Measure on a machine without the agent, or have its owner switch it off during the benchmark.",
    sources=("https://man7.org/linux/man-pages/man8/auditctl.8.html",),
)
def security_agent_runs(case: Case) -> Answer:
    found = running(case, _AGENTS)
    if found:
        evidence = {"pid_by_name": {task.name: task.pid for task in found}}
        return Answer(Status.FAIL, f"{_named(found)} runs", evidence=evidence, culprits=_blamed(found))
    reason = why_unseen(case)
    return Answer(Status.PASS, "no agent with a known name runs") if reason is None else unknown(reason)


_FILTERS = 2


@check(
    id="system-calls-filtered",
    area="kernel",
    question="Do system calls reach the kernel unfiltered?",
    severity=Severity.INFORMATION,
    reads=(STATUS,),
    why=(
        "Containers and sandboxes run a filter (seccomp) on each system call, which a benchmark started here "
        "inherits: its results do not compare with those measured outside."
    ),
    remedy="For a container that does not need it: --security-opt seccomp=unconfined.",
    sources=("https://docs.kernel.org/userspace-api/seccomp_filter.html",),
    asks_starter=True,
)
def system_calls_filtered(case: Case) -> Answer:
    mode = case.snapshot.settings.own.seccomp_mode
    if mode is None:
        return unknown(case.why_unknown(STATUS))
    if mode == _FILTERS:
        return Answer(
            Status.FAIL,
            "a seccomp filter checks this process's system calls",
            measured=mode,
            evidence={"seccomp_mode": mode},
        )
    return Answer(Status.PASS, "no seccomp filter is set", measured=mode, evidence={"seccomp_mode": mode})
